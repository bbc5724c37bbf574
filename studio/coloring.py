"""What the colour of a node says: its category, its dtype, or how much of the time, the memory or the gradient is its own.

Values come by paths as the engine names nodes ("block 1/conv"); those of nodes inside a subgraph count for its instance.
Everything here is plain numbers and colours; the view draws them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from munet import Graph
from munet.inspect import NodeCost, NodeTime, Timings
from studio.document import State
from studio.nodeviews import CATEGORY_COLORS, DTYPE_COLORS, Color, NodeView
from studio.texts import text

MODES = ("category", "dtype", "time", "memory", "gradient")
SCALES = ("time", "memory", "gradient")  # modes that show a number
WEIGHT_BYTES = 4  # of a parameter
MAX_ROWS = 10  # of a legend
UNMEASURED: Color = (58, 63, 73)
# Dark to bright, so that it also reads in grey; all are dark enough for the white title on them.
RAMP: tuple[Color, ...] = ((44, 58, 104), (82, 58, 128), (134, 50, 118), (176, 54, 84), (198, 78, 44), (206, 116, 22))


@dataclass(frozen=True)
class Legend:
    """`rows` are names and colours; a scale has none, `low` to `high` are its ends. `hint`: why there is nothing."""

    title: str
    rows: tuple[tuple[str, Color], ...] = ()
    low: str = ""
    high: str = ""
    hint: str = ""


def heat(fraction: float) -> Color:
    """A colour of the ramp; 0 is its dark end."""
    at = min(1.0, max(0.0, fraction)) * (len(RAMP) - 1)
    index = min(int(at), len(RAMP) - 2)
    part = at - index
    red, green, blue = (round(a + (b - a) * part) for a, b in zip(RAMP[index], RAMP[index + 1], strict=True))
    return red, green, blue


def shown_node(state: State, part: Graph, path: str) -> str:
    """The node of the drawing that is shown (`part`) which a path belongs to; "" if it lies elsewhere. Ids may hold "/"."""
    prefix = "/".join(state.inside) + "/" if state.inside else ""
    if not path.startswith(prefix):
        return ""
    rest = path[len(prefix) :]
    end = len(rest)
    while end > 0:
        if rest[:end] in part.nodes:
            return rest[:end]
        end = rest.rfind("/", 0, end)
    return ""


def times_of(timings: Timings | None, state: State) -> dict[str, NodeTime]:
    """Time of the nodes of the drawing that is shown."""
    found: dict[str, NodeTime] = {}
    part = state.part
    for time in timings.nodes if timings is not None else ():
        id_ = shown_node(state, part, time.node)
        if id_:
            old = found.get(id_, NodeTime(id_))
            forward, backward = old.forward_us + time.forward_us, old.backward_us + time.backward_us
            found[id_] = NodeTime(id_, forward, backward, old.update_us + time.update_us)
    return found


def costs_of(costs: Mapping[str, NodeCost], state: State) -> dict[str, NodeCost]:
    """Costs of the nodes of the drawing that is shown, those inside a subgraph added up."""
    found: dict[str, NodeCost] = {}
    part = state.part
    for path, cost in costs.items():
        id_ = shown_node(state, part, path)
        if not id_:
            continue
        old = found.get(id_)
        if old is None:
            found[id_] = cost
        else:
            sums = (old.parameters + cost.parameters, old.flops + cost.flops, old.training_flops + cost.training_flops)
            found[id_] = NodeCost(id_, part.nodes[id_].operator, "", *sums, old.bytes + cost.bytes)
    return found


def memory_of(cost: NodeCost) -> int:
    """Bytes of a node's results and of its parameters."""
    return cost.bytes + WEIGHT_BYTES * cost.parameters


def norms_of(norms: Mapping[str, float], state: State) -> dict[str, float]:
    """Gradient norms of the nodes of the drawing that is shown; for a subgraph the norm over all that it holds."""
    squares: dict[str, float] = {}
    part = state.part
    for path, norm in norms.items():
        id_ = shown_node(state, part, path)
        if id_:
            squares[id_] = squares.get(id_, 0.0) + norm * norm
    return {id_: math.sqrt(square) for id_, square in squares.items()}


def scaled(values: Mapping[str, float], *, logarithmic: bool) -> tuple[dict[str, Color], float, float]:
    """Colours of values from the least to the greatest, and these two. What is not finite is at the bright end."""
    finite = [v for v in values.values() if math.isfinite(v) and (v > 0 or not logarithmic)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 0.0)
    low = low if logarithmic else 0.0

    def fraction(value: float) -> float:
        if not math.isfinite(value):
            return 1.0
        if logarithmic:
            return math.log(value / low) / math.log(high / low) if value > low and high > low else 0.0
        return value / high if high > 0 else 0.0

    return {id_: heat(fraction(value)) for id_, value in values.items()}, low, high


def legend_of_kinds(mode: str, views: Iterable[NodeView]) -> Legend:
    """Of the modes "category" and "dtype": what occurs in the drawing, the most frequent first."""
    counts: dict[str, int] = {}
    colors: Mapping[str, Color] = DTYPE_COLORS if mode == "dtype" else CATEGORY_COLORS
    for view in views:
        name = dtype_of(view) if mode == "dtype" else view.category
        if name in colors:
            counts[name] = counts.get(name, 0) + 1
    names = sorted(counts, key=lambda name: -counts[name])[:MAX_ROWS]
    return Legend(text(f"color.{mode}"), tuple((name, colors[name]) for name in names))


def dtype_of(view: NodeView) -> str:
    """The dtype that a node gives; what it takes if it gives nothing."""
    spots = view.outputs or view.inputs
    return spots[0].dtype if spots else ""


def dark(color: Color) -> Color:
    """A colour of sockets, which are bright, as the ground of a white title."""
    red, green, blue = (round(0.55 * channel) for channel in color)
    return red, green, blue


def us_text(us: float) -> str:
    return f"{us:.1f} µs" if us < 10 else f"{us:.0f} µs" if us < 1000 else f"{us / 1000:.2f} ms"


def bytes_text(size: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" or size >= 100 else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.2f} GiB"
