"""Text to machine code to addresses: targets, refusals, linking and unloading."""

import ctypes
import gc
import os
import signal
import threading

import pytest

from loopwright.backends.llvm import host
from loopwright.backends.llvm.entry_text import entry_text
from loopwright.backends.llvm.orc import Library
from loopwright.backends.llvm.runtime_text import runtime_text
from loopwright.ir.errors import InternalError, TargetError
from loopwright.ir.target import Target

ADD = """
define i32 @add(i32 %x, i32 %y) {
  %r = add i32 %x, %y
  ret i32 %r
}
"""

USES = """
@table = internal constant [4 x i32] [i32 10, i32 20, i32 30, i32 40]
@far = external global i32
declare i32 @add(i32, i32)
declare i32 @abs(i32)

define i32 @use(i32 %x) {
  %wide = sext i32 %x to i64
  %at = getelementptr i32, ptr @table, i64 %wide
  %a = load i32, ptr %at
  %b = load i32, ptr @far
  %c = call i32 @abs(i32 %b)
  %r = call i32 @add(i32 %a, i32 %c)
  ret i32 %r
}
"""

BINARY = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int)
UNARY = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)


def compiled(text, **options):
    return host.compile_object(text, Target.host(), **options)


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_compile_and_link(level):
    library = Library([compiled(ADD, level=level)], ["add"])
    assert BINARY(library["add"])(40, 2) == 42


def test_imports_by_address_tables_data_and_libc():
    first = Library([compiled(ADD)], ["add"])
    far = ctypes.c_int(-7)
    imports = {"add": first["add"], "far": ctypes.addressof(far)}
    second = Library([compiled(USES)], ["use"], imports)
    assert [UNARY(second["use"])(n) for n in range(4)] == [17, 27, 37, 47]


def test_objects_of_one_library_see_each_other():
    far = ctypes.c_int(0)
    library = Library(
        [compiled(USES), compiled(ADD)], ["use", "add"], {"far": ctypes.addressof(far)}
    )
    assert UNARY(library["use"])(1) == 20


def test_same_symbol_in_many_libraries():
    texts = [ADD.replace("add i32", f"mul i32 {n}, %x\n  %s = add i32") for n in (1, 2)]
    libraries = [Library([compiled(ADD)], ["add"]) for _ in texts]
    assert len({library["add"] for library in libraries}) == 2


@pytest.mark.parametrize(
    "objects, exports",
    [
        ([compiled(ADD)], ["missing"]),
        ([compiled(USES)], ["use"]),
        ([b"garbage"], ["add"]),
        ([b""], ["x"]),
    ],
)
def test_what_cannot_be_linked_is_an_error_and_the_next_works(objects, exports, capfd):
    with pytest.raises(InternalError):
        Library(objects, exports)
    library = Library([compiled(ADD)], ["add"])
    assert BINARY(library["add"])(1, 2) == 3


def test_dropped_libraries_are_unmapped():
    data = compiled(ADD)

    def maps():
        with open("/proc/self/maps") as file:
            return len(file.readlines())

    kept = [Library([data], ["add"]) for _ in range(300)]
    before = maps()
    for _ in range(5):
        [Library([data], ["add"]) for _ in range(300)]
    gc.collect()
    assert maps() < before + 50
    assert all(BINARY(library["add"])(n, 1) == n + 1 for n, library in enumerate(kept))


def test_threads_compile_and_link_at_once():
    answers = []

    def work(n):
        text = ADD.replace("add i32 %x", f"add i32 {n}")
        library = Library([compiled(text)], ["add"])
        answers.append(BINARY(library["add"])(0, 5) - n)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [5] * 12


def test_text_that_llvm_refuses_is_quoted():
    with pytest.raises(InternalError) as caught:
        compiled(ADD.replace("ret i32 %r", "ret i32 %missing"))
    message = str(caught.value)
    assert "%missing" in message and ">    4   ret i32 %missing" in message


def test_text_that_does_not_verify_is_refused():
    bad = "define i32 @f() {\nentry:\n  %a = add i32 %b, 1\n  %b = add i32 %a, 1\n  ret i32 %a\n}\n"
    with pytest.raises(InternalError):
        compiled(bad)


@pytest.mark.parametrize(
    "target",
    [
        Target("llvm", triple="aarch64-linux-gnu", cpu="cortex-a53"),
        Target("llvm", cpu="x86-64-v4"),
        Target("llvm", triple="riscv64-linux-gnu", cpu="generic-rv64"),
    ],
)
def test_other_targets_can_be_emitted(target):
    assert host.compile_object(ADD, target)[:4] == b"\x7fELF"
    assert "add" in host.assembly(ADD, target)
    assert host.fingerprint(target) != host.fingerprint(Target.host())


def test_targets_that_do_not_exist():
    with pytest.raises(TargetError):
        host.compile_object(ADD, Target("llvm", triple="nonsense-none", cpu="x"))
    with pytest.raises(TargetError, match="name the CPU"):
        host.describe(Target("llvm", triple="riscv64-linux-gnu"))


def test_strength_reduction_is_off_only_inside():
    text = """
define i64 @f(ptr %p, i64 %n, i64 %s) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %sum = phi i64 [ 0, %entry ], [ %more, %loop ]
  %at = mul i64 %i, %s
  %q = getelementptr i64, ptr %p, i64 %at
  %v = load i64, ptr %q
  %more = add i64 %sum, %v
  %next = add i64 %i, 1
  %go = icmp slt i64 %next, %n
  br i1 %go, label %loop, label %done
done:
  ret i64 %more
}
"""
    without, with_it = compiled(text), compiled(text, strength_reduction=True)
    assert without != with_it
    assert compiled(text) == without and compiled(text, strength_reduction=True) == with_it


def test_hosts_that_are_not_supported(monkeypatch):
    monkeypatch.setattr(host.platform, "machine", lambda: "s390x")
    with pytest.raises(TargetError, match="s390x"):
        host.require_supported_host()
    monkeypatch.undo()
    monkeypatch.setattr(host.sys, "_is_gil_enabled", lambda: False, raising=False)
    with pytest.raises(TargetError, match="GIL"):
        host.require_supported_host()
    monkeypatch.undo()
    host.require_supported_host()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_child_compiles_while_a_thread_of_the_parent_does():
    stop = threading.Event()
    compiled(ADD)

    def keep_busy():
        while not stop.is_set():
            Library([compiled(ADD)], ["add"])

    thread = threading.Thread(target=keep_busy)
    thread.start()
    try:
        for _ in range(10):
            pid = os.fork()
            if pid == 0:
                signal.alarm(20)  # a hang ends the child
                library = Library([compiled(ADD)], ["add"])
                os._exit(BINARY(library["add"])(40, 2))
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 42
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize(
    "machine, target",
    [
        ("x86_64", Target("llvm", triple="x86_64-linux-gnu", cpu="x86-64")),
        ("aarch64", Target("llvm", triple="aarch64-linux-gnu", cpu="cortex-a53")),
    ],
)
def test_glue_is_for_both_machines(machine, target):
    for text in (runtime_text(machine), entry_text(24, 24, 65536, 8192)):
        for level in (0, 2):
            assert host.compile_object(text, target, level=level)[:4] == b"\x7fELF"
