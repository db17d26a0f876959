"""LLVM text of the thread pool.

A region is `count` iterations cut into chunks of equal length. All that threads compete for is
one 64-bit word, the ticket: the region's generation in the high half and the number of the next
chunk in the low half. Whoever wants a chunk reads the ticket, reads the region's fields, and then
moves the ticket on by compare and exchange; its success proves that the fields belonged to that
generation, since the caller changes them only after it has closed the ticket. So the caller waits
for chunks that were started, never for a worker that merely woke up.
"""

from __future__ import annotations

from string import Template

# machine: (number of the futex system call, spin hint's declaration, spin hint's call)
_MACHINES = {
    "x86_64": (
        202,
        "declare void @llvm.x86.sse2.pause()",
        "call void @llvm.x86.sse2.pause()",
    ),
    "aarch64": (
        98,
        "declare void @llvm.aarch64.hint(i32)",
        "call void @llvm.aarch64.hint(i32 1)",
    ),
}

CHUNKS_PER_THREAD = 6
SPIN_NANOSECONDS = 50_000
LONGEST_SPIN_NANOSECONDS = 2_000_000

_TEXT = Template("""
; ---- thread pool ----------------------------------------------------------------------------

@ticket = internal global i64 0, align 64        ; generation << 32 | next chunk
@region_body = internal global ptr null, align 64
@region_ctx = internal global ptr null
@region_count = internal global i64 0            ; iterations
@region_chunk = internal global i64 0            ; iterations in a chunk
@region_chunks = internal global i64 0
@region_threads = internal global i32 0          ; workers numbered from here stay out
@done = internal global i32 0, align 64          ; chunks finished; a futex
@caller_sleeps = internal global i32 0
@status = internal global i32 0, align 64        ; the region's first error
@busy = internal global i32 0, align 64          ; 1 while a region is open
@sleepers = internal global i32 0, align 64      ; workers in the futex
@started = internal global i32 0, align 64       ; workers that exist
@threads = internal global i32 1                 ; threads in a region, the caller among them

declare i64 @syscall(i64, ...)
declare i32 @clock_gettime(i32, ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(i64)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @sigfillset(ptr)
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare i32 @llvm.umin.i32(i32, i32)
declare i64 @llvm.ctpop.i64(i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
$hint_declaration

define internal i64 @nanoseconds() {
  %time = alloca [2 x i64]
  %status = call i32 @clock_gettime(i32 1, ptr %time)    ; CLOCK_MONOTONIC
  %seconds = load i64, ptr %time
  %rest_at = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %rest_at
  %scaled = mul i64 %seconds, 1000000000
  %sum = add i64 %scaled, %rest
  ret i64 %sum
}

define internal void @futex_wait(ptr %word, i32 %seen) {
  %r = call i64 (i64, ...) @syscall(i64 $futex, ptr %word, i64 128, i32 %seen, ptr null)
  ret void
}

define internal void @futex_wake(ptr %word, i32 %how_many) {
  %r = call i64 (i64, ...) @syscall(i64 $futex, ptr %word, i64 129, i32 %how_many)
  ret void
}

; Takes chunks of region %generation until none is left or one has failed.
define internal void @work(i32 %generation, i32 %worker) {
entry:
  br label %next
next:
  %seen = load atomic i64, ptr @ticket acquire, align 8
  %high = lshr i64 %seen, 32
  %now = trunc i64 %high to i32
  %same = icmp eq i32 %now, %generation
  br i1 %same, label %look, label %leave
look:
  %number = and i64 %seen, 4294967295
  %chunks = load atomic i64, ptr @region_chunks acquire, align 8
  %left = icmp ult i64 %number, %chunks
  br i1 %left, label %check, label %leave
check:
  %failed = load atomic i32, ptr @status acquire, align 4
  %whole = icmp eq i32 %failed, 0
  %limit = load atomic i32, ptr @region_threads acquire, align 4
  %member = icmp slt i32 %worker, %limit
  %may = and i1 %whole, %member
  br i1 %may, label %claim, label %leave
claim:
  %body = load atomic ptr, ptr @region_body acquire, align 8
  %ctx = load atomic ptr, ptr @region_ctx acquire, align 8
  %count = load atomic i64, ptr @region_count acquire, align 8
  %chunk = load atomic i64, ptr @region_chunk acquire, align 8
  %moved = add i64 %seen, 1
  %swap = cmpxchg ptr @ticket, i64 %seen, i64 %moved acq_rel acquire
  %mine = extractvalue { i64, i1 } %swap, 1
  br i1 %mine, label %run, label %next
run:
  %low = mul i64 %number, %chunk
  %end = add i64 %low, %chunk
  %high_end = call i64 @llvm.smin.i64(i64 %end, i64 %count)
  %result = call i32 %body(ptr %ctx, i64 %low, i64 %high_end, i32 %worker)
  %fine = icmp eq i32 %result, 0
  br i1 %fine, label %finish, label %fail
fail:
  %first = cmpxchg ptr @status, i32 0, i32 %result acq_rel acquire
  br label %finish
finish:
  %before = atomicrmw add ptr @done, i32 1 seq_cst
  %asleep = load atomic i32, ptr @caller_sleeps seq_cst, align 4
  %wake = icmp ne i32 %asleep, 0
  br i1 %wake, label %wake_caller, label %next
wake_caller:
  call void @futex_wake(ptr @done, i32 1)
  br label %next
leave:
  ret void
}

define internal i32 @generation() {
  %all = load atomic i64, ptr @ticket seq_cst, align 8
  %high = lshr i64 %all, 32
  %generation = trunc i64 %high to i32
  ret i32 %generation
}

; Waits for a generation other than %seen: spins for a while, then sleeps. A region that is still
; open is likely to be followed by another, so the while counts from its end; else a worker that
; woke too late for one region would be asleep again before the next.
define internal i32 @await_region(i32 %seen) {
entry:
  %start = call i64 @nanoseconds()
  %soon = add i64 %start, $spin
  %limit = add i64 %start, $longest_spin
  br label %spin
spin:
  %turn = phi i32 [ 0, %entry ], [ %turn_on, %hint ], [ 0, %clock ]
  %deadline = phi i64 [ %soon, %entry ], [ %deadline, %hint ], [ %until, %clock ]
  %now = call i32 @generation()
  %new = icmp ne i32 %now, %seen
  br i1 %new, label %leave, label %hint
hint:
  $hint
  %turn_on = add i32 %turn, 1
  %tired = icmp eq i32 %turn_on, 16
  br i1 %tired, label %clock, label %spin
clock:
  %time = call i64 @nanoseconds()
  %open = load atomic i32, ptr @busy monotonic, align 4
  %closed = icmp eq i32 %open, 0
  %further = add i64 %time, $spin
  %until = select i1 %closed, i64 %deadline, i64 %further
  %late = icmp sgt i64 %time, %until
  %much = icmp sgt i64 %time, %limit
  %enough = or i1 %late, %much
  br i1 %enough, label %sleep, label %spin
sleep:
  %a = atomicrmw add ptr @sleepers, i32 1 seq_cst
  br label %doze
doze:
  %still = call i32 @generation()
  %old = icmp eq i32 %still, %seen
  br i1 %old, label %futex, label %wake
futex:
  %word = getelementptr i32, ptr @ticket, i64 1
  call void @futex_wait(ptr %word, i32 %seen)
  br label %doze
wake:
  %b = atomicrmw sub ptr @sleepers, i32 1 seq_cst
  ret i32 %still
leave:
  ret i32 %now
}

define internal ptr @worker_main(ptr %number) {
entry:
  %wide = ptrtoint ptr %number to i64
  %worker = trunc i64 %wide to i32
  br label %again
again:
  %seen = phi i32 [ 0, %entry ], [ %now, %again ]
  %now = call i32 @await_region(i32 %seen)
  call void @work(i32 %now, i32 %worker)
  br label %again
}

; Starts workers until there are %wanted, or as many as the system allows. They block all signals:
; Python's handlers must run in threads that Python knows.
define internal void @start_workers(i32 %wanted) {
entry:
  %all = alloca [16 x i64]
  %old = alloca [16 x i64]
  %thread = alloca i64
  %f = call i32 @sigfillset(ptr %all)
  %m = call i32 @pthread_sigmask(i32 2, ptr %all, ptr %old)
  br label %next
next:
  %have = load i32, ptr @started
  %enough = icmp sge i32 %have, %wanted
  br i1 %enough, label %restore, label %create
create:
  %number = add i32 %have, 1
  %wide = zext i32 %number to i64
  %argument = inttoptr i64 %wide to ptr
  %error = call i32 @pthread_create(ptr %thread, ptr null, ptr @worker_main, ptr %argument)
  %refused = icmp ne i32 %error, 0
  br i1 %refused, label %restore, label %count
count:
  %id = load i64, ptr %thread
  %d = call i32 @pthread_detach(i64 %id)
  store i32 %number, ptr @started
  br label %next
restore:
  %r = call i32 @pthread_sigmask(i32 2, ptr %old, ptr null)
  ret void
}

; Waits until %claimed chunks are done: spins for a while, then sleeps.
define internal void @await_chunks(i32 %claimed) {
entry:
  %soon = load atomic i32, ptr @done seq_cst, align 4
  %ready = icmp eq i32 %soon, %claimed
  br i1 %ready, label %leave, label %begin
begin:
  %start = call i64 @nanoseconds()
  %deadline = add i64 %start, $spin
  br label %spin
spin:
  %turn = phi i32 [ 0, %begin ], [ %turn_on, %hint ], [ 0, %clock ]
  %count = load atomic i32, ptr @done seq_cst, align 4
  %all = icmp eq i32 %count, %claimed
  br i1 %all, label %leave, label %hint
hint:
  $hint
  %turn_on = add i32 %turn, 1
  %tired = icmp eq i32 %turn_on, 16
  br i1 %tired, label %clock, label %spin
clock:
  %time = call i64 @nanoseconds()
  %late = icmp sgt i64 %time, %deadline
  br i1 %late, label %sleep, label %spin
sleep:
  store atomic i32 1, ptr @caller_sleeps seq_cst, align 4
  br label %doze
doze:
  %again = load atomic i32, ptr @done seq_cst, align 4
  %last = icmp eq i32 %again, %claimed
  br i1 %last, label %wake, label %futex
futex:
  call void @futex_wait(ptr @done, i32 %again)
  br label %doze
wake:
  store atomic i32 0, ptr @caller_sleeps seq_cst, align 4
  br label %leave
leave:
  ret void
}

; Runs %body(ctx, low, high, worker) over [0, count) in chunks of at least %grain, here and on the
; pool's workers. Returns the first status that is not 0; chunks not yet started are then left out.
; While the pool is busy (a nested or concurrent region) the caller runs all of it alone.
define i32 @lw_parallel_for(ptr %body, ptr %ctx, i64 %count, i64 %grain) {
entry:
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %measure, label %nothing
nothing:
  ret i32 0
measure:
  %least = call i64 @llvm.smax.i64(i64 %grain, i64 1)
  %team = load atomic i32, ptr @threads monotonic, align 4
  %team_wide = zext i32 %team to i64
  %pieces = mul i64 %team_wide, $chunks_per_thread
  %short = sub i64 %pieces, 1
  %padded = add i64 %count, %short
  %even = udiv i64 %padded, %pieces
  %chunk = call i64 @llvm.smax.i64(i64 %even, i64 %least)
  %one = icmp sle i64 %count, %chunk
  %alone = icmp sle i32 %team, 1
  %inline = or i1 %one, %alone
  br i1 %inline, label %run_inline, label %enter
enter:
  %try = cmpxchg ptr @busy, i32 0, i32 1 acq_rel acquire
  %free = extractvalue { i32, i1 } %try, 1
  br i1 %free, label %open, label %run_inline
run_inline:
  %own = call i32 %body(ptr %ctx, i64 0, i64 %count, i32 0)
  ret i32 %own
open:
  %less = sub i64 %chunk, 1
  %more = add i64 %count, %less
  %chunks = udiv i64 %more, %chunk
  %most = call i64 @llvm.umin.i64(i64 %chunks, i64 %team_wide)
  %most_narrow = trunc i64 %most to i32
  %helpers = sub i32 %most_narrow, 1
  %have = load i32, ptr @started
  %enough = icmp sge i32 %have, %helpers
  br i1 %enough, label %publish, label %grow
grow:
  call void @start_workers(i32 %helpers)
  br label %publish
publish:
  store atomic ptr %body, ptr @region_body release, align 8
  store atomic ptr %ctx, ptr @region_ctx release, align 8
  store atomic i64 %count, ptr @region_count release, align 8
  store atomic i64 %chunk, ptr @region_chunk release, align 8
  store atomic i64 %chunks, ptr @region_chunks release, align 8
  store atomic i32 %team, ptr @region_threads release, align 4
  store atomic i32 0, ptr @status release, align 4
  store atomic i32 0, ptr @done release, align 4
  %last = call i32 @generation()
  %generation = add i32 %last, 1
  %wide = zext i32 %generation to i64
  %first = shl i64 %wide, 32
  %t = atomicrmw xchg ptr @ticket, i64 %first seq_cst
  %sleeping = load atomic i32, ptr @sleepers seq_cst, align 4
  %any = icmp sgt i32 %sleeping, 0
  br i1 %any, label %rouse, label %help
rouse:
  ; If some workers are beyond the limit, waking %helpers could wake only those.
  %workers = load i32, ptr @started
  %surplus = icmp sge i32 %workers, %team
  %how_many = select i1 %surplus, i32 2147483647, i32 %helpers
  %word = getelementptr i32, ptr @ticket, i64 1
  call void @futex_wake(ptr %word, i32 %how_many)
  br label %help
help:
  call void @work(i32 %generation, i32 0)
  %closed = or i64 %first, 4294967295
  %final = atomicrmw xchg ptr @ticket, i64 %closed seq_cst
  %taken = trunc i64 %final to i32
  call void @await_chunks(i32 %taken)
  %result = load atomic i32, ptr @status acquire, align 4
  store atomic i32 0, ptr @busy release, align 4
  ret i32 %result
}

; How many threads share a region from now on; 0 means the cores that this process may run on.
define void @lw_set_threads(i32 %wanted) {
entry:
  %set = alloca [128 x i64]
  %given = icmp sgt i32 %wanted, 0
  br i1 %given, label %store, label %ask
ask:
  call void @llvm.memset.p0.i64(ptr %set, i8 0, i64 1024, i1 false)
  %r = call i32 @sched_getaffinity(i32 0, i64 1024, ptr %set)
  br label %add
add:
  %i = phi i64 [ 0, %ask ], [ %i_on, %add ]
  %sum = phi i64 [ 0, %ask ], [ %sum_on, %add ]
  %at = getelementptr i64, ptr %set, i64 %i
  %bits = load i64, ptr %at
  %ones = call i64 @llvm.ctpop.i64(i64 %bits)
  %sum_on = add i64 %sum, %ones
  %i_on = add i64 %i, 1
  %more = icmp ult i64 %i_on, 128
  br i1 %more, label %add, label %found
found:
  %cores = call i64 @llvm.smax.i64(i64 %sum_on, i64 1)
  %narrow = trunc i64 %cores to i32
  br label %store
store:
  %value = phi i32 [ %wanted, %entry ], [ %narrow, %found ]
  %capped = call i32 @llvm.umin.i32(i32 %value, i32 1024)
  store atomic i32 %capped, ptr @threads monotonic, align 4
  ret void
}

define i32 @lw_get_threads() {
  %value = load atomic i32, ptr @threads monotonic, align 4
  ret i32 %value
}

; After a fork. A region that another thread had open is closed for good: its context belongs to a
; stack that is gone.
define internal void @forget_workers() {
  %last = call i32 @generation()
  %next = add i32 %last, 1
  %wide = zext i32 %next to i64
  %first = shl i64 %wide, 32
  %closed = or i64 %first, 4294967295
  store atomic i64 %closed, ptr @ticket seq_cst, align 8
  store atomic i32 0, ptr @started monotonic, align 4
  store atomic i32 0, ptr @sleepers monotonic, align 4
  store atomic i32 0, ptr @caller_sleeps monotonic, align 4
  store atomic i32 0, ptr @busy release, align 4
  ret void
}
""")


def threads_text(machine: str) -> str:
    """LLVM text of the thread pool for a machine, "x86_64" or "aarch64"."""
    futex, declaration, hint = _MACHINES[machine]
    return _TEXT.substitute(
        futex=futex,
        hint_declaration=declaration,
        hint=hint,
        spin=SPIN_NANOSECONDS,
        longest_spin=LONGEST_SPIN_NANOSECONDS,
        chunks_per_thread=CHUNKS_PER_THREAD,
    )
