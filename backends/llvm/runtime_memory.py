"""LLVM text of the block pool and of each thread's scratch.

Page faults decide the speed of whatever is bound by memory: a fresh 16 MB result costs 5.6 ms of
them, a block that was used before none. So blocks of 64 KiB and more are kept when freed, in size
classes a quarter of a power of two apart (at most a quarter is lost), and those of 2 MiB and more
start at a multiple of 2 MiB and are advised as huge pages.

Every block is aligned to 64 bytes, and the 64 bytes before it are its header:
`{ i64 class size or 0 for a block that is not kept, ptr next free, i64 usable bytes }`.
"""

from __future__ import annotations

POOLED_BYTES = 65536
"""Blocks from this size on are kept in the pool."""

MEMORY = """
; ---- block pool -----------------------------------------------------------------------------

@pool_lock = internal global i32 0, align 64
@pool_kept = internal global i64 0                     ; bytes of idle blocks
@pool_most = internal global i64 1073741824            ; and how many there may be
@pool_free = internal global [128 x ptr] zeroinitializer

declare i32 @posix_memalign(ptr, i64, i64)
declare void @free(ptr)
declare ptr @mmap(ptr, i64, i32, i32, i32, i64)
declare i32 @munmap(ptr, i64)
declare i32 @madvise(ptr, i64, i32)
declare i32 @sched_yield()
declare i64 @llvm.ctlz.i64(i64, i1)

define internal void @lock_blocks() {
entry:
  br label %try
try:
  %swap = cmpxchg ptr @pool_lock, i32 0, i32 1 acquire monotonic
  %got = extractvalue { i32, i1 } %swap, 1
  br i1 %got, label %leave, label %wait
wait:
  %r = call i32 @sched_yield()
  br label %try
leave:
  ret void
}

define internal void @unlock_blocks() {
  store atomic i32 0, ptr @pool_lock release, align 4
  ret void
}

; Of a size in (2^b, 2^(b+1)]: the size rounded up to a multiple of 2^(b-2), and its class.
define internal { i64, i64 } @size_class(i64 %bytes) {
  %less = sub i64 %bytes, 1
  %zeros = call i64 @llvm.ctlz.i64(i64 %less, i1 false)
  %b = sub i64 63, %zeros
  %shift = sub i64 %b, 2
  %step = shl i64 1, %shift
  %short = sub i64 %step, 1
  %over = add i64 %bytes, %short
  %number = lshr i64 %over, %shift
  %rounded = shl i64 %number, %shift
  %last = sub i64 %number, 1
  %quarter = and i64 %last, 3
  %row = sub i64 %b, 15
  %rows = shl i64 %row, 2
  %class = or i64 %rows, %quarter
  %a = insertvalue { i64, i64 } poison, i64 %rounded, 0
  %r = insertvalue { i64, i64 } %a, i64 %class, 1
  ret { i64, i64 } %r
}

; An idle block of a class, or null.
define internal ptr @take_block(i64 %class) {
  %head = getelementptr ptr, ptr @pool_free, i64 %class
  call void @lock_blocks()
  %block = load ptr, ptr %head
  %none = icmp eq ptr %block, null
  br i1 %none, label %leave, label %pop
pop:
  %size_at = getelementptr i8, ptr %block, i64 -64
  %next_at = getelementptr i8, ptr %block, i64 -56
  %size = load i64, ptr %size_at
  %next = load ptr, ptr %next_at
  store ptr %next, ptr %head
  %kept = load i64, ptr @pool_kept
  %left = sub i64 %kept, %size
  store atomic i64 %left, ptr @pool_kept monotonic, align 8
  br label %leave
leave:
  call void @unlock_blocks()
  ret ptr %block
}

define internal ptr @finish_block(ptr %block, i64 %class_size, i64 %usable) {
  %size_at = getelementptr i8, ptr %block, i64 -64
  %usable_at = getelementptr i8, ptr %block, i64 -48
  store i64 %class_size, ptr %size_at
  store i64 %usable, ptr %usable_at
  ret ptr %block
}

; A block from libc: header and memory in one piece. Null if there is no memory.
define internal ptr @plain_block(i64 %class_size, i64 %usable) {
  %place = alloca ptr
  %total = add i64 %usable, 64
  %error = call i32 @posix_memalign(ptr %place, i64 64, i64 %total)
  %bad = icmp ne i32 %error, 0
  br i1 %bad, label %fail, label %good
good:
  %base = load ptr, ptr %place
  %block = getelementptr i8, ptr %base, i64 64
  %r = call ptr @finish_block(ptr %block, i64 %class_size, i64 %usable)
  ret ptr %r
fail:
  ret ptr null
}

; A block at a multiple of 2 MiB; its header lies in the 64 KiB mapped before it (the largest page
; size in use). What the mapping has before and after is given back.
define internal ptr @huge_block(i64 %size) {
  %total = add i64 %size, 2162688
  %raw = call ptr @mmap(ptr null, i64 %total, i32 3, i32 34, i32 -1, i64 0)
  %start = ptrtoint ptr %raw to i64
  %bad = icmp eq i64 %start, -1
  br i1 %bad, label %fail, label %align
align:
  %past = add i64 %start, 2162687
  %place = and i64 %past, -2097152
  %block = inttoptr i64 %place to ptr
  %first = sub i64 %place, 65536
  %before = sub i64 %first, %start
  %some_before = icmp ne i64 %before, 0
  br i1 %some_before, label %cut_before, label %tail
cut_before:
  %a = call i32 @munmap(ptr %raw, i64 %before)
  br label %tail
tail:
  %stop = add i64 %start, %total
  %last = add i64 %place, %size
  %after = sub i64 %stop, %last
  %some_after = icmp ne i64 %after, 0
  br i1 %some_after, label %cut_after, label %advise
cut_after:
  %last_at = inttoptr i64 %last to ptr
  %b = call i32 @munmap(ptr %last_at, i64 %after)
  br label %advise
advise:
  %c = call i32 @madvise(ptr %block, i64 %size, i32 14)       ; MADV_HUGEPAGE
  %r = call ptr @finish_block(ptr %block, i64 %size, i64 %size)
  ret ptr %r
fail:
  ret ptr null
}

define internal ptr @new_block(i64 %size) {
  %huge = icmp uge i64 %size, 2097152
  br i1 %huge, label %map, label %plain
map:
  %a = call ptr @huge_block(i64 %size)
  ret ptr %a
plain:
  %b = call ptr @plain_block(i64 %size, i64 %size)
  ret ptr %b
}

define internal void @release_block(ptr %block) {
  %size_at = getelementptr i8, ptr %block, i64 -64
  %size = load i64, ptr %size_at
  %huge = icmp uge i64 %size, 2097152
  br i1 %huge, label %unmap, label %plain
unmap:
  %first = getelementptr i8, ptr %block, i64 -65536
  %total = add i64 %size, 65536
  %r = call i32 @munmap(ptr %first, i64 %total)
  ret void
plain:
  call void @free(ptr %size_at)
  ret void
}

; At least %bytes of memory at a multiple of 64, not cleared; null if there is none.
define ptr @lw_block_alloc(i64 %bytes) {
  %small = icmp ult i64 %bytes, 65536
  br i1 %small, label %plain, label %pooled
plain:
  %p = call ptr @plain_block(i64 0, i64 %bytes)
  ret ptr %p
pooled:
  %absurd = icmp ugt i64 %bytes, 70368744177664
  br i1 %absurd, label %fail, label %classify
fail:
  ret ptr null
classify:
  %found = call { i64, i64 } @size_class(i64 %bytes)
  %size = extractvalue { i64, i64 } %found, 0
  %class = extractvalue { i64, i64 } %found, 1
  %kept = call ptr @take_block(i64 %class)
  %none = icmp eq ptr %kept, null
  br i1 %none, label %fresh, label %reuse
reuse:
  ret ptr %kept
fresh:
  %new = call ptr @new_block(i64 %size)
  %short = icmp eq ptr %new, null
  br i1 %short, label %retry, label %done
retry:
  call void @lw_pool_trim()
  %again = call ptr @new_block(i64 %size)
  ret ptr %again
done:
  ret ptr %new
}

; Gives a block back: to the pool if there is room for it, else to the system.
define void @lw_block_free(ptr %block) {
  %nothing = icmp eq ptr %block, null
  br i1 %nothing, label %leave, label %look
look:
  %size_at = getelementptr i8, ptr %block, i64 -64
  %size = load i64, ptr %size_at
  %small = icmp eq i64 %size, 0
  br i1 %small, label %plain, label %pooled
plain:
  call void @free(ptr %size_at)
  br label %leave
pooled:
  %found = call { i64, i64 } @size_class(i64 %size)
  %class = extractvalue { i64, i64 } %found, 1
  %head = getelementptr ptr, ptr @pool_free, i64 %class
  %next_at = getelementptr i8, ptr %block, i64 -56
  call void @lock_blocks()
  %kept = load i64, ptr @pool_kept
  %sum = add i64 %kept, %size
  %most = load i64, ptr @pool_most
  %room = icmp ule i64 %sum, %most
  br i1 %room, label %keep, label %drop
keep:
  %next = load ptr, ptr %head
  store ptr %next, ptr %next_at
  store ptr %block, ptr %head
  store atomic i64 %sum, ptr @pool_kept monotonic, align 8
  call void @unlock_blocks()
  br label %leave
drop:
  call void @unlock_blocks()
  call void @release_block(ptr %block)
  br label %leave
leave:
  ret void
}

; Gives all idle blocks back to the system.
define void @lw_pool_trim() {
entry:
  br label %take
take:
  %class = phi i64 [ 0, %entry ], [ %class, %release ], [ %class_on, %empty ]
  %block = call ptr @take_block(i64 %class)
  %none = icmp eq ptr %block, null
  br i1 %none, label %empty, label %release
release:
  call void @release_block(ptr %block)
  br label %take
empty:
  %class_on = add i64 %class, 1
  %more = icmp ult i64 %class_on, 128
  br i1 %more, label %take, label %leave
leave:
  ret void
}

; Bytes of idle blocks.
define i64 @lw_pool_bytes() {
  %kept = load atomic i64, ptr @pool_kept monotonic, align 8
  ret i64 %kept
}

; Sets how many bytes of idle blocks are kept; does not trim.
define void @lw_pool_limit(i64 %bytes) {
  call void @lock_blocks()
  store i64 %bytes, ptr @pool_most
  call void @unlock_blocks()
  ret void
}

; ---- scratch of each thread -----------------------------------------------------------------

@scratch_key = internal global i32 0

declare i32 @pthread_key_create(ptr, ptr)
declare ptr @pthread_getspecific(i32)
declare i32 @pthread_setspecific(i32, ptr)

define internal void @scratch_release(ptr %block) {
  call void @lw_block_free(ptr %block)
  ret void
}

; The calling thread's own memory of at least %bytes, valid until its next call of this function
; and not kept between calls; null if there is no memory. Freed when the thread ends.
define ptr @lw_worker_scratch(i64 %bytes) {
  %key = load i32, ptr @scratch_key
  %have = call ptr @pthread_getspecific(i32 %key)
  %none = icmp eq ptr %have, null
  br i1 %none, label %grow, label %measure
measure:
  %usable_at = getelementptr i8, ptr %have, i64 -48
  %usable = load i64, ptr %usable_at
  %fits = icmp uge i64 %usable, %bytes
  br i1 %fits, label %reuse, label %drop
reuse:
  ret ptr %have
drop:
  call void @lw_block_free(ptr %have)
  br label %grow
grow:
  %least = call i64 @llvm.smax.i64(i64 %bytes, i64 16384)
  %new = call ptr @lw_block_alloc(i64 %least)
  %set = call i32 @pthread_setspecific(i32 %key, ptr %new)
  ret ptr %new
}
"""
