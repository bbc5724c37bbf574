"""Reading and writing by index. Scatters are owner-computes: each result element gathers its own, in a fixed order."""

from __future__ import annotations

import numpy as np

from munet.engine.index import Index, fresh
from munet.engine.ir.module import Value
from munet.engine.kernels import Indices, Site, View, fold, number_to_index
from munet.engine.operator import Array, Grads, Input, Output, Param, Sample, not_differentiable, operator
from munet.engine.scalar import Expr, Literal, Position, Where, apply, literal
from munet.nodes.samples import normal, whole
from munet.nodes.shape_ops import reshape

CATEGORY = "Indexing"


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
    outputs={"y": Output(lambda shapes, params: (*shapes["rows"], *shapes["x"][1:]))},
    kernel=View(_take_rows),
    samples=[Sample({"x": normal(7, 3), "rows": whole(5, high=7)}), Sample({"x": normal(7), "rows": whole(2, 3, high=7)})],
)
def take_rows(x: Array, rows: Array) -> Array:
    """x[rows]: rows of x by number, from 0; also an embedding's lookup."""
    return x[np.clip(rows, 0, x.shape[0] - 1)]


@take_rows.gradient
def take_rows_gradient(g: Value, x: Value, rows: Value) -> Grads:
    return {"x": sum_rows(g, rows, count=x.shape[0]) if x.dtype.is_float else None, "rows": None}


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
    outputs={"y": Output(lambda shapes, params: (params["count"], *shapes["x"][len(shapes["rows"]) :]))},
    kernel=View(_sum_rows, kept=True),
    samples=[
        Sample({"x": normal(5, 3), "rows": whole(5, high=4)}, {"count": 7}),
        Sample({"x": normal(2, 3), "rows": whole(2, 3, high=2)}, {"count": 3}),
    ],
)
def sum_rows(x: Array, rows: Array, count: int) -> Array:
    """y[r] = sum of the x[i] whose rows[i] is r: the transpose of take_rows."""
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
    outputs={"y": Output(lambda shapes, params: (*shapes["x"], params["count"]), "f32")},
    samples=[Sample({"x": whole(7, high=5)}, {"count": 5}), Sample({"x": whole(2, 3, high=9)}, {"count": 5})],
    gradient=not_differentiable("its input is a whole number"),
)
def one_hot(x: Array, count: int) -> Array:
    """1 at the position that x names, 0 elsewhere; a number outside 0 .. count-1 gives all zeros."""
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
    """One element of each row of x: y[..., ] = x[..., which[...]]."""
    return np.take_along_axis(x, np.clip(which, 0, x.shape[-1] - 1)[..., None].astype(np.int64), axis=-1)[..., 0]


@pick.gradient
def pick_gradient(g: Value, x: Value, which: Value) -> Grads:
    return {"x": reshape(g, shape=(*g.shape, 1)) * one_hot(which, count=x.shape[-1]), "which": None}
