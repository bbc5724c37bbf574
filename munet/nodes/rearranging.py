"""More nodes of the palette's shape category: steps, flips and triangles, and layers made of the operators in shape_ops.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from munet.engine.builder import Builder
from munet.engine.declaring import layer, operator
from munet.engine.errors import ShapeError
from munet.engine.index import within
from munet.engine.ir.module import Shape, Value
from munet.engine.kernels import Indices, Site, View
from munet.engine.operator import Array, Choice, Grads, Input, Output, Param, Sample
from munet.engine.scalar import Divides, Expr, InRange, guarded
from munet.engine.shapes import normal_axes
from munet.nodes.samples import normal
from munet.nodes.shape_ops import concat, expand, pad, reshape, slice_

CATEGORY = "Shape"
X = {"x": Input("*any", "T:any")}
AXIS = Param(0, doc="counted from the end if negative")


def _flip(site: Site, index: Indices) -> Expr:
    axis = site.params["axis"] % len(index)
    return site.load("x", _flipped(site, index, axis))


def _flipped(site: Site, index: Indices, axis: int) -> Indices:
    last = site.shape("x")[axis] - 1
    return tuple(last - i if a == axis else i for a, i in enumerate(index))


def _same(shapes: Mapping[str, Any], params: Mapping[str, Any]) -> Shape:
    normal_axes((params["axis"],), len(shapes["x"]), "axis")
    return shapes["x"]


@operator(
    "flip",
    category=CATEGORY,
    inputs=X,
    params={"axis": AXIS},
    outputs={"y": Output(_same, doc="x's")},
    kernel=View(_flip, inverse=lambda site, index: _flipped(site, index, site.params["axis"] % len(index))),
    samples=[Sample({"x": normal(7, 11)}), Sample({"x": normal(2, 3, 5)}, {"axis": -1})],
)
def flip(x: Array, axis: int) -> Array:
    """x in reverse order along an axis.

    Formula: y[i] = x[n − 1 − i]
    """
    return np.flip(x, axis)


@flip.gradient
def flip_gradient(g: Value, axis: int) -> Grads:
    return {"x": flip(g, axis=axis)}


def _stepped(shapes: Mapping[str, Any], params: Mapping[str, Any]) -> Shape:
    shape = shapes["x"]
    (axis,) = normal_axes((params["axis"],), len(shape), "axis")
    start, step, length = params["start"], params["step"], params["length"]
    if length and start + (length - 1) * step >= shape[axis]:
        raise ShapeError(
            f"{length} elements {step} apart from {start} on, of a dimension of {shape[axis]}",
            rule="start + (length - 1) · step is within the dimension",
            socket="length",
        )
    return (*shape[:axis], length, *shape[axis + 1 :])


def _step(site: Site, index: Indices) -> Expr:
    axis = site.params["axis"] % len(index)
    start, step = site.params["start"], site.params["step"]
    return site.load("x", [i * step + start if a == axis else i for a, i in enumerate(index)])


STEPS = {"axis": AXIS, "start": Param(0, min=0), "step": Param(2, min=1), "length": Param(1, min=0)}


@operator(
    "stepped_slice",
    category=CATEGORY,
    inputs=X,
    params=STEPS,
    outputs={"y": Output(_stepped, doc="x's with `length` along the axis")},
    kernel=View(_step),
    samples=[
        Sample({"x": normal(7, 11)}, {"axis": 1, "start": 2, "step": 3, "length": 3}),
        Sample({"x": normal(7, 2)}, {"start": 0, "step": 2, "length": 4}),
    ],
    example=Sample({"x": [1.0, 2.0, 3.0, 4.0]}, {"start": 1, "step": 2, "length": 2}),
)
def stepped_slice(x: Array, axis: int, start: int, step: int, length: int) -> Array:
    """`length` elements along an axis, every `step`-th from `start` on.

    Formula: y[i] = x[start + step · i]
    """
    return np.take(x, range(start, start + length * step, step), axis=axis)


@stepped_slice.gradient
def stepped_slice_gradient(g: Value, x: Value, axis: int, start: int, step: int) -> Grads:
    return {"x": spread(g, axis=axis, start=start, step=step, length=x.shape[axis])}


def _spread_shape(shapes: Mapping[str, Any], params: Mapping[str, Any]) -> Shape:
    shape = shapes["x"]
    (axis,) = normal_axes((params["axis"],), len(shape), "axis")
    return (*shape[:axis], params["length"], *shape[axis + 1 :])


def _spread(site: Site, index: Indices) -> Expr:
    axis = site.params["axis"] % len(index)
    start, step, size = site.params["start"], site.params["step"], site.shape("x")[axis]
    moved = index[axis] - start
    place = moved // step
    value = site.load("x", [within(place, size) if a == axis else i for a, i in enumerate(index)])
    return guarded([InRange(moved, 0, 1 << 31), Divides(moved, step), InRange(place, 0, size)], value)


@operator(
    "spread",
    category=CATEGORY,
    inputs=X,
    params=STEPS,
    outputs={"y": Output(_spread_shape, doc="x's with `length` along the axis")},
    kernel=View(_spread),
    samples=[
        Sample({"x": normal(7, 3)}, {"axis": 1, "start": 2, "step": 3, "length": 11}),
        Sample({"x": normal(4, 2)}, {"start": 1, "step": 2, "length": 6}),
    ],
    example=Sample({"x": [1.0, 2.0]}, {"step": 2, "length": 4}),
)
def spread(x: Array, axis: int, start: int, step: int, length: int) -> Array:
    """x with zeros between its elements, `step` apart from `start` on: the transpose of stepped_slice.

    Formula: y[start + step · i] = x[i], 0 elsewhere
    """
    moved = np.moveaxis(x, axis, 0)
    y = np.zeros((length, *moved.shape[1:]), x.dtype)
    target = y[start::step]
    target[: len(moved)] = moved[: len(target)]
    return np.moveaxis(y, 0, axis)


@spread.gradient
def spread_gradient(g: Value, x: Value, axis: int, start: int, step: int) -> Grads:
    size = g.shape[axis]
    fits = min(x.shape[axis], max(0, -(-(size - start) // step)))
    taken = stepped_slice(g, axis=axis, start=start, step=step, length=fits)
    rest = x.shape[axis] - fits
    return {"x": pad(taken, axis=axis, after=rest) if rest else taken}


def _triangular(site: Site, index: Indices) -> Expr:
    row, column, diagonal = index[-2], index[-1], site.params["diagonal"]
    kept = row - column + diagonal if site.params["part"] == "lower" else column - row - diagonal
    return guarded([InRange(kept, 0, 1 << 31)], site.load("x", index))


@operator(
    "triangular",
    category=CATEGORY,
    inputs={"x": Input("*batch m n", "T:number")},
    params={"part": Choice("lower", "upper"), "diagonal": Param(0, doc="the last diagonal that is kept, 0 = the main one")},
    outputs={"y": Output("*batch m n")},
    kernel=View(_triangular),
    samples=[
        Sample({"x": normal(5, 7)}),
        Sample({"x": normal(2, 5, 3)}, {"part": "upper", "diagonal": -1}),
        Sample({"x": normal(2, 5, 3)}, {"part": "lower", "diagonal": -2}),
    ],
    example=Sample({"x": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]}),
)
def triangular(x: Array, part: str, diagonal: int) -> Array:
    """The lower or upper triangle of each matrix, zeros elsewhere.

    Formula:
        lower: y[i, j] = x[i, j] if j ≤ i + diagonal, else 0
        upper: y[i, j] = x[i, j] if j ≥ i + diagonal, else 0
    """
    return np.tril(x, diagonal) if part == "lower" else np.triu(x, diagonal)


@triangular.gradient
def triangular_gradient(g: Value, part: str, diagonal: int) -> Grads:
    return {"x": triangular(g, part=part, diagonal=diagonal)}


# -- layers ----------------------------------------------------------------------------------------------------------------


def unsqueezed(x: Value, axis: int) -> Value:
    """x with a dimension of size 1 more, which becomes number `axis`."""
    (axis,) = normal_axes((axis,), x.rank + 1, "axis")
    return reshape(x, shape=(*x.shape[:axis], 1, *x.shape[axis:]))


@layer(
    "unsqueeze",
    category=CATEGORY,
    inputs=X,
    params={"axis": AXIS},
    example=Sample({"x": [1.0, 2.0, 3.0]}),
    outputs={"y": Output("*wider", doc="x with a 1 at the axis")},
)
def unsqueeze(b: Builder, x: Value, axis: int) -> Value:
    """x with a dimension of size 1 more."""
    return unsqueezed(x, axis)


@layer(
    "squeeze",
    category=CATEGORY,
    inputs=X,
    params={"axes": Param((), doc="dimensions of size 1; none means all of these")},
    example=Sample({"x": [[1.0, 2.0, 3.0]]}),
    outputs={"y": Output("*narrower", doc="x without sizes of 1")},
)
def squeeze(b: Builder, x: Value, axes: tuple[int, ...]) -> Value:
    """x without dimensions of size 1."""
    chosen = normal_axes(axes, x.rank) if axes else range(x.rank)
    return reshape(x, shape=tuple(size for axis, size in enumerate(x.shape) if axis not in chosen or size != 1))


@layer(
    "stack",
    category=CATEGORY,
    inputs={"x": Input("*any", "T:any", variadic=True)},
    params={"axis": AXIS},
    example=Sample({"x": [[1.0, 2.0], [3.0, 4.0]]}),
    outputs={"y": Output("*wider", doc="x with a dimension more, at the axis: as many as there are wires")},
)
def stack(b: Builder, x: tuple[Value, ...], axis: int) -> Value:
    """Tensors of one shape side by side along a new dimension.

    Formula: y[k, …] = k-th x[…]
    """
    if any(piece.shape != x[0].shape for piece in x):
        raise ShapeError(
            f"cannot stack {[list(piece.shape) for piece in x]}",
            rule="all have the same shape",
            cure="concat joins along an axis",
            socket="x",
        )
    (axis,) = normal_axes((axis,), x[0].rank + 1, "axis")
    return concat(*(unsqueezed(piece, axis) for piece in x), axis=axis)


PARTS = 8


@layer(
    "split",
    category=CATEGORY,
    inputs=X,
    params={"axis": Param(-1), "parts": Param(2, min=1, max=PARTS, doc="how many; they use the outputs y1, y2, ...")},
    outputs={f"y{part + 1}": Output("*part", doc="so much of x along the axis") for part in range(PARTS)},
    example=Sample({"x": [1.0, 2.0, 3.0, 4.0]}),
)
def split(b: Builder, x: Value, axis: int, parts: int) -> dict[str, Value]:
    """x cut into equal parts along an axis."""
    (axis,) = normal_axes((axis,), x.rank, "axis")
    length, rest = divmod(x.shape[axis], parts)
    if rest:
        raise ShapeError(
            f"x has shape {list(x.shape)}", rule=f"its size along the axis is a multiple of parts = {parts}", socket="parts"
        )
    return {f"y{i + 1}": slice_(x, axis=axis, start=i * length, length=length) for i in range(parts)}


@layer(
    "repeat",
    category=CATEGORY,
    inputs=X,
    params={"times": Param((), doc="for each dimension, new ones in front included")},
    example=Sample({"x": [1.0, 2.0]}, {"times": (3,)}),
    outputs={"y": Output("*larger", doc="x with each size so many times")},
)
def repeat(b: Builder, x: Value, times: tuple[int, ...]) -> Value:
    """x side by side with itself, as numpy.tile: so many times along each dimension.

    Formula: y[i, j] = x[i mod m, j mod n]
    """
    if len(times) < x.rank or any(count < 0 for count in times):
        raise ShapeError(
            f"times is {list(times)}", rule=f"x has {x.rank} dimensions, each has a number from 0 on", socket="times"
        )
    shape = (*(1 for _ in range(len(times) - x.rank)), *x.shape)
    pairs = list(zip(times, shape, strict=True))
    apart = reshape(x, shape=tuple(size for _, own in pairs for size in (1, own)))
    wide = expand(apart, shape=tuple(size for pair in pairs for size in pair))
    return reshape(wide, shape=tuple(count * own for count, own in pairs))


@layer(
    "pad2d",
    category=CATEGORY,
    inputs={"x": Input("n c h w", "T:number")},
    params={
        "rows": Param((0, 0), min=0, doc="above and below"),
        "columns": Param((0, 0), min=0, doc="to the left and to the right"),
        "value": Param(0.0),
    },
    example=Sample({"x": normal(2, 3, 8, 8)}, {"rows": (1, 2), "columns": (3, 4)}),
    outputs={"y": Output("n c h_out w_out", doc="h_out = h + rows[0] + rows[1], w_out = w + columns[0] + columns[1]")},
)
def pad2d(b: Builder, x: Value, rows: tuple[int, int], columns: tuple[int, int], value: float) -> Value:
    """Images with a border of one value."""
    tall = pad(x, axis=2, before=rows[0], after=rows[1], value=value)
    return pad(tall, axis=3, before=columns[0], after=columns[1], value=value)
