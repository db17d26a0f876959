"""Plan to LLVM text: one function that calls the kernels in order.

    i32 @NAME(ptr args, ptr arena)

`args` holds the addresses of the arguments, then of the fresh results, then of the constants.
`arena` is `arena_bytes(...)` bytes: the plan's arena and, after it, the scratch that the kernels
share. The function returns 0, or the first status of a kernel that is not 0: a positive one as
`launch * STATUS_SPAN + status`, launches being numbered in the order in which the plan lists them,
and a negative one (out of memory) as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...ir.errors import InternalError
from ...ir.plan.nodes import Copy, Launch, Place, Plan, Repeat, Slot, Step

STATUS_SPAN = 4096
_STEPS_IN_A_FUNCTION = 256  # code generation is not linear in the length of a function


def arena_bytes(plan: Plan, scratch_bytes: Mapping[str, int]) -> int:
    """How many bytes the arena given to the emitted function must have."""
    return _scratch_offset(plan) + max(
        (scratch_bytes.get(launch.key, 0) for launch in launches(plan.steps)), default=0
    )


def launches(steps: tuple[Step, ...]) -> Iterator[Launch]:
    """The launches of a plan in the order of their numbers."""
    stack = [iter(steps)]
    while stack:
        for step in stack[-1]:
            match step:
                case Launch():
                    yield step
                case Repeat(body=body):
                    stack.append(iter(body))
                    break
        else:
            stack.pop()


def emit_plan(
    plan: Plan, symbols: Mapping[str, str], scratch_bytes: Mapping[str, int], name: str
) -> str:
    """LLVM text of the plan as a function called `name`.

    `symbols` gives the symbol of each kernel key, `scratch_bytes` the shared scratch that it needs.
    """
    return _PlanText(plan, symbols, scratch_bytes).emit(name)


def _scratch_offset(plan: Plan) -> int:
    return (plan.arena_bytes + 63) // 64 * 64


class _PlanText:
    """Writes the functions of one plan."""

    def __init__(self, plan: Plan, symbols: Mapping[str, str], scratch_bytes: Mapping[str, int]):
        self.plan = plan
        self.symbols = symbols
        self.scratch_bytes = scratch_bytes
        results = {slot.position for slot in plan.results if slot.place is Place.RESULT}
        first_result = len(plan.arguments)
        self.first = {
            Place.ARGUMENT: 0,
            Place.RESULT: first_result,
            Place.CONSTANT: first_result + (max(results) + 1 if results else 0),
        }
        self.lines: list[str] = []
        self.names = 0
        self.launch = 0
        self.block = "entry"
        self.failures: list[tuple[str, str, int]] = []  # block, status, launch (-1: final code)

    def emit(self, name: str) -> str:
        steps = self.plan.steps
        cuts = range(0, len(steps), _STEPS_IN_A_FUNCTION)
        used = sorted({self.symbols[launch.key] for launch in launches(steps)})
        self.lines += [f"declare i32 @{symbol}(ptr, ptr)" for symbol in used]
        self.lines.append("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
        if len(cuts) <= 1:
            self._function(f"@{name}", steps)
            return "\n".join(self.lines) + "\n"
        for number, start in enumerate(cuts):
            part = steps[start : start + _STEPS_IN_A_FUNCTION]
            self._function(f"@{name}.{number}", part, "internal ")
        self._open(f"define i32 @{name}(ptr %args, ptr %arena) {{")
        for number in range(len(cuts)):
            status = self._line(f"call i32 @{name}.{number}(ptr %args, ptr %arena)")
            self._check(status, -1)
        self._close()
        return "\n".join(self.lines) + "\n"

    def _function(self, symbol: str, steps: tuple[Step, ...], linkage: str = "") -> None:
        self._open(f"define {linkage}i32 {symbol}(ptr %args, ptr %arena) {{")
        most = max((len(launch.slots) for launch in launches(steps)), default=0)
        self.lines.append(f"  %pointers = alloca [{max(most, 1)} x ptr]")
        for step in steps:
            self._step(step, None)
        self._close()

    def _open(self, header: str) -> None:
        self.lines += ["", header, "entry:"]
        self.block, self.names, self.failures = "entry", 0, []

    def _close(self) -> None:
        self.lines.append("  ret i32 0")
        if self.failures:
            statuses = ", ".join(f"[ {status}, %{block} ]" for block, status, _ in self.failures)
            bases = ", ".join(
                f"[ {max(launch, 0) * STATUS_SPAN}, %{block} ]"
                for block, _, launch in self.failures
            )
            self.lines += [
                "fail:",
                f"  %status = phi i32 {statuses}",
                f"  %base = phi i32 {bases}",
                "  %positive = icmp sgt i32 %status, 0",
                "  %code = add i32 %base, %status",
                "  %result = select i1 %positive, i32 %code, i32 %status",
                "  ret i32 %result",
            ]
        self.lines.append("}")

    def _step(self, step: Step, turn: str | None) -> None:
        match step:
            case Launch():
                self._call(step, turn)
            case Copy(source, target):
                if source.type.nbytes:
                    a, b = self._pointer(target), self._pointer(source)
                    operands = f"ptr {a}, ptr {b}, i64 {source.type.nbytes}, i1 false"
                    self.lines.append(f"  call void @llvm.memcpy.p0.p0.i64({operands})")
            case Repeat(count, body):
                self._repeat(count, body)

    def _repeat(self, count: int, body: tuple[Step, ...]) -> None:
        if count < 1:
            self.launch += sum(1 for _ in launches(body))
            return
        head, before = self._label("repeat"), self.block
        self._jump(head)
        turn = self._name()
        at = len(self.lines)
        self.lines.append("")  # the phi, once its other end is known
        for step in body:
            self._step(step, turn)
        following = self._line(f"add i64 {turn}, 1")
        more = self._line(f"icmp slt i64 {following}, {count}")
        self.lines[at] = f"  {turn} = phi i64 [ 0, %{before} ], [ {following}, %{self.block} ]"
        after = self._label("after")
        self.lines.append(f"  br i1 {more}, label %{head}, label %{after}")
        self._begin(after)

    def _call(self, launch: Launch, turn: str | None) -> None:
        for number, slot in enumerate(launch.slots):
            pointer = self._pointer(slot)
            advance = launch.advance[number] if launch.advance else 0
            if turn is not None and advance:
                offset = self._line(f"mul i64 {turn}, {advance}")
                pointer = self._line(f"getelementptr i8, ptr {pointer}, i64 {offset}")
            place = self._line(f"getelementptr ptr, ptr %pointers, i64 {number}")
            self.lines.append(f"  store ptr {pointer}, ptr {place}")
        scratch = "null"
        if self.scratch_bytes.get(launch.key, 0):
            scratch = self._line(f"getelementptr i8, ptr %arena, i64 {_scratch_offset(self.plan)}")
        symbol = self.symbols[launch.key]
        status = self._line(f"call i32 @{symbol}(ptr %pointers, ptr {scratch})")
        self._check(status, self.launch)
        self.launch += 1

    def _check(self, status: str, launch: int) -> None:
        bad = self._line(f"icmp ne i32 {status}, 0")
        fine = self._label("next")
        self.lines.append(f"  br i1 {bad}, label %fail, label %{fine}")
        self.failures.append((self.block, status, launch))
        self._begin(fine)

    def _pointer(self, slot: Slot) -> str:
        if slot.place is Place.ARENA:
            return self._line(f"getelementptr i8, ptr %arena, i64 {slot.position + slot.offset}")
        if slot.position < 0:
            raise InternalError(f"a plan's {slot.place.value} has the number {slot.position}")
        number = self.first[slot.place] + slot.position
        place = self._line(f"getelementptr ptr, ptr %args, i64 {number}")
        pointer = self._line(f"load ptr, ptr {place}")
        if slot.offset:
            pointer = self._line(f"getelementptr i8, ptr {pointer}, i64 {slot.offset}")
        return pointer

    def _name(self) -> str:
        self.names += 1
        return f"%v{self.names}"

    def _line(self, text: str) -> str:
        name = self._name()
        self.lines.append(f"  {name} = {text}")
        return name

    def _label(self, stem: str) -> str:
        self.names += 1
        return f"{stem}{self.names}"

    def _jump(self, label: str) -> None:
        self.lines.append(f"  br label %{label}")
        self._begin(label)

    def _begin(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.block = label
