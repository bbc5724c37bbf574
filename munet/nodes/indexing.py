"""Reading and writing by index. Scatters are owner-computes: each result element gathers its own, in a fixed order."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from munet.engine.builder import Builder
from munet.engine.declaring import layer, not_differentiable, operator
from munet.engine.errors import ShapeError
from munet.engine.index import Index, fresh, within
from munet.engine.ir.module import Shape, Value
from munet.engine.kernels import Indices, Site, View, fold, number_to_index
from munet.engine.operator import Array, Grads, Input, Output, Param, Sample
from munet.engine.scalar import Expr, InRange, Literal, Position, Where, apply, guarded, literal
from munet.engine.shapes import normal_axes
from munet.nodes.linear import matmul, swapped
from munet.nodes.samples import normal, whole
from munet.nodes.shape_ops import reshape

CATEGORY = "Indexing"
INTERNAL = ""
# Of a table whose gradient is a product with ones where a row is meant: tiles add up faster than every element looks through
# all rows, and the ones are never stored on a device.
FEW_ROWS = 4096


def clamped(expr: Expr, size: int) -> Index:
    """A loaded index made safe: what is out of range reads the nearest element. Negative ones do not count from the end."""
    return number_to_index(apply("clamp", apply("i32", expr), Literal(0, expr.dtype), Literal(size - 1, expr.dtype)), size)


def _take_rows(site: Site, index: Indices) -> Expr:
    rank = len(site.shape("rows"))
    row = clamped(site.load("rows", index[:rank]), site.shape("x")[0])
    return site.load("x", (row, *index[rank:]))


@operator(
    "take_rows",
    category=CATEGORY,
    inputs={"x": Input("n *row", "T:any"), "rows": Input("*batch", "I:integer")},
    outputs={"y": Output(lambda shapes, params: (*shapes["rows"], *shapes["x"][1:]), doc="[*batch *row]: a row for each number")},
    kernel=View(_take_rows),
    samples=[Sample({"x": normal(7, 3), "rows": whole(5, high=7)}), Sample({"x": normal(7), "rows": whole(2, 3, high=7)})],
)
def take_rows(x: Array, rows: Array) -> Array:
    """Rows of x by number, from 0; also an embedding's lookup.

    Formula: y[…, j] = x[rows[…], j]
    """
    return x[np.clip(rows, 0, x.shape[0] - 1)]


@take_rows.gradient
def take_rows_gradient(g: Value, x: Value, rows: Value) -> Grads:
    if not x.dtype.is_float:
        return {"x": None, "rows": None}
    if not 0 < x.shape[0] <= FEW_ROWS:
        return {"x": sum_rows(g, rows, count=x.shape[0]), "rows": None}
    hits = reshape(one_hot(rows, count=x.shape[0]), shape=(rows.element_count, x.shape[0]))
    flat = reshape(g, shape=(rows.element_count, math.prod(x.shape[1:])))
    return {"x": reshape(matmul(swapped(hits), flat), shape=x.shape), "rows": None}


def _sum_rows(site: Site, index: Indices) -> Expr:
    shape = site.shape("rows")
    along = [fresh("r", size) for size in shape]
    row = site.load("rows", along)
    hit = apply("==", apply("i32", row), Position(index[0]))
    value = site.load("x", (*along, *index[1:]))
    return fold("add", along, Where(hit, value, literal(0, value.dtype)))


@operator(
    "sum_rows",
    category=CATEGORY,
    inputs={"x": Input("*any", "T:float"), "rows": Input("*batch", "I:integer")},
    params={"count": Param(1, min=0)},
    outputs={
        "y": Output(
            lambda shapes, params: (params["count"], *shapes["x"][len(shapes["rows"]) :]), doc="`count` rows like those of x"
        )
    },
    kernel=View(_sum_rows, kept=True),
    samples=[
        Sample({"x": normal(5, 3), "rows": whole(5, high=4)}, {"count": 7}),
        Sample({"x": normal(2, 3), "rows": whole(2, 3, high=2)}, {"count": 3}),
    ],
    example=Sample({"x": [1.0, 2.0, 3.0], "rows": np.array([2, 0, 2])}, {"count": 4}),
)
def sum_rows(x: Array, rows: Array, count: int) -> Array:
    """Rows of x added up by number: the transpose of take_rows.

    Formula: y[r] = Σ x[i] over all i with rows[i] = r
    """
    y = np.zeros((count, *x.shape[rows.ndim :]), x.dtype)
    np.add.at(y, rows, x)
    return y


@sum_rows.gradient
def sum_rows_gradient(g: Value, rows: Value) -> Grads:
    return {"x": take_rows(g, rows), "rows": None}


def _one_hot(site: Site, index: Indices) -> Expr:
    hit = apply("==", apply("i32", site.load("x", index[:-1])), Position(index[-1]))
    return Where(hit, literal(1.0, site.op.output.dtype), literal(0.0, site.op.output.dtype))


@operator(
    "one_hot",
    category=CATEGORY,
    inputs={"x": Input("*any", "I:integer")},
    params={"count": Param(10, min=1)},
    kernel=View(_one_hot),
    outputs={"y": Output(lambda shapes, params: (*shapes["x"], params["count"]), "f32", "[*any count]")},
    samples=[Sample({"x": whole(7, high=5)}, {"count": 5}), Sample({"x": whole(2, 3, high=9)}, {"count": 5})],
    gradient=not_differentiable("its input is a whole number"),
    example=Sample({"x": np.array([2, 0, 1])}, {"count": 3}),
)
def one_hot(x: Array, count: int) -> Array:
    """1 at the position that x names, 0 elsewhere; a number outside 0 .. count-1 gives all zeros.

    Formula: y[…, k] = 1 if x[…] = k, else 0
    """
    return (x[..., None] == np.arange(count)).astype(np.float32)


def _pick(site: Site, index: Indices) -> Expr:
    at = clamped(site.load("which", index), site.shape("x")[-1])
    return site.load("x", (*index, at))


@operator(
    "pick",
    category=CATEGORY,
    inputs={"x": Input("*any c", "T:any"), "which": Input("*any", "I:integer")},
    outputs={"y": Output("*any")},
    kernel=View(_pick),
    samples=[
        Sample({"x": normal(7, 5), "which": whole(7, high=5)}),
        Sample({"x": normal(2, 3, 5), "which": whole(2, 3, high=5)}),
    ],
)
def pick(x: Array, which: Array) -> Array:
    """One element of each row of x.

    Formula: y[…] = x[…, which[…]]
    """
    return np.take_along_axis(x, np.clip(which, 0, x.shape[-1] - 1)[..., None].astype(np.int64), axis=-1)[..., 0]


@pick.gradient
def pick_gradient(g: Value, x: Value, which: Value) -> Grads:
    return {"x": reshape(g, shape=(*g.shape, 1)) * one_hot(which, count=x.shape[-1]), "which": None}


def _along(site: Site, index: Indices) -> Expr:
    axis = site.params["axis"] % len(index)
    at = clamped(site.load("index", index), site.shape("x")[axis])
    return site.load("x", [at if a == axis else i for a, i in enumerate(index)])


def _gathered(shapes: Mapping[str, Any], params: Mapping[str, Any]) -> Shape:
    """The index's shape; apart from the axis it is nowhere larger than x."""
    x, index = shapes["x"], shapes["index"]
    _check_within(index, x, params["axis"], "index")
    return index


def _check_within(small: Shape, large: Shape, axis: int, socket: str) -> None:
    (axis,) = normal_axes((axis,), len(large), "axis")
    if len(small) != len(large) or any(s > size for a, (s, size) in enumerate(zip(small, large, strict=True)) if a != axis):
        raise ShapeError(
            f"{socket} has shape {list(small)}, x {list(large)}",
            rule=f"they have as many dimensions, and {socket} is not larger except along axis {axis}",
            socket=socket,
        )


@operator(
    "gather",
    category=CATEGORY,
    inputs={"x": Input("*x", "T:any"), "index": Input("*index", "I:integer")},
    params={"axis": Param(-1, doc="the axis along which the index counts")},
    outputs={"y": Output(_gathered, doc="the index's")},
    kernel=View(_along),
    samples=[
        Sample({"x": normal(5, 7), "index": whole(5, 4, high=7)}),
        Sample({"x": normal(5, 7, 3), "index": whole(9, 6, 2, high=5)}, {"axis": 0}),
    ],
)
def gather(x: Array, index: Array, axis: int) -> Array:
    """Elements of x by their places along one axis, as torch.gather. Along the last of two:

    Formula: y[i, j] = x[i, index[i, j]]
    """
    corner = tuple(slice(None) if a == axis % x.ndim else slice(size) for a, size in enumerate(index.shape))
    return np.take_along_axis(x[corner], np.clip(index, 0, x.shape[axis] - 1).astype(np.int64), axis)


@gather.gradient
def gather_gradient(g: Value, x: Value, index: Value, axis: int) -> Grads:
    return {"x": scattered(g, index, axis=axis, shape=x.shape) if x.dtype.is_float else None, "index": None}


def _scattered(site: Site, index: Indices) -> Expr:
    shape = site.shape("index")
    axis = site.params["axis"] % len(shape)
    along = fresh("r", shape[axis])
    tests = [InRange(i, 0, shape[a]) for a, i in enumerate(index) if a != axis]
    place = [along if a == axis else within(i, shape[a]) for a, i in enumerate(index)]
    value = site.load("x", place)
    hit = apply("==", apply("i32", site.load("index", place)), Position(index[axis]))
    return fold("add", [along], guarded(tests, Where(hit, value, literal(0, value.dtype))))


def _scattered_shape(shapes: Mapping[str, Any], params: Mapping[str, Any]) -> Shape:
    if shapes["x"] != shapes["index"]:
        raise ShapeError(
            f"what is added has shape {list(shapes['x'])}, its index {list(shapes['index'])}",
            rule="both have the same shape",
            socket="index",
        )
    _check_within(shapes["index"], params["shape"], params["axis"], "index")
    return params["shape"]


@operator(
    "scattered",
    category=INTERNAL,
    inputs={"x": Input("*any", "T:float"), "index": Input("*any", "I:integer")},
    params={"axis": Param(-1), "shape": Param(())},
    outputs={"y": Output(_scattered_shape, doc="`shape`")},
    kernel=View(_scattered, kept=True),
    samples=[
        Sample({"x": normal(5, 4), "index": whole(5, 4, high=7)}, {"shape": (5, 7)}),
        Sample({"x": normal(9, 6, 2), "index": whole(9, 6, 2, high=5)}, {"axis": 0, "shape": (5, 7, 3)}),
    ],
)
def scattered(x: Array, index: Array, axis: int, shape: Shape) -> Array:
    """Zeros with each x[i, j, ...] added at [i, index[i, j, ...], ...]: the transpose of gather."""
    y = np.zeros(shape, x.dtype)
    places = list(np.indices(x.shape))
    places[axis] = index
    np.add.at(y, tuple(places), x)
    return y


@scattered.gradient
def scattered_gradient(g: Value, index: Value, axis: int) -> Grads:
    return {"x": gather(g, index, axis=axis), "index": None}


@layer(
    "scatter_add",
    category=CATEGORY,
    inputs={"x": Input("*x", "T:float"), "index": Input("*index", "I:integer"), "source": Input("*index", "T:float")},
    params={"axis": Param(-1, doc="the axis along which the index counts")},
    example=Sample({"x": [1.0, 1.0, 1.0], "index": np.array([2, 0, 2]), "source": [1.0, 2.0, 3.0]}),
    outputs={"y": Output("*x")},
)
def scatter_add(b: Builder, x: Value, index: Value, source: Value, axis: int) -> Value:
    """x with each source element added at the place along one axis that the index names; places may repeat, the order is fixed.

    Along the last of two axes:

    Formula: y[i, k] = x[i, k] + Σ source[i, j] over all j with index[i, j] = k
    """
    _check_within(index.shape, x.shape, axis, "index")
    return x + scattered(source, index, axis=axis, shape=x.shape)


@operator(
    "arange",
    category=CATEGORY,
    inputs={},
    params={"count": Param(1, min=0), "start": Param(0)},
    outputs={"y": Output(lambda shapes, params: (params["count"],), "i32", "[count]")},
    kernel=View(lambda site, index: Position(index[0] + site.params["start"])),
    samples=[Sample({}, {"count": 7, "start": 3}), Sample({}, {"count": 1})],
    gradient=not_differentiable("nothing goes in"),
    example=Sample({}, {"count": 4, "start": 2}),
)
def arange(count: int, start: int) -> Array:
    """So many whole numbers, one after the other.

    Formula: y[i] = start + i
    """
    return np.arange(start, start + count, dtype=np.int32)


def _running(site: Site, index: Indices) -> Expr:
    axis = site.params["axis"] % len(index)
    along = fresh("r", site.shape("x")[axis])
    behind = along - index[axis] if site.params["reverse"] else index[axis] - along
    value = site.load("x", [along if a == axis else i for a, i in enumerate(index)])
    return fold("add", [along], guarded([InRange(behind, 0, 1 << 31)], value))


@operator(
    "cumsum",
    category="Reductions",
    inputs={"x": Input("*any")},
    params={"axis": Param(-1), "reverse": Param(False, doc="from the end on")},
    outputs={
        "y": Output(
            lambda shapes, params: shapes["x"] if normal_axes((params["axis"],), len(shapes["x"]), "axis") else (), doc="x's"
        )
    },
    kernel=View(_running, kept=True),
    samples=[Sample({"x": normal(7, 11)}), Sample({"x": normal(3, 5, 2)}, {"axis": 1, "reverse": True})],
)
def cumsum(x: Array, axis: int, reverse: bool) -> Array:
    """Running sums along an axis. Each element adds up its own: meant for axes of up to a few thousand.

    Formula:
        y[i] = Σ x[j] over all j ≤ i
        reverse: over all j ≥ i
    """
    y = np.cumsum(np.flip(x, axis) if reverse else x, axis, dtype=x.dtype)
    return np.flip(y, axis) if reverse else y


@cumsum.gradient
def cumsum_gradient(g: Value, axis: int, reverse: bool) -> Grads:
    return {"x": cumsum(g, axis=axis, reverse=not reverse)}
