"""Operators that lowering and builders use and no one draws: constants, this step's row of a ring, writing the metric ring."""

from __future__ import annotations

import numpy as np

from munet.engine.dtypes import BY_NAME
from munet.engine.index import Index
from munet.engine.kernels import Indices, Site, Update, View, number_to_index
from munet.engine.operator import Array, Choice, Input, Output, Param, Sample, not_differentiable, operator
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
