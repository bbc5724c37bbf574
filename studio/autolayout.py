"""A whole drawing arranged: its nodes by `layout`, frames round the nodes they held, long wires with bends round what they pass.

Bends that were there are taken out and made anew where they are needed; those with a note stay, as do loose ones. What the
drawing computes does not change, nor the order of wires at a socket.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from munet import Edge, Graph, Node
from studio import edits
from studio.bends import route
from studio.camera import Point, Rect, bounds
from studio.curves import along, bezier, meet
from studio.document import State
from studio.edits import REROUTE, EditRefused
from studio.framelayout import Levels, Views, framed, socket_height
from studio.grid import Grid
from studio.nodeviews import REROUTE_SIZE
from studio.texts import text

AWAY = 6.0  # wires stay so far from nodes


@dataclass(frozen=True)
class Rearrange:
    """`before` is the drawing that was arranged, perhaps on another thread: if it has changed since, nothing is done."""

    before: Graph
    after: Graph
    merge: str = ""

    @property
    def label(self) -> str:
        return text("layout")

    def apply(self, state: State) -> State:
        if state.part is not self.before:
            raise EditRefused("the drawing has changed while it was being arranged", cure="arrange it once more")
        return state.with_part(self.after)


def arranged(part: Graph, views: Views, only: Collection[str] = ()) -> Graph:
    """The drawing arranged, or these nodes of it where they are."""
    part = _without_bends(part, only)
    levels = Levels(part, views, only)
    corner = bounds([views[id_].rect for id_ in part.nodes if id_ in only])
    levels.whole.put((corner[0], corner[1]) if corner is not None else (0.0, 0.0))
    positions, frames = dict[str, Point](), dict[int, Rect]()
    for level in levels.whole.all():
        positions |= level.found.positions
        frames |= level.frames
    part = edits.place(part, positions)
    if frames:
        part = replace(part, frames=tuple(framed(frame, frames[index]) for index, frame in enumerate(part.frames)))
    return _Bending(part, views, levels).done()


def _without_bends(part: Graph, only: Collection[str]) -> Graph:
    """What bends lead to is wired to where they come from."""
    into = {edge.target: edge for edge in part.edges if part.nodes[edge.target].operator == REROUTE}
    out = {edge.source for edge in part.edges}
    gone = {id_ for id_ in into if id_ in out and not part.nodes[id_].note}
    if only:
        ends: dict[str, set[str]] = {}
        for edge in part.edges:
            ends.setdefault(edge.source, set()).add(edge.target)
            ends.setdefault(edge.target, set()).add(edge.source)
        gone = {id_ for id_ in gone if id_ in only and ends[id_] <= set(only)}
    edges: list[Edge] = []
    for edge in part.edges:
        if edge.target in gone:
            continue
        passed = set[str]()
        while edge.source in gone and edge.source not in passed:
            passed.add(edge.source)
            edge = replace(edge, source=into[edge.source].source, source_socket=into[edge.source].source_socket)
        edges.append(edge)
    nodes = {id_: node for id_, node in part.nodes.items() if id_ not in gone}
    return replace(part, nodes=nodes, edges=tuple(dict.fromkeys(e for e in edges if e.source in nodes)))


class _Bending:
    """Bends for all wires that need some."""

    def __init__(self, part: Graph, views: Views, levels: Levels):
        self._part, self._views, self._levels = part, views, levels
        self._obstacles, self._rects = Grid(), dict[str, Rect]()
        for id_, node in part.nodes.items():
            (x, y), view = node.position, views[id_]
            self._rects[id_] = (x, y, x + view.width, y + view.height)
            self._obstacles.put(id_, [self._rects[id_]])
        self._taken = set(part.nodes)
        self._bends: dict[tuple[str, str, Point], Node] = {}  # by what leads to them: wires of one socket share them
        self._pieces: list[Edge] = []

    def done(self) -> Graph:
        together: dict[tuple[str, str, int], list[Edge]] = {}
        home = self._levels.home
        for edge in self._part.edges:
            if edge.source in home and edge.target in home:
                together.setdefault((edge.source, edge.source_socket, id(home[edge.target])), []).append(edge)
        last: dict[Edge, Edge] = {}
        for edges in together.values():
            last |= self._bend(edges)
        part = replace(self._part, edges=tuple(last.get(edge, edge) for edge in self._part.edges))
        return edits.add(part, self._bends.values(), self._pieces)

    def _bend(self, edges: list[Edge]) -> Mapping[Edge, Edge]:
        """Wires of one socket that end in one frame; gives the last piece of each that is bent."""
        ways = [self._levels.lanes_of(edge) for edge in edges]
        longest = max(ways, key=len)
        if not longest:
            return {}
        near = {edges[0].source, *(edge.target for edge in edges)}
        ends = [(len(way), self._socket(edge, "in")) for way, edge in zip(ways, edges, strict=True)]
        found = route(self._socket(edges[0], "out"), longest, ends, lambda start, end: self._is_clear(start, end, near))
        at, ids = (edges[0].source, edges[0].source_socket), list[str]()
        for place in found.bends:
            ids.append(self._bend_at(*at, place))
            at = (ids[-1], "y")
        starts = zip(edges, found.starts, strict=True)
        return {edge: replace(edge, source=ids[start], source_socket="y") for edge, start in starts if start >= 0}

    def _bend_at(self, source: str, socket: str, place: Point) -> str:
        key = (source, socket, place)
        if key not in self._bends:
            id_ = edits.fresh_id(self._taken, REROUTE)
            self._taken.add(id_)
            self._bends[key] = Node(id_, REROUTE, {}, (place[0] - REROUTE_SIZE / 2, place[1] - REROUTE_SIZE / 2))
            self._pieces.append(Edge(source, socket, id_, "x"))
        return self._bends[key].id

    def _socket(self, edge: Edge, side: str) -> Point:
        id_, name = (edge.target, edge.target_socket) if side == "in" else (edge.source, edge.source_socket)
        x, y = self._part.nodes[id_].position
        return (x + (0.0 if side == "in" else self._views[id_].width), y + socket_height(self._views[id_], side, name))

    def _is_clear(self, start: Point, end: Point, near: Collection[str]) -> bool:
        points = along(bezier(start, end), 24)
        xs, ys = [x for x, _ in points], [y for _, y in points]
        around = (min(xs) - AWAY, min(ys) - AWAY, max(xs) + AWAY, max(ys) + AWAY)
        for id_ in self._obstacles.near(around):
            rect = self._rects[id_]
            left, top, right, bottom = rect
            # It starts or ends at the edge of its own nodes.
            inner = rect if id_ in near else (left - AWAY, top - AWAY, right + AWAY, bottom + AWAY)
            if meet(inner, around) and any(inner[0] < x < inner[2] and inner[1] < y < inner[3] for x, y in points):
                return False
        return True
