"""Numbers as colours: colour maps, pictures of tensors, grids of them. Pictures are RGBA, f32 from 0 to 1, [height, width, 4]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

# Stops of the maps, from low to high.
MAPS: Mapping[str, tuple[tuple[int, int, int], ...]] = {
    "grey": ((0, 0, 0), (255, 255, 255)),
    "heat": ((0, 0, 4), (66, 10, 104), (147, 38, 103), (221, 81, 58), (252, 165, 10), (252, 255, 164)),
    "sea": ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37)),
    # Two-sided: 0 is in the middle, and dark.
    "signed": ((120, 190, 255), (40, 100, 180), (18, 20, 26), (190, 90, 30), (255, 190, 90)),
}
STRANGE = (1.0, 0.0, 0.25)  # NaN and infinity
CLASSES: tuple[tuple[int, int, int], ...] = (
    (96, 165, 250), (251, 146, 60), (74, 222, 128), (244, 114, 182), (250, 204, 21), (167, 139, 250),
    (45, 212, 191), (248, 113, 113), (163, 230, 53), (148, 163, 184), (192, 132, 252), (34, 211, 238),
)  # fmt: skip
GAP = 1  # pixels between the pictures of a grid


def tone(values: Array, name: str = "sea", low: float | None = None, high: float | None = None) -> Array:
    """Numbers [h, w] by a colour map; its ends are `low` and `high`, unless given those of the finite values.

    "signed" is centred on 0. What is not finite is STRANGE.
    """
    values = np.asarray(values, np.float32)
    finite = np.isfinite(values)
    known = values[finite]
    low = float(known.min()) if low is None and known.size else low or 0.0
    high = float(known.max()) if high is None and known.size else high or 0.0
    if name == "signed":
        reach = max(abs(low), abs(high))
        low, high = -reach, reach
    span = high - low
    with np.errstate(all="ignore"):
        place = (values - low) / span if span > 0 else np.full_like(values, 0.5)
    place = np.clip(np.where(finite, place, 0.0), 0.0, 1.0)
    stops = np.asarray(MAPS[name], np.float32) / 255
    spots = np.linspace(0.0, 1.0, len(stops))
    channels = [np.interp(place, spots, stops[:, channel]) for channel in range(3)]
    picture = np.stack([*channels, np.ones_like(place)], axis=-1).astype(np.float32)
    picture[~finite, :3] = STRANGE
    return picture


def colored(image: Array) -> Array:
    """A picture [c, h, w] of one or three channels, bytes or floats; floats outside 0 to 1 are brought into it together."""
    values = image.astype(np.float32)
    if image.dtype == np.uint8:
        values = values / 255
    finite = np.isfinite(values)
    known = values[finite]
    if known.size and (known.min() < 0 or known.max() > 1):
        low, high = float(known.min()), float(known.max())
        with np.errstate(all="ignore"):
            values = (values - low) / (high - low)
    values = np.clip(np.where(finite, values, 0.0), 0.0, 1.0)
    rgb = np.repeat(values, 3, axis=0) if len(values) == 1 else values[:3]
    picture = np.concatenate([rgb, np.ones_like(rgb[:1])]).transpose(1, 2, 0)
    picture[~finite.all(axis=0), :3] = STRANGE
    return np.ascontiguousarray(picture)


def columns_for(count: int, height: int, width: int, aspect: float = 1.0) -> int:
    """Columns of a grid whose pictures are as large as can be in a room of this width by height; of equal ones the flattest."""

    def size(columns: int) -> tuple[float, int, int]:
        rows = -(-count // columns)
        return min(aspect / (columns * max(width, 1)), 1 / (rows * max(height, 1))), -rows, -columns

    return max(range(1, max(1, count) + 1), key=size)


def grid(pictures: Sequence[Array], columns: int) -> Array:
    """Pictures of one size side by side, gaps between them clear."""
    height, width = pictures[0].shape[:2]
    rows = -(-len(pictures) // columns)
    whole = np.zeros((rows * (height + GAP) - GAP, columns * (width + GAP) - GAP, 4), np.float32)
    for place, picture in enumerate(pictures):
        top, left = place // columns * (height + GAP), place % columns * (width + GAP)
        whole[top : top + height, left : left + width] = picture
    return whole


def fitted(picture: Array, side: int) -> tuple[Array, tuple[int, int]]:
    """The picture in the upper left corner of a clear one, `side` pixels square; and the height and width that it takes there.

    It is enlarged by a whole number, so that its pixels stay sharp, or made smaller by leaving rows and columns out.
    """
    height, width = picture.shape[:2]
    largest = max(height, width, 1)
    if largest <= side:
        times = side // largest
        shown = np.repeat(np.repeat(picture, times, axis=0), times, axis=1)
    else:
        rows = (np.arange(max(1, height * side // largest)) + 0.5) * height / max(1, height * side // largest)
        columns = (np.arange(max(1, width * side // largest)) + 0.5) * width / max(1, width * side // largest)
        shown = picture[rows.astype(int)][:, columns.astype(int)]
    out = np.zeros((side, side, 4), np.float32)
    out[: shown.shape[0], : shown.shape[1]] = shown
    return out, (shown.shape[0], shown.shape[1])


def bars(counts: Array, height: int = 48, color: tuple[int, int, int] = CLASSES[0]) -> Array:
    """A histogram as a small picture; heights go by the logarithm, so that rare values are seen beside frequent ones."""
    tall = np.log1p(counts.astype(np.float64))
    tall = tall / max(float(tall.max(initial=0.0)), 1e-9)
    filled = np.arange(height)[::-1, None] < np.maximum(np.ceil(tall * height), counts > 0)[None, :]
    picture = np.zeros((height, len(counts), 4), np.float32)
    picture[filled] = (*(channel / 255 for channel in color), 1.0)
    return picture


def regions(scores: Array) -> Array:
    """Which class wins where: scores [h, w, classes] as colours of the classes, pale where it is close."""
    with np.errstate(invalid="ignore"):
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares = shares / shares.sum(axis=-1, keepdims=True)
    best = shares.argmax(axis=-1)
    sure = np.clip((shares.max(axis=-1) - 1 / scores.shape[-1]) / (1 - 1 / scores.shape[-1]), 0, 1)
    palette = np.asarray([CLASSES[i % len(CLASSES)] for i in range(scores.shape[-1])], np.float32) / 255
    dark = np.asarray((24, 26, 31), np.float32) / 255
    weight = (0.2 + 0.5 * sure)[..., None]
    rgb = np.nan_to_num(palette[best] * weight + dark * (1 - weight))
    rgb[~np.isfinite(scores).all(axis=-1)] = STRANGE
    return np.concatenate([rgb, np.ones_like(rgb[..., :1])], axis=-1).astype(np.float32)
