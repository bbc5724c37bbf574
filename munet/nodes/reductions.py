"""Reductions over any axes."""

from __future__ import annotations

import numpy as np

from munet.engine.index import fresh
from munet.engine.ir.module import Value
from munet.engine.kernels import Indices, Reduction, Site, View, fold
from munet.engine.operator import Array, Axes, Grads, Input, Output, Param, Sample, not_differentiable, operator, reduced
from munet.engine.scalar import Expr
from munet.engine.shapes import reduced_shape
from munet.nodes.arithmetic import cast, equal
from munet.nodes.samples import apart, normal
from munet.nodes.shape_ops import expand, reshape

CATEGORY = "Reductions"
AXES = {"axes": Axes(), "keepdims": Param(False, doc="keep reduced axes with size 1")}
SAMPLES = [
    Sample({"x": normal(7, 11)}),
    Sample({"x": normal(3, 5, 7)}, {"axes": (1,)}),
    Sample({"x": normal(3, 5, 7)}, {"axes": (0, -1), "keepdims": True}),
    Sample({"x": normal(2, 300)}, {"axes": (-1,)}),
    Sample({"x": normal(1, 1)}, {"axes": (0,)}),
]


def expand_like(g: Value, x: Value, axes: tuple[int, ...]) -> Value:
    """A reduction's cotangent spread over what was reduced."""
    return expand(reshape(g, shape=reduced_shape(x.shape, axes, True)), shape=x.shape)


@operator(
    "sum",
    category=CATEGORY,
    inputs={"x": Input("*any")},
    params=AXES,
    outputs={"y": Output(reduced("x"))},
    kernel=Reduction("add"),
    samples=SAMPLES,
)
def sum_(x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    """Sum over `axes`; no axes means all."""
    return np.asarray(x.sum(axis=axes or None, keepdims=keepdims, dtype=x.dtype))


@sum_.gradient
def sum_gradient(g: Value, x: Value, axes: tuple[int, ...]) -> Grads:
    return {"x": expand_like(g, x, axes)}


@operator(
    "mean",
    category=CATEGORY,
    inputs={"x": Input("*any", "T:float")},
    params=AXES,
    outputs={"y": Output(reduced("x"))},
    kernel=Reduction("add", finish="acc / count"),
    samples=SAMPLES,
)
def mean(x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    """Mean over `axes`; no axes means all."""
    return np.asarray(x.mean(axis=axes or None, keepdims=keepdims))


@mean.gradient
def mean_gradient(g: Value, x: Value, y: Value, axes: tuple[int, ...]) -> Grads:
    count = max(x.element_count, 1) // max(y.element_count, 1)
    return {"x": expand_like(g / float(count), x, axes)}


def _extreme(name: str, combine: str, meaning: object, word: str):  # an Operator
    def function(x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
        return np.asarray(meaning(x, axis=axes or None, keepdims=keepdims))  # type: ignore[operator]

    function.__doc__ = f"{word} over `axes`; not a number if any is. Equal ones share the gradient evenly."
    samples = [
        Sample({"x": apart(7, 11)}),
        Sample({"x": apart(3, 5, 7)}, {"axes": (1,)}),
        Sample({"x": [2.0, 5.0, 5.0]}, gradient=False),
    ]
    declared = operator(
        name,
        category=CATEGORY,
        inputs={"x": Input("*any")},
        params=AXES,
        outputs={"y": Output(reduced("x"))},
        kernel=Reduction(combine),
        samples=samples,
    )(function)

    @declared.gradient
    def gradient(g: Value, x: Value, y: Value, axes: tuple[int, ...]) -> Grads:
        hit = cast(equal(x, expand_like(y, x, axes)), dtype="f32")
        return {"x": hit * expand_like(g / sum_(hit, axes=axes, keepdims=len(y.shape) == len(x.shape)), x, axes)}

    return declared


max_ = _extreme("max", "max", np.max, "Largest")
min_ = _extreme("min", "min", np.min, "Smallest")


def _argmax_rule(site: Site, index: Indices) -> Expr:
    shape = site.shape("x")
    axis = site.params["axis"] % len(shape)
    along = fresh("r", shape[axis])
    return fold("argmax", [along], site.load("x", (*index[:axis], along, *index[axis:])))


@operator(
    "argmax",
    category=CATEGORY,
    inputs={"x": Input("*any")},
    params={"axis": Param(-1, doc="the axis that is searched")},
    outputs={"y": Output(lambda shapes, params: reduced_shape(shapes["x"], (params["axis"],), False), "i32")},
    kernel=View(_argmax_rule, kept=True),
    samples=[Sample({"x": apart(7, 11)}), Sample({"x": [[1.0, 3.0, 3.0]]}), Sample({"x": apart(3, 5, 7)}, {"axis": 1})],
    gradient=not_differentiable("its result is a whole number"),
)
def argmax(x: Array, axis: int) -> Array:
    """Position of the largest along `axis`, the first of equal ones."""
    return np.argmax(x, axis=axis).astype(np.int32)
