"""What is where on the canvas: a scene of node views, wires and frames with a spatial hash, and what the mouse touches.

`update` looks only at what changed: states are immutable, so an object that is the same is drawn the same. All positions are
canvas units; tolerances are given in pixels and divided by the zoom.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from munet import Edge, Frame, Graph, Node
from munet.inspect import WireView
from studio.camera import Rect, bounds
from studio.curves import Control, along, bezier, cross, distance_to, meet, pieces, span
from studio.document import Selection
from studio.edits import SUBGRAPH
from studio.grid import Grid
from studio.nodeviews import NodeView, Point, SocketSpot, node_view

AT_ONCE = 100  # nodes and wires that are taken in however long it takes
SOCKET_REACH, WIRE_REACH, FRAME_EDGE, FRAME_HEAD = 10.0, 7.0, 6.0, 26.0  # pixels, the last one canvas units


@dataclass(frozen=True)
class Hit:
    """`kind`: "socket", "node", "wire", "frame" (its title or border), "corner" (of a frame, to size it) or "nothing"."""

    kind: str
    node: str = ""
    side: str = ""  # of a socket: "in" or "out"
    socket: str = ""
    edge: Edge | None = None
    frame: int = -1


NOTHING = Hit("nothing")


@dataclass(frozen=True)
class Wire:
    """A wire's curve: four control points, and points along it."""

    edge: Edge
    control: Control
    points: tuple[Point, ...]


Wires = Mapping[tuple[str, str], WireView]
NO_WIRES: Wires = {}


class Scene:
    """All that is drawn of one drawing. `changed_nodes` and `changed_wires` say what the last update made or removed.

    A large change can be taken in over several updates: `pending` says how much is still as it was, or missing.
    """

    def __init__(self) -> None:
        self.views: dict[str, NodeView] = {}
        self.wires: dict[Edge, Wire] = {}
        self.frames: tuple[Frame, ...] = ()
        self.changed_nodes: set[str] = set()
        self.changed_wires: set[Edge] = set()
        self.version = 0  # counts updates that made or removed something
        self._made_of: dict[str, _Made] = {}
        self._nodes, self._curves = Grid(), Grid()
        self._order: dict[str, int] = {}
        self._from: tuple[Any, ...] = (None, None, None)  # edges, wires and subgraphs of the last update
        self._wired: dict[str, frozenset[str]] = {}
        self._known: dict[str, tuple[Any, ...]] = {}
        self._edges_at: dict[str, list[Edge]] = {}
        # What is still to be looked at, the longest waiting first: of a large drawing that is dragged, all moves in turn.
        self._waiting_nodes: dict[str, None] = {}
        self._waiting_wires: dict[Edge, None] = {}
        self._bounds: Rect | None = None
        self._bounds_known = False

    @property
    def pending(self) -> int:
        return len(self._waiting_nodes) + len(self._waiting_wires)

    def update(self, graph: Graph, part: Graph, wires: Wires | None = None, limit_s: float = math.inf) -> None:
        """Bring the scene to a drawing `part` of the project `graph`; `wires` are keyed by the ids of this drawing.

        After `limit_s` the rest is left to the next update; an edit of a few nodes is always taken in at once.
        """
        end = time.perf_counter() + limit_s
        wires = NO_WIRES if wires is None else wires
        edges, old_wires, definitions = self._from
        only_nodes = part.edges is edges and wires is old_wires and graph.subgraphs is definitions
        self._from = (part.edges, wires, graph.subgraphs)
        self.changed_wires = set()
        if part.edges is not edges:
            self._take_edges(part.edges)
        if wires is not old_wires:
            known: dict[str, list[Any]] = {}
            for (id_, socket), view in wires.items():
                known.setdefault(id_, []).append((socket, view))
            self._known = {id_: tuple(found) for id_, found in known.items()}
        self.changed_nodes = self.views.keys() - part.nodes.keys()
        for id_ in self.changed_nodes:
            del self.views[id_], self._made_of[id_]
            self._nodes.drop(id_)
        if self._order.keys() != part.nodes.keys():
            self._order = {id_: place for place, id_ in enumerate(part.nodes)}
            self._waiting_nodes = {id_: None for id_ in self._waiting_nodes if id_ in part.nodes}
        for id_, node in part.nodes.items():
            old = self._made_of.get(id_)
            if old is None or old.node is not node or not only_nodes:
                self._waiting_nodes[id_] = None
        if self.changed_nodes or self.frames is not part.frames:
            self._bounds_known = False
        self.frames = part.frames
        self._work_off(graph, part, wires, end)
        self.version += bool(self.changed_nodes or self.changed_wires)

    def _take_edges(self, edges: tuple[Edge, ...]) -> None:
        wired: dict[str, set[str]] = {}
        self._edges_at = {}
        for edge in edges:
            wired.setdefault(edge.target, set()).add(edge.target_socket)
            self._edges_at.setdefault(edge.source, []).append(edge)
            self._edges_at.setdefault(edge.target, []).append(edge)
        self._wired = {id_: frozenset(sockets) for id_, sockets in wired.items()}
        there = set(edges)
        for edge in self.wires.keys() - there:
            del self.wires[edge]
            self._curves.drop(edge)
            self.changed_wires.add(edge)
        self._waiting_wires = {edge: None for edge in self._waiting_wires if edge in there}
        self._waiting_wires |= dict.fromkeys(edge for edge in edges if edge not in self.wires)

    def _work_off(self, graph: Graph, part: Graph, wires: Wires, end: float) -> None:
        """First the nodes, then the wires, whose ends are where their nodes are."""
        for done, id_ in enumerate(list(self._waiting_nodes)):
            if done > AT_ONCE and time.perf_counter() > end:
                return
            if self._look_at(graph, part.nodes[id_], wires):
                self._bounds_known = False
                self._waiting_wires |= dict.fromkeys(self._edges_at.get(id_, ()))
            del self._waiting_nodes[id_]
        for done, edge in enumerate(list(self._waiting_wires)):
            if done > AT_ONCE and time.perf_counter() > end:
                return
            self._draw(edge)
            del self._waiting_wires[edge]

    def _look_at(self, graph: Graph, node: Node, wires: Wires) -> bool:
        """Make the node's view anew if anything it is made of has changed, and say so; a node that was only moved keeps what
        was made."""
        # Instances depend on definitions, which may hold others: the mapping of all of them stands for that.
        definitions = graph.subgraphs if node.operator == SUBGRAPH else None
        old = self._made_of.get(node.id)
        made = _Made(node, self._wired.get(node.id, frozenset()), definitions, self._known.get(node.id, ()))
        if old is not None and made.is_like(old):
            if old.node is node:
                return False
            if replace(old.node, position=node.position) == node:
                x, y = node.position
                self._put(made, replace(self.views[node.id], x=x, y=y))
                return True
        self._put(made, node_view(graph, node, made.wired, wires))
        return True

    def _put(self, made: _Made, view: NodeView) -> None:
        id_ = made.node.id
        self._made_of[id_], self.views[id_] = made, view
        self._nodes.put(id_, [_grown(view.rect, 12.0)])
        self.changed_nodes.add(id_)

    def _draw(self, edge: Edge) -> None:
        """The wire's curve, where its ends are now."""
        start = self.socket_at(edge.source, "out", edge.source_socket)
        control = bezier(start, self.socket_at(edge.target, "in", edge.target_socket))
        self.changed_wires.add(edge)
        old = self.wires.get(edge)
        if old is None or old.control != control:
            wire = self.wires[edge] = Wire(edge, control, along(control))
            self._curves.put(edge, pieces(wire.points))

    def socket_at(self, node: str, side: str, name: str) -> Point:
        """Where a socket is; for one that the node has not got, the middle of that side."""
        view = self.views.get(node)
        if view is None:
            return (0.0, 0.0)
        spot = view.socket(side, name)
        if spot is not None:
            return view.place_of(spot)
        return (view.x + (view.width if side == "out" else 0.0), view.y + view.height / 2)

    # -- asking --------------------------------------------------------------------------------------------------------

    def hit(self, at: Point, zoom: float = 1.0, raised: Collection[str] = ()) -> Hit:
        """What the mouse touches, the topmost first. `raised` nodes (the selected ones) are drawn over the others."""
        x, y = at
        reach = max(SOCKET_REACH, SOCKET_REACH / zoom) if zoom < 1 else SOCKET_REACH
        near = [id_ for id_ in self._nodes.near((x - reach, y - reach, x + reach, y + reach)) if id_ in self.views]
        near.sort(key=lambda id_: (id_ in raised, self._order[id_]), reverse=True)
        for id_ in near:
            view = self.views[id_]
            spot = self._nearest_socket(view, at, reach)
            if spot is not None and not (view.is_reroute and _inside(at, view.rect)):
                return Hit("socket", id_, spot.side, spot.name)
            if _inside(at, view.rect):
                return Hit("node", id_)
        edge = self._nearest_wire(at, WIRE_REACH / zoom)
        if edge is not None:
            return Hit("wire", edge=edge)
        return self._frame_at(at, zoom)

    def _nearest_socket(self, view: NodeView, at: Point, reach: float) -> SocketSpot | None:
        best, found = reach, None
        for spot in (*view.inputs, *view.outputs):
            distance = math.dist(view.place_of(spot), at)
            if distance <= best:
                best, found = distance, spot
        return found

    def _nearest_wire(self, at: Point, reach: float) -> Edge | None:
        best, found = reach, None
        for edge in self._curves.near((at[0] - reach, at[1] - reach, at[0] + reach, at[1] + reach)):
            distance = distance_to(at, self.wires[edge].points)
            if distance <= best:
                best, found = distance, edge
        return found

    def _frame_at(self, at: Point, zoom: float) -> Hit:
        for index in range(len(self.frames) - 1, -1, -1):
            left, top, right, bottom = frame_rect(self.frames[index])
            edge = FRAME_EDGE / zoom
            if not _inside(at, (left - edge, top - edge, right + edge, bottom + edge)):
                continue
            if math.dist(at, (right, bottom)) < 3 * edge:
                return Hit("corner", frame=index)
            inner = (left + edge, top + FRAME_HEAD, right - edge, bottom - edge)
            if not _inside(at, inner):
                return Hit("frame", frame=index)
        return NOTHING

    def nodes_in(self, rect: Rect) -> set[str]:
        """Nodes that touch a rectangle: box selection, culling."""
        return {id_ for id_ in self._nodes.near(rect) if id_ in self.views and meet(rect, self.views[id_].rect)}

    def frames_in(self, rect: Rect) -> set[int]:
        """Frames that lie wholly in a rectangle."""
        found = ((i, frame_rect(f)) for i, f in enumerate(self.frames))
        return {i for i, f in found if rect[0] <= f[0] and rect[1] <= f[1] and f[2] <= rect[2] and f[3] <= rect[3]}

    def nodes_of_frame(self, index: int) -> set[str]:
        """Nodes whose middle lies in a frame: they move with it."""
        rect = frame_rect(self.frames[index])
        return {i for i in self.nodes_in(rect) if _inside(_middle(self.views[i].rect), rect)}

    def carried(self, chosen: Selection) -> Selection:
        """What moves with what is selected: all that lies in its frames."""
        frames = chosen.frames.union(*(self.frames_in(frame_rect(self.frames[i])) for i in chosen.frames))
        return Selection(chosen.nodes.union(*(self.nodes_of_frame(index) for index in frames)), frozenset(), frames)

    def wires_cut(self, path: Sequence[Point]) -> set[Edge]:
        """Wires that a line through these points crosses: the cut gesture."""
        found: set[Edge] = set()
        for a, b in pairwise(path):
            for edge in self._curves.near(span(a, b)):
                points = self.wires[edge].points
                if edge not in found and any(cross(a, b, p, q) for p, q in pairwise(points)):
                    found.add(edge)
        return found

    def wire_under(self, node: str, by: Point = (0.0, 0.0)) -> Edge | None:
        """The wire that a node moved `by` so much lies on, if it is none of its own: dropping the node there inserts it."""
        view = self.views.get(node)
        if view is None:
            return None
        view = replace(view, x=view.x + by[0], y=view.y + by[1])
        left, top, right, bottom = view.rect
        core = (left + 4, top + 2, right - 4, bottom - 2) if not view.is_reroute else view.rect
        near = (e for e in self._curves.near(core) if node not in (e.source, e.target))
        under = (e for e in near if any(_inside(point, core) for point in along(self.wires[e].control, 40)))
        return min(under, key=lambda e: distance_to(_middle(view.rect), self.wires[e].points), default=None)

    def bounds_of(self, nodes: Collection[str] = (), frames: Collection[int] = ()) -> Rect | None:
        rects = [self.views[id_].rect for id_ in nodes if id_ in self.views]
        return bounds(rects + [frame_rect(self.frames[i]) for i in frames if i < len(self.frames)])

    @property
    def bounds(self) -> Rect | None:
        """Around everything; None for an empty drawing."""
        if not self._bounds_known:
            self._bounds, self._bounds_known = self.bounds_of(self.views, range(len(self.frames))), True
        return self._bounds

    def wires_in(self, rect: Rect) -> set[Edge]:
        """Wires that may touch a rectangle: culling."""
        return {edge for edge in self._curves.near(rect) if edge in self.wires}


def frame_rect(frame: Frame) -> Rect:
    (x, y), (width, height) = frame.position, frame.size
    return (x, y, x + width, y + height)


@dataclass(frozen=True)
class _Made:
    """What a view was made of: the node, its inputs with a wire, all definitions (for an instance), what its outputs carry."""

    node: Node
    wired: frozenset[str]
    definitions: Any
    known: tuple[Any, ...]

    def is_like(self, other: _Made) -> bool:
        """But for the node itself."""
        return self.wired == other.wired and self.definitions is other.definitions and self.known == other.known


def _inside(at: Point, rect: Rect) -> bool:
    return rect[0] <= at[0] <= rect[2] and rect[1] <= at[1] <= rect[3]


def _middle(rect: Rect) -> Point:
    return ((rect[0] + rect[2]) / 2, (rect[1] + rect[3]) / 2)


def _grown(rect: Rect, by: float) -> Rect:
    return (rect[0] - by, rect[1] - by, rect[2] + by, rect[3] + by)
