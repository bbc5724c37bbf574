"""Functions of mathematics, element by element: rounding, remainders, powers of e near 0, angles, limits."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from munet.engine.declaring import operator
from munet.engine.ir.module import Value
from munet.engine.kernels import Elementwise
from munet.engine.operator import Array, Grads, Input, Operator, Output, Param, Sample
from munet.nodes.arithmetic import div, exp, greater_equal, less_equal, sqrt, square, where
from munet.nodes.samples import apart, normal, positive, whole

CATEGORY = "Functions"
FLOATS = {"x": Input("*any", "T:float"), "y": Input("*any", "T:float")}
NUMBERS = {"x": Input("*any"), "y": Input("*any")}
_erf = np.frompyfunc(math.erf, 1, 1)


def erf_of(x: Array) -> Array:
    return np.asarray(_erf(x), np.float64)


def unary(
    name: str,
    expression: str,
    meaning: Callable[..., Any],
    doc: str,
    slope: Callable[[Value, Value], Value | None],
    sample: Array,
    special: list[float] | None = None,
    category: str = CATEGORY,
) -> Operator:
    """Declare y = meaning(x); `slope(x, y)` is dy/dx as values, None where it is 0. `special` is not differentiated."""
    samples = [Sample({"x": sample})] + ([Sample({"x": special}, gradient=False)] if special else [])

    def function(x: Array) -> Array:
        return np.asarray(meaning(x), x.dtype)

    function.__doc__ = doc
    declared = operator(
        name,
        category=category,
        inputs={"x": Input("*any", "T:float")},
        outputs={"y": Output("*any")},
        kernel=Elementwise(expression),
        samples=samples,
    )(function)

    @declared.gradient
    def gradient(g: Value, x: Value, y: Value) -> Grads:
        factor = slope(x, y)
        return {"x": None if factor is None else g * factor}

    return declared


def _flat(x: Value, y: Value) -> None:
    """The slope of a staircase, wherever it has one."""


NAN, INF = math.nan, math.inf
HALVES = [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, -3.0, 0.0, 7.75, NAN, INF, -INF]

floor = unary(
    "floor", "floor(x)", np.floor, "The largest whole number not above x; its gradient is 0.", _flat, apart(7, 11), HALVES
)
ceil = unary("ceil", "ceil(x)", np.ceil, "The smallest whole number not below x; its gradient is 0.", _flat, apart(7, 11), HALVES)
round_ = unary(
    "round",
    "round(x)",
    np.rint,
    "The nearest whole number, halves to the even one; its gradient is 0.",
    _flat,
    apart(7, 11) + 0.02,
    HALVES,
)
trunc = unary(
    "trunc",
    "trunc(x)",
    np.trunc,
    """x without its fraction, towards 0; its gradient is 0.

    Formula: y = sign(x) · ⌊|x|⌋
    """,
    _flat,
    apart(7, 11),
    HALVES,
)
exp2 = unary("exp2", "exp2(x)", np.exp2, "2 to the power x.", lambda x, y: y * math.log(2), normal(7, 11), [-149.0, 0.0, 127.0])
expm1 = unary(
    "expm1", "expm1(x)", np.expm1, "exp(x) - 1, exact near 0.", lambda x, y: y + 1.0, normal(7, 11), [-90.0, 1e-9, 88.0]
)
log1p = unary(
    "log1p",
    "log1p(x)",
    np.log1p,
    "log(1 + x), exact near 0.",
    lambda x, y: 1.0 / (x + 1.0),
    positive(7, 11) - 0.9,
    [1e-9, 0.0, -1.0, 1e30],
)
log2 = unary(
    "log2", "log2(x)", np.log2, "Logarithm to base 2.", lambda x, y: 1.0 / (x * math.log(2)), positive(7, 11), [1e-30, 8.0]
)
tan = unary("tan", "tan(x)", np.tan, "Tangent of x in radians.", lambda x, y: y * y + 1.0, normal(7, 11) / 2, [0.0, 30.0])
INSIDE = np.tanh(normal(7, 11)) * 0.9
asin = unary(
    "asin", "asin(x)", np.arcsin, "Arc sine, in radians.", lambda x, y: 1.0 / sqrt(1.0 - x * x), INSIDE, [-1.0, 0.0, 1.0, 1.5]
)
acos = unary(
    "acos", "acos(x)", np.arccos, "Arc cosine, in radians.", lambda x, y: -1.0 / sqrt(1.0 - x * x), INSIDE, [-1.0, 0.0, 1.0, 1.5]
)
atan = unary(
    "atan", "atan(x)", np.arctan, "Arc tangent, in radians.", lambda x, y: 1.0 / (x * x + 1.0), normal(7, 11), [-INF, 0.0, INF]
)
sinh = unary(
    "sinh",
    "sinh(x)",
    np.sinh,
    """Hyperbolic sine.

    Formula: y = (exp(x) − exp(−x)) / 2
    """,
    lambda x, y: cosh(x),
    normal(7, 11),
    [-80.0, 1e-9, 80.0],
)
cosh = unary(
    "cosh",
    "cosh(x)",
    np.cosh,
    """Hyperbolic cosine.

    Formula: y = (exp(x) + exp(−x)) / 2
    """,
    lambda x, y: sinh(x),
    normal(7, 11),
    [-80.0, 0.0, 80.0],
)
erf = unary(
    "erf",
    "erf(x)",
    erf_of,
    """Error function: the share of a normal distribution of deviation 1/√2 within ±x.

    Formula: y = 2 / √π · ∫ exp(−t²) dt over t from 0 to x
    """,
    lambda x, y: exp(-(x * x)) * (2 / math.sqrt(math.pi)),
    normal(7, 11),
    [-9.0, 0.0, 1e-9, 9.0],
)


def _binary(
    name: str,
    expression: str,
    meaning: Callable[..., Any],
    doc: str,
    inputs: Mapping[str, Input],
    samples: list[Sample],
) -> Operator:
    def function(x: Array, y: Array) -> Array:
        return np.asarray(meaning(x, y))

    function.__doc__ = doc
    return operator(
        name, category=CATEGORY, inputs=inputs, outputs={"z": Output("*any")}, kernel=Elementwise(expression), samples=samples
    )(function)


DIVIDED = [
    Sample({"x": apart(7, 11), "y": apart(7, 11, seed=8) + 0.012}),
    Sample({"x": [7.0, -7.0, 7.0, -7.0, 6.0], "y": [3.0, 3.0, -3.0, -3.0, 3.0]}, gradient=False),
    Sample({"x": whole(7, 11, high=100) - np.int32(50), "y": whole(11, high=9) + np.int32(1)}),
]

mod = _binary(
    "mod",
    "mod(x, y)",
    np.mod,
    """The remainder of x / y, with the sign of y.

    Formula: z = x − y · ⌊x / y⌋
    """,
    NUMBERS,
    DIVIDED,
)
floor_divide = _binary(
    "floor_divide", "floordiv(x, y)", np.floor_divide, "x / y rounded down; its gradient is 0.", NUMBERS, DIVIDED
)
atan2 = _binary(
    "atan2",
    "atan2(x, y)",
    np.arctan2,
    "The angle of the point (y, x), from -π to π: arc tangent of x / y in the right quarter.",
    FLOATS,
    [Sample({"x": normal(7, 11), "y": apart(7, 11)}), Sample({"x": [0.0, 1.0, -1.0], "y": [-1.0, 0.0, 0.0]}, gradient=False)],
)


@mod.gradient
def mod_gradient(g: Value, x: Value, y: Value) -> Grads:
    return {"x": g, "y": -(g * floor_divide(x, y))}


@floor_divide.gradient
def floor_divide_gradient(g: Value) -> Grads:
    return {"x": None, "y": None}


@atan2.gradient
def atan2_gradient(g: Value, x: Value, y: Value) -> Grads:
    over = div(g, square(x) + square(y))
    return {"x": over * y, "y": -(over * x)}


@operator(
    "clamp",
    category=CATEGORY,
    inputs={"x": Input("*any", "T:float")},
    params={"min": Param(0.0), "max": Param(1.0)},
    outputs={"y": Output("*any")},
    kernel=Elementwise("clamp(x, min, max)"),
    samples=[
        Sample({"x": apart(7, 11)}, {"min": -1.03, "max": 2.02}),
        Sample({"x": [-1.0, 0.0, 0.5, 1.0, 2.0, NAN]}, gradient=False),
    ],
)
def clamp(x: Array, min: float, max: float) -> Array:
    """x held between `min` and `max`; the gradient passes within them, both included.

    Formula: y = min if x < min, else max if x > max, else x
    """
    return np.minimum(np.maximum(x, min), max)


@clamp.gradient
def clamp_gradient(g: Value, x: Value, min: float, max: float) -> Grads:
    return {"x": where(greater_equal(x, min), where(less_equal(x, max), g, 0.0), 0.0)}
