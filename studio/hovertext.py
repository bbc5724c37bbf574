"""What is told about the thing under the mouse, as lines of text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from munet import Edge, Node, Problem
from munet.inspect import NodeCost, NodeTime, WireView
from studio.coloring import WEIGHT_BYTES, bytes_text, us_text
from studio.hit import Hit
from studio.nodeviews import NodeView
from studio.texts import text

Wires = Mapping[tuple[str, str], WireView]
MAX_PROBLEMS = 4


def of_node(
    view: NodeView, node: Node, wires: Wires, problems: Sequence[Problem] = (), time: NodeTime | None = None,
    cost: NodeCost | None = None, norm: float | None = None,
) -> str:  # fmt: skip
    """Problems first, then what leaves the node, what it owns and what it costs; its note last."""
    lines = [str(problem) for problem in problems[:MAX_PROBLEMS]]
    if lines:
        lines.append("")
    lines.append(view.id if view.operator == view.id else f"{view.id}  ({view.subtitle or view.operator})")
    for spot in view.outputs:
        known = wires.get((view.id, spot.name))
        if known is not None:
            lines.append(f"{spot.name}: {known}")
    if cost is not None and cost.parameters:
        count = f"{cost.parameters:,}".replace(",", " ")
        lines.append(text("hover.parameters", count=count, size=bytes_text(WEIGHT_BYTES * cost.parameters)))
    if cost is not None and cost.bytes:
        lines.append(text("hover.results", size=bytes_text(cost.bytes)))
    if time is not None and time.us > 0:
        lines += time_lines(time)
    if norm is not None:
        lines.append(text("hover.norm", norm=f"{norm:.3e}"))
    states = [text(f"view.{name}") for name, there in (("muted", node.muted), ("frozen", node.frozen)) if there]
    lines += [", ".join(states)] if states else []
    lines += ["", node.note] if node.note else []
    return "\n".join(lines)


def time_lines(time: NodeTime) -> list[str]:
    """A step's time at a node, and of which parts it consists."""
    parts = (("forward", time.forward_us), ("backward", time.backward_us), ("update", time.update_us))
    shown = ", ".join(text(f"hover.{name}", time=us_text(us)) for name, us in parts if us > 0)
    return [text("hover.time", time=us_text(time.us)), f"    {shown}"]


def of_socket(view: NodeView, hit: Hit, wires: Wires) -> str:
    spot = view.socket(hit.side, hit.socket)
    if spot is None:
        return ""
    known = wires.get((hit.node, hit.socket)) if hit.side == "out" else None
    first = f"{spot.name}: {known or f'{spot.dtype} [{spot.pattern}]'}"
    optional = text("hover.optional") if spot.optional and not spot.wired else ""
    return "\n".join(line for line in (first, optional, spot.doc) if line)


def of_wire(edge: Edge, wires: Wires) -> str:
    known = wires.get((edge.source, edge.source_socket))
    ends = f"{edge.source}.{edge.source_socket} > {edge.target}.{edge.target_socket}"
    return f"{ends}\n{known}" if known is not None else ends
