"""A drawing with frames laid out: what lies in a frame is arranged first, then the frame is one thing among others.

A wire over a frame's border runs to a point on it, inside as outside, so that it passes the frame's nodes on a lane as well.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from munet import Edge, Frame, Graph
from studio.camera import Point, Rect
from studio.hit import FRAME_HEAD, frame_rect
from studio.layout import Arranged, Lane, Link, arrange
from studio.nodeviews import NodeView, text_width

MARGIN = 24.0  # of a frame, round its nodes
NOTE = 24.0  # below a frame that has one
LETTER = 8.0  # of a frame's title, roughly
Views = Mapping[str, NodeView]


@dataclass
class Level:
    """What lies directly in a frame, or in none: nodes, and frames as one thing each. After `put` all places are the canvas'."""

    name: str  # among the things of the level around it
    inner: dict[int, Level]  # by index of the frame
    nodes: Collection[str]
    found: Arranged = field(default_factory=Arranged)
    size: Point = (0.0, 0.0)
    corner: Point = (0.0, 0.0)  # of what lies in it, from the frame's own
    around: Level | None = None
    frames: dict[int, Rect] = field(default_factory=dict)

    def all(self) -> list[Level]:
        return [self, *(deeper for level in self.inner.values() for deeper in level.all())]

    def put(self, origin: Point) -> None:
        """Move everything so that the level's corner is there."""
        x, y = origin[0] + self.corner[0], origin[1] + self.corner[1]
        self.found.positions = {id_: (at[0] + x, at[1] + y) for id_, at in self.found.positions.items()}
        self.found.lanes = {
            key: tuple(replace(lane, left=lane.left + x, right=lane.right + x, y=lane.y + y) for lane in lanes)
            for key, lanes in self.found.lanes.items()
        }
        for index, level in self.inner.items():
            left, top = self.found.positions[level.name]
            level.put((left, top))
            self.frames[index] = (left, top, left + level.size[0], top + level.size[1])

    def below(self, name: str) -> float:
        """How far below the frame's top a thing of this level lies, before `put`."""
        return self.corner[1] + self.found.positions[name][1]


class Levels:
    """All levels of a drawing, laid out: `home` tells in which one a node lies directly. `only`: these nodes, without frames."""

    def __init__(self, part: Graph, views: Views, only: Collection[str] = ()):
        self._part, self._views = part, views
        self.home: dict[str, Level] = {}
        frames = () if only else part.frames
        self._parent, frame_of = _nesting(part, views, frames, only or part.nodes)
        self.whole = self._level(-1, frame_of)
        self._lay(self.whole)

    def _level(self, index: int, frame_of: Mapping[str, int]) -> Level:
        inner = {i: self._level(i, frame_of) for i, parent in self._parent.items() if parent == index}
        level = Level(f"\nframe {index}", inner, {id_ for id_, frame in frame_of.items() if frame == index})
        for deeper in inner.values():
            deeper.around = level
        self.home |= dict.fromkeys(level.nodes, level)
        return level

    def name_in(self, level: Level, node: str) -> str:
        """What a node is, or lies in, of a level; "" if it is elsewhere."""
        at, name = self.home.get(node), node
        while at is not None and at is not level:
            at, name = at.around, at.name
        return name if at is not None else ""

    # -- laying out ----------------------------------------------------------------------------------------------------

    def _lay(self, level: Level) -> None:
        for index, deeper in level.inner.items():
            self._lay(deeper)
            self._frame(deeper, self._part.frames[index])
        sizes = {id_: (self._views[id_].width, self._views[id_].height) for id_ in self._part.nodes if id_ in level.nodes}
        sizes |= {deeper.name: deeper.size for deeper in level.inner.values()}
        things = set(sizes)
        links: list[Link] = []
        for edge in self._part.edges:
            source, target = self.name_in(level, edge.source), self.name_in(level, edge.target)
            if (not source and not target) or source == target or (level.around is None and not (source and target)):
                continue
            leaves = self._down(level, edge, source, "out") if source else 0.0
            enters = self._down(level, edge, target, "in") if target else 0.0
            links.append(Link(source or gate("in", edge), target or gate("out", edge), leaves, enters, trunk_of(edge)))
        gates = {name for link in links for name in (link.source, link.target)} - things
        sizes |= dict.fromkeys(sorted(gates), (0.0, 0.0))
        level.found = arrange(sizes, links, gates=gates)
        self._measure(level, sizes, things)

    def _down(self, level: Level, edge: Edge, name: str, side: str) -> float:
        """How far below the top of a thing of the level a wire leaves or enters it."""
        node, socket = (edge.target, edge.target_socket) if side == "in" else (edge.source, edge.source_socket)
        if name == node:
            return socket_height(self._views[node], side, socket)
        deeper = next(inner for inner in level.inner.values() if inner.name == name)
        return deeper.below(gate(side, edge))

    @staticmethod
    def _measure(level: Level, sizes: Mapping[str, Point], things: Collection[str]) -> None:
        """The level's size, and its things moved to the upper left; gates lie outside."""
        positions = level.found.positions
        real = [(positions[id_], sizes[id_]) for id_ in things]
        lanes = [lane for found in level.found.lanes.values() for lane in found]
        left = min((at[0] for at, _ in real), default=0.0)
        top = min([at[1] for at, _ in real] + [lane.y for lane in lanes], default=0.0)
        level.corner = (-left, -top)
        right = max((at[0] + size[0] for at, size in real), default=0.0)
        bottom = max([at[1] + size[1] for at, size in real] + [lane.y for lane in lanes], default=0.0)
        level.size = (right - left, bottom - top)

    @staticmethod
    def _frame(level: Level, frame: Frame) -> None:
        """Room for what lies in it; a frame with nothing in it keeps its size."""
        if not level.nodes and not level.inner:
            level.size = frame.size
            return
        level.corner = (level.corner[0] + MARGIN, level.corner[1] + FRAME_HEAD + MARGIN)
        width = max(level.size[0] + 2 * MARGIN, text_width(frame.title, LETTER) + 24.0)
        level.size = (width, level.size[1] + FRAME_HEAD + 2 * MARGIN + (NOTE if frame.note else 0.0))

    # -- the way of a wire ---------------------------------------------------------------------------------------------

    def lanes_of(self, edge: Edge) -> tuple[Lane, ...]:
        """All lanes that a wire has on its way, from left to right: out of frames, beside what lies between, into frames."""
        trunk = trunk_of(edge)
        out, into = self._way_up(edge.source), self._way_up(edge.target)
        common = next(level for level in out if any(level is other for other in into))
        lanes: list[Lane] = []
        for level in out[: _place(out, common)]:
            lanes += _before(level, (self.name_in(level, edge.source), trunk), gate("out", edge))
        lanes += _before(common, (self.name_in(common, edge.source), trunk), self.name_in(common, edge.target))
        for level in reversed(into[: _place(into, common)]):
            lanes += _before(level, (gate("in", edge), trunk), self.name_in(level, edge.target))
        return tuple(replace(lane, column=place) for place, lane in enumerate(lanes))

    def _way_up(self, node: str) -> list[Level]:
        found, level = list[Level](), self.home.get(node)
        while level is not None:
            found.append(level)
            level = level.around
        return found


def trunk_of(edge: Edge) -> str:
    """Wires that leave one socket run together."""
    return f"{edge.source}.{edge.source_socket}"


def gate(side: str, edge: Edge) -> str:
    """Where the wires of a socket cross a frame's border, among its things; no node is called so."""
    return f"\n{side} {trunk_of(edge)}"


def socket_height(view: NodeView, side: str, name: str) -> float:
    """How far below the node's top a socket is."""
    spot = view.socket(side, name)
    return spot.y if spot is not None else view.height / 2


def framed(frame: Frame, rect: Rect) -> Frame:
    """A frame whose note has its room within the rectangle."""
    note = NOTE if frame.note else 0.0
    return replace(frame, position=rect[:2], size=(rect[2] - rect[0], rect[3] - rect[1] - note))


def _place(levels: list[Level], level: Level) -> int:
    return next(place for place, other in enumerate(levels) if other is level)


def _before(level: Level, key: tuple[str, str], target: str) -> list[Lane]:
    """A trunk's lanes up to what it leads to; none for one that leads back."""
    columns = level.found.columns
    return [lane for lane in level.found.lanes.get(key, ()) if lane.column < columns.get(target, -1)]


def _nesting(
    part: Graph, views: Views, frames: tuple[Frame, ...], nodes: Collection[str]
) -> tuple[dict[int, int], dict[str, int]]:  # fmt: skip
    """The smallest frame that each frame and each node lies in; -1 for none."""
    rects = [frame_rect(frame) for frame in frames]
    small_first = sorted(range(len(rects)), key=lambda i: (frames[i].size[0] * frames[i].size[1], -i))
    parent: dict[int, int] = {}
    for place, i in enumerate(small_first):
        around = (j for j in small_first[place + 1 :] if _holds(rects[j], rects[i][:2]) and _holds(rects[j], rects[i][2:]))
        parent[i] = next(around, -1)
    frame_of: dict[str, int] = {}
    for id_ in part.nodes:
        if id_ in nodes:
            (x, y), view = part.nodes[id_].position, views[id_]
            middle = (x + view.width / 2, y + view.height / 2)
            frame_of[id_] = next((i for i in small_first if _holds(rects[i], middle)), -1)
    return dict(sorted(parent.items())), frame_of


def _holds(rect: Rect, at: Point) -> bool:
    return rect[0] <= at[0] <= rect[2] and rect[1] <= at[1] <= rect[3]
