"""Exact algebra of index expressions.

One canonical form (constant + ordered terms) makes equality structural. Two laws do the work of
floor-division and remainder: terms whose coefficient the divisor divides leave the operand, and
what is left goes altogether if its interval lies within one period. Intervals come from `ranges`:
symbol -> (low, high), both inclusive; a symbol that is missing there is unbounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import gcd, inf
from typing import TypeAlias

from .nodes import Atom, Dynamic, FloorDiv, Index, Mod, Symbol

Bound: TypeAlias = int | float
Ranges: TypeAlias = Mapping[Symbol, tuple[Bound, Bound]]
NO_RANGES: Ranges = {}

ZERO = Index(0)
ONE = Index(1)


def constant(value: int) -> Index:
    """The index that is always `value`."""
    return Index(int(value))


def of(atom: Atom | Index | int) -> Index:
    """An atom, an integer or an index as an index."""
    if isinstance(atom, Index):
        return atom
    if isinstance(atom, int):
        return Index(atom)
    return Index(0, ((atom, 1),))


def is_constant(index: Index, value: int | None = None) -> bool:
    """Whether the index has no terms (and equals `value`, if given)."""
    return not index.terms and (value is None or index.const == value)


def _key(atom: Atom) -> tuple[object, ...]:
    """A total order of atoms: symbols by age, then quotients, remainders, dynamic values."""
    match atom:
        case Symbol(serial=serial):
            return (0, serial)
        case FloorDiv(operand, divisor):
            return (1, divisor, _index_key(operand))
        case Mod(operand, divisor):
            return (2, divisor, _index_key(operand))
        case Dynamic():
            return (3, id(atom))


def _index_key(index: Index) -> tuple[object, ...]:
    return (len(index.terms), index.const, tuple((_key(a), c) for a, c in index.terms))


def make(const: int, coefficients: Mapping[Atom, int]) -> Index:
    """The canonical form of const + sum of coefficient * atom."""
    items = {a: c for a, c in coefficients.items() if c}
    # k*c * (x // c) + k * (x % c) -> k * x
    for atom in [a for a in items if isinstance(a, Mod)]:
        if not isinstance(atom, Mod) or atom not in items:
            continue
        quotient = FloorDiv(atom.operand, atom.divisor)
        k = items[atom]
        if items.get(quotient) == k * atom.divisor:
            del items[atom], items[quotient]
            return add(make(const, items), scale(atom.operand, k))
    if len(items) > 1:
        return Index(const, tuple(sorted(items.items(), key=lambda item: _key(item[0]))))
    return Index(const, tuple(items.items()))


def add(*parts: Index | int) -> Index:
    """The sum."""
    const = 0
    total: dict[Atom, int] = {}
    for part in parts:
        if isinstance(part, int):
            const += part
            continue
        const += part.const
        for atom, c in part.terms:
            total[atom] = total.get(atom, 0) + c
    return make(const, total)


def scale(index: Index, factor: int) -> Index:
    """index * factor."""
    if factor == 1:
        return index
    if factor == 0:
        return ZERO
    return Index(index.const * factor, tuple((a, c * factor) for a, c in index.terms))


def subtract(a: Index, b: Index | int) -> Index:
    """a - b."""
    return add(a, -b if isinstance(b, int) else scale(b, -1))


def bounds(index: Index, ranges: Ranges = NO_RANGES) -> tuple[Bound, Bound]:
    """An interval (inclusive) that holds every value the index takes."""
    low: Bound = index.const
    high: Bound = index.const
    for atom, c in index.terms:
        a, b = _atom_bounds(atom, ranges)
        if c < 0:
            a, b = b, a
        low += a * c
        high += b * c
    return low, high


def _atom_bounds(atom: Atom, ranges: Ranges) -> tuple[Bound, Bound]:
    match atom:
        case Symbol():
            return ranges.get(atom, (-inf, inf))
        case Dynamic(low=low, high=high):
            return low, high
        case FloorDiv(operand, divisor):
            a, b = bounds(operand, ranges)
            return (
                a // divisor if isinstance(a, int) else a,
                b // divisor if isinstance(b, int) else b,
            )
        case Mod(operand, divisor):
            a, b = bounds(operand, ranges)
            if isinstance(a, int) and isinstance(b, int) and a // divisor == b // divisor:
                return a % divisor, b % divisor
            return 0, divisor - 1


def _divide_out(index: Index, divisor: int) -> tuple[Index, Index]:
    """(q, r) with index = divisor * q + r, and r free of what the divisor divides."""
    q = tuple((a, c // divisor) for a, c in index.terms if c % divisor == 0)
    r = tuple((a, c) for a, c in index.terms if c % divisor)
    return Index(index.const // divisor, q), Index(index.const % divisor, r)


def _periods(rest: Index, divisor: int) -> list[int]:
    """Common factors of the divisor and some coefficient, largest first."""
    return sorted({gcd(divisor, c) for _, c in rest.terms} - {1, divisor}, reverse=True)


def floor_divide(index: Index, divisor: int, ranges: Ranges = NO_RANGES) -> Index:
    """floor(index / divisor) for a positive divisor."""
    if divisor <= 0:
        raise ValueError(f"divisor {divisor} is not positive")
    if divisor == 1:
        return index
    quotient, rest = _divide_out(index, divisor)
    low, high = bounds(rest, ranges)
    if isinstance(low, int) and isinstance(high, int) and low // divisor == high // divisor:
        return add(quotient, low // divisor)
    # floor((g*r + k) / (g*d)) = floor((r + k//g) / d)
    common = gcd(divisor, *(c for _, c in rest.terms))
    if common > 1:
        inner = Index(rest.const // common, tuple((a, c // common) for a, c in rest.terms))
        return add(quotient, floor_divide(inner, divisor // common, ranges))
    # floor((g*x + r) / (g*d)) = floor(x / d) where 0 <= r < g
    for common in _periods(rest, divisor):
        whole, part = _divide_out(rest, common)
        low, high = bounds(part, ranges)
        if 0 <= low and high < common:
            return add(quotient, floor_divide(whole, divisor // common, ranges))
    # floor((floor(x/a) + k) / b) = floor((x + k*a) / (a*b))
    if len(rest.terms) == 1:
        atom, c = rest.terms[0]
        if c == 1 and isinstance(atom, FloorDiv):
            inner = add(atom.operand, rest.const * atom.divisor)
            return add(quotient, floor_divide(inner, atom.divisor * divisor, ranges))
    return add(quotient, of(FloorDiv(rest, divisor)))


def modulo(index: Index, divisor: int, ranges: Ranges = NO_RANGES) -> Index:
    """index - divisor * floor(index / divisor) for a positive divisor."""
    if divisor <= 0:
        raise ValueError(f"divisor {divisor} is not positive")
    if divisor == 1:
        return ZERO
    _, rest = _divide_out(index, divisor)
    low, high = bounds(rest, ranges)
    if isinstance(low, int) and isinstance(high, int) and low // divisor == high // divisor:
        return add(rest, -divisor * (low // divisor))
    # (g*x + r) % (g*d) = g * (x % d) + r where 0 <= r < g
    for common in _periods(rest, divisor):
        whole, part = _divide_out(rest, common)
        low, high = bounds(part, ranges)
        if 0 <= low and high < common:
            return add(scale(modulo(whole, divisor // common, ranges), common), part)
    # (x % (m*d) + r) % d = (x + r) % d
    for position, (atom, c) in enumerate(rest.terms):
        if isinstance(atom, Mod) and atom.divisor % divisor == 0:
            others = Index(rest.const, rest.terms[:position] + rest.terms[position + 1 :])
            return modulo(add(others, scale(atom.operand, c)), divisor, ranges)
    # (g*r + k) % (g*d) = g * ((r + k//g) % d) + k % g
    common = gcd(divisor, *(c for _, c in rest.terms))
    if common > 1:
        inner = Index(rest.const // common, tuple((a, c // common) for a, c in rest.terms))
        return add(scale(modulo(inner, divisor // common, ranges), common), rest.const % common)
    return of(Mod(rest, divisor))


def symbols(index: Index) -> frozenset[Symbol]:
    """The symbols that the index depends on (not those inside dynamic values)."""
    found: set[Symbol] = set()
    for atom, _ in index.terms:
        if isinstance(atom, Symbol):
            found.add(atom)
        elif isinstance(atom, FloorDiv | Mod):
            found |= symbols(atom.operand)
    return frozenset(found)


def dynamics(index: Index) -> tuple[Dynamic, ...]:
    """The run-time values inside the index."""
    found: list[Dynamic] = []
    for atom, _ in index.terms:
        if isinstance(atom, Dynamic):
            found.append(atom)
        elif isinstance(atom, FloorDiv | Mod):
            found.extend(dynamics(atom.operand))
    return tuple(found)


def coefficient(index: Index, symbol: Symbol) -> int | None:
    """The coefficient of symbol, 0 if absent; None if it also stands inside a div or mod."""
    result = 0
    for atom, c in index.terms:
        if atom is symbol:
            result = c
        elif not isinstance(atom, Symbol | Dynamic) and symbol in symbols(atom.operand):
            return None
    return result


def substitute(
    index: Index,
    mapping: Mapping[Symbol, Index],
    ranges: Ranges = NO_RANGES,
    dynamic: Mapping[Dynamic, Dynamic] | None = None,
) -> Index:
    """The index with symbols replaced, simplified under `ranges` (of the new symbols)."""
    parts: list[Index | int] = [index.const]
    for atom, c in index.terms:
        match atom:
            case Symbol():
                new = mapping.get(atom)
                parts.append(Index(0, ((atom, c),)) if new is None else scale(new, c))
            case FloorDiv(operand, divisor):
                inner = substitute(operand, mapping, ranges, dynamic)
                parts.append(scale(floor_divide(inner, divisor, ranges), c))
            case Mod(operand, divisor):
                inner = substitute(operand, mapping, ranges, dynamic)
                parts.append(scale(modulo(inner, divisor, ranges), c))
            case Dynamic():
                parts.append(Index(0, (((dynamic or {}).get(atom, atom), c),)))
    return add(*parts)


def under(index: Index, conditions: Iterable[Index], ranges: Ranges) -> Index:
    """The index simplified where every condition is >= 0 (it may differ elsewhere).

    A condition `k0 - k * x - rest >= 0` bounds x, and so settles a quotient or remainder of x that
    its symbols' ranges alone leave open.
    """
    known = tuple(conditions)
    parts: list[Index | int] = [index.const]
    for atom, c in index.terms:
        if isinstance(atom, FloorDiv | Mod):
            operand = under(atom.operand, known, ranges)
            low, high = _bounds_under(operand, known, ranges)
            period = low // atom.divisor
            if low > -inf and high < inf and period == high // atom.divisor:
                settled = isinstance(atom, FloorDiv)
                parts.append(
                    scale(
                        constant(int(period))
                        if settled
                        else subtract(operand, atom.divisor * int(period)),
                        c,
                    )
                )
                continue
            divide = floor_divide if isinstance(atom, FloorDiv) else modulo
            parts.append(scale(divide(operand, atom.divisor, ranges), c))
        else:
            parts.append(Index(0, ((atom, c),)))
    return add(*parts)


def _bounds_under(
    index: Index, conditions: tuple[Index, ...], ranges: Ranges
) -> tuple[Bound, Bound]:
    """An interval of the index where the conditions hold."""
    low, high = bounds(index, ranges)
    if not index.terms:
        return low, high
    for condition in conditions:
        coefficients = dict(condition.terms)
        first, c = index.terms[0]
        k, uneven = divmod(coefficients.get(first, 0), c)
        if uneven or not k:
            continue
        moving = Index(0, index.terms)
        rest = subtract(condition, scale(moving, k))
        if any(atom in dict(rest.terms) for atom, _ in index.terms):
            continue
        _, most = bounds(rest, ranges)  # k * moving + rest >= 0
        if most == inf:
            continue
        if k > 0:
            low = max(low, -(int(most) // k) + index.const)
        else:
            high = min(high, int(most) // -k + index.const)
    return low, high


def flatten(index: Iterable[Index], strides: Iterable[int]) -> Index:
    """The sum of index * stride: a position in elements."""
    return add(*(scale(i, s) for i, s in zip(index, strides, strict=True)))


def evaluate(index: Index, values: Mapping[Symbol, int], dynamic: Mapping[Dynamic, int]) -> int:
    """The integer that the index is, given all its symbols and run-time values."""
    total = index.const
    for atom, c in index.terms:
        match atom:
            case Symbol():
                total += c * values[atom]
            case Dynamic():
                total += c * dynamic[atom]
            case FloorDiv(operand, divisor):
                total += c * (evaluate(operand, values, dynamic) // divisor)
            case Mod(operand, divisor):
                total += c * (evaluate(operand, values, dynamic) % divisor)
    return total
