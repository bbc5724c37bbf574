"""What there is to see of a node, or of the network as a whole, and how it is got from a session.

    seen = look(session, Wish("conv 1"), purpose)      # on the thread that owns the session
    match seen.shown: case Picture(): ...

Everything here is plain data and arithmetic; the panel and the canvas draw it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from munet import MunetError, Session
from munet.inspect import Histogram, TensorView, histogram, summary
from studio import toning
from studio.purpose import Purpose, is_picture
from studio.texts import text

Array = np.ndarray[Any, Any]

KINDS = (
    "image", "maps", "surface", "confusion", "samples", "text", "histogram", "weights", "gradients", "statistics",
)  # fmt: skip
SAMPLES = 32  # that a look is made with
SHOWN = 16  # pictures of a grid
SHOWN_MAPS = 64
JUDGED = 512  # samples of a confusion matrix
JUDGED_SHOWN = 20
PLANE = 64  # pixels of a side
SHOWN_POINTS = 240
DEEP = 3  # histograms of one node that are shown together
BINS = 48
PANEL = 1.3  # width by height of the panel, about


@dataclass(frozen=True)
class Wish:
    """What to look at. `node`: a path, "" for the network; `kind`: one of KINDS, "" for what suits best; `sample`: for maps."""

    node: str = ""
    kind: str = ""
    sample: int = 0
    socket: str = ""  # of several outputs; "" for the first


@dataclass(frozen=True, eq=False)
class Picture:
    """A grid of pictures, RGBA. Captions, if any, belong to its cells in reading order; `right` says which are right."""

    rgba: Array
    columns: int
    cell: tuple[int, int]  # height and width of a cell, gap included
    captions: tuple[str, ...] = ()
    right: tuple[bool, ...] = ()
    samples: int = 0  # that there are to choose from


@dataclass(frozen=True, eq=False)
class Bars:
    """Histograms with their names."""

    lines: tuple[tuple[str, Histogram], ...]


@dataclass(frozen=True, eq=False)
class Facts:
    """Rows of names and values; `strange` elements are NaN or infinite. `number`: all there is of a single one."""

    rows: tuple[tuple[str, str], ...]
    strange: int = 0
    number: str = ""


@dataclass(frozen=True, eq=False)
class Confusion:
    """counts[true, predicted] of held-out samples."""

    counts: Array

    @property
    def accuracy(self) -> float:
        return float(np.trace(self.counts) / max(1, self.counts.sum()))

    def share_right(self, label: int) -> float:
        """Of the samples of a class."""
        return float(self.counts[label, label] / max(1, self.counts[label].sum()))

    def told(self, label: int, said: int) -> str:
        """One cell in words."""
        count, total = int(self.counts[label, said]), int(self.counts[label].sum())
        return text("preview.cell", count=count, total=total, label=label, said=said)


@dataclass(frozen=True, eq=False)
class Plane:
    """What the network says in the plane, and held-out points on it, by class: RGBA, (left, bottom, right, top), x and y.

    `down`: the second coordinate goes down, as in a picture.
    """

    rgba: Array
    bounds: tuple[float, float, float, float]
    points: tuple[tuple[int, Array], ...]
    down: bool = False


@dataclass(frozen=True)
class Letters:
    """Where text can be written; the writing itself takes many looks: see `writing.py`."""

    socket: str


@dataclass(frozen=True)
class Fault:
    """Why there is nothing to see."""

    reason: str


Shown = Picture | Bars | Facts | Confusion | Plane | Letters | Fault


@dataclass(frozen=True, eq=False)
class Seen:
    """`kinds` are those that the node has, best first; `shown` is of `kind`. `sockets`: outputs to choose from."""

    wish: Wish
    kinds: tuple[str, ...]
    kind: str
    shown: Shown
    sockets: tuple[str, ...] = ()
    step: int = 0


def look(session: Session, wish: Wish, purpose: Purpose | None) -> Seen:
    """Never raises for what a drawing or its data are like: that is a `Fault`."""
    tensors = session.tensors(wish.node) if wish.node else ()
    outputs = [tensor for tensor in tensors if tensor.kind == "output"]
    output = next((tensor for tensor in outputs if tensor.name == wish.socket), outputs[0] if outputs else None)
    kinds = kinds_of(wish.node, output, tensors, purpose)
    kind = wish.kind if wish.kind in kinds else kinds[0] if kinds else ""
    sockets = tuple(tensor.name for tensor in outputs)
    try:
        shown = _shown(session, kind, output, tensors, wish, purpose)
    except MunetError as error:
        shown = Fault(str(error))
    return Seen(wish, kinds, kind, shown, sockets, session.step_count)


def kinds_of(node: str, output: TensorView | None, tensors: Sequence[TensorView], purpose: Purpose | None) -> tuple[str, ...]:
    """What can be shown of a node, what suits best first; of the network as a whole for ""."""
    whole = _of_network(purpose)
    if not node:
        return whole
    found: list[str] = []
    if purpose is not None and node in (purpose.judge, purpose.scores.rpartition(".")[0]):
        found += whole
    if output is not None:
        shape = output.shape
        if is_picture(shape) or len(shape) == 3:
            found.append("image")
        elif len(shape) == 4:
            found.append("maps")
        if purpose is not None and purpose.points == output.name:
            found += [kind for kind in whole if kind == "surface"]
        if len(shape) > 0:
            found.append("histogram")
    own = [tensor for tensor in tensors if tensor.kind == "parameter"]
    found += ["weights", "gradients"] if own else []
    if output is not None:
        found.append("statistics")
    return tuple(dict.fromkeys(found))


def _of_network(purpose: Purpose | None) -> tuple[str, ...]:
    if purpose is None:
        return ()
    found = ["surface"] if purpose.points else []
    if purpose.kind in ("classes", "two classes"):
        found += ["samples", "confusion"] if purpose.images else ["confusion"]
    if purpose.kind == "text":
        found.append("text")
    return tuple(found)


def _shown(
    session: Session, kind: str, output: TensorView | None, tensors: Sequence[TensorView], wish: Wish, purpose: Purpose | None
) -> Shown:
    match kind:
        case "image" | "maps" | "histogram" | "statistics" if output is not None:
            values = session.look(output.name, SAMPLES)[output.name]
            if kind == "histogram":
                return Bars(((output.name, histogram(values, BINS)),))
            if kind == "statistics":
                return facts(values)
            return picture(values, kind, wish.sample)
        case "weights":
            own = [tensor.name for tensor in tensors if tensor.kind == "parameter"]
            return Bars(tuple((name, histogram(session.state(name), BINS)) for name in own[:DEEP]))
        case "gradients":
            own = [tensor.name for tensor in tensors if tensor.kind == "parameter"][:DEEP]
            found = session.gradients(own)
            return Bars(tuple((f"{name}  |g| {found.norms[name]:.3g}", histogram(found.values[name], BINS)) for name in own))
        case "confusion" if purpose is not None:
            label, said = judged(session, purpose, JUDGED)
            return Confusion(confusion(label, said, purpose.classes))
        case "samples" if purpose is not None:
            return _samples(session, purpose)
        case "surface" if purpose is not None:
            return plane(session, purpose)
        case "text" if purpose is not None:
            return Letters(purpose.scores)
        case _:
            return Fault(text("preview.nothing"))


def picture(values: Array, kind: str, sample: int, aspect: float = PANEL) -> Picture:
    """Values of samples as pictures. "maps": all channels of one sample, toned together, else one picture for each sample.

    `aspect`: width by height of where it will be shown.
    """
    if kind == "maps":
        chosen = values[min(sample, len(values) - 1)][:SHOWN_MAPS]
        name = "signed" if chosen.size and (np.nan_to_num(chosen) < 0).any() else "sea"
        low, high = _span(chosen)
        tones = [toning.tone(channel, name, low, high) for channel in chosen]
    elif values.ndim == 4:
        tones = [toning.colored(image) for image in values[:SHOWN]]
    else:
        tones = [toning.tone(values[min(sample, len(values) - 1)], "signed" if (values < 0).any() else "sea")]
    height, width = tones[0].shape[:2]
    columns = toning.columns_for(len(tones), height, width, aspect)
    samples = len(values) if kind == "maps" or values.ndim != 4 else 0
    return Picture(toning.grid(tones, columns), columns, (height + toning.GAP, width + toning.GAP), samples=samples)


def _span(values: Array) -> tuple[float, float]:
    """Least and greatest of the finite values; 0 to 0 where there are none."""
    known = values[np.isfinite(values)]
    return (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)


def marks(low: float, high: float) -> tuple[float, ...]:
    """Round numbers to write below a histogram, three to six; none so near to an end that its digits would be cut off."""
    span = high - low
    if not span > 0 or not np.isfinite(span):
        return (low,) if np.isfinite(low) else ()
    power = 10.0 ** np.floor(np.log10(span))
    step = next(unit * power for unit in (0.2, 0.25, 0.5, 1.0, 2.0) if span / (unit * power) <= 5.5)
    first, last = int(np.ceil((low + 0.06 * span) / step)), int(np.floor((high - 0.06 * span) / step))
    return tuple(number * float(step) for number in range(first, last + 1))


def facts(values: Array) -> Facts:
    found = summary(values)
    size = max(1, values.size)
    shape = (text("preview.shape"), " × ".join(map(str, found.shape)) or text("preview.one_number"))
    if values.size == 1:
        return Facts((shape, (text("preview.dtype"), str(values.dtype))), found.strange, f"{values.reshape(-1)[0]:.6g}")
    rows = (
        shape, (text("preview.dtype"), str(values.dtype)),
        (text("preview.minimum"), f"{found.minimum:.6g}"), (text("preview.maximum"), f"{found.maximum:.6g}"),
        (text("preview.mean"), f"{found.mean:.6g}"), (text("preview.deviation"), f"{found.deviation:.6g}"),
        (text("preview.zeros"), f"{found.zeros:,}  ({100 * found.zeros / size:.1f} %)"),
        (text("preview.strange"), f"{found.strange:,}"),
    )  # fmt: skip
    return Facts(rows, found.strange)


def judged(session: Session, purpose: Purpose, count: int) -> tuple[Array, Array]:
    """Classes of held-out samples: what they are, and what the network says."""
    found = session.look([purpose.scores, purpose.target], count)
    scores, target = found[purpose.scores], found[purpose.target]
    if purpose.kind == "two classes":
        return (target.reshape(-1) > 0.5).astype(int), (scores.reshape(-1) > purpose.even).astype(int)
    return target.astype(int), np.where(np.isfinite(scores), scores, -np.inf).argmax(axis=-1)


def confusion(label: Array, said: Array, classes: int) -> Array:
    """counts[label, said]; labels beyond the classes, such as those that are ignored, are left out."""
    fits = (label >= 0) & (label < classes)
    counts = np.zeros((classes, classes), np.int64)
    np.add.at(counts, (label[fits], said[fits]), 1)
    return counts


def _samples(session: Session, purpose: Purpose) -> Picture:
    found = session.look([purpose.images], JUDGED_SHOWN)[purpose.images]
    label, said = judged(session, purpose, JUDGED_SHOWN)
    tones = [toning.colored(image) for image in found]
    height, width = tones[0].shape[:2]
    columns = toning.columns_for(len(tones), height, width, PANEL)
    right = tuple(bool(a == b) for a, b in zip(label, said, strict=True))
    captions = tuple(f"{b}" if a == b else f"{b} ({a})" for a, b in zip(label, said, strict=True))
    return Picture(toning.grid(tones, columns), columns, (height + toning.GAP, width + toning.GAP), captions, right)


def plane(session: Session, purpose: Purpose) -> Plane:
    """The network's answer over the plane that its samples lie in."""
    samples = session.samples(SHOWN_POINTS)
    points = samples[purpose.points]
    low, high = points.min(axis=0), points.max(axis=0)
    colored = purpose.kind == "values" and purpose.classes == 3
    middle, reach = (low + high) / 2, np.maximum((high - low) / 2, 1e-3) * (1.0 if colored else 1.15)
    across = np.linspace(-1, 1, PLANE)
    xs, ys = np.meshgrid(middle[0] + reach[0] * across, middle[1] - reach[1] * across)  # the first row is the upper one
    places = np.stack([xs, ys], axis=-1).reshape(-1, 2).astype(np.float32)
    scores = session.predict({purpose.points: places}, [purpose.scores])[purpose.scores].reshape(PLANE, PLANE, -1)
    target = samples.get(purpose.target)
    bounds = (float(middle[0] - reach[0]), float(middle[1] - reach[1]), float(middle[0] + reach[0]), float(middle[1] + reach[1]))
    if colored:
        return Plane(toning.colored(np.clip(scores, 0, 1).transpose(2, 0, 1)), bounds, (), down=True)
    if purpose.kind == "classes":
        kinds = target.astype(int) if target is not None else np.zeros(len(points), int)
        return Plane(toning.regions(scores), bounds, _by_kind(points, kinds))
    rgba = toning.tone(scores[..., 0] - purpose.even, "signed")
    rgba[..., :3] *= 0.75
    kinds = (target.reshape(len(points), -1)[:, 0] > 0.5).astype(int) if target is not None else np.zeros(len(points), int)
    return Plane(rgba, bounds, _by_kind(points, kinds))


def _by_kind(points: Array, kinds: Array) -> tuple[tuple[int, Array], ...]:
    return tuple((int(kind), points[kinds == kind].astype(np.float64)) for kind in np.unique(kinds))


def thumbnail(values: Array, side: int) -> tuple[Array, tuple[int, int]]:
    """What the canvas shows below a node: the first sample as a picture, its maps side by side, else a histogram.

    The picture as `toning.fitted` gives it.
    """
    if values.ndim == 4 and values.shape[1] not in (1, 3):
        return toning.fitted(picture(values[:1, :16], "maps", 0, 1.0).rgba, side)
    if is_picture(values.shape):
        return toning.fitted(picture(values[:4], "image", 0, 1.0).rgba, side)
    if values.ndim == 3 and min(values.shape[1:]) > 1:
        return toning.fitted(picture(values[:1], "image", 0).rgba, side)
    return toning.fitted(toning.bars(histogram(values, 64).counts, 40), side)
