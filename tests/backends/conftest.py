"""Hand-written plans and entries over them, for all tests of the native entry."""

import pytest

from loopwright.backends.llvm import host
from loopwright.backends.llvm.entry import Entry
from loopwright.backends.llvm.orc import Library
from loopwright.backends.llvm.signature import FreshOutput, Signature, Structure
from loopwright.ir.target import Target

PLANS = """
declare ptr @memcpy(ptr, ptr, i64)
declare i32 @usleep(i32)

define internal ptr @arg(ptr %args, i64 %k) {
  %at = getelementptr ptr, ptr %args, i64 %k
  %p = load ptr, ptr %at
  ret ptr %p
}

; args: a result; copies 8 bytes
define i32 @copy8(ptr %args, ptr %arena) {
  %a = call ptr @arg(ptr %args, i64 0)
  %r = call ptr @arg(ptr %args, i64 1)
  %c = call ptr @memcpy(ptr %r, ptr %a, i64 8)
  ret i32 0
}

; args: a b result, all float32[8]
define i32 @add(ptr %args, ptr %arena) {
  %a = call ptr @arg(ptr %args, i64 0)
  %b = call ptr @arg(ptr %args, i64 1)
  %r = call ptr @arg(ptr %args, i64 2)
  %x = load <8 x float>, ptr %a, align 4
  %y = load <8 x float>, ptr %b, align 4
  %z = fadd <8 x float> %x, %y
  store <8 x float> %z, ptr %r, align 4
  ret i32 0
}

; args: a b c; writes the three addresses and the arena into c
define i32 @addresses(ptr %args, ptr %arena) {
  %c = call ptr @arg(ptr %args, i64 2)
  %m = call ptr @memcpy(ptr %c, ptr %args, i64 24)
  %end = getelementptr i8, ptr %c, i64 24
  store ptr %arena, ptr %end
  ret i32 0
}

; args: a; adds one to its first float32
define i32 @increment(ptr %args, ptr %arena) {
  %a = call ptr @arg(ptr %args, i64 0)
  %x = load float, ptr %a
  %y = fadd float %x, 1.0
  store float %y, ptr %a
  ret i32 0
}

; args: status
define i32 @status(ptr %args, ptr %arena) {
  %a = call ptr @arg(ptr %args, i64 0)
  %s = load i32, ptr %a
  ret i32 %s
}

define i32 @nothing(ptr %args, ptr %arena) {
  ret i32 0
}

define i32 @sleep(ptr %args, ptr %arena) {
  %s = call i32 @usleep(i32 200000)
  ret i32 0
}

; args: int32 flag; sets it to 1 and waits until it is 2, for half a second at most (status 9)
define i32 @meet(ptr %args, ptr %arena) {
entry:
  %flag = call ptr @arg(ptr %args, i64 0)
  store atomic i32 1, ptr %flag seq_cst, align 4
  br label %look
look:
  %i = phi i32 [ 0, %entry ], [ %next, %wait ]
  %now = load atomic i32, ptr %flag seq_cst, align 4
  %met = icmp eq i32 %now, 2
  br i1 %met, label %good, label %wait
wait:
  %s = call i32 @usleep(i32 1000)
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, 500
  br i1 %more, label %look, label %late
good:
  ret i32 0
late:
  ret i32 9
}

; fills the arena with ones
define i32 @fill(ptr %args, ptr %arena) {
entry:
  %n_at = call ptr @arg(ptr %args, i64 0)
  %n = load i64, ptr %n_at
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr i8, ptr %arena, i64 %i
  store i8 1, ptr %p
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret i32 0
}
"""

NAMES = ("copy8", "add", "addresses", "increment", "status", "nothing", "sleep", "fill", "meet")


def slow_path(*args, **kwargs):
    return "slow", args, kwargs


def raise_status_error(number, status):
    raise RuntimeError(number, status)


@pytest.fixture(scope="session")
def new_entry():
    """Makes an entry without signatures.

    Its slow path returns ("slow", args, kwargs); its raiser raises RuntimeError(number, status).
    """

    def new_entry(names=("p",), slow=slow_path, raiser=raise_status_error, **options):
        return Entry("function", names, slow, raiser, **options)

    return new_entry


@pytest.fixture(scope="session")
def load_plans():
    """Links the hand-written plans once more, for tests of their lifetime."""
    code = host.compile_object(PLANS, Target.host())
    return lambda: Library([code], NAMES)


@pytest.fixture(scope="session")
def plans(load_plans):
    """The hand-written plans."""
    return load_plans()


@pytest.fixture(scope="session")
def make(plans, new_entry):
    """Makes an entry with one signature."""

    def make(plan, parameters, fresh=(), outputs=None, structure=None, names=None, **more):
        options = {
            k: more.pop(k) for k in ("defaults", "positional", "positional_only") if k in more
        }
        if outputs is None:
            outputs = tuple(FreshOutput(n) for n in range(len(fresh)))
        if structure is None:
            structure = Structure.SINGLE if len(outputs) == 1 else Structure.TUPLE
        names = names or [f"p{n}" for n in range(len(parameters))]
        made = new_entry(names, **options)
        made.add(
            Signature(
                tuple(parameters),
                tuple(fresh),
                tuple(outputs),
                structure,
                plans[plan],
                keep=plans,
                **more,
            )
        )
        return made

    return make
