"""The process-wide runtime as LLVM text: thread pool, scratch and block pool.

Written as LLVM so that neither a user's machine nor an exported library needs a C compiler. It
imports libc only. The parts are in `runtime_threads` and `runtime_memory`; this file joins them
and owns what spans both: start-up and fork.
"""

from __future__ import annotations

from .runtime_memory import MEMORY
from .runtime_threads import threads_text

EXPORTS = (
    "lw_start",
    "lw_parallel_for",
    "lw_set_threads",
    "lw_get_threads",
    "lw_worker_scratch",
    "lw_block_alloc",
    "lw_block_free",
    "lw_pool_trim",
    "lw_pool_bytes",
    "lw_pool_limit",
)

_START = """
; ---- start-up and fork ----------------------------------------------------------------------

declare i32 @__register_atfork(ptr, ptr, ptr, ptr)

; Called once, before anything else. Returns 0, or an error number of libc.
define i32 @lw_start() {
  %key = call i32 @pthread_key_create(ptr @scratch_key, ptr @scratch_release)
  %bad = icmp ne i32 %key, 0
  br i1 %bad, label %fail, label %go
go:
  call void @lw_set_threads(i32 0)
  %status = call i32 @__register_atfork(ptr @before_fork, ptr @after_fork_parent,
                                        ptr @after_fork_child, ptr null)
  ret i32 %status
fail:
  ret i32 %key
}

; The forking thread holds the block pool's lock, so that the child's lists are whole.
define internal void @before_fork() {
  call void @lock_blocks()
  ret void
}

define internal void @after_fork_parent() {
  call void @unlock_blocks()
  ret void
}

; Only the forking thread lives on in the child: workers are started again when first needed.
define internal void @after_fork_child() {
  call void @unlock_blocks()
  call void @forget_workers()
  ret void
}
"""


def runtime_text(machine: str) -> str:
    """LLVM text of the runtime for a machine, "x86_64" or "aarch64"."""
    return threads_text(machine) + MEMORY + _START
