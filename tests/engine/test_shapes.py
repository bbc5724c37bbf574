"""Dimension patterns and shape arithmetic, with their messages."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from munet.engine.errors import ShapeError
from munet.engine.shapes import (
    Dims,
    broadcast_shapes,
    normal_axes,
    parse_pattern,
    reduced_shape,
    resolve_reshape,
    window_count,
)

SHAPES = st.lists(st.integers(0, 4), max_size=4).map(tuple)


def test_patterns_bind_names_numbers_and_stars():
    dims = Dims()
    dims.match("conv", "x", "n c h w", (2, 3, 7, 9))
    dims.match("conv", "weight", "k c 1 *rest", (5, 3, 1, 4, 4))
    assert (dims.n, dims.k, dims.stars["rest"]) == (2, 5, (4, 4))
    assert dims.build("n k *rest 1") == (2, 5, 4, 4, 1)
    with pytest.raises(AttributeError):
        _ = dims.unknown


def test_a_star_takes_what_is_left_in_the_middle():
    dims = Dims()
    dims.match("op", "x", "first *middle last", (2, 3, 5, 7))
    assert dims.stars["middle"] == (3, 5)
    dims.match("op", "y", "first *middle last", (2, 5, 7))
    assert dims.stars["middle"] == (3, 5), "stars broadcast with each other"


def test_stars_that_are_not_bound_need_not_fit():
    dims = Dims()
    dims.match("concat", "x", "*any", (2, 3), bind_star=False)
    dims.match("concat", "x", "*any", (2, 5), bind_star=False)
    assert dims.stars == {}


@pytest.mark.parametrize(
    ("patterns", "shapes", "text"),
    [
        (["n c h w"], [(2, 3)], 'x0: x0 has shape [2, 3], 2 dimensions.\n  Rule: x0 of op is "n c h w", 4 dimensions.'),
        (["n *any"], [()], 'x0: x0 has shape [], 0 dimensions.\n  Rule: x0 of op is "n *any", at least 1 dimension.'),
        ([""], [(2,)], "x0: x0 has shape [2], 1 dimensions.\n  Rule: x0 of op is a single number."),
        (["n c", "c k"], [(2, 3), (4, 5)], 'x1: op.x1: dimension 0 (c) is 4, but op.x0 set c = 3.\n  Rule: x1 is "c k".'),
        (["n 3"], [(2, 4)], 'x0: op.x0: dimension 1 is 4.\n  Rule: x0 is "n 3".'),
        (
            ["*b", "*b"],
            [(2, 3), (2, 4)],
            "x1: op.x1 has [2, 4] where op.x0 has [2, 3].\n"
            "  Rule: shapes broadcast when each dimension, counted from the last, is equal or 1.",
        ),
    ],
)
def test_messages_name_both_sides(patterns: list[str], shapes: list[tuple[int, ...]], text: str):
    dims = Dims()
    with pytest.raises(ShapeError) as raised:
        for i, (pattern, shape) in enumerate(zip(patterns, shapes, strict=True)):
            dims.match("op", f"x{i}", pattern, shape)
    assert str(raised.value) == text


@pytest.mark.parametrize("pattern", ["*a *b", "n -3", "a+b"])
def test_bad_patterns(pattern: str):
    with pytest.raises(ValueError, match="pattern"):
        parse_pattern(pattern)


@given(SHAPES, SHAPES)
def test_broadcasting_is_that_of_numpy(a: tuple[int, ...], b: tuple[int, ...]):
    try:
        expected = np.broadcast_shapes(a, b)
    except ValueError:
        with pytest.raises(ValueError, match="do not broadcast"):
            broadcast_shapes(a, b)
    else:
        assert broadcast_shapes(a, b) == expected


@given(SHAPES, st.data())
def test_reductions_have_numpy_shapes(shape: tuple[int, ...], data: st.DataObject):
    axes = (
        tuple(data.draw(st.lists(st.integers(-len(shape), len(shape) - 1), unique_by=lambda a: a % len(shape)))) if shape else ()
    )
    for keepdims in (False, True):
        assert reduced_shape(shape, axes, keepdims) == np.zeros(shape).sum(axis=axes or None, keepdims=keepdims).shape


def test_axes():
    assert normal_axes((-1, 0, 2), 3) == (0, 2)
    with pytest.raises(ShapeError, match=r"axis 3 does not exist.\n  Rule: axes of a tensor of 3 dimensions are -3 to 2"):
        normal_axes((3,), 3)
    with pytest.raises(ShapeError, match="a single number has no axes"):
        normal_axes((0,), 0)


@pytest.mark.parametrize(
    ("shape", "target", "expected"),
    [((6, 5), (3, -1, 2), (3, 5, 2)), ((), (1, 1), (1, 1)), ((1,), (), ()), ((0, 3), (0, 7), (0, 7)), ((0, 3), (2, -1), (2, 0))],
)
def test_reshape(shape: tuple[int, ...], target: tuple[int, ...], expected: tuple[int, ...]):
    assert resolve_reshape(shape, target) == expected


@pytest.mark.parametrize("target", [(-1, -1), (7,), (4, -1), (-2, 3), (0, -1)])
def test_reshapes_that_do_not_go(target: tuple[int, ...]):
    with pytest.raises(ShapeError, match="cannot reshape"):
        resolve_reshape((2, 3), target)


@given(st.integers(0, 12), st.integers(1, 4), st.integers(1, 3), st.integers(0, 3), st.integers(1, 3))
def test_windows_are_counted_as_they_fit(size: int, kernel: int, stride: int, padding: int, dilation: int):
    last = size + 2 * padding - dilation * (kernel - 1)
    starts = range(0, last, stride)
    if len(starts) == 0:
        with pytest.raises(ShapeError, match="does not fit"):
            window_count(size, kernel, stride, padding, dilation)
    else:
        assert window_count(size, kernel, stride, padding, dilation) == len(starts)
