"""Normalisation: values shifted and scaled to mean 0 and variance 1 over some of their axes, then by learned numbers.

All of it is made of primitive operators. The variance is that of the centred values (two passes over a row), which stays
exact where the mean is large. Defaults and names of the states are PyTorch's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from munet.engine.builder import Builder
from munet.engine.declaring import layer
from munet.engine.errors import ShapeError
from munet.engine.ir.module import Initial, Shape, Value
from munet.engine.operator import Input, Output, Param
from munet.nodes.arithmetic import rsqrt, square
from munet.nodes.reductions import mean
from munet.nodes.shape_ops import reshape

CATEGORY = "Normalisation"
EPS = Param(1e-5, min=0.0, doc="is added to the variance")
AFFINE = Param(True, doc="a learned weight and bias for each channel")
F32_EPS = 1.1920928955078125e-07  # PyTorch's default for RMSNorm: the spacing of f32 numbers at 1


def centred(x: Value, axes: Sequence[int]) -> tuple[Value, Value, Value]:
    """Mean, x - mean, and the variance over `axes`, which are kept with size 1."""
    average = mean(x, axes=tuple(axes), keepdims=True)
    difference = x - average
    return average, difference, mean(square(difference), axes=tuple(axes), keepdims=True)


def scaled(b: Builder, y: Value, shape: Shape, like: Shape, *, weight: bool = True, bias: bool = True) -> Value:
    """y · weight + bias, parameters of `shape` that start as 1 and 0, seen as `like` so that they broadcast."""
    if weight:
        y = y * reshape(b.parameter("weight", shape, Initial("ones")), shape=like)
    return y + reshape(b.parameter("bias", shape, Initial("zeros")), shape=like) if bias else y


def _by_channel(x: Value) -> Shape:
    """The shape in which a number a channel broadcasts over x [n, c, ...]."""
    return (x.shape[1], *(1 for _ in x.shape[2:]))


@layer(
    "BatchNorm",
    category=CATEGORY,
    inputs={"x": Input("n c *place", "T:float")},
    params={
        "eps": EPS,
        "momentum": Param(0.1, min=0.0, max=1.0, doc="share of the newest batch in the running mean and variance"),
        "affine": AFFINE,
    },
    outputs={"y": Output("n c *place")},
)
def batch_norm(b: Builder, x: Value, eps: float, momentum: float, affine: bool) -> Value:
    """Each channel of x [n, c, ...] normalised over the batch while training, by its running mean and variance otherwise.

    The same for [n, c], [n, c, length] and [n, c, h, w]. The running variance is the unbiased one, as in PyTorch
    (Ioffe and Szegedy 2015, arXiv 1502.03167).

    Formula:
        y = (x − mean) / √(var + eps) · weight + bias
        running ← (1 − momentum) · running + momentum · batch
    """
    channels, like = x.shape[1], _by_channel(x)
    running_mean = b.state("running_mean", (channels,), initial=Initial("zeros"), group="running")
    running_var = b.state("running_var", (channels,), initial=Initial("ones"), group="running")
    if not b.training:
        y = (x - reshape(running_mean, shape=like)) * rsqrt(reshape(running_var, shape=like) + eps)
        return scaled(b, y, (channels,), like, weight=affine, bias=affine)
    count = x.element_count // max(channels, 1)
    if count < 2:
        raise ShapeError(
            f"x has shape {list(x.shape)}, {count} value{'' if count == 1 else 's'} a channel",
            rule="training needs at least 2 values a channel",
            cure="a larger batch",
            socket="x",
        )
    average, difference, variance = centred(x, [axis for axis in range(x.rank) if axis != 1])
    b.set_result(running_mean, running_mean * (1 - momentum) + reshape(average, shape=(channels,)) * momentum)
    unbiased = reshape(variance, shape=(channels,)) * (momentum * count / (count - 1))
    b.set_result(running_var, running_var * (1 - momentum) + unbiased)
    return scaled(b, difference * rsqrt(variance + eps), (channels,), like, weight=affine, bias=affine)


@layer(
    "LayerNorm",
    category=CATEGORY,
    inputs={"x": Input("*any", "T:float")},
    params={
        "dims": Param(1, min=1, doc="how many of the last dimensions are normalised together"),
        "eps": EPS,
        "affine": Param(True, doc="a learned weight for each element of these dimensions"),
        "bias": Param(True, doc="and a bias"),
    },
)
def layer_norm(b: Builder, x: Value, dims: int, eps: float, affine: bool, bias: bool) -> Value:
    """x normalised over its last dimensions, each sample for itself; weight and bias have their shape
    (Ba et al. 2016, arXiv 1607.06450).

    Formula: y = (x − mean) / √(var + eps) · weight + bias
    """
    shape = _last(x, dims)
    _, difference, variance = centred(x, range(x.rank - dims, x.rank))
    return scaled(b, difference * rsqrt(variance + eps), shape, shape, weight=affine, bias=affine and bias)


def _last(x: Value, dims: int) -> Shape:
    if dims > x.rank:
        raise ShapeError(
            f"x has shape {list(x.shape)}, but its last {dims} dimensions are to be normalised",
            rule="x has at least so many dimensions",
            socket="dims",
        )
    return x.shape[x.rank - dims :]


@layer(
    "GroupNorm",
    category=CATEGORY,
    inputs={"x": Input("n c *place", "T:float")},
    params={"groups": Param(8, min=1, doc="the channels are divided into so many"), "eps": EPS, "affine": AFFINE},
    outputs={"y": Output("n c *place")},
)
def group_norm(b: Builder, x: Value, groups: int, eps: float, affine: bool) -> Value:
    """x [n, c, ...] normalised over groups of channels, each sample for itself: independent of the batch
    (Wu and He 2018, arXiv 1803.08494).

    Formula: y = (x − mean) / √(var + eps) · weight + bias
    """
    n, channels = x.shape[:2]
    if channels % groups:
        raise ShapeError(
            f"x has {channels} channels",
            rule=f"the channels are a multiple of groups = {groups}",
            cure="another number of groups",
            socket="groups",
        )
    grouped = reshape(x, shape=(n, groups, x.element_count // max(n * groups, 1)))
    _, difference, variance = centred(grouped, (2,))
    y = reshape(difference * rsqrt(variance + eps), shape=x.shape)
    return scaled(b, y, (channels,), _by_channel(x), weight=affine, bias=affine)


@layer(
    "InstanceNorm",
    category=CATEGORY,
    inputs={"x": Input("n c *place", "T:float")},
    params={"eps": EPS, "affine": Param(False, doc="a learned weight and bias for each channel")},
    outputs={"y": Output("n c *place")},
)
def instance_norm(b: Builder, x: Value, eps: float, affine: bool) -> Value:
    """x [n, c, ...] normalised over the places of each channel of each sample (Ulyanov et al. 2016, arXiv 1607.08022).

    Formula: y = (x − mean) / √(var + eps) · weight + bias
    """
    count = math.prod(x.shape[2:])
    if count < 2:
        raise ShapeError(
            f"x has shape {list(x.shape)}, {count} place{'' if count == 1 else 's'} a channel",
            rule="a channel has at least 2 places",
            cure="LayerNorm or BatchNorm",
            socket="x",
        )
    _, difference, variance = centred(x, range(2, x.rank))
    return scaled(b, difference * rsqrt(variance + eps), (x.shape[1],), _by_channel(x), weight=affine, bias=affine)


@layer(
    "RMSNorm",
    category=CATEGORY,
    inputs={"x": Input("*any", "T:float")},
    params={
        "dims": Param(1, min=1, doc="how many of the last dimensions are normalised together"),
        "eps": Param(F32_EPS, min=0.0, doc="is added to the mean square"),
        "affine": Param(True, doc="a learned weight for each element of these dimensions"),
    },
)
def rms_norm(b: Builder, x: Value, dims: int, eps: float, affine: bool) -> Value:
    """x divided by the root of its mean square over the last dimensions: LayerNorm without taking the mean off
    (Zhang and Sennrich 2019, arXiv 1910.07467).

    Formula: y = x / √(mean(x²) + eps) · weight
    """
    shape = _last(x, dims)
    power = mean(square(x), axes=tuple(range(x.rank - dims, x.rank)), keepdims=True)
    return scaled(b, x * rsqrt(power + eps), shape, shape, weight=affine, bias=False)
