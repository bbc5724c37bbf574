"""Operators that lowering and builders use and no one draws: constants, this step's row of a ring, writing the metric ring."""

from __future__ import annotations

import numpy as np

from munet.engine.declaring import not_differentiable, operator
from munet.engine.dtypes import BY_NAME
from munet.engine.index import Index
from munet.engine.ir.module import Value
from munet.engine.kernels import Indices, Site, Update, View, Watch, number_to_index
from munet.engine.operator import Array, Choice, Grads, Input, Output, Param, Sample
from munet.engine.scalar import Expr, InRange, Literal, Where, apply, literal
from munet.nodes.samples import normal, whole

CATEGORY = ""  # not in the palette
PLUMBING = not_differentiable("it only brings numbers from the host")
STEP = np.array(23, np.int32)  # beyond the samples' rings, so that they turn


@operator(
    "constant",
    category=CATEGORY,
    inputs={},
    params={"value": Param(0.0), "dtype": Choice("f32", "i32", "u32", "u8", "bool")},
    gradient=PLUMBING,
    outputs={"y": Output("", lambda dtypes, params: BY_NAME[params["dtype"]])},
    kernel=View(lambda site, index: literal(site.params["value"], site.op.output.dtype)),
    samples=[
        Sample({}, {"value": 2.5}),
        Sample({}, {"value": -3.0, "dtype": "i32"}),
        Sample({}, {"value": 1.0, "dtype": "bool"}),
    ],
)
def constant(value: float, dtype: str) -> Array:
    """A number; part of the code that reads it."""
    return np.asarray(value, BY_NAME[dtype].host)


def ring_row(site: Site, rows: int) -> Index:
    """The row of a ring that belongs to the step: step % rows."""
    return number_to_index(apply("mod", site.load("step", ()), Literal(rows, site.op.inputs[site.slot("step")].dtype)), rows)


@operator(
    "take_row",
    category=CATEGORY,
    inputs={"x": Input("c *row", "T:any"), "step": Input("", "i32")},
    outputs={"y": Output("*row")},
    gradient=PLUMBING,
    kernel=View(lambda site, index: site.load("x", (ring_row(site, site.shape("x")[0]), *index))),
    samples=[Sample({"x": normal(5, 3, 2), "step": STEP}), Sample({"x": whole(7, 11, high=99), "step": STEP})],
)
def take_row(x: Array, step: Array) -> Array:
    """This step's row of a ring."""
    return x[int(step) % x.shape[0]]


@operator(
    "step_scalars",
    category=CATEGORY,
    inputs={"x": Input("c s"), "step": Input("", "i32")},
    outputs={"y": Output("s")},
    gradient=PLUMBING,
    kernel=View(lambda site, index: site.load("x", (ring_row(site, site.shape("x")[0]), *index)), kept=True),
    samples=[Sample({"x": normal(5, 3), "step": STEP})],
)
def step_scalars(x: Array, step: Array) -> Array:
    """This step's host scalars, set aside at the start of the step: later passes need not read the step counter."""
    return x[int(step) % x.shape[0]]


@operator(
    "set_aside",
    category=CATEGORY,
    inputs={"x": Input("*any", "T:any")},
    outputs={"y": Output("*any")},
    gradient=PLUMBING,
    kernel=View(lambda site, index: site.load("x", index), kept=True),
    samples=[Sample({"x": whole(3, high=9)})],
)
def set_aside(x: Array) -> Array:
    """A copy made early in the step, so that whoever reads it late does not keep the original from changing."""
    return x.copy()


@operator(
    "take_scalar",
    category=CATEGORY,
    inputs={"x": Input("s")},
    params={"column": Param(0)},
    outputs={"y": Output("")},
    gradient=PLUMBING,
    kernel=View(lambda site, index: site.load("x", (site.params["column"],))),
    samples=[Sample({"x": normal(3)}, {"column": 2})],
)
def take_scalar(x: Array, column: int) -> Array:
    """One of this step's host scalars."""
    return np.asarray(x[column])


def _written(site: Site, index: Indices) -> Expr:
    slots = site.slots("values")
    result = site.load(slots[-1], ())
    for column in reversed(range(len(slots) - 1)):
        result = Where(InRange(index[0], column, column + 1), site.load(slots[column], ()), result)
    return result


@operator(
    "write_row",
    category=CATEGORY,
    gradient=PLUMBING,
    inputs={"ring": Input("c m", "T"), "step": Input("", "i32"), "values": Input("", "T", variadic=True)},
    outputs={"y": Output("c m")},
    kernel=Update(
        lambda site: (len(site.slots("values")),), lambda site, index: (ring_row(site, site.shape("ring")[0]), index[0]), _written
    ),
    samples=[Sample({"ring": normal(5, 3), "step": STEP, "values": [np.array(x) for x in (0.5, -2.0, 7.0)]})],
)
def write_row(ring: Array, step: Array, *values: Array) -> Array:
    """The ring with this step's row set to `values`."""
    ring = ring.copy()
    ring[int(step) % ring.shape[0]] = values
    return ring


def _total(site: Site, socket: str) -> Expr:
    first, *others = (site.load(slot, ()) for slot in site.slots(socket))
    for other in others:
        first = apply("+", first, other)
    return first


@operator(
    "add_up",
    category=CATEGORY,
    inputs={"x": Input("", "T:float", variadic=True)},
    outputs={"y": Output("")},
    kernel=View(lambda site, index: _total(site, "x"), kept=True),
    samples=[Sample({"x": [normal(), normal(seed=8), normal(seed=9)]})],
)
def add_up(*x: Array) -> Array:
    """The sum of single numbers, in their order."""
    return np.asarray(sum(x))


@add_up.gradient
def add_up_gradient(g: Value, x: tuple[Value, ...]) -> Grads:
    return {"x": [g] * len(x)}


def _clip_factor(site: Site, index: Indices) -> Expr:
    norm = apply("sqrt", _total(site, "squares"))
    return apply("min", apply("/", site.load("limit", ()), apply("+", norm, literal(1e-6, norm.dtype))), literal(1.0, norm.dtype))


@operator(
    "clip_factor",
    category=CATEGORY,
    inputs={"limit": Input("", "T:float"), "squares": Input("", "T", variadic=True)},
    outputs={"y": Output("")},
    kernel=View(_clip_factor, kept=True),
    samples=[
        Sample({"limit": np.array(0.5), "squares": [np.array(2.0), np.array(0.25)]}),
        Sample({"limit": np.array(5.0), "squares": [np.array(0.0)]}),
    ],
    gradient=not_differentiable("gradients are limited after they are taken"),
)
def clip_factor(limit: Array, *squares: Array) -> Array:
    """What gradients are multiplied by so that their norm is at most `limit`; `squares` are their sums of squares."""
    return np.minimum(limit / (np.sqrt(np.asarray(sum(squares))) + 1e-6), 1.0)


@operator(
    "watch",
    category=CATEGORY,
    gradient=PLUMBING,
    inputs={"flag": Input("", "i32"), "values": Input("*any", "V:float", variadic=True)},
    outputs={"y": Output("", "i32")},
    kernel=Watch(),
    samples=[Sample({"flag": np.asarray(0, np.int32), "values": [normal(2, 3), normal(5)]})],
)
def watch(flag: Array, *values: Array) -> Array:
    """1 once any watched value is infinite or not a number; else the flag as it was."""
    finite = all(bool(np.isfinite(value).all()) for value in values)
    return np.asarray(flag if finite else 1, np.int32)
