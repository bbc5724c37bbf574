"""Activations: element-wise functions between layers, and softmax. Meaning and defaults are PyTorch's."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from munet.engine.builder import Builder
from munet.engine.declaring import layer, operator
from munet.engine.errors import ShapeError
from munet.engine.ir.module import Initial, Value
from munet.engine.kernels import Elementwise
from munet.engine.operator import Array, Choice, Grads, Input, Output, Param, Sample
from munet.engine.shapes import normal_axes
from munet.nodes.arithmetic import absolute, exp, greater, less, log, square, stop_gradient, where
from munet.nodes.functions import erf, erf_of, unary
from munet.nodes.reductions import max_, sum_
from munet.nodes.samples import apart, normal, positive
from munet.nodes.shape_ops import reshape, slice_

X, Y = {"x": Input("*any", "T:float")}, {"y": Output("*any")}
TAILS = Sample({"x": [-90.0, -1.0, 0.5, 90.0]}, gradient=False)  # exp(90) is inf in f32; the result must not be NaN


@operator(
    "relu",
    category="Activations",
    inputs=X,
    outputs=Y,
    kernel=Elementwise("max(x, 0.0)"),
    samples=[Sample({"x": apart(7, 11)}), TAILS],
)
def relu(x: Array) -> Array:
    """max(x, 0): passes what is above zero; the gradient at 0 is 0."""
    return np.maximum(x, 0)


@relu.gradient
def relu_gradient(g: Value, y: Value) -> Grads:
    return {"x": where(greater(y, 0.0), g, 0.0)}


@operator(
    "tanh",
    category="Activations",
    inputs=X,
    outputs=Y,
    kernel=Elementwise("tanh(x)"),
    samples=[Sample({"x": normal(7, 11)}), TAILS],
)
def tanh(x: Array) -> Array:
    """Hyperbolic tangent: smooth, from -1 to 1.

    Formula: y = (exp(x) − exp(−x)) / (exp(x) + exp(−x))
    """
    return np.tanh(x)


@tanh.gradient
def tanh_gradient(g: Value, y: Value) -> Grads:
    return {"x": g * (1.0 - y * y)}


@operator(
    "sigmoid",
    category="Activations",
    inputs=X,
    outputs=Y,
    kernel=Elementwise("sigmoid(x)"),
    samples=[Sample({"x": normal(7, 11)}), TAILS],
)
def sigmoid(x: Array) -> Array:
    """The logistic function: smooth, from 0 to 1.

    Formula: y = 1 / (1 + exp(−x))
    """
    return np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))))


@sigmoid.gradient
def sigmoid_gradient(g: Value, y: Value) -> Grads:
    return {"x": g * y * (1.0 - y)}


@operator(
    "silu",
    category="Activations",
    inputs=X,
    outputs=Y,
    kernel=Elementwise("x * sigmoid(x)"),
    samples=[Sample({"x": normal(7, 11)}), TAILS],
)
def silu(x: Array) -> Array:
    """x · sigmoid(x): smooth, unbounded above; also called swish (Elfwing et al. 2017, arXiv 1702.03118)."""
    return x * sigmoid.reference(x)


@silu.gradient
def silu_gradient(g: Value, x: Value, y: Value) -> Grads:
    s = sigmoid(x)
    return {"x": g * (s + y * (1.0 - s))}


@operator(
    "softplus",
    category="Activations",
    inputs=X,
    outputs=Y,
    kernel=Elementwise("softplus(x)"),
    samples=[Sample({"x": normal(7, 11)}), TAILS],
)
def softplus(x: Array) -> Array:
    """log(1 + exp(x)): a smooth relu; exact in both tails."""
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


@softplus.gradient
def softplus_gradient(g: Value, x: Value) -> Grads:
    return {"x": g * sigmoid(x)}


CATEGORY = "Activations"
FAR = [-90.0, -6.0, -1.0, 0.5, 6.0, 90.0]


def _gelu_slope(x: Value, y: Value) -> Value:
    return (erf(x * math.sqrt(0.5)) + 1.0) * 0.5 + x * exp(square(x) * -0.5) * (1 / math.sqrt(2 * math.pi))


def _gelu_tanh(x: Array) -> Array:
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def _gelu_tanh_slope(x: Value, y: Value) -> Value:
    t = tanh((x + x * square(x) * 0.044715) * math.sqrt(2 / math.pi))
    inner = (square(x) * (3 * 0.044715) + 1.0) * math.sqrt(2 / math.pi)
    return (t + 1.0) * 0.5 + x * 0.5 * (1.0 - square(t)) * inner


def _mish_slope(x: Value, y: Value) -> Value:
    t = tanh(softplus(x))
    return t + x * sigmoid(x) * (1.0 - square(t))


def _hard_swish_slope(x: Value, y: Value) -> Value:
    return where(less(x, -3.0), 0.0, where(greater(x, 3.0), 1.0, x * (1 / 3) + 0.5))


def _between(low: float, high: float, slope: float = 1.0) -> Callable[[Value, Value], Value]:
    return lambda x, y: where(greater(x, low), where(less(x, high), slope, 0.0), 0.0)


gelu = unary(
    "gelu",
    "0.5 * x * (1.0 + erf(x * 0.7071067811865476))",
    lambda x: 0.5 * x * (1 + erf_of(x * math.sqrt(0.5))),
    """x times the share of a normal distribution below x: a smooth relu (Hendrycks and Gimpel 2016, arXiv 1606.08415).

    Formula: y = x · (1 + erf(x / √2)) / 2
    """,
    _gelu_slope,
    normal(7, 11),
    FAR,
    CATEGORY,
)
gelu_tanh = unary(
    "gelu_tanh",
    "0.5 * x * (1.0 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))",
    _gelu_tanh,
    """gelu by an approximation with tanh, within 0.0005 of it (Hendrycks and Gimpel 2016).

    Formula: y = x · (1 + tanh(√(2 / π) · (x + 0.044715 · x³))) / 2
    """,
    _gelu_tanh_slope,
    normal(7, 11),
    FAR,
    CATEGORY,
)
mish = unary(
    "mish",
    "x * tanh(softplus(x))",
    lambda x: x * np.tanh(softplus.reference(x)),
    "x · tanh(softplus(x)): smooth, unbounded above (Misra 2019, arXiv 1908.08681).",
    _mish_slope,
    normal(7, 11),
    FAR,
    CATEGORY,
)
softsign = unary(
    "softsign",
    "x / (1.0 + abs(x))",
    lambda x: x / (1 + np.abs(x)),
    "x / (1 + |x|): from -1 to 1, with long tails.",
    lambda x, y: 1.0 / square(absolute(x) + 1.0),
    apart(7, 11),
    FAR,
    CATEGORY,
)
log_sigmoid = unary(
    "log_sigmoid",
    "-softplus(-x)",
    lambda x: -softplus.reference(-x),
    "Logarithm of sigmoid(x); exact in both tails.",
    lambda x, y: sigmoid(-x),
    normal(7, 11),
    FAR,
    CATEGORY,
)
relu6 = unary(
    "relu6",
    "clamp(x, 0.0, 6.0)",
    lambda x: np.minimum(np.maximum(x, 0), 6),
    "relu held at 6 and below.",
    _between(0.0, 6.0),
    apart(7, 31) / 2,
    FAR,
    CATEGORY,
)
hard_tanh = unary(
    "hard_tanh",
    "clamp(x, -1.0, 1.0)",
    lambda x: np.minimum(np.maximum(x, -1), 1),
    "x held between -1 and 1.",
    _between(-1.0, 1.0),
    apart(7, 11) + 0.013,
    FAR,
    CATEGORY,
)
hard_sigmoid = unary(
    "hard_sigmoid",
    "clamp(x + 3.0, 0.0, 6.0) / 6.0",
    lambda x: np.minimum(np.maximum(x + 3, 0), 6) / 6,
    "A straight line from 0 at -3 to 1 at 3.",
    _between(-3.0, 3.0, 1 / 6),
    apart(7, 11) + 0.013,
    FAR,
    CATEGORY,
)
hard_swish = unary(
    "hard_swish",
    "x * clamp(x + 3.0, 0.0, 6.0) / 6.0",
    lambda x: x * np.minimum(np.maximum(x + 3, 0), 6) / 6,
    "x · hard_sigmoid(x) (Howard et al. 2019, arXiv 1905.02244).",
    _hard_swish_slope,
    apart(7, 11) + 0.013,
    FAR,
    CATEGORY,
)
SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772
selu = unary(
    "selu",
    f"{SELU_SCALE} * (x if x > 0.0 else {SELU_ALPHA} * expm1(x))",
    lambda x: SELU_SCALE * np.where(x > 0, x, SELU_ALPHA * np.expm1(x)),
    "elu with the two constants that keep mean 0 and variance 1 (Klambauer et al. 2017, arXiv 1706.02515).",
    lambda x, y: where(greater(x, 0.0), SELU_SCALE, y + SELU_SCALE * SELU_ALPHA),
    apart(7, 11),
    FAR,
    CATEGORY,
)


@operator(
    "leaky_relu",
    category=CATEGORY,
    inputs=X,
    outputs=Y,
    params={"slope": Param(0.01, doc="below 0")},
    kernel=Elementwise("x if x > 0.0 else slope * x"),
    samples=[Sample({"x": apart(7, 11)}), Sample({"x": FAR}, {"slope": 0.3}, gradient=False)],
)
def leaky_relu(x: Array, slope: float) -> Array:
    """x above 0, slope · x below."""
    return np.where(x > 0, x, slope * x)


@leaky_relu.gradient
def leaky_relu_gradient(g: Value, x: Value, slope: float) -> Grads:
    return {"x": where(greater(x, 0.0), g, g * slope)}


@operator(
    "elu",
    category=CATEGORY,
    inputs=X,
    outputs=Y,
    params={"alpha": Param(1.0, doc="minus the limit on the left")},
    kernel=Elementwise("x if x > 0.0 else alpha * expm1(x)"),
    samples=[Sample({"x": apart(7, 11)}), Sample({"x": FAR}, {"alpha": 0.7}, gradient=False)],
)
def elu(x: Array, alpha: float) -> Array:
    """x above 0, a curve that ends at -alpha below (Clevert et al. 2016, arXiv 1511.07289)."""
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


@elu.gradient
def elu_gradient(g: Value, x: Value, y: Value, alpha: float) -> Grads:
    return {"x": where(greater(x, 0.0), g, g * (y + alpha))}


@operator(
    "celu",
    category=CATEGORY,
    inputs=X,
    outputs=Y,
    params={"alpha": Param(1.0, positive=True, doc="minus the limit on the left")},
    kernel=Elementwise("x if x > 0.0 else alpha * expm1(x / alpha)"),
    samples=[Sample({"x": apart(7, 11)}, {"alpha": 1.3}), Sample({"x": FAR}, {"alpha": 0.7}, gradient=False)],
)
def celu(x: Array, alpha: float) -> Array:
    """x above 0, a curve that ends at -alpha below: an elu without a kink (Barron 2017, arXiv 1704.07483)."""
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0) / alpha))


@celu.gradient
def celu_gradient(g: Value, x: Value, y: Value, alpha: float) -> Grads:
    return {"x": where(greater(x, 0.0), g, g * (y / alpha + 1.0))}


@layer(
    "PReLU",
    category=CATEGORY,
    inputs={"x": Input("*any", "T:float")},
    params={"slopes": Choice("one", "channels", doc="one for all, or one for each channel of x [n, c, ...]")},
)
def prelu(b: Builder, x: Value, slopes: str) -> Value:
    """x above 0, a learned slope times x below; it starts as 0.25 (He et al. 2015, arXiv 1502.01852).

    Formula: y = x if x > 0, else weight · x
    """
    if slopes == "channels" and x.rank < 2:
        raise ShapeError(f"x has shape {list(x.shape)}", rule="with a slope for each channel x is [n, c, ...]", socket="x")
    count = x.shape[1] if slopes == "channels" else 1
    weight = b.parameter("weight", (count,), Initial("constant", (0.25,)))
    if slopes == "channels":
        weight = reshape(weight, shape=(count, *(1 for _ in x.shape[2:])))
    return where(greater(x, 0.0), x, x * weight)


@layer(
    "GLU",
    category=CATEGORY,
    inputs={"x": Input("*any", "T:float")},
    params={"axis": Param(-1)},
    outputs={"y": Output("*half", doc="half as long along the axis as x")},
)
def glu(b: Builder, x: Value, axis: int) -> Value:
    """The first half of x along an axis, times sigmoid of the second half (Dauphin et al. 2017, arXiv 1612.08083).

    Formula:
        a, b = the halves of x along the axis
        y = a · sigmoid(b)
    """
    (axis,) = normal_axes((axis,), x.rank, "axis")
    half, odd = divmod(x.shape[axis], 2)
    if odd:
        raise ShapeError(f"x has shape {list(x.shape)}", rule="its size along the axis is even", socket="x")
    return slice_(x, axis=axis, start=0, length=half) * sigmoid(slice_(x, axis=axis, start=half, length=half))


@operator(
    "share_of_powers",
    category="",
    inputs={"x": Input("*any", "T:float"), "top": Input("*any", "T:float"), "total": Input("*any", "T:float")},
    outputs={"y": Output("*any")},
    params={"axis": Param(-1)},
    kernel=Elementwise("exp(x - top) / total"),
    samples=[Sample({"x": normal(7, 11), "top": apart(7, 1), "total": positive(7, 1)}, gradient=False)],
)
def share_of_powers(x: Array, top: Array, total: Array, axis: int) -> Array:
    """exp(x - top) / total: a softmax whose largest elements and sums are known already.

    Its gradient is all of softmax's, which needs nothing but the result; `top` and `total` are made of x and have none.
    """
    return np.exp(x - top) / total


@share_of_powers.gradient
def share_of_powers_gradient(g: Value, y: Value, axis: int) -> Grads:
    return {"x": y * (g - sum_(g * y, axes=(axis,), keepdims=True)), "top": None, "total": None}


def softmax(x: Value, axis: int = -1) -> Value:
    """exp(x) over its sum along an axis; the largest is taken off first, so that nothing overflows."""
    fixed = stop_gradient(x)
    top = max_(fixed, axes=(axis,), keepdims=True)
    return share_of_powers(x, top, sum_(exp(fixed - top), axes=(axis,), keepdims=True), axis=axis)


def log_softmax(x: Value, axis: int = -1) -> Value:
    """Logarithm of softmax along an axis; the largest is taken off first, so that nothing overflows."""
    shifted = x - stop_gradient(max_(x, axes=(axis,), keepdims=True))
    return shifted - log(sum_(exp(shifted), axes=(axis,), keepdims=True))


@layer("softmax", category=CATEGORY, inputs={"x": Input("*any", "T:float")}, params={"axis": Param(-1)})
def softmax_layer(b: Builder, x: Value, axis: int) -> Value:
    """exp(x) over its sum along an axis: positive numbers that add up to 1.

    Formula: y = exp(x) / Σ exp(x)
    """
    return softmax(x, axis)


@layer("log_softmax", category=CATEGORY, inputs={"x": Input("*any", "T:float")}, params={"axis": Param(-1)})
def log_softmax_layer(b: Builder, x: Value, axis: int) -> Value:
    """Logarithm of softmax along an axis; exact where softmax is close to 0.

    Formula: y = x − log(Σ exp(x))
    """
    return log_softmax(x, axis)
