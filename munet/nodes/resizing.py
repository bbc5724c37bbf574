"""Resizing images by interpolation, one axis at a time.

`interpolate` says where each place of the result looks: at (factor · i + offset) / divisor of x, whole numbers, so that nothing
is rounded; `interpolate_back` is its transpose, in which each pixel gathers its own from the places that looked at it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from munet.engine.builder import Builder
from munet.engine.declaring import layer, operator
from munet.engine.dtypes import F32, I32
from munet.engine.errors import ShapeError
from munet.engine.index import Index, fresh, within
from munet.engine.ir.module import Shape, Value
from munet.engine.kernels import Indices, Site, View, fold, number_to_index
from munet.engine.operator import Array, Choice, Grads, Input, Output, Param, Sample
from munet.engine.scalar import Expr, InRange, Literal, Position, apply, guarded
from munet.engine.shapes import normal_axes
from munet.nodes.samples import normal

Pair = tuple[int, int]
PLACES = {
    "axis": Param(-1),
    "size": Param(1, min=0, doc="of the result along the axis"),
    "factor": Param(1, min=0),
    "offset": Param(0),
    "divisor": Param(1, min=1),
    "blend": Param(True, doc="between two neighbours by distance, instead of the one at or before the place"),
}
SAMPLES = [
    {"axis": -1, "size": 7, "factor": 2 * 5, "offset": 5 - 7, "divisor": 2 * 7},  # up, centres of pixels
    {"axis": -1, "size": 3, "factor": 2 * 5, "offset": 5 - 3, "divisor": 2 * 3},  # down
    {"axis": 1, "size": 8, "factor": 3 - 1, "offset": 0, "divisor": 8 - 1},  # corners aligned
    {"axis": -1, "size": 7, "factor": 5, "offset": 0, "divisor": 7, "blend": False},
    {"axis": -1, "size": 1, "factor": 2 * 5, "offset": 5 - 1, "divisor": 2},
]


def _resized(shapes: Mapping[str, Any], params: Mapping[str, Any]) -> Shape:
    shape = next(iter(shapes.values()))
    (axis,) = normal_axes((params["axis"],), len(shape), "axis")
    return (*shape[:axis], params["size"], *shape[axis + 1 :])


def _limited(index: Index, size: int) -> Index:
    """The index held within 0 .. size-1."""
    if index.low >= 0 and index.high < size:
        return index
    return number_to_index(apply("clamp", Position(index), Literal(0, I32), Literal(size - 1, I32)), size)


def _taps(params: Mapping[str, Any], i: Index, size: int) -> list[tuple[Index, Expr | None]]:
    """The pixels of an axis of `size` that place i of the result looks at, with their weights (none is 1)."""
    place, divisor = i * params["factor"] + params["offset"], params["divisor"]
    first = place // divisor
    if not params["blend"]:
        return [(_limited(first, size), None)]
    share = apply("/", apply("f32", Position(place % divisor)), Literal(float(divisor), F32))
    share = guarded([InRange(place, 0, 1 << 31)], share, 0.0)  # before the first pixel's centre all is the first pixel's
    return [
        (_limited(first, size), apply("-", Literal(1.0, F32), share)),
        (_limited(first + 1, size), share),
    ]


def _interpolate(site: Site, index: Indices) -> Expr:
    shape = site.shape("x")
    axis = site.params["axis"] % len(shape)
    total: Expr | None = None
    for pixel, weight in _taps(site.params, index[axis], shape[axis]):
        value = site.load("x", [pixel if a == axis else i for a, i in enumerate(index)])
        term = value if weight is None else apply("*", value, weight)
        total = term if total is None else apply("+", total, term)
    assert total is not None
    return total


def _matrix(size: int, places: int, factor: int, offset: int, divisor: int, blend: bool) -> Array:
    """[places, size]: the weights with which places look at pixels."""
    rows = np.arange(places)
    numerator = rows * factor + offset
    first = numerator // divisor
    share = np.where(numerator < 0, 0.0, numerator % divisor / divisor) if blend else np.zeros(places)
    matrix = np.zeros((places, size))
    np.add.at(matrix, (rows, np.clip(first, 0, size - 1)), 1 - share)
    np.add.at(matrix, (rows, np.clip(first + 1, 0, size - 1)), share)
    return matrix


@operator(
    "interpolate",
    category="",
    inputs={"x": Input("*any", "T:float")},
    params=PLACES,
    outputs={"y": Output(_resized)},
    kernel=View(_interpolate),
    samples=[Sample({"x": normal(2, 3, 5)}, params) for params in SAMPLES],
)
def interpolate(x: Array, axis: int, size: int, factor: int, offset: int, divisor: int, blend: bool) -> Array:
    """x looked at, along one axis, at the places (factor · i + offset) / divisor."""
    matrix = _matrix(x.shape[axis], size, factor, offset, divisor, blend).astype(x.dtype)
    return np.moveaxis(np.moveaxis(x, axis, -1) @ matrix.T, -1, axis)


@interpolate.gradient
def interpolate_gradient(g: Value, x: Value, axis: int, size: int, factor: int, offset: int, divisor: int, blend: bool) -> Grads:
    back = interpolate_back(g, axis=axis, size=x.shape[axis], factor=factor, offset=offset, divisor=divisor, blend=blend)
    return {"x": back}


def _looking(params: Mapping[str, Any], pixel: Index, places: int) -> tuple[Index, Index]:
    """The first place that may look at a pixel, and a variable counting on from there over all that may.

    Places look at (pixel - 1, pixel + 1); those that look before the first pixel or behind the last see that one,
    and lie no further off than this for the formulas that `resize` uses.
    """
    factor, offset, divisor = params["factor"], params["offset"], params["divisor"]
    if not factor:
        return Index(0), fresh("r", places)
    reach = 1 if params["blend"] else 0
    first = ((pixel - reach) * divisor - offset) // factor
    return first, fresh("r", min((1 + reach) * divisor // factor + 2, places + max(0, -first.low)))


def _interpolate_back(site: Site, index: Indices) -> Expr:
    shape = site.shape("dy")
    axis = site.params["axis"] % len(shape)
    first, along = _looking(site.params, index[axis], shape[axis])
    place = first + along
    inside = InRange(place, 0, shape[axis])
    safe = within(place, shape[axis])
    weight: Expr | None = None
    for pixel, share in _taps(site.params, safe, site.params["size"]):
        hit = apply("==", Position(pixel), Position(index[axis]))
        term = apply("f32", hit) if share is None else apply("*", apply("f32", hit), share)
        weight = term if weight is None else apply("+", weight, term)
    assert weight is not None
    value = site.load("dy", [safe if a == axis else i for a, i in enumerate(index)])
    return fold("add", [along], guarded([inside], apply("*", value, weight)))


@operator(
    "interpolate_back",
    category="",
    inputs={"dy": Input("*any", "T:float")},
    params=PLACES,
    outputs={"x": Output(_resized)},
    kernel=View(_interpolate_back, kept=True),
    samples=[
        Sample(
            {"dy": normal(2, 8 if params["axis"] == 1 else 3, params["size"])},
            {**params, "size": 3 if params["axis"] == 1 else 5},
        )
        for params in SAMPLES
    ],
)
def interpolate_back(dy: Array, axis: int, size: int, factor: int, offset: int, divisor: int, blend: bool) -> Array:
    """The transpose of interpolate: each place's number given to the pixels it looked at."""
    matrix = _matrix(size, dy.shape[axis], factor, offset, divisor, blend).astype(dy.dtype)
    return np.moveaxis(np.moveaxis(dy, axis, -1) @ matrix, -1, axis)


@interpolate_back.gradient
def interpolate_back_gradient(
    g: Value, dy: Value, axis: int, size: int, factor: int, offset: int, divisor: int, blend: bool
) -> Grads:
    forward = interpolate(g, axis=axis, size=dy.shape[axis], factor=factor, offset=offset, divisor=divisor, blend=blend)
    return {"dy": forward}


def _places(size: int, target: int, mode: str, align_corners: bool) -> dict[str, Any]:
    """Where the places of a result of `target` pixels look in `size` pixels, in lowest terms."""
    match mode:
        case "nearest":
            factor, offset, divisor = size, 0, target
        case "bilinear" if align_corners:
            factor, offset, divisor = (size - 1, 0, target - 1) if target > 1 else (0, 0, 1)
        case "nearest_exact":
            factor, offset, divisor = 2 * size, size, 2 * target
        case _:
            factor, offset, divisor = 2 * size, size - target, 2 * target
    common = math.gcd(factor, offset, divisor)
    return {
        "size": target,
        "factor": factor // common,
        "offset": offset // common,
        "divisor": divisor // common,
        "blend": mode == "bilinear",
    }


def resized(x: Value, size: Pair, mode: str = "bilinear", align_corners: bool = False) -> Value:
    """x [n, c, h, w] with `size` pixels."""
    for axis, target in zip((2, 3), size, strict=True):
        if x.shape[axis] != target:
            x = interpolate(x, axis=axis, **_places(x.shape[axis], target, mode, align_corners))
    return x


@layer(
    "resize",
    category="Pooling",
    inputs={"x": Input("n c h w", "T:float")},
    params={
        "size": Param((0, 0), min=0, doc="pixels of the result; 0 means `scale` times those of x"),
        "scale": Param(2.0, positive=True, doc="where `size` is 0"),
        "mode": Choice("bilinear", "nearest", "nearest_exact"),
        "align_corners": Param(False, doc="bilinear: corner pixels keep their centres, instead of the image its edges"),
    },
    outputs={"y": Output("n c h_out w_out", doc="h_out = size if size > 0, else ⌊h · scale⌋, w_out likewise")},
)
def resize(b: Builder, x: Value, size: Pair, scale: float, mode: str, align_corners: bool) -> Value:
    """Images of x [n, c, h, w] made larger or smaller, as torch.nn.functional.interpolate with a given size. From n to m places:

    Formula:
        bilinear: y[i] = x at (i + ½) · n / m − ½, between the two neighbours; aligned corners: at i · (n − 1) / (m − 1)
        nearest: y[i] = x[⌊i · n / m⌋]
        nearest_exact: y[i] = x[⌊(i + ½) · n / m⌋]
    """
    targets = tuple(target or math.floor(found * scale) for target, found in zip(size, x.shape[2:], strict=True))
    if min(targets) < 1:
        raise ShapeError(f"the result would have {targets[0]} x {targets[1]} pixels", rule="it has at least one", socket="scale")
    return resized(x, (targets[0], targets[1]), mode, align_corners)
