"""Reductions over any axes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from munet.engine.builder import Builder
from munet.engine.declaring import layer, not_differentiable, operator, reduced
from munet.engine.errors import ShapeError
from munet.engine.index import fresh
from munet.engine.ir.module import Value
from munet.engine.kernels import Indices, Reduction, Site, View, fold
from munet.engine.operator import Array, Axes, Grads, Input, Operator, Output, Param, Sample
from munet.engine.scalar import Expr
from munet.engine.shapes import reduced_shape
from munet.nodes.arithmetic import cast, equal, exp, log, sqrt, square, stop_gradient, where
from munet.nodes.samples import apart, normal
from munet.nodes.shape_ops import expand, reshape

CATEGORY = "Reductions"
KEPT = "x without `axes`; with `keepdims` they stay, with size 1"
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
    outputs={"y": Output(reduced("x"), doc=KEPT)},
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
    outputs={"y": Output(reduced("x"), doc=KEPT)},
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
        outputs={"y": Output(reduced("x"), doc=KEPT)},
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


@operator(
    "prod",
    category=CATEGORY,
    inputs={"x": Input("*any")},
    params=AXES,
    outputs={"y": Output(reduced("x"), doc=KEPT)},
    kernel=Reduction("mul"),
    samples=[
        Sample({"x": apart(5, 3)}),
        Sample({"x": apart(3, 5, 2)}, {"axes": (1,)}),
        Sample({"x": [[2.0, 0.0, 3.0], [0.0, 1.0, 0.0]]}, {"axes": (1,)}, gradient=False),
    ],
)
def prod(x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    """Product over `axes`; no axes means all."""
    return np.asarray(x.prod(axis=axes or None, keepdims=keepdims, dtype=x.dtype))


@prod.gradient
def prod_gradient(g: Value, x: Value, axes: tuple[int, ...]) -> Grads:
    # One zero among the factors: only its own slope is not 0, the product of the others. Two: none is.
    zero = equal(x, 0.0)
    filled = where(zero, 1.0, x)
    zeros = sum_(cast(zero, dtype="f32"), axes=axes, keepdims=True)
    others = prod(filled, axes=axes, keepdims=True) / filled
    slope = where(equal(zeros, 0.0), others, where(equal(zeros, 1.0), where(zero, others, 0.0), 0.0))
    return {"x": expand_like(g, x, axes) * slope}


def _position_rule(combine: str) -> Callable[[Site, Indices], Expr]:
    def rule(site: Site, index: Indices) -> Expr:
        shape = site.shape("x")
        axis = site.params["axis"] % len(shape)
        along = fresh("r", shape[axis])
        return fold(combine, [along], site.load("x", (*index[:axis], along, *index[axis:])))

    return rule


def _position(name: str, meaning: Callable[..., Array], combine: str, word: str) -> Operator:
    def function(x: Array, axis: int) -> Array:
        return np.asarray(meaning(x, axis=axis)).astype(np.int32)

    function.__doc__ = f"""Position of the {word} along `axis`, the first of equal ones.

    Formula: x[y] = {combine} x
    """
    return operator(
        name,
        category=CATEGORY,
        inputs={"x": Input("*any")},
        params={"axis": Param(-1, doc="the axis that is searched")},
        outputs={
            "y": Output(lambda shapes, params: reduced_shape(shapes["x"], (params["axis"],), False), "i32", "x without the axis")
        },
        kernel=View(_position_rule(name), kept=True),
        samples=[
            Sample({"x": apart(7, 11)}),
            Sample({"x": [[1.0, 3.0, 3.0, 1.0]]}),
            Sample({"x": apart(3, 5, 7)}, {"axis": 1}),
        ],
        gradient=not_differentiable("its result is a whole number"),
    )(function)


argmax = _position("argmax", np.argmax, "max", "largest")
argmin = _position("argmin", np.argmin, "min", "smallest")


def _dropped(x: Value, y: Value, axes: tuple[int, ...], keepdims: bool) -> Value:
    """y, reduced with its axes kept, without them unless they are to be kept."""
    return y if keepdims else reshape(y, shape=reduced_shape(x.shape, axes, False))


@layer(
    "norm",
    category=CATEGORY,
    inputs={"x": Input("*any", "T:float")},
    params=AXES,
    outputs={"y": Output("*kept", doc=KEPT)},
)
def norm(b: Builder, x: Value, axes: tuple[int, ...], keepdims: bool) -> Value:
    """Root of the sum of squares over `axes`; no axes means all.

    Formula: y = √(Σ x²)
    """
    return sqrt(sum_(square(x), axes=axes, keepdims=keepdims))


@layer(
    "logsumexp",
    category=CATEGORY,
    inputs={"x": Input("*any", "T:float")},
    params=AXES,
    outputs={"y": Output("*kept", doc=KEPT)},
)
def logsumexp(b: Builder, x: Value, axes: tuple[int, ...], keepdims: bool) -> Value:
    """Logarithm of the sum of exp(x) over `axes`, without overflow; no axes means all.

    Formula: y = log(Σ exp(x))
    """
    largest = stop_gradient(max_(x, axes=axes, keepdims=True))
    return _dropped(x, log(sum_(exp(x - largest), axes=axes, keepdims=True)) + largest, axes, keepdims)


SPREAD = {**AXES, "correction": Param(1, min=0, doc="is taken off the count: 1 estimates from a sample, 0 describes it")}


def _variance(x: Value, axes: tuple[int, ...], keepdims: bool, correction: int) -> Value:
    difference = x - mean(x, axes=axes, keepdims=True)
    total = sum_(square(difference), axes=axes, keepdims=keepdims)
    count = x.element_count // max(total.element_count, 1) - correction
    if count < 1:
        raise ShapeError(
            f"x has shape {list(x.shape)}",
            rule=f"the variance with correction = {correction} needs more than {correction} values",
            cure="correction = 0",
            socket="correction",
        )
    return total / float(count)


@layer(
    "var",
    category=CATEGORY,
    inputs={"x": Input("*any", "T:float")},
    params=SPREAD,
    outputs={"y": Output("*kept", doc=KEPT)},
)
def var(b: Builder, x: Value, axes: tuple[int, ...], keepdims: bool, correction: int) -> Value:
    """Variance over `axes`; no axes means all.

    Formula: y = Σ (x − mean(x))² / (n − correction)
    """
    return _variance(x, axes, keepdims, correction)


@layer(
    "std",
    category=CATEGORY,
    inputs={"x": Input("*any", "T:float")},
    params=SPREAD,
    outputs={"y": Output("*kept", doc=KEPT)},
)
def std(b: Builder, x: Value, axes: tuple[int, ...], keepdims: bool, correction: int) -> Value:
    """Standard deviation over `axes`; no axes means all.

    Formula: y = √(Σ (x − mean(x))² / (n − correction))
    """
    return sqrt(_variance(x, axes, keepdims, correction))
