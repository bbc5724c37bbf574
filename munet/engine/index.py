"""Index arithmetic: integer expressions over bounded variables, kept in one canonical form.

Reshape, transpose, slice, pad and concat are not copies here: they rewrite the index at which their input is read.
So that such rewrites cancel (a reshape and its inverse, a transpose of a transpose) every expression is a sum
`const + sum(coefficient * atom)`, where an atom is a variable, a quotient, a remainder or a number loaded from a buffer, and
bounds are known throughout. Division and remainder are those of Python: they round down.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

_serials = itertools.count(1)


@dataclass(frozen=True)
class Var:
    """A loop variable or grid coordinate, 0 .. size-1. Loop variables have a serial of their own, so that loops can nest."""

    text: str
    size: int
    serial: int = 0

    @property
    def key(self) -> tuple[Any, ...]:
        return (0, self.serial, self.text)

    @property
    def low(self) -> int:
        return 0

    @property
    def high(self) -> int:
        return max(self.size - 1, 0)


@dataclass(frozen=True)
class Quotient:
    """inner // divisor, rounded down."""

    inner: Index
    divisor: int

    @cached_property
    def key(self) -> tuple[Any, ...]:
        return (1, self.divisor, self.inner.key)

    @property
    def low(self) -> int:
        return self.inner.low // self.divisor

    @property
    def high(self) -> int:
        return self.inner.high // self.divisor


@dataclass(frozen=True)
class Remainder:
    """inner % divisor, never negative."""

    inner: Index
    divisor: int

    @cached_property
    def key(self) -> tuple[Any, ...]:
        return (2, self.divisor, self.inner.key)

    @property
    def low(self) -> int:
        return 0

    @property
    def high(self) -> int:
        return self.divisor - 1


@dataclass(frozen=True)
class Loaded:
    """A whole number that a scalar expression gives at run time; whoever makes it sees to it that it is in 0 .. size-1."""

    expression: Any
    size: int

    @cached_property
    def key(self) -> tuple[Any, ...]:
        return (3, self.size, str(self.expression))

    @property
    def low(self) -> int:
        return 0

    @property
    def high(self) -> int:
        return max(self.size - 1, 0)


@dataclass(frozen=True)
class Within:
    """`inner`, known by a test around it to lie in 0 .. size-1: so that what is computed from it can be simplified."""

    inner: Index
    size: int

    @cached_property
    def key(self) -> tuple[Any, ...]:
        return (4, self.size, self.inner.key)

    @property
    def low(self) -> int:
        return 0

    @property
    def high(self) -> int:
        return max(self.size - 1, 0)


Atom = Var | Quotient | Remainder | Loaded | Within


@dataclass(frozen=True)
class Index:
    """const + sum of coefficient * atom; terms are sorted, coefficients are not zero. Build with the functions below."""

    const: int = 0
    terms: tuple[tuple[Atom, int], ...] = ()

    @cached_property
    def low(self) -> int:
        return self.const + sum(c * (atom.low if c > 0 else atom.high) for atom, c in self.terms)

    @cached_property
    def high(self) -> int:
        return self.const + sum(c * (atom.high if c > 0 else atom.low) for atom, c in self.terms)

    @cached_property
    def key(self) -> tuple[Any, ...]:
        """Orders expressions the same way in every process: serials only matter relative to each other."""
        return (self.const, tuple((c, atom.key) for atom, c in self.terms))

    @cached_property
    def _hash(self) -> int:
        return hash((self.const, self.terms))

    def __hash__(self) -> int:
        return self._hash

    @property
    def is_const(self) -> bool:
        return not self.terms

    def __add__(self, other: Index | int) -> Index:
        if isinstance(other, int):
            return Index(self.const + other, self.terms) if other else self
        return add(self, other)

    __radd__ = __add__

    def __neg__(self) -> Index:
        return self * -1

    def __sub__(self, other: Index | int) -> Index:
        return self + (-other)

    def __rsub__(self, other: int) -> Index:
        return -self + other

    def __mul__(self, factor: int) -> Index:
        if factor == 0:
            return ZERO
        return self if factor == 1 else Index(self.const * factor, tuple((atom, c * factor) for atom, c in self.terms))

    __rmul__ = __mul__

    def __floordiv__(self, divisor: int) -> Index:
        return floor_divide(self, divisor)

    def __mod__(self, divisor: int) -> Index:
        return remainder(self, divisor)

    def atoms(self) -> Iterable[Atom]:
        """All atoms, those inside quotients and remainders included."""
        for atom, _ in self.terms:
            yield atom
            if isinstance(atom, Quotient | Remainder | Within):
                yield from atom.inner.atoms()


ZERO = Index()


def const(number: int) -> Index:
    return Index(number)


def var(text: str, size: int) -> Index:
    """A named coordinate as an index; one of size 1 is simply 0."""
    return Index(0, ((Var(text, size), 1),)) if size != 1 else ZERO


def fresh(text: str, size: int) -> Index:
    """A new loop variable, different from all others."""
    return Index(0, ((Var(text, size, next(_serials)), 1),)) if size != 1 else ZERO


def within(index: Index, size: int) -> Index:
    """The index, for use where a test has made sure that it lies in 0 .. size-1."""
    if index.low >= 0 and index.high < size:
        return index
    return Index(0, ((Within(index, size), 1),)) if size != 1 else ZERO


def loaded(expression: Any, size: int) -> Index:
    return Index(0, ((Loaded(expression, size), 1),)) if size != 1 else ZERO


def add(left: Index, right: Index) -> Index:
    if left.is_const:
        return Index(left.const + right.const, right.terms)
    if right.is_const:
        return Index(left.const + right.const, left.terms)
    sums: dict[Atom, int] = dict(left.terms)
    for atom, c in right.terms:
        sums[atom] = sums.get(atom, 0) + c
    return _rejoin(left.const + right.const, {atom: c for atom, c in sums.items() if c})


def _canonical(constant: int, sums: Mapping[Atom, int]) -> Index:
    return Index(constant, tuple(sorted(sums.items(), key=_order)))


def _order(term: tuple[Atom, int]) -> tuple[Any, ...]:
    atom, c = term
    return (-abs(c), atom.key)


def _rejoin(constant: int, sums: dict[Atom, int]) -> Index:
    """Canonical form, with d*k*(x // d) + k*(x % d) put together again as k*x."""
    for atom, k in sums.items():
        if not isinstance(atom, Remainder):
            continue
        quotient = atom.inner // atom.divisor
        if quotient.const == 0 and len(quotient.terms) == 1 and quotient.terms[0][1] == 1:
            partner = quotient.terms[0][0]
            if sums.get(partner) == k * atom.divisor:
                rest = {a: c for a, c in sums.items() if a not in (atom, partner)}
                return add(_canonical(constant, rest), atom.inner * k)
        for partner, c in sums.items():
            if c != k * atom.divisor or not isinstance(partner, Quotient) or partner.divisor != atom.divisor:
                continue
            if _congruent(partner.inner, atom.inner, atom.divisor):
                rest = {a: c for a, c in sums.items() if a not in (atom, partner)}
                return add(_canonical(constant, rest), partner.inner * k)
    return _canonical(constant, sums)


def _congruent(left: Index, right: Index, divisor: int) -> bool:
    """Whether both always have the same remainder: remainders drop multiples of the divisor, quotients cannot."""
    difference = left - right
    return difference.const % divisor == 0 and all(c % divisor == 0 for _, c in difference.terms)


def floor_divide(index: Index, divisor: int) -> Index:
    if divisor <= 0:
        raise ValueError(f"divisor {divisor} is not positive")
    if divisor == 1:
        return index
    whole = Index(index.const // divisor, tuple((a, c // divisor) for a, c in index.terms if c % divisor == 0))
    rest = Index(index.const % divisor, tuple((a, c) for a, c in index.terms if c % divisor))
    if rest.low // divisor == rest.high // divisor:
        return whole + rest.low // divisor
    common = math.gcd(divisor, *(c for _, c in rest.terms))
    if common > 1:  # floor((g x + r) / (g d)) = floor(x / d) for 0 <= r < g
        shrunk = Index(rest.const // common, tuple((a, c // common) for a, c in rest.terms))
        return whole + floor_divide(shrunk, divisor // common)
    if rest.const == 0 and len(rest.terms) == 1 and rest.terms[0][1] == 1 and isinstance(rest.terms[0][0], Quotient):
        inner = rest.terms[0][0]
        return whole + floor_divide(inner.inner, inner.divisor * divisor)
    return add(whole, Index(0, ((Quotient(rest, divisor), 1),)))


def remainder(index: Index, divisor: int) -> Index:
    if divisor <= 0:
        raise ValueError(f"divisor {divisor} is not positive")
    if divisor == 1:
        return ZERO
    rest = Index(index.const % divisor, tuple((a, c % divisor) for a, c in index.terms if c % divisor))
    if rest.low // divisor == rest.high // divisor:
        return rest - (rest.low // divisor) * divisor
    common = math.gcd(divisor, *(c for _, c in rest.terms))
    if common > 1:  # (g x + r) % (g d) = g (x % d) + r for 0 <= r < g
        shrunk = Index(rest.const // common, tuple((a, c // common) for a, c in rest.terms))
        return remainder(shrunk, divisor // common) * common + rest.const % common
    if rest.const == 0 and len(rest.terms) == 1 and rest.terms[0][1] == 1 and isinstance(rest.terms[0][0], Remainder):
        inner = rest.terms[0][0]
        if inner.divisor % divisor == 0:
            return remainder(inner.inner, divisor)
    return Index(0, ((Remainder(rest, divisor), 1),))


def flatten(indices: Sequence[Index], shape: Sequence[int]) -> Index:
    """Row-major position of an element."""
    total = ZERO
    stride = 1
    for index, size in zip(reversed(indices), reversed(shape), strict=True):
        total = total + index * stride
        stride *= size
    return total


def unflatten(position: Index, shape: Sequence[int]) -> tuple[Index, ...]:
    """The element's indices from its row-major position; the first is left unreduced, as the position is in range."""
    indices: list[Index] = []
    for axis in range(len(shape) - 1, -1, -1):
        size = max(shape[axis], 1)
        indices.append(position % size if axis and size > 1 else (position if axis == 0 else ZERO))
        position = position // size
    return tuple(reversed(indices))


def strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides in elements."""
    out = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        out[axis] = out[axis + 1] * shape[axis + 1]
    return tuple(out)


def evaluate(index: Index, values: Mapping[Var, int]) -> int:
    """The number for given variables; for tests and for judging generated code."""

    def atom_value(atom: Atom) -> int:
        if isinstance(atom, Var):
            return values[atom]
        if isinstance(atom, Quotient):
            return evaluate(atom.inner, values) // atom.divisor
        if isinstance(atom, Remainder):
            return evaluate(atom.inner, values) % atom.divisor
        if isinstance(atom, Within):
            return evaluate(atom.inner, values)
        raise TypeError("a loaded index has no value here")

    return index.const + sum(c * atom_value(atom) for atom, c in index.terms)
