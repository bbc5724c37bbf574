"""Operators that rearrange elements. None of them is a copy on the device: they are index arithmetic in whoever reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from munet.engine.declaring import not_differentiable, operator
from munet.engine.errors import ShapeError
from munet.engine.index import Index, flatten, unflatten, within
from munet.engine.ir.module import Shape, Value
from munet.engine.kernels import Indices, Site, View
from munet.engine.operator import Array, Grads, Input, Output, Param, Sample
from munet.engine.scalar import Expr, InRange, Where, guarded
from munet.engine.shapes import broadcast_shapes, normal_axes, resolve_reshape
from munet.nodes.samples import normal

CATEGORY = "Shape"
X = {"x": Input("*any", "T:any")}


def _reshape(site: Site, index: Indices) -> Expr:
    position = flatten(index, site.op.output.shape)
    return site.load("x", unflatten(position, site.shape("x")))


def _reshaped(site: Site, index: Indices) -> Indices:
    return unflatten(flatten(index, site.shape("x")), site.op.output.shape)


@operator(
    "reshape",
    category=CATEGORY,
    inputs=X,
    params={"shape": Param((), doc="sizes; one may be -1 and is worked out")},
    outputs={"y": Output(lambda shapes, params: resolve_reshape(shapes["x"], params["shape"]), doc="`shape`")},
    kernel=View(_reshape, inverse=_reshaped),
    samples=[Sample({"x": normal(6, 5)}, {"shape": (3, -1, 2)}), Sample({"x": normal(1)}, {"shape": ()})],
    example=Sample({"x": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]}, {"shape": (3, -1)}),
)
def reshape(x: Array, shape: Shape) -> Array:
    """The same elements in the same order under another shape."""
    return x.reshape(resolve_reshape(x.shape, shape))


@reshape.gradient
def reshape_gradient(g: Value, x: Value) -> Grads:
    return {"x": reshape(g, shape=x.shape)}


@operator(
    "flatten",
    category=CATEGORY,
    inputs={"x": Input("n *any", "T:any")},
    kernel=View(_reshape, inverse=_reshaped),
    samples=[Sample({"x": normal(3, 5, 2)})],
    outputs={
        "y": Output(
            lambda shapes, params: (shapes["x"][0], int(np.prod(shapes["x"][1:]))),
            doc="[n m]: m is the product of x's other sizes",
        )
    },
)
def flatten_op(x: Array) -> Array:
    """Everything after the first dimension in one."""
    return x.reshape(x.shape[0], -1)


@flatten_op.gradient
def flatten_gradient(g: Value, x: Value) -> Grads:
    return {"x": reshape(g, shape=x.shape)}


def _order(axes: tuple[int, ...], rank: int) -> tuple[int, ...]:
    order = axes or tuple(reversed(range(rank)))
    if sorted(axis % max(rank, 1) for axis in order) != list(range(rank)):
        raise ShapeError(
            f"axes {list(axes)} do not order {rank} dimensions", rule="axes names every dimension once", socket="axes"
        )
    return tuple(axis % rank for axis in order)


def _transposed(shapes: Mapping[str, Any], params: Mapping[str, Any]) -> Shape:
    shape = shapes["x"]
    return tuple(shape[axis] for axis in _order(params["axes"], len(shape)))


def _transpose(site: Site, index: Indices) -> Expr:
    order = _order(site.params["axes"], len(site.shape("x")))
    return site.load("x", [index[order.index(axis)] for axis in range(len(order))])


def _moved(site: Site, index: Indices) -> Indices:
    return tuple(index[axis] for axis in _order(site.params["axes"], len(index)))


@operator(
    "transpose",
    category=CATEGORY,
    inputs=X,
    params={"axes": Param((), doc="order of the dimensions; none means reversed")},
    outputs={"y": Output(_transposed, doc="x's sizes in the order of `axes`")},
    kernel=View(_transpose, inverse=_moved),
    samples=[Sample({"x": normal(7, 11)}), Sample({"x": normal(2, 3, 5)}, {"axes": (1, 2, 0)})],
    example=Sample({"x": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]}),
)
def transpose(x: Array, axes: tuple[int, ...]) -> Array:
    """Dimensions in another order; none given means reversed.

    Formula: y[i, j] = x[j, i]
    """
    return np.transpose(x, _order(axes, x.ndim))


@transpose.gradient
def transpose_gradient(g: Value, x: Value, axes: tuple[int, ...]) -> Grads:
    order = _order(axes, x.rank)
    return {"x": transpose(g, axes=tuple(order.index(axis) for axis in range(x.rank)))}


def _expanded(shapes: Mapping[str, Any], params: Mapping[str, Any]) -> Shape:
    shape = params["shape"]
    try:
        if broadcast_shapes(shapes["x"], shape) == shape:
            return shape
    except ValueError:
        pass  # the error below says it
    raise ShapeError(
        f"cannot expand {list(shapes['x'])} to {list(shape)}", rule="each size is kept or grows from 1", socket="shape"
    )


@operator(
    "expand",
    category=CATEGORY,
    inputs=X,
    params={"shape": Param((), doc="the shape to broadcast to")},
    outputs={"y": Output(_expanded, doc="`shape`")},
    kernel=View(lambda site, index: site.load_broadcast("x", index)),
    samples=[Sample({"x": normal(5, 1)}, {"shape": (3, 5, 7)}), Sample({"x": normal()}, {"shape": (4,)})],
    example=Sample({"x": [[1.0], [2.0]]}, {"shape": (2, 3)}),
)
def expand(x: Array, shape: Shape) -> Array:
    """Repeats along dimensions of size 1, as NumPy broadcasts."""
    return np.broadcast_to(x, shape)


@expand.gradient
def expand_gradient(g: Value, x: Value) -> Grads:
    return {"x": g}  # autodiff sums over broadcast dimensions


def filled(number: float, shape: Shape) -> Value:
    """A tensor of one number everywhere, as f32."""
    return expand(number, shape=shape)


def _sliced(shapes: Mapping[str, Any], params: Mapping[str, Any]) -> Shape:
    shape = shapes["x"]
    (axis,) = normal_axes((params["axis"],), len(shape), "axis")
    start, length = params["start"], params["length"]
    if start + length > shape[axis]:
        raise ShapeError(
            f"slice {start} to {start + length} of a dimension of {shape[axis]}",
            rule="start + length is within the dimension",
            socket="start",
        )
    return (*shape[:axis], length, *shape[axis + 1 :])


def _slice(site: Site, index: Indices) -> Expr:
    axis = site.params["axis"] % len(index)
    return site.load("x", [i + site.params["start"] if a == axis else i for a, i in enumerate(index)])


@operator(
    "slice",
    category=CATEGORY,
    inputs=X,
    outputs={"y": Output(_sliced, doc="x's with `length` along the axis")},
    kernel=View(_slice),
    params={"axis": Param(0), "start": Param(0, min=0), "length": Param(1, min=0)},
    samples=[Sample({"x": normal(7, 11)}, {"axis": 1, "start": 3, "length": 5})],
    example=Sample({"x": [1.0, 2.0, 3.0, 4.0]}, {"start": 1, "length": 2}),
)
def slice_(x: Array, axis: int, start: int, length: int) -> Array:
    """`length` elements from `start` on, along one axis.

    Formula: y[i] = x[start + i]
    """
    return np.take(x, range(start, start + length), axis=axis)


@slice_.gradient
def slice_gradient(g: Value, x: Value, axis: int, start: int, length: int) -> Grads:
    after = x.shape[axis % x.rank] - start - length
    return {"x": pad(g, axis=axis, before=start, after=after)}


def _padded(shapes: Mapping[str, Any], params: Mapping[str, Any]) -> Shape:
    shape = shapes["x"]
    (axis,) = normal_axes((params["axis"],), len(shape), "axis")
    return (*shape[:axis], shape[axis] + params["before"] + params["after"], *shape[axis + 1 :])


def _pad(site: Site, index: Indices) -> Expr:
    axis = site.params["axis"] % len(index)
    moved = index[axis] - site.params["before"]
    size = site.shape("x")[axis]
    value = site.load("x", [within(moved, size) if a == axis else i for a, i in enumerate(index)])
    return guarded([InRange(moved, 0, size)], value, site.params["value"])


@operator(
    "pad",
    category=CATEGORY,
    inputs=X,
    outputs={"y": Output(_padded, doc="x's with `before` + `after` more along the axis")},
    kernel=View(_pad),
    params={"axis": Param(0), "before": Param(0, min=0), "after": Param(0, min=0), "value": Param(0.0)},
    samples=[
        Sample({"x": normal(7, 11)}, {"axis": 1, "before": 2, "after": 3}),
        Sample({"x": normal(3, 5)}, {"before": 1, "value": -2.5}),
    ],
    example=Sample({"x": [1.0, 2.0, 3.0, 4.0]}, {"before": 1, "after": 2}),
)
def pad(x: Array, axis: int, before: int, after: int, value: float) -> Array:
    """One value, zero unless said otherwise, before and after, along one axis.

    Formula: y[i] = x[i − before] if 0 ≤ i − before < n, else value
    """
    width = [(before, after) if a == axis % x.ndim else (0, 0) for a in range(x.ndim)]
    return np.pad(x, width, constant_values=value)


@pad.gradient
def pad_gradient(g: Value, x: Value, axis: int, before: int) -> Grads:
    return {"x": slice_(g, axis=axis, start=before, length=x.shape[axis % x.rank])}


def _concatenated(shapes: Mapping[str, Any], params: Mapping[str, Any]) -> Shape:
    all_shapes = shapes["x"]
    (axis,) = normal_axes((params["axis"],), len(all_shapes[0]), "axis")
    for shape in all_shapes[1:]:
        if len(shape) != len(all_shapes[0]) or any(
            a != b for i, (a, b) in enumerate(zip(shape, all_shapes[0], strict=True)) if i != axis
        ):
            raise ShapeError(
                f"cannot concatenate {[list(s) for s in all_shapes]} along axis {axis}",
                rule="all other dimensions are equal",
                socket="x",
            )
    first = all_shapes[0]
    return (*first[:axis], sum(shape[axis] for shape in all_shapes), *first[axis + 1 :])


def _concat(site: Site, index: Indices) -> Expr:
    axis = site.params["axis"] % len(index)
    slots = site.slots("x")
    starts = [0]
    for slot in slots:
        starts.append(starts[-1] + site.op.inputs[slot].shape[axis])

    def piece(which: int) -> Expr:
        size = starts[which + 1] - starts[which]
        return site.load(slots[which], [within(i - starts[which], size) if a == axis else i for a, i in enumerate(index)])

    result = piece(len(slots) - 1)
    for which in reversed(range(len(slots) - 1)):
        result = Where(InRange(index[axis], 0, starts[which + 1]), piece(which), result)
    return result


@operator(
    "concat",
    category=CATEGORY,
    inputs={"x": Input("*any", "T:any", variadic=True)},
    params={"axis": Param(0)},
    kernel=View(_concat),
    outputs={"y": Output(_concatenated, doc="their sizes along the axis add up, the others are equal")},
    samples=[Sample({"x": [normal(2, 3), normal(2, 1), normal(2, 5)]}, {"axis": 1}), Sample({"x": [normal(4)]})],
)
def concat(*x: Array, axis: int) -> Array:
    """Tensors one after the other along an axis."""
    return np.concatenate(x, axis=axis)


@concat.gradient
def concat_gradient(g: Value, x: tuple[Value, ...], axis: int) -> Grads:
    grads, start = [], 0
    for piece in x:
        length = piece.shape[axis % piece.rank]
        grads.append(slice_(g, axis=axis, start=start, length=length))
        start += length
    return {"x": grads}


def _below(params: Mapping[str, Any], row: Index, column: Index) -> InRange:
    """On the diagonal or below it: the column is at most diagonal places behind the row."""
    return InRange(row - column + params["diagonal"], 0, 1 << 31)


@operator(
    "triangle",
    category=CATEGORY,
    inputs={},
    params={
        "rows": Param(1, min=0),
        "columns": Param(1, min=0),
        "diagonal": Param(0, doc="columns further to the right that still hold"),
    },
    outputs={"y": Output(lambda shapes, params: (params["rows"], params["columns"]), "bool", "[rows columns]")},
    kernel=View(lambda site, index: _below(site.params, *index)),
    samples=[
        Sample({}, {"rows": 5, "columns": 7}),
        Sample({}, {"rows": 5, "columns": 3, "diagonal": -2}),
        Sample({}, {"rows": 1, "columns": 1}),
    ],
    gradient=not_differentiable("nothing goes in"),
    example=Sample({}, {"rows": 3, "columns": 3}),
)
def triangle(rows: int, columns: int, diagonal: int) -> Array:
    """Truth values: on the diagonal and below it, i.e. where a causal mask lets through.

    Formula: y[i, j] = (j ≤ i + diagonal)
    """
    return np.tri(rows, columns, diagonal, dtype=bool)
