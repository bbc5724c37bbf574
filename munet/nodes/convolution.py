"""Convolution: one primitive with groups as a dimension of its own, its two transposes, and the node people draw.

`g` is the group; depthwise convolution is c = k = 1 in each of many groups. All three contractions are closed under
differentiation: each one's gradients are the other two.
"""

from __future__ import annotations

import numpy as np

from munet.engine.declaring import operator
from munet.engine.errors import ShapeError
from munet.engine.ir.module import Value
from munet.engine.kernels import Contraction
from munet.engine.operator import Array, Grads, Input, Output, Param, Sample
from munet.engine.shapes import Dims, window_count
from munet.nodes.samples import normal
from munet.nodes.shape_ops import reshape, slice_

Pair = tuple[int, int]
GEOMETRY = {
    "stride": Param((1, 1), min=1, doc="step in pixels, down and across"),
    "padding": Param((0, 0), min=0, doc="zeros on each side, in pixels"),
    "dilation": Param((1, 1), min=1, doc="distance of the kernel's taps, in pixels"),
}
LINE_GEOMETRY = {
    "stride": Param(1, min=1, doc="step in places"),
    "padding": Param(0, min=0, doc="zeros on each side"),
    "dilation": Param(1, min=1, doc="distance of the kernel's taps"),
}
INTERNAL = ""  # not in the palette: the drawn node is conv2d


def _windows(x: Array, r: int, s: int, stride: Pair, padding: Pair, dilation: Pair) -> Array:
    """[n, g, c, p, q, r, s]: each window of x."""
    padded = np.pad(x, [(0, 0)] * 3 + [(padding[0],) * 2, (padding[1],) * 2])
    reach = (dilation[0] * (r - 1) + 1, dilation[1] * (s - 1) + 1)
    view = np.lib.stride_tricks.sliding_window_view(padded, reach, axis=(3, 4))
    return view[:, :, :, :: stride[0], :: stride[1], :: dilation[0], :: dilation[1]]


SAMPLE_GEOMETRIES = [
    {},
    {"stride": (2, 1), "padding": (1, 2)},
    {"stride": (2, 3), "padding": (2, 0), "dilation": (2, 1)},
]


@operator(
    "convolution",
    category=INTERNAL,
    params=GEOMETRY,
    inputs={"x": Input("n g c h w", "T:float"), "weight": Input("g k c r s", "T:float")},
    outputs={"y": Output("n g k p q")},
    kernel=Contraction(
        "y[n,g,k,p,q] += x[n,g,c,p*stride[0]+r*dilation[0]-padding[0],q*stride[1]+s*dilation[1]-padding[1]] * weight[g,k,c,r,s]"
    ),
    samples=[Sample({"x": normal(2, 2, 3, 7, 9), "weight": normal(2, 5, 3, 3, 2)}, geometry) for geometry in SAMPLE_GEOMETRIES]
    + [
        Sample({"x": normal(1, 4, 1, 5, 5), "weight": normal(4, 1, 1, 3, 3)}),
        Sample({"x": np.arange(12.0).reshape(1, 1, 1, 3, 4), "weight": np.ones((1, 1, 1, 2, 2))}, {"stride": (2, 2)}),
    ],
)
def convolution(x: Array, weight: Array, stride: Pair, padding: Pair, dilation: Pair) -> Array:
    """Grouped cross-correlation: y[n,g,k,p,q] = sum over c,r,s of x's windows times weight[g,k,c,r,s]."""
    windows = _windows(x, weight.shape[3], weight.shape[4], stride, padding, dilation)
    return np.einsum("ngcpqrs,gkcrs->ngkpq", windows, weight, optimize=True)


@convolution.shape
def convolution_shape(d: Dims, stride: Pair, padding: Pair, dilation: Pair) -> dict[str, int]:
    return {
        "p": window_count(d.h, d.r, stride[0], padding[0], dilation[0]),
        "q": window_count(d.w, d.s, stride[1], padding[1], dilation[1]),
    }


@convolution.gradient
def convolution_gradient(g: Value, x: Value, weight: Value, stride: Pair, padding: Pair, dilation: Pair) -> Grads:
    geometry = {"stride": stride, "padding": padding, "dilation": dilation}
    return {
        "x": convolution_input(g, weight, size=x.shape[3:], **geometry),
        "weight": convolution_weight(g, x, size=weight.shape[3:], **geometry),
    }


@operator(
    "convolution_input",
    category=INTERNAL,
    params=GEOMETRY | {"size": Param((1, 1), min=0)},
    inputs={"dy": Input("n g k p q", "T:float"), "weight": Input("g k c r s", "T:float")},
    outputs={"x": Output(lambda shapes, params: (*shapes["dy"][:2], shapes["weight"][2], *params["size"]))},
    kernel=Contraction(
        "x[n,g,c,h,w] += dy[n,g,k,(h+padding[0]-r*dilation[0])/stride[0],(w+padding[1]-s*dilation[1])/stride[1]]"
        " * weight[g,k,c,r,s]"
    ),
    samples=[
        Sample({"dy": normal(2, 2, 5, 5, 8), "weight": normal(2, 5, 3, 3, 2)}, {"size": (7, 9)}),
        Sample(
            {"dy": normal(2, 2, 5, 4, 12), "weight": normal(2, 5, 3, 3, 2)}, {"stride": (2, 1), "padding": (1, 2), "size": (7, 9)}
        ),
    ],
)
def convolution_input(dy: Array, weight: Array, stride: Pair, padding: Pair, dilation: Pair, size: Pair) -> Array:
    """The transpose of convolution in x: what each input pixel gets back. Also called transposed convolution."""
    n, groups, _, p, q = dy.shape
    _, _, c, r, s = weight.shape
    x = np.zeros((n, groups, c, size[0] + 2 * padding[0], size[1] + 2 * padding[1]), np.result_type(dy, weight))
    for i in range(r):
        for j in range(s):
            part = np.einsum("ngkpq,gkc->ngcpq", dy, weight[:, :, :, i, j], optimize=True)
            top, left = i * dilation[0], j * dilation[1]
            rows, columns = slice(top, top + p * stride[0], stride[0]), slice(left, left + q * stride[1], stride[1])
            target = x[:, :, :, rows, columns]
            target += part[:, :, :, : target.shape[3], : target.shape[4]]
    return x[:, :, :, padding[0] : padding[0] + size[0], padding[1] : padding[1] + size[1]]


@convolution_input.gradient
def convolution_input_gradient(g: Value, dy: Value, weight: Value, stride: Pair, padding: Pair, dilation: Pair) -> Grads:
    geometry = {"stride": stride, "padding": padding, "dilation": dilation}
    return {
        "dy": _cropped(convolution(g, weight, **geometry), dy),
        "weight": convolution_weight(dy, g, size=weight.shape[3:], **geometry),
    }


def _cropped(y: Value, like: Value) -> Value:
    """A convolution may have more windows than the tensor it is the cotangent of; those got nothing."""
    for axis in (3, 4):
        if y.shape[axis] > like.shape[axis]:
            y = slice_(y, axis=axis, start=0, length=like.shape[axis])
    return y


@operator(
    "convolution_weight",
    category=INTERNAL,
    params=GEOMETRY | {"size": Param((1, 1), min=0)},
    inputs={"dy": Input("*batch n g k p q", "T:float"), "x": Input("*batch n g c h w", "T:float")},
    outputs={
        "weight": Output(lambda shapes, params: (*shapes["dy"][:-5], *shapes["dy"][-4:-2], shapes["x"][-3], *params["size"]))
    },
    kernel=Contraction(
        "weight[*batch,g,k,c,r,s] += dy[*batch,n,g,k,p,q]"
        " * x[*batch,n,g,c,p*stride[0]+r*dilation[0]-padding[0],q*stride[1]+s*dilation[1]-padding[1]]"
    ),
    samples=[
        Sample({"dy": normal(2, 2, 5, 5, 8), "x": normal(2, 2, 3, 7, 9)}, {"size": (3, 2)}),
        Sample({"dy": normal(3, 2, 1, 2, 4, 5), "x": normal(3, 2, 1, 1, 6, 6)}, {"size": (3, 2)}, gradient=False),
    ],
)
def convolution_weight(dy: Array, x: Array, stride: Pair, padding: Pair, dilation: Pair, size: Pair) -> Array:
    """The transpose of convolution in its weight; leading dimensions before n are separate batches."""
    lead = dy.shape[:-5]
    dy, x = dy.reshape(-1, *dy.shape[-5:]), x.reshape(-1, *x.shape[-5:])
    weights = []
    for cotangent, image in zip(dy, x, strict=True):
        windows = _windows(image, size[0], size[1], stride, padding, dilation)[:, :, :, : dy.shape[-2], : dy.shape[-1]]
        weights.append(np.einsum("ngkpq,ngcpqrs->gkcrs", cotangent, windows, optimize=True))
    return np.stack(weights).reshape(*lead, *weights[0].shape)


@convolution_weight.gradient
def convolution_weight_gradient(g: Value, dy: Value, x: Value, stride: Pair, padding: Pair, dilation: Pair) -> Grads:
    geometry = {"stride": stride, "padding": padding, "dilation": dilation}
    return {"dy": _cropped(convolution(x, g, **geometry), dy), "x": convolution_input(dy, g, size=x.shape[3:], **geometry)}


def grouped(x: Value, groups: int) -> Value:
    """[n, c, h, w] as [n, groups, c / groups, h, w]. Raises ShapeError when the channels do not divide."""
    n, c, h, w = x.shape
    if c % groups:
        raise ShapeError(
            f"x has {c} channels",
            rule=f"the channels are a multiple of groups = {groups}",
            cure="another number of groups",
            socket="x",
        )
    return reshape(x, shape=(n, groups, c // groups, h, w))


def conv2d(
    x: Value, weight: Value, *, stride: Pair = (1, 1), padding: Pair = (0, 0), dilation: Pair = (1, 1), groups: int = 1
) -> Value:
    """2-D cross-correlation of x [n, c, h, w] with weight [k, c / groups, r, s], as deep learning calls convolution."""
    k, c, r, s = weight.shape
    if k % groups:
        raise ShapeError(
            f"there are {k} output channels",
            rule=f"they are a multiple of groups = {groups}",
            cure="another number of groups",
            socket="groups",
        )
    y = convolution(
        grouped(x, groups),
        reshape(weight, shape=(groups, k // groups, c, r, s)),
        stride=stride,
        padding=padding,
        dilation=dilation,
    )
    return reshape(y, shape=(x.shape[0], k, *y.shape[3:]))


def conv_transpose2d(
    x: Value,
    weight: Value,
    *,
    stride: Pair = (1, 1),
    padding: Pair = (0, 0),
    output_padding: Pair = (0, 0),
    dilation: Pair = (1, 1),
    groups: int = 1,
) -> Value:
    """The transpose of a convolution that has these parameters: x [n, c, h, w] with weight [c, k / groups, r, s]."""
    n, c, h, w = x.shape
    _, k, r, s = weight.shape
    for extra, step, gap in zip(output_padding, stride, dilation, strict=True):
        if extra >= max(step, gap):
            raise ShapeError(
                f"output_padding is {list(output_padding)}",
                rule="it is smaller than the stride or the dilation",
                socket="output_padding",
            )
    taps = ((h, r), (w, s))
    size = tuple(
        (count - 1) * stride[i] - 2 * padding[i] + dilation[i] * (kernel - 1) + output_padding[i] + 1
        for i, (count, kernel) in enumerate(taps)
    )
    if min(size) < 1:
        raise ShapeError(
            f"the result would have {size[0]} x {size[1]} pixels",
            rule="it has at least one",
            cure="less padding",
            socket="padding",
        )
    y = convolution_input(
        grouped(x, groups),
        reshape(weight, shape=(groups, c // groups, k, r, s)),
        stride=stride,
        padding=padding,
        dilation=dilation,
        size=size,
    )
    return reshape(y, shape=(n, groups * k, *size))
