"""Layers: nodes that own parameters. They start as PyTorch's do, so that recipes carry over."""

from __future__ import annotations

import math

from munet.engine.builder import Builder
from munet.engine.declaring import layer
from munet.engine.errors import ShapeError
from munet.engine.ir.module import Initial, Value
from munet.engine.operator import Input, Output, Param
from munet.nodes.arithmetic import cast, sin
from munet.nodes.convolution import GEOMETRY, LINE_GEOMETRY, Pair, conv2d, conv_transpose2d
from munet.nodes.linear import matmul
from munet.nodes.shape_ops import reshape, transpose

CHANNELS = {"out_channels": Param(16, min=1)}
GROUPS_AND_BIAS = {"groups": Param(1, min=1, doc="of channels, each with a convolution of its own"), "bias": Param(True)}
CONVOLVED = "h_out = ⌊(h + 2 · padding − dilation · (kernel − 1) − 1) / stride⌋ + 1, w_out likewise"
CONVOLVED_LINE = "l_out = ⌊(l + 2 · padding − dilation · (kernel − 1) − 1) / stride⌋ + 1"
SPREAD_OUT = "h_out = (h − 1) · stride − 2 · padding + dilation · (kernel − 1) + output_padding + 1, w_out likewise"


def uniform(bound: float) -> Initial:
    """U(-bound, bound)."""
    return Initial("uniform", (-bound, bound))


@layer(
    "Linear",
    category="Layers",
    inputs={"x": Input("*batch in", "T:float")},
    params={"out_features": Param(64, min=1), "bias": Param(True)},
    outputs={"y": Output("*batch out_features")},
)
def linear(b: Builder, x: Value, out_features: int, bias: bool) -> Value:
    """Every output is a weighted sum of all inputs; weight [out, in] and bias start in U(±1/√in), as in PyTorch.

    Formula: y = x weightᵀ + bias
    """
    bound = 1 / math.sqrt(max(x.shape[-1], 1))
    weight = b.parameter("weight", (out_features, x.shape[-1]), uniform(bound))
    y = matmul(x, transpose(weight))
    return y + b.parameter("bias", (out_features,), uniform(bound)) if bias else y


@layer(
    "Conv2d",
    category="Layers",
    inputs={"x": Input("n c h w", "T:float")},
    params={
        **CHANNELS,
        "kernel": Param((3, 3), min=1, doc="pixels, down and across"),
        **GEOMETRY,
        **GROUPS_AND_BIAS,
    },
    outputs={"y": Output("n out_channels h_out w_out", doc=CONVOLVED)},
)
def conv2d_layer(
    b: Builder, x: Value, out_channels: int, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair, groups: int, bias: bool
) -> Value:
    """2-D convolution of x [n, c, h, w]; weight [out, c / groups, kernel] and bias start in U(±1/√fan_in), as in PyTorch.

    Formula:
        y[n, o, p, q] = bias[o] + Σ_c,r,s weight[o, c, r, s] · x[n, c, i, j]
        i = p · stride + r · dilation − padding, j likewise; x is 0 outside
    """
    channels = x.shape[1] // groups
    bound = 1 / math.sqrt(max(channels * kernel[0] * kernel[1], 1))
    weight = b.parameter("weight", (out_channels, channels, *kernel), uniform(bound))
    y = conv2d(x, weight, stride=stride, padding=padding, dilation=dilation, groups=groups)
    return y + reshape(b.parameter("bias", (out_channels,), uniform(bound)), shape=(out_channels, 1, 1)) if bias else y


@layer(
    "Conv1d",
    category="Layers",
    inputs={"x": Input("n c l", "T:float")},
    params={
        **CHANNELS,
        "kernel": Param(3, min=1, doc="places"),
        **LINE_GEOMETRY,
        **GROUPS_AND_BIAS,
    },
    outputs={"y": Output("n out_channels l_out", doc=CONVOLVED_LINE)},
)
def conv1d_layer(
    b: Builder, x: Value, out_channels: int, kernel: int, stride: int, padding: int, dilation: int, groups: int, bias: bool
) -> Value:
    """1-D convolution of x [n, c, length]; weight [out, c / groups, kernel] and bias start in U(±1/√fan_in), as in PyTorch.

    Formula:
        y[n, o, p] = bias[o] + Σ_c,r weight[o, c, r] · x[n, c, i]
        i = p · stride + r · dilation − padding; x is 0 outside
    """
    n, c, length = x.shape
    bound = 1 / math.sqrt(max(c // groups * kernel, 1))
    weight = b.parameter("weight", (out_channels, c // groups, kernel), uniform(bound))
    row, taps = reshape(x, shape=(n, c, 1, length)), reshape(weight, shape=(*weight.shape[:2], 1, kernel))
    y = conv2d(row, taps, stride=(1, stride), padding=(0, padding), dilation=(1, dilation), groups=groups)
    y = reshape(y, shape=(n, out_channels, y.shape[3]))
    return y + reshape(b.parameter("bias", (out_channels,), uniform(bound)), shape=(out_channels, 1)) if bias else y


@layer(
    "ConvTranspose2d",
    category="Layers",
    inputs={"x": Input("n c h w", "T:float")},
    params={
        **CHANNELS,
        "kernel": Param((2, 2), min=1, doc="pixels, down and across"),
        "stride": Param((2, 2), min=1, doc="pixels of the result for each of x"),
        "padding": Param((0, 0), min=0, doc="pixels cut off on each side"),
        "output_padding": Param((0, 0), min=0, doc="pixels more, below and to the right"),
        "dilation": Param((1, 1), min=1, doc="distance of the kernel's taps, in pixels"),
        **GROUPS_AND_BIAS,
    },
    outputs={"y": Output("n out_channels h_out w_out", doc=SPREAD_OUT)},
)
def conv_transpose2d_layer(
    b: Builder,
    x: Value,
    out_channels: int,
    kernel: Pair,
    stride: Pair,
    padding: Pair,
    output_padding: Pair,
    dilation: Pair,
    groups: int,
    bias: bool,
) -> Value:
    """Transposed convolution of x [n, c, h, w], which makes images larger; weight [c, out / groups, kernel] as in PyTorch.

    Formula:
        y[n, o, i, j] = bias[o] + Σ_c,r,s weight[c, o, r, s] · x[n, c, p, q]
        over all p and r with i = p · stride + r · dilation − padding, j likewise
    """
    if out_channels % groups:
        raise ShapeError(
            f"there are {out_channels} output channels", rule=f"they are a multiple of groups = {groups}", socket="groups"
        )
    bound = 1 / math.sqrt(max(out_channels // groups * kernel[0] * kernel[1], 1))
    weight = b.parameter("weight", (x.shape[1], out_channels // groups, *kernel), uniform(bound))
    geometry = {"stride": stride, "padding": padding, "output_padding": output_padding, "dilation": dilation}
    y = conv_transpose2d(x, weight, **geometry, groups=groups)
    return y + reshape(b.parameter("bias", (out_channels,), uniform(bound)), shape=(out_channels, 1, 1)) if bias else y


@layer(
    "Siren",
    category="Layers",
    inputs={"x": Input("*batch in", "T:float")},
    params={
        "out_features": Param(64, min=1),
        "omega": Param(30.0, positive=True, doc="how fast the sines turn"),
        "first": Param(False, doc="the layer that reads coordinates: it starts otherwise"),
    },
    outputs={"y": Output("*batch out_features")},
)
def siren(b: Builder, x: Value, out_features: int, omega: float, first: bool) -> Value:
    """Sines of weighted sums, for images and other fields; starts as Sitzmann et al. 2020 say (arXiv 2006.09661).

    Formula: y = sin(omega · (x weightᵀ + bias))
    """
    fan_in = max(x.shape[-1], 1)
    bound = 1 / fan_in if first else math.sqrt(6 / fan_in) / omega
    weight = b.parameter("weight", (out_features, x.shape[-1]), uniform(bound))
    bias = b.parameter("bias", (out_features,), uniform(1 / math.sqrt(fan_in)))
    return sin((matmul(x, transpose(weight)) + bias) * omega)


@layer(
    "Normalise",
    category="Layers",
    inputs={"x": Input("*any", "T:number")},
    params={"scale": Param(1 / 255, doc="multiplies"), "shift": Param(0.0, doc="is added")},
    outputs={"y": Output("*any", "f32")},
)
def normalise(b: Builder, x: Value, scale: float, shift: float) -> Value:
    """Scaled and shifted numbers in f32: brings stored bytes to the range a network likes.

    Formula: y = x · scale + shift
    """
    wide = x if x.dtype.is_float else cast(x, dtype="f32")
    scaled = wide * scale
    return scaled + shift if shift else scaled
