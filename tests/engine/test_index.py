"""Index arithmetic against Python's own integers, by trying all values of small variables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from munet.engine.index import (
    Index,
    Var,
    const,
    evaluate,
    flatten,
    floor_divide,
    fresh,
    loaded,
    remainder,
    strides,
    unflatten,
    var,
    within,
)

SIZES = {"i": 5, "j": 1, "k": 4, "l": 3}
FACTORS = st.integers(-7, 7)
DIVISORS = st.integers(1, 13)


@st.composite
def indices(draw: st.DrawFn, depth: int = 3) -> Index:
    """Sums, multiples, quotients and remainders of a few variables."""
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        name = draw(st.sampled_from(sorted(SIZES)))
        return draw(st.sampled_from([var(name, SIZES[name]), const(draw(FACTORS))]))
    kind = draw(st.sampled_from(["add", "sub", "mul", "div", "mod"]))
    left = draw(indices(depth=depth - 1))
    if kind in ("add", "sub"):
        right = draw(indices(depth=depth - 1))
        return left + right if kind == "add" else left - right
    if kind == "mul":
        return left * draw(FACTORS)
    return left // draw(DIVISORS) if kind == "div" else left % draw(DIVISORS)


def variables(*all_of: Index) -> list[Var]:
    return sorted({atom for index in all_of for atom in index.atoms() if isinstance(atom, Var)}, key=lambda v: v.key)


def settings_of(*all_of: Index) -> Iterator[Mapping[Var, int]]:
    """Every value that the variables of some indices can take."""
    names = variables(*all_of)
    for numbers in product(*(range(v.size) for v in names)):
        yield dict(zip(names, numbers, strict=True))


@given(indices(), indices(), FACTORS, DIVISORS)
def test_arithmetic_is_that_of_integers(a: Index, b: Index, factor: int, divisor: int):
    results = a + b, a - b, a * factor, floor_divide(a, divisor), remainder(a, divisor), -a, a + factor, factor - a
    for at in settings_of(a, b):
        x, y = evaluate(a, at), evaluate(b, at)
        expected = x + y, x - y, x * factor, x // divisor, x % divisor, -x, x + factor, factor - x
        assert tuple(evaluate(result, at) for result in results) == expected


@given(indices())
def test_bounds_hold(a: Index):
    values = [evaluate(a, at) for at in settings_of(a)]
    assert a.low <= min(values)
    assert max(values) <= a.high


@given(indices(), DIVISORS)
def test_quotient_and_remainder_join_again(a: Index, divisor: int):
    joined = (a // divisor) * divisor + a % divisor
    assert all(evaluate(joined, at) == evaluate(a, at) for at in settings_of(a))


@given(indices(), indices())
def test_equal_sums_are_the_same_object_in_either_order(a: Index, b: Index):
    assert a + b == b + a
    assert hash(a + b) == hash(b + a)
    assert a - a == const(0)


SHAPES = st.lists(st.integers(1, 6), max_size=4).map(tuple)


@given(SHAPES)
def test_flatten_counts_in_row_major_order(shape: tuple[int, ...]):
    index = tuple(var(f"x{axis}", size) for axis, size in enumerate(shape))
    position = flatten(index, shape)
    seen = [evaluate(position, at) for at in settings_of(*index)]
    assert sorted(seen) == list(range(math.prod(shape)))
    for at in settings_of(*index):
        expected = sum(evaluate(i, at) * stride for i, stride in zip(index, strides(shape), strict=True))
        assert evaluate(position, at) == expected


@given(SHAPES)
def test_unflatten_is_divmod(shape: tuple[int, ...]):
    count = math.prod(shape)
    position = var("p", count)
    result = unflatten(position, shape)
    for number in range(count):
        at: dict[Var, int] = dict.fromkeys(variables(position), number)
        rest, expected = number, list[int]()
        for size in reversed(shape):
            rest, digit = divmod(rest, size)
            expected.insert(0, digit)
        assert [evaluate(i, at) for i in result] == expected


@given(SHAPES, st.data())
def test_a_reshape_there_and_back_is_nothing(shape: tuple[int, ...], data: st.DataObject):
    """The form is canonical: what cancels in numbers cancels in the expression."""
    index = tuple(var(f"x{axis}", size) for axis, size in enumerate(shape))
    other = data.draw(st.permutations(shape)) if shape else []
    there = unflatten(flatten(index, shape), other)
    assert unflatten(flatten(there, other), shape) == index


@given(st.lists(st.integers(2, 5), min_size=2, max_size=4).map(tuple), st.data())
def test_transposes_cancel_through_a_reshape(shape: tuple[int, ...], data: st.DataObject):
    order = data.draw(st.permutations(range(len(shape))))
    index = tuple(var(f"x{axis}", size) for axis, size in enumerate(shape))
    moved = [index[axis] for axis in order]
    moved_shape = [shape[axis] for axis in order]
    back = unflatten(flatten(moved, moved_shape), moved_shape)
    assert [back[order.index(axis)] for axis in range(len(shape))] == list(index)


@settings(max_examples=30)
@given(st.integers(2, 9), st.integers(2, 9))
def test_a_row_and_its_column_come_out_of_a_flat_position(rows: int, columns: int):
    r, c = var("r", rows), var("c", columns)
    position = r * columns + c
    assert position // columns == r
    assert position % columns == c


def test_variables_of_size_one_are_zero():
    assert var("i", 1) == fresh("i", 1) == loaded("anything", 1) == within(var("i", 5) - 2, 1) == const(0)


def test_loop_variables_differ_even_with_one_name():
    assert fresh("r", 4) != fresh("r", 4)
    assert var("r", 4) == var("r", 4)


def test_within_trusts_the_test_around_it():
    index = var("i", 8) - 2
    assert within(index, 4) // 4 == const(0)
    assert within(index, 4) % 4 == within(index, 4)
    assert within(var("i", 4), 4) == var("i", 4), "what is known anyway needs no promise"


@pytest.mark.parametrize("divisor", [0, -3])
def test_divisors_are_positive(divisor: int):
    for divide in (floor_divide, remainder):
        with pytest.raises(ValueError, match=f"divisor {divisor} is not positive"):
            divide(var("i", 4), divisor)
