"""A wire that does not fit: why, and what to put between so that it does.

`refusal` is quick and runs while a wire is dragged: sides, cycles, dtypes, axes. `cures` tries adapters by really validating the
drawing with each of them, so what it offers works; it belongs on the checks' thread.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import networkx as nx

from munet import Edge, Graph, Problem, validate
from munet.inspect import SocketView, WireView, wire_shapes
from studio.commands import Adapt, Adapter
from studio.document import State
from studio.nodeviews import declaration_of
from studio.search import ALL, FLOATS, dtypes_of, fits, outputs_of, rank_of
from studio.texts import text

TRIED = 12  # adapters that are validated at most


@dataclass(frozen=True)
class Refusal:
    """Why a wire is refused, as a sentence; `code` is a key of the texts."""

    code: str
    reason: str


@dataclass(frozen=True)
class Cure:
    """What to put into the wire, and how the button that does it is called."""

    label: str
    chain: tuple[Adapter, ...]

    def command(self, edge: Edge, at: tuple[float, float], *, variadic: bool = False) -> Adapt:
        return Adapt(edge, self.chain, at, variadic)


def refusal(state: State, edge: Edge, wires: Mapping[tuple[str, str], WireView]) -> Refusal | None:
    """None if the wire may be drawn. `wires` are those of the drawing that is shown."""
    part = state.part
    source, target = part.nodes.get(edge.source), part.nodes.get(edge.target)
    if source is None or target is None:
        return Refusal("wire.unknown", text("wire.unknown"))
    if edge.source == edge.target:
        return Refusal("wire.self", text("wire.self"))
    if leads_to(part, edge.target, edge.source):
        return Refusal("wire.cycle", text("wire.cycle", source=edge.source, target=edge.target))
    declared = declaration_of(state.graph, target)
    made = declaration_of(state.graph, source)
    if declared is None or made is None:
        return None  # an unknown operator: its wires are kept, not judged
    socket = next((s for s in declared.inputs if s.name == edge.target_socket), None)
    leaving = dict(outputs_of(state.graph, source, wires)).get(edge.source_socket)
    if socket is None or leaving is None:
        return Refusal("wire.unknown", text("wire.unknown"))
    if made.kind == "schedule" and dtypes_of(socket.dtype) == ALL and not socket.pattern:
        return None
    if fits(leaving, socket):
        return None
    ends = {"source": f"{edge.source}.{edge.source_socket}", "target": f"{edge.target}.{edge.target_socket}"}
    if not leaving.dtypes & dtypes_of(socket.dtype):
        found = " or ".join(sorted(leaving.dtypes)) if len(leaving.dtypes) < 4 else "a number"
        return Refusal("wire.dtype", text("wire.dtype", found=found, expected=expected_dtype(socket), **ends))
    expected = socket.pattern.replace("*", "...") or "none: it is a single number"
    return Refusal("wire.rank", text("wire.rank", found=leaving.ranks[0], expected=expected, **ends))


def expected_dtype(socket: SocketView) -> str:
    """What an input takes, in words."""
    allowed = dtypes_of(socket.dtype)
    if len(allowed) == 1:
        return next(iter(allowed))
    return {"float": "floats", "integer": "whole numbers", "number": "numbers"}.get(socket.dtype.partition(":")[2], "anything")


def leads_to(part: Graph, start: str, end: str) -> bool:
    """Whether wires lead from one node to another."""
    after: dict[str, list[str]] = {}
    for edge in part.edges:
        after.setdefault(edge.source, []).append(edge.target)
    waiting, seen = [start], {start}
    while waiting:
        current = waiting.pop()
        if current == end:
            return True
        for following in after.get(current, ()):
            if following not in seen:
                seen.add(following)
                waiting.append(following)
    return False


def cures(state: State, edge: Edge) -> list[Cure]:
    """Adapters with which the wire is drawn and its target has no problem at that socket; the simplest first."""
    part = state.part
    target = part.nodes.get(edge.target)
    if target is None or edge.source not in part.nodes or leads_to(part, edge.target, edge.source):
        return []
    declared = declaration_of(state.graph, target)
    socket = next((s for s in declared.inputs if s.name == edge.target_socket), None) if declared else None
    if socket is None:
        return []
    known = wire_shapes(state.graph).get((state.path_of(edge.source), edge.source_socket))
    found: list[Cure] = []
    for tried, cure in enumerate(_candidates(socket, known)):
        if tried >= TRIED or len(found) >= 3:
            break
        if _works(state, cure.command(edge, (0.0, 0.0), variadic=socket.variadic)):
            found.append(cure)
    return found


def _candidates(socket: SocketView, known: WireView | None) -> Iterator[Cure]:
    """Shorter chains first: the dtype alone, the axes alone, then both."""
    types = list(_type_adapters(socket, known))
    axes = list(_axis_adapters(socket, known))
    yield from types
    yield from axes
    for first in types:
        for second in axes:
            yield Cure(f"{first.label}; {second.label}", (*first.chain, *second.chain))


def _type_adapters(socket: SocketView, known: WireView | None) -> Iterator[Cure]:
    allowed = dtypes_of(socket.dtype)
    if known is not None and known.dtype in allowed:
        return
    if known is not None and known.dtype == "u8" and len(known.shape) > 1 and allowed & FLOATS:
        yield Cure(text("cure.normalise"), (Adapter("Normalise"),))
    for dtype in ("f32", "i32", "u8", "bool"):
        if dtype in allowed:
            yield Cure(text("cure.cast", dtype=dtype), (Adapter("cast", {"dtype": dtype}),))


def _axis_adapters(socket: SocketView, known: WireView | None) -> Iterator[Cure]:
    if known is None:
        return
    low, high = rank_of(socket.pattern)
    rank = len(known.shape)
    if rank > high == 0:
        yield Cure(text("cure.mean"), (Adapter("mean"),))
    elif rank > high == 2:
        yield Cure(text("cure.flatten"), (Adapter("flatten"),))
    elif rank + 1 == low:
        yield Cure(text("cure.unsqueeze"), (Adapter("unsqueeze", {"axis": 1}),))
    for shape in _reshapes(known.shape, low, high):
        yield Cure(text("cure.reshape", shape=list(shape)), (Adapter("reshape", {"shape": shape}),))


def _reshapes(shape: tuple[int, ...], low: int, high: int) -> Iterator[tuple[int, ...]]:
    """Shapes with the wanted number of axes that hold the same elements; the batch stays in front."""
    if not shape:
        return
    rest = math.prod(shape[1:])
    if low == 2 and len(shape) == 1:
        yield (-1, 1)
    elif low <= 2 <= high and len(shape) != 2:
        yield (-1, rest)
    if low <= 1 <= high and len(shape) != 1:
        yield (-1,)
    if low == 4 and len(shape) != 4:
        side = math.isqrt(rest)
        if side * side == rest:
            yield (-1, 1, side, side)
        yield (-1, rest, 1, 1)
    if low == 3 and len(shape) != 3:
        yield (-1, 1, rest)


def _works(state: State, command: Adapt) -> bool:
    """Whether neither the target nor what is added has a problem with its shapes once the wire is drawn so."""
    edge, tried = command.edge, command.apply(state)
    part = tried.part
    # Only what leads to the target is looked at: the rest of the drawing takes time and says nothing.
    drawing = nx.DiGraph([(e.source, e.target) for e in part.edges])
    needed = nx.ancestors(drawing, edge.target) | {edge.target}
    kept = {id_: n for id_, n in part.nodes.items() if id_ in needed}
    places = {state.path_of(id_) for id_ in (edge.target, *tried.selection.nodes)}
    edges = tuple(e for e in part.edges if e.target in kept and e.source in kept)
    tried = tried.with_part(replace(part, nodes=kept, edges=edges))
    return not any(_matters(problem, places) for problem in validate(tried.graph))


def _matters(problem: Problem, places: set[str]) -> bool:
    inside = any(problem.node == place or problem.node.startswith(f"{place}/") for place in places)
    return inside and problem.code not in ("missing-input", "nothing-to-train")
