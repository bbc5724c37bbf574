"""What the plots show: curves of this run, its evaluations as points, those of earlier runs; and the same numbers as CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from munet.inspect import PastRun
from studio.colors import Rgb
from studio.record import Record, Series
from studio.runs import is_loss
from studio.texts import text
from studio.toning import CLASSES

SHOWN_POINTS = 1000
LOSS, METRIC = "loss", "metric"
TRAINING, HELD_OUT, EARLIER = "training", "held out", "earlier"


@dataclass(frozen=True, eq=False)
class Curve:
    """`key` stays the same while the curve grows. `group` says which plot it belongs to, `kind` how it is drawn."""

    key: str
    name: str
    group: str
    kind: str
    color: Rgb
    steps: Sequence[int]
    values: Sequence[float]


class Smoother:
    """Smoothed values of earlier runs, which are worked out once for an amount; those of runs not asked for are let go."""

    def __init__(self) -> None:
        self._amount = 0.0
        self._known: dict[int, tuple[Sequence[float], list[float]]] = {}  # by identity of the values, which it keeps alive
        self._asked: set[int] = set()

    def begin(self, amount: float) -> None:
        """Another round: what nobody asked for in the last one goes."""
        kept = self._asked if amount == self._amount else set[int]()
        self._known = {key: found for key, found in self._known.items() if key in kept}
        self._amount, self._asked = amount, set()

    def of(self, steps: list[int], values: list[float]) -> Sequence[float]:
        if not self._amount:
            return values
        key = id(values)
        self._asked.add(key)
        if key not in self._known:
            self._known[key] = values, Series(steps, values).smoothed(self._amount)
        return self._known[key][1]


def curves_of(
    record: Record, earlier: Mapping[str, PastRun], smoothing: float = 0.0, smoother: Smoother | None = None
) -> list[Curve]:
    """All curves, those of earlier runs first, so that this run lies over them. `earlier` by how the legend calls them.

    `smoother` remembers the work on earlier runs for whoever asks again and again.
    """
    smoother = smoother or Smoother()
    smoother.begin(smoothing)
    colors = colors_of(record, earlier)
    return [*earlier_curves(earlier, colors, smoother), *present_curves(record, colors, smoothing)]


def colors_of(record: Record, earlier: Mapping[str, PastRun]) -> dict[str, Rgb]:
    """A colour for each metric, the same in all runs."""
    names = dict.fromkeys([*record.series, *record.held_out])
    for run in earlier.values():
        names |= dict.fromkeys([*run.series, *run.evaluations])
    return {name: CLASSES[place % len(CLASSES)] for place, name in enumerate(names)}


def earlier_curves(earlier: Mapping[str, PastRun], colors: Mapping[str, Rgb], smoother: Smoother) -> list[Curve]:
    found: list[Curve] = []
    for place, (title, run) in enumerate(earlier.items()):
        other = CLASSES[(place + 5) % len(CLASSES)]
        for name, (steps, values) in run.series.items():
            words = text("plots.of_run", name=name, run=title)
            smooth = smoother.of(steps, values)
            found.append(Curve(f"{run.path} {name}", words, group_of(name), EARLIER, mixed(colors[name], other), steps, smooth))
    return found


def present_curves(record: Record, colors: Mapping[str, Rgb], smoothing: float = 0.0) -> list[Curve]:
    found: list[Curve] = []
    for name, series in record.series.items():
        values = series.smoothed(smoothing) if smoothing else series.values
        found.append(Curve(name, name, group_of(name), TRAINING, colors[name], series.steps, values))
    for name, points in record.held_out.items():
        words = text("plots.held_out", name=name)
        found.append(Curve(f"held out {name}", words, group_of(name), HELD_OUT, colors[name], points.steps, points.values))
    return found


def group_of(name: str) -> str:
    return LOSS if is_loss(name) else METRIC


def mixed(one: Rgb, other: Rgb) -> Rgb:
    """Halfway between two colours."""
    return (one[0] + other[0]) // 2, (one[1] + other[1]) // 2, (one[2] + other[2]) // 2


def drawn(curve: Curve, log: bool = False, most: int = SHOWN_POINTS) -> tuple[list[float], list[float]]:
    """The points of a curve that are drawn: finite ones, above zero on a logarithmic axis, not too many; the last one is one."""
    every = max(1, len(curve.steps) // most)
    steps, values = list(curve.steps[::every]), list(curve.values[::every])
    if curve.steps and steps[-1] != curve.steps[-1]:
        steps.append(curve.steps[-1])
        values.append(curve.values[len(curve.steps) - 1])
    kept = [(float(s), v) for s, v in zip(steps, values, strict=False) if math.isfinite(v) and (not log or v > 0)]
    return [step for step, _ in kept], [value for _, value in kept]


def csv_of(curves: Sequence[Curve]) -> str:
    """A column for each curve, a row for each step at which any of them has a value."""
    tables = [dict(zip(curve.steps, curve.values, strict=False)) for curve in curves]
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["step", *(curve.name for curve in curves)])
    for step in sorted({step for table in tables for step in table}):
        writer.writerow([step, *(repr(table[step]) if step in table else "" for table in tables)])
    return stream.getvalue()


def frozen(curves: Sequence[Curve]) -> list[Curve]:
    """Copies that do not grow any more, for a thread that writes them."""
    return [replace(curve, steps=list(curve.steps), values=list(curve.values)) for curve in curves]


def span(values: Sequence[float]) -> tuple[float, float]:
    """From the least to the largest; never empty."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    if low == high:
        reach = abs(low) * 0.1 or 0.5
        return low - reach, high + reach
    return low, high


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers in a range, about so many."""
    rough = (high - low) / count
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= rough)
    first = math.ceil(low / step - 1e-9)
    return [number * step for number in range(first, math.floor(high / step + 1e-9) + 1)]
