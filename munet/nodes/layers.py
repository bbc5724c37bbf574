"""Layers: nodes that own parameters. They start as PyTorch's do, so that recipes carry over."""

from __future__ import annotations

import math

from munet.engine.builder import Builder
from munet.engine.ir.module import Initial, Value
from munet.engine.operator import Input, Param, layer
from munet.nodes.arithmetic import cast
from munet.nodes.convolution import GEOMETRY, Pair, conv2d
from munet.nodes.linear import matmul
from munet.nodes.shape_ops import reshape, transpose


def uniform(bound: float) -> Initial:
    """U(-bound, bound)."""
    return Initial("uniform", (-bound, bound))


@layer(
    "Linear",
    category="Layers",
    inputs={"x": Input("*batch in", "T:float")},
    params={"out_features": Param(64, min=1), "bias": Param(True)},
)
def linear(b: Builder, x: Value, out_features: int, bias: bool) -> Value:
    """x · weightᵀ + bias; weight [out, in] and bias start in U(±1/√in), as in PyTorch."""
    bound = 1 / math.sqrt(max(x.shape[-1], 1))
    weight = b.parameter("weight", (out_features, x.shape[-1]), uniform(bound))
    y = matmul(x, transpose(weight))
    return y + b.parameter("bias", (out_features,), uniform(bound)) if bias else y


@layer(
    "Conv2d",
    category="Layers",
    inputs={"x": Input("n c h w", "T:float")},
    params={
        "out_channels": Param(16, min=1),
        "kernel": Param((3, 3), min=1, doc="pixels, down and across"),
        **GEOMETRY,
        "groups": Param(1, min=1),
        "bias": Param(True),
    },
)
def conv2d_layer(
    b: Builder, x: Value, out_channels: int, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair, groups: int, bias: bool
) -> Value:
    """2-D convolution of x [n, c, h, w]; weight [out, c / groups, kernel] and bias start in U(±1/√fan_in), as in PyTorch."""
    channels = x.shape[1] // groups
    bound = 1 / math.sqrt(max(channels * kernel[0] * kernel[1], 1))
    weight = b.parameter("weight", (out_channels, channels, *kernel), uniform(bound))
    y = conv2d(x, weight, stride=stride, padding=padding, dilation=dilation, groups=groups)
    return y + reshape(b.parameter("bias", (out_channels,), uniform(bound)), shape=(out_channels, 1, 1)) if bias else y


@layer(
    "Normalise",
    category="Layers",
    inputs={"x": Input("*any", "T:number")},
    params={"scale": Param(1 / 255, doc="multiplies"), "shift": Param(0.0, doc="is added")},
)
def normalise(b: Builder, x: Value, scale: float, shift: float) -> Value:
    """x · scale + shift in f32: brings stored bytes to the range a network likes."""
    wide = x if x.dtype.is_float else cast(x, dtype="f32")
    scaled = wide * scale
    return scaled + shift if shift else scaled
