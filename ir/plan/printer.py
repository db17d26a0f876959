"""Plans as text.

    plan   ::= plan(arg0 : type, ...) arena N { step ... } -> (slot, ...)
    step   ::= kernel key name(slot, ...) -> (slot, ...) | copy slot -> slot
             | repeat n { step ... }
    slot   ::= place[+bytes] : type [strides (...)] [+bytes/turn]
    place  ::= arg0 | result0 | const0 | @offset

A slot that a kernel updates in place is printed among its operands with an exclamation mark.
"""

from __future__ import annotations

from ..graph.nodes import ArrayType
from .nodes import Copy, Launch, Place, Plan, Repeat, Slot, Step

_WORDS = {Place.ARGUMENT: "arg", Place.RESULT: "result", Place.CONSTANT: "const"}


def print_plan(plan: Plan) -> str:
    """The plan, one step a line."""
    head = ", ".join(_slot(s) for s in plan.arguments)
    lines = [f"plan({head}) arena {plan.arena_bytes} {{"]
    for step in plan.steps:
        lines.extend(_step(step, "  "))
    lines.append("} -> (" + ", ".join(_slot(s) for s in plan.results) + ")")
    return "\n".join(lines)


def _step(step: Step, indent: str) -> list[str]:
    match step:
        case Launch():
            return [indent + _launch(step)]
        case Copy(source, target):
            return [f"{indent}copy {_slot(source)} -> {_slot(target)}"]
        case Repeat(count, body):
            inner = [line for s in body for line in _step(s, indent + "  ")]
            return [f"{indent}repeat {count} {{", *inner, f"{indent}}}"]


def _launch(launch: Launch) -> str:
    donated = {i for i, _ in launch.group.donated}
    advance = launch.advance or (0,) * len(launch.slots)
    words = []
    for k, (slot, by) in enumerate(zip(launch.slots, advance, strict=True)):
        moves = f" +{by}/turn" if by else ""
        words.append(f"{'!' if k in donated else ''}{_slot(slot)}{moves}")
    reads = len(launch.group.inputs)
    operands, results = ", ".join(words[:reads]), ", ".join(words[reads:])
    arrow = f" -> ({results})" if results else ""
    return f"{launch.group.name} [{launch.key[:8]}] ({operands}){arrow}"


def _slot(slot: Slot) -> str:
    place = f"{_WORDS[slot.place]}{slot.position}" if slot.place in _WORDS else f"@{slot.position}"
    view = f"+{slot.offset}" if slot.offset else ""
    strides = f" strides {slot.strides}" if slot.strides is not None else ""
    return f"{place}{view} : {_type(slot.type)}{strides}"


def _type(type_: ArrayType) -> str:
    return f"{type_.dtype.name}[{', '.join(map(str, type_.shape))}]"
