"""Pooling. Max pooling is two operators, finding each window's largest element and fetching it: its gradient needs no search."""

from __future__ import annotations

from typing import Any

import numpy as np

from munet.engine.builder import Builder
from munet.engine.declaring import layer, not_differentiable, operator
from munet.engine.errors import ShapeError
from munet.engine.index import Index, fresh, within
from munet.engine.ir.module import Value
from munet.engine.kernels import Indices, Site, View, fold, number_to_index
from munet.engine.operator import Array, Grads, Input, Output, Param, Sample
from munet.engine.scalar import Divides, Expr, InRange, Position, Where, apply, guarded, literal
from munet.engine.shapes import Dims, window_count
from munet.nodes.convolution import convolution
from munet.nodes.reductions import mean
from munet.nodes.samples import apart, normal, whole
from munet.nodes.shape_ops import filled, reshape

Pair = tuple[int, int]
WINDOW = {
    "kernel": Param((2, 2), min=1, doc="window in pixels, down and across"),
    "stride": Param((2, 2), min=1, doc="step in pixels"),
    "padding": Param((0, 0), min=0, doc="pixels on each side that never win"),
}
LINE = {
    "kernel": Param(2, min=1, doc="places in a window"),
    "stride": Param(2, min=1, doc="step in places"),
    "padding": Param(0, min=0, doc="places on each side"),
}
COUNTED = Param(True, doc="zeros beyond the edge count in the mean")
POOLED = "h_out = ⌊(h + 2 · padding − kernel) / stride⌋ + 1, w_out likewise"
POOLED_LINE = "l_out = ⌊(l + 2 · padding − kernel) / stride⌋ + 1"
INTERNAL = ""


def _shape(d: Dims, kernel: Pair, stride: Pair, padding: Pair) -> dict[str, int]:
    return {"p": window_count(d.h, kernel[0], stride[0], padding[0]), "q": window_count(d.w, kernel[1], stride[1], padding[1])}


def _outer(params: Any, p: Index, q: Index, r: Index, s: Index) -> tuple[Index, Index]:
    """The pixel of x under tap (r, s) of window (p, q)."""
    return p * params["stride"][0] + r - params["padding"][0], q * params["stride"][1] + s - params["padding"][1]


def _argmax(site: Site, index: Indices) -> Expr:
    n, c, p, q = index
    r, s = fresh("r", site.params["kernel"][0]), fresh("s", site.params["kernel"][1])
    y, x = _outer(site.params, p, q, r, s)
    h, w = site.shape("x")[2:]
    return fold(
        "argmax",
        [r, s],
        guarded([InRange(y, 0, h), InRange(x, 0, w)], site.load("x", (n, c, within(y, h), within(x, w))), float("-inf")),
    )


def _patches(x: Array, kernel: Pair, stride: Pair, padding: Pair, fill: float) -> Array:
    padded = np.pad(x, [(0, 0)] * 2 + [(padding[0],) * 2, (padding[1],) * 2], constant_values=fill)
    view = np.lib.stride_tricks.sliding_window_view(padded, kernel, axis=(2, 3))[:, :, :: stride[0], :: stride[1]]
    return view.reshape(*view.shape[:4], kernel[0] * kernel[1])


@operator(
    "window_argmax",
    category=INTERNAL,
    inputs={"x": Input("n c h w", "T:float")},
    params=WINDOW,
    outputs={"y": Output("n c p q", "i32")},
    kernel=View(_argmax, kept=True),
    samples=[
        Sample({"x": apart(2, 3, 6, 7)}),
        Sample({"x": apart(2, 3, 7, 5)}, {"kernel": (3, 2), "stride": (2, 1), "padding": (1, 1)}),
    ],
    gradient=not_differentiable("its result is a whole number"),
)
def window_argmax(x: Array, kernel: Pair, stride: Pair, padding: Pair) -> Array:
    """Number of the largest element within each window, row by row from 0; the first of equal ones."""
    return np.argmax(_patches(x, kernel, stride, padding, -np.inf), axis=-1).astype(np.int32)


window_argmax.shape(_shape)


def _pick(site: Site, index: Indices) -> Expr:
    n, c, p, q = index
    kernel, (h, w) = site.params["kernel"], site.shape("x")[2:]
    tap = number_to_index(site.load("which", index), kernel[0] * kernel[1])
    y, x = _outer(site.params, p, q, tap // kernel[1], tap % kernel[1])
    return guarded([InRange(y, 0, h), InRange(x, 0, w)], site.load("x", (n, c, within(y, h), within(x, w))))


@operator(
    "window_pick",
    category=INTERNAL,
    inputs={"x": Input("n c h w", "T:float"), "which": Input("n c p q", "i32")},
    params=WINDOW,
    outputs={"y": Output("n c p q")},
    kernel=View(_pick),
    samples=[Sample({"x": normal(2, 3, 6, 8), "which": whole(2, 3, 3, 4, high=4)})],
)
def window_pick(x: Array, which: Array, kernel: Pair, stride: Pair, padding: Pair) -> Array:
    """The element of each window that `which` names."""
    patches = _patches(x, kernel, stride, padding, 0.0)[:, :, : which.shape[2], : which.shape[3]]
    return np.take_along_axis(patches, which[..., None].astype(np.int64), axis=-1)[..., 0]


@window_pick.gradient
def window_pick_gradient(g: Value, x: Value, which: Value, kernel: Pair, stride: Pair, padding: Pair) -> Grads:
    return {"x": window_place(g, which, size=x.shape[2:], kernel=kernel, stride=stride, padding=padding), "which": None}


def _place(site: Site, index: Indices) -> Expr:
    n, c, h, w = index
    (kr, ks), (sr, ss), (pr, ps) = (site.params[name] for name in ("kernel", "stride", "padding"))
    r, s = fresh("r", kr), fresh("s", ks)
    top, left = h + pr - r, w + ps - s
    p, q = top // sr, left // ss
    shape = site.shape("dy")[2:]
    tests = [
        InRange(top, 0, 1 << 31),
        Divides(top, sr),
        InRange(left, 0, 1 << 31),
        Divides(left, ss),
        InRange(p, 0, shape[0]),
        InRange(q, 0, shape[1]),
    ]
    window = (n, c, within(p, shape[0]), within(q, shape[1]))
    hit = apply("==", site.load("which", window), Position(r * ks + s))
    value = site.load("dy", window)
    return fold("add", [r, s], guarded(tests, Where(hit, value, literal(0, value.dtype))))


@operator(
    "window_place",
    category=INTERNAL,
    inputs={"dy": Input("n c p q", "T:float"), "which": Input("n c p q", "i32")},
    params=WINDOW | {"size": Param((1, 1), min=0)},
    outputs={"x": Output(lambda shapes, params: (*shapes["dy"][:2], *params["size"]))},
    kernel=View(_place, kept=True),
    samples=[
        Sample({"dy": normal(2, 3, 3, 4), "which": whole(2, 3, 3, 4, high=4)}, {"size": (7, 8)}),
        Sample(
            {"dy": normal(2, 3, 3, 4), "which": whole(2, 3, 3, 4, high=6)},
            {"size": (8, 5), "kernel": (3, 2), "stride": (2, 1), "padding": (0, 0)},
        ),
    ],
)
def window_place(dy: Array, which: Array, kernel: Pair, stride: Pair, padding: Pair, size: Pair) -> Array:
    """The transpose of window_pick: each number added to the pixel it came from."""
    x = np.zeros((*dy.shape[:2], size[0], size[1]), dy.dtype)
    n, c, p, q = np.indices(dy.shape)
    y = p * stride[0] + which // kernel[1] - padding[0]
    z = q * stride[1] + which % kernel[1] - padding[1]
    inside = (y >= 0) & (y < size[0]) & (z >= 0) & (z < size[1])
    np.add.at(x, (n[inside], c[inside], y[inside], z[inside]), dy[inside])
    return x


@window_place.gradient
def window_place_gradient(g: Value, which: Value, kernel: Pair, stride: Pair, padding: Pair) -> Grads:
    return {"dy": window_pick(g, which, kernel=kernel, stride=stride, padding=padding), "which": None}


def _image(x: Value) -> Value:
    """[n, c, length] as an image of one row."""
    return reshape(x, shape=(*x.shape[:2], 1, x.shape[2]))


def _row(y: Value) -> Value:
    """The reverse of `_image`."""
    return reshape(y, shape=(*y.shape[:2], y.shape[3]))


def max_pool(x: Value, kernel: Pair, stride: Pair, padding: Pair) -> Value:
    """The largest of each window of x [n, c, h, w]."""
    _check_padding(kernel, padding)
    window = {"kernel": kernel, "stride": stride, "padding": padding}
    return window_pick(x, window_argmax(x, **window), **window)


def _check_padding(kernel: Pair, padding: Pair) -> None:
    if any(2 * p > k for p, k in zip(padding, kernel, strict=True)):
        raise ShapeError(
            f"padding is {list(padding)} with a window of {list(kernel)}",
            rule="padding is at most half of the window",
            socket="padding",
        )


def avg_pool(x: Value, kernel: Pair, stride: Pair, padding: Pair, count_include_pad: bool = True) -> Value:
    """The mean of each window of x [n, c, h, w]: a convolution of each channel with equal weights."""
    _check_padding(kernel, padding)
    n, c, h, w = x.shape
    geometry = {"stride": stride, "padding": padding}

    def summed(y: Value, channels: int, weight: float) -> Value:
        weights = filled(weight, (channels, 1, 1, *kernel))
        return convolution(reshape(y, shape=(y.shape[0], channels, 1, h, w)), weights, **geometry)

    if count_include_pad or padding == (0, 0):
        y = summed(x, c, 1 / (kernel[0] * kernel[1]))
    else:
        y = summed(x, c, 1.0) / summed(filled(1.0, (1, 1, h, w)), 1, 1.0)
    return reshape(y, shape=(n, c, *y.shape[3:]))


@layer(
    "max_pool2d",
    category="Pooling",
    inputs={"x": Input("n c h w", "T:float")},
    params=WINDOW,
    outputs={"y": Output("n c h_out w_out", doc=POOLED)},
)
def max_pool2d(b: Builder, x: Value, kernel: Pair, stride: Pair, padding: Pair) -> Value:
    """The largest of each window; the first of equal ones gets the gradient.

    Formula:
        y[n, c, p, q] = max x[n, c, i, j]
        over all r, s within the window, i = p · stride + r − padding, j likewise
    """
    return max_pool(x, kernel, stride, padding)


@layer(
    "avg_pool2d",
    category="Pooling",
    inputs={"x": Input("n c h w", "T:float")},
    params={**WINDOW, "count_include_pad": COUNTED},
    outputs={"y": Output("n c h_out w_out", doc=POOLED)},
)
def avg_pool2d(b: Builder, x: Value, kernel: Pair, stride: Pair, padding: Pair, count_include_pad: bool) -> Value:
    """The mean of each window.

    Formula:
        y[n, c, p, q] = mean x[n, c, i, j]
        over all r, s within the window, i = p · stride + r − padding, j likewise
    """
    return avg_pool(x, kernel, stride, padding, count_include_pad)


@layer(
    "max_pool1d",
    category="Pooling",
    inputs={"x": Input("n c l", "T:float")},
    params=LINE,
    outputs={"y": Output("n c l_out", doc=POOLED_LINE)},
)
def max_pool1d(b: Builder, x: Value, kernel: int, stride: int, padding: int) -> Value:
    """The largest of each window along the last axis.

    Formula:
        y[n, c, p] = max x[n, c, i]
        over all r within the window, i = p · stride + r − padding
    """
    return _row(max_pool(_image(x), (1, kernel), (1, stride), (0, padding)))


@layer(
    "avg_pool1d",
    category="Pooling",
    inputs={"x": Input("n c l", "T:float")},
    params={**LINE, "count_include_pad": COUNTED},
    outputs={"y": Output("n c l_out", doc=POOLED_LINE)},
)
def avg_pool1d(b: Builder, x: Value, kernel: int, stride: int, padding: int, count_include_pad: bool) -> Value:
    """The mean of each window along the last axis.

    Formula:
        y[n, c, p] = mean x[n, c, i]
        over all r within the window, i = p · stride + r − padding
    """
    return _row(avg_pool(_image(x), (1, kernel), (1, stride), (0, padding), count_include_pad))


@layer(
    "global_avg_pool2d",
    category="Pooling",
    inputs={"x": Input("n c h w", "T:float")},
    outputs={"y": Output("n c")},
)
def global_avg_pool2d(b: Builder, x: Value) -> Value:
    """The mean of each channel over the whole image.

    Formula: y[n, c] = mean x[n, c, i, j] over all i, j
    """
    return mean(x, axes=(2, 3))


@layer(
    "adaptive_avg_pool2d",
    category="Pooling",
    inputs={"x": Input("n c h w", "T:float")},
    params={"size": Param((1, 1), min=1, doc="pixels of the result, divisors of those of x")},
    outputs={"y": Output("n c h_out w_out", doc="h_out = size[0], w_out = size[1]")},
)
def adaptive_avg_pool2d(b: Builder, x: Value, size: Pair) -> Value:
    """The mean of equal parts of the image, as many as `size` says.

    Formula: y[n, c, p, q] = mean x[n, c, i, j] over all i, j of part p, q
    """
    h, w = x.shape[2:]
    if h % size[0] or w % size[1]:
        raise ShapeError(
            f"x has {h} x {w} pixels", rule=f"they are multiples of size = {list(size)}", cure="a resize before it", socket="size"
        )
    window = (h // size[0], w // size[1])
    return avg_pool(x, window, window, (0, 0))
