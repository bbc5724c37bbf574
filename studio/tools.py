"""The mouse on the canvas as a state machine: presses, moves, releases in; commands and requests out. It changes nothing itself.

    idle -> pan | move | box | wire | cut | size -> idle

`requests.perform` carries out what concerns the document and hands the other requests back to the window: open a search, a menu,
pan or zoom, explain a refused wire.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import count

from munet import Edge
from munet.inspect import WireView
from studio import commands
from studio.advice import Refusal, refusal
from studio.camera import Rect
from studio.commands import Connect, Disconnect, EditFrame, InsertOnWire, Move
from studio.document import Document, Selection, State, selected
from studio.edits import REROUTE, SUBGRAPH, fresh_id
from studio.hit import NOTHING, Hit, Scene
from studio.nodeviews import REROUTE_SIZE, Point
from studio.requests import (
    LEFT,
    MIDDLE,
    RIGHT,
    Edit,
    Enter,
    Loose,
    OpenMenu,
    OpenSearch,
    Outcome,
    Pan,
    Pointer,
    Refused,
    Seal,
    Select,
    Zoom,
)

THRESHOLD = 4.0  # pixels before a press becomes a drag
MIN_FRAME = 60.0


@dataclass
class Tool:
    """One for a canvas. `snap` is the grid that moved nodes keep to, 0 for none; `wires` what is known of the drawing's wires."""

    document: Document
    scene: Scene
    snap: float = 0.0
    wires: Mapping[tuple[str, str], WireView] = field(default_factory=dict)
    mode: str = "idle"
    loose: Loose | None = None
    box: Rect | None = None
    path: list[Point] = field(default_factory=list)  # of the cut
    hovered: Hit = NOTHING
    insert: Edge | None = None  # the wire that the moved node would go into
    button: str = ""  # that was pressed
    _hit: Hit = NOTHING
    _start: Pointer = field(default_factory=lambda: Pointer((0.0, 0.0), (0.0, 0.0)))
    _last: Pointer = field(default_factory=lambda: Pointer((0.0, 0.0), (0.0, 0.0)))
    _moved: Point = (0.0, 0.0)  # so far, of a move
    _what: Selection = field(default_factory=Selection)
    _before: Selection = field(default_factory=Selection)
    _token: str = ""
    _clicked: Hit | None = None  # by the last press, if it was no drag
    _double: bool = False  # the press is the second of a double click

    # -- events --------------------------------------------------------------------------------------------------------

    def press(self, button: str, at: Pointer) -> list[Outcome]:
        if self.mode not in ("idle", "pressed"):
            return []
        self.button, self._start, self._last, self._double = button, at, at, False
        self._hit = self.scene.hit(at.canvas, at.zoom, self.document.selection.nodes)
        self._before = self.document.selection
        if button == MIDDLE or "Space" in at.modifiers:
            self.mode = "pan"
            return []
        self.mode = "pressed"
        if button == RIGHT:
            return []
        return self._press_select(at)

    def _press_select(self, at: Pointer) -> list[Outcome]:
        hit, chosen = self._hit, self._before
        adds = bool(at.modifiers & {"Ctrl", "Shift"})
        if hit.kind == "node" and hit.node not in chosen.nodes:
            nodes = chosen.nodes | {hit.node} if adds else frozenset({hit.node})
            return [Select(replace(chosen, nodes=nodes) if adds else selected(nodes))]
        if hit.kind == "wire" and hit.edge is not None and hit.edge not in chosen.edges:
            return [Select(replace(chosen, edges=chosen.edges | {hit.edge}) if adds else selected(edges=[hit.edge]))]
        if hit.kind in ("frame", "corner") and hit.frame not in chosen.frames:
            return [Select(replace(chosen, frames=chosen.frames | {hit.frame}) if adds else selected(frames=[hit.frame]))]
        return []

    def move(self, at: Pointer) -> list[Outcome]:
        last, self._last = self._last, at
        if self.mode == "idle":
            self.hovered = self.scene.hit(at.canvas, at.zoom, self.document.selection.nodes)
            return []
        if self.mode == "pressed":
            if math.dist(at.screen, self._start.screen) < THRESHOLD:
                self._last = last
                return []
            began = self._begin(at)
            if began:
                return [*began, *self._drag(at)]
        match self.mode:
            case "pan":
                return [Pan(at.screen[0] - last.screen[0], at.screen[1] - last.screen[1])]
            case "move":
                return self._drag(at)
            case "box":
                self.box = _rect(self._start.canvas, at.canvas)
                return [Select(self._boxed(at))]
            case "cut":
                self.path.append(at.canvas)
            case "wire":
                self._pull(at)
            case "size":
                return self._size(at)
            case _:
                pass
        return []

    def _begin(self, at: Pointer) -> list[Outcome]:
        """What a press turns into once the mouse moves; what has to be done before it is dragged."""
        hit, modifiers = self._hit, self._start.modifiers
        self._token = f"drag {next(_drags)}"
        if self.button == RIGHT:
            self.mode, self.path = "cut", [self._start.canvas]
        elif hit.kind == "socket":
            self._take(hit, modifiers)
        elif hit.kind == "wire" and hit.edge is not None and "Alt" in modifiers:
            return self._begin_reroute(hit.edge)
        elif hit.kind == "wire" and hit.edge is not None:
            self._take_wire(hit.edge)
        elif hit.kind == "corner":
            self.mode = "size"
        elif hit.kind in ("node", "frame"):
            self.mode, self._moved = "move", (0.0, 0.0)
            self._what = self.scene.carried(self.document.selection)
        elif "Alt" in modifiers:
            self.mode, self.path = "cut", [self._start.canvas]
        else:
            self.mode = "box"
        return []

    def _begin_reroute(self, edge: Edge) -> list[Outcome]:
        """A bend in the wire, which is then dragged on; one step of undo."""
        id_ = fresh_id(self.document.part.nodes, REROUTE)
        self.mode, self._moved = "move", (0.0, 0.0)
        self._hit, self._what = Hit("node", id_), selected([id_])
        return [replace(commands.add_reroute(edge, _middle_at(self._start.canvas)), merge=self._token)]

    def release(self, at: Pointer) -> list[Outcome]:
        mode, self.mode = self.mode, "idle"
        self._clicked = self._hit if mode == "pressed" and self.button == LEFT else None
        outcomes: list[Outcome] = []
        if mode == "pressed":
            outcomes = [*self._click(at), *(self._double_clicked(at) if self._double else ())]
        elif mode == "move":
            outcomes = [*self._dropped_on_wire(), Seal()]
        elif mode == "size":
            outcomes = [Seal()]
        elif mode == "cut":
            cut = self.scene.wires_cut([*self.path, at.canvas])
            outcomes = [Disconnect(frozenset(cut))] if cut else []
        elif mode == "wire" and self.loose is not None:
            self._pull(at)
            outcomes = self._drop(self.loose, at)
        self.loose = self.box = self.insert = None
        self.path = []
        return outcomes

    def double_click(self, at: Pointer) -> None:
        """The press that has just come is the second one here: its release is a double click, if no drag comes or came."""
        self._double = self.mode == "pressed" and self.button == LEFT and self._clicked == self._hit

    def _double_clicked(self, at: Pointer) -> list[Outcome]:
        hit = self._hit
        self._clicked = None
        node = self.document.part.nodes.get(hit.node)
        if hit.kind == "node" and node is not None:
            return [Enter(hit.node) if node.operator == SUBGRAPH else Edit(hit, at.canvas)]
        if hit.kind == "wire" and hit.edge is not None:
            return [commands.add_reroute(hit.edge, _middle_at(at.canvas))]
        if hit.kind in ("frame", "corner"):
            return [Edit(hit, at.canvas)]
        return [OpenSearch(at.canvas, hit if hit.kind == "socket" else None)]

    def wheel(self, at: Pointer, notches: float) -> list[Outcome]:
        return [Zoom(at.screen, notches)]

    def cancel(self) -> list[Outcome]:
        """Escape: what was begun is taken back."""
        mode, self.mode = self.mode, "idle"
        self.loose = self.box = self.insert = None
        self.path = []
        if mode == "move" and self._moved != (0.0, 0.0):
            dx, dy = self._moved
            return [Move(self._what, -dx, -dy, self._token), Seal(), Select(self._before)]
        return [Seal(), Select(self._before)] if mode in ("box", "size") else []

    # -- clicks, boxes, moves --------------------------------------------------------------------------------------------

    def _click(self, at: Pointer) -> list[Outcome]:
        hit, chosen = self._hit, self.document.selection
        if self.button == RIGHT:
            return [*self._select_for_menu(hit, chosen), OpenMenu(at.canvas, hit)]
        if hit.kind == "wire" and hit.edge is not None and "Alt" in at.modifiers:
            return [commands.add_reroute(hit.edge, _middle_at(at.canvas))]
        if hit.kind == "node":
            if "Ctrl" in at.modifiers and hit.node in self._before.nodes:
                return [Select(replace(chosen, nodes=chosen.nodes - {hit.node}))]
            if not at.modifiers & {"Ctrl", "Shift"} and chosen != selected([hit.node]):
                return [Select(selected([hit.node]))]
        if hit.kind == "nothing" and chosen and not at.modifiers & {"Ctrl", "Shift"}:
            return [Select(Selection())]
        return []

    @staticmethod
    def _select_for_menu(hit: Hit, chosen: Selection) -> list[Outcome]:
        """A menu is about what was selected if the mouse is on a part of it, else about what is under the mouse."""
        if hit.kind in ("node", "socket") and hit.node not in chosen.nodes:
            return [Select(selected([hit.node]))]
        if hit.kind == "wire" and hit.edge is not None and hit.edge not in chosen.edges:
            return [Select(selected(edges=[hit.edge]))]
        if hit.kind in ("frame", "corner") and hit.frame not in chosen.frames:
            return [Select(selected(frames=[hit.frame]))]
        return []

    def _boxed(self, at: Pointer) -> Selection:
        assert self.box is not None
        nodes, frames = self.scene.nodes_in(self.box), self.scene.frames_in(self.box)
        before = self._before
        if "Ctrl" in at.modifiers:
            return Selection(before.nodes ^ nodes, before.edges, before.frames ^ frames)
        if "Shift" in at.modifiers:
            return Selection(before.nodes | nodes, before.edges, before.frames | frames)
        return selected(nodes, (), frames)

    def _drag(self, at: Pointer) -> list[Outcome]:
        dx, dy = at.canvas[0] - self._start.canvas[0], at.canvas[1] - self._start.canvas[1]
        dx, dy = self._snapped(dx, dy, "Ctrl" in at.modifiers)
        step = (dx - self._moved[0], dy - self._moved[1])
        self._moved = (dx, dy)
        only = next(iter(self._what.nodes)) if len(self._what.nodes) == 1 and not self._what.frames else ""
        self.insert = self._insertable(only, step) if only else None
        return [Move(self._what, *step, self._token)] if step != (0.0, 0.0) else []

    def _snapped(self, dx: float, dy: float, other: bool) -> Point:
        """So that the dragged node (or the first) lies on the grid; Ctrl turns snapping round."""
        grid = self.snap if self.snap and not other else 20.0 if other and not self.snap else 0.0
        lead = self._hit.node if self._hit.kind == "node" else next(iter(self._what.nodes), "")
        node = self.document.part.nodes.get(lead)
        if not grid or node is None:
            return dx, dy
        x, y = node.position[0] - self._moved[0], node.position[1] - self._moved[1]
        return round((x + dx) / grid) * grid - x, round((y + dy) / grid) * grid - y

    def _insertable(self, node: str, by: Point = (0.0, 0.0)) -> Edge | None:
        """The wire under a node that has no wires yet and can take part in it."""
        if any(node in (edge.source, edge.target) for edge in self.document.part.edges):
            return None
        view, edge = self.scene.views.get(node), self.scene.wire_under(node, by)
        return edge if view is not None and view.inputs and view.outputs else None

    def _dropped_on_wire(self) -> list[Outcome]:
        if len(self._what.nodes) != 1 or self._what.frames:
            return []
        node = next(iter(self._what.nodes))
        edge, view = self._insertable(node), self.scene.views.get(node)
        if edge is None or view is None:
            return []
        return [InsertOnWire(node, edge, view.inputs[0].name, view.outputs[0].name, self._token)]

    def _size(self, at: Pointer) -> list[Outcome]:
        frames = self.document.part.frames
        if self._hit.frame >= len(frames):
            return []
        x, y = frames[self._hit.frame].position
        size = (max(MIN_FRAME, at.canvas[0] - x), max(MIN_FRAME, at.canvas[1] - y))
        return [EditFrame(self._hit.frame, {"size": size}, self._token)]

    # -- wires ---------------------------------------------------------------------------------------------------------

    def _take(self, hit: Hit, modifiers: frozenset[str]) -> None:
        """From an output a new wire, with Ctrl all that leave it; from an input that has one, that wire's end."""
        self.mode = "wire"
        edges = self.document.part.edges
        if hit.side == "in":
            into = [e for e in edges if (e.target, e.target_socket) == (hit.node, hit.socket)]
            if into:
                taken = into[-1]
                self.loose = Loose(Hit("socket", taken.source, "out", taken.source_socket), self._start.canvas, taken)
                return
        elif "Ctrl" in modifiers:
            out = tuple(e for e in edges if (e.source, e.source_socket) == (hit.node, hit.socket))
            if out:
                fixed = Hit("socket", out[0].target, "in", out[0].target_socket)
                self.loose = Loose(fixed, self._start.canvas, out[0], out[1:])
                return
        self.loose = Loose(hit, self._start.canvas)

    def _take_wire(self, edge: Edge) -> None:
        """The nearer end of a wire comes along."""
        self.mode = "wire"
        start = self.scene.socket_at(edge.source, "out", edge.source_socket)
        end = self.scene.socket_at(edge.target, "in", edge.target_socket)
        at = self._start.canvas
        if math.dist(at, start) < math.dist(at, end):
            fixed = Hit("socket", edge.target, "in", edge.target_socket)
        else:
            fixed = Hit("socket", edge.source, "out", edge.source_socket)
        self.loose = Loose(fixed, at, edge)

    def _pull(self, at: Pointer) -> None:
        if self.loose is None:
            return
        over = self.scene.hit(at.canvas, at.zoom, self.document.selection.nodes)
        if over.kind == "node":
            over = self.best_socket(self.loose, over.node, self._without(self.loose.taken))
        over = over if over.kind == "socket" else NOTHING
        edge = _edge(self.loose.fixed, over)
        reason = self.why_not(self._without(self.loose.taken), edge) if edge is not None else None
        self.loose = replace(self.loose, end=at.canvas, over=over, refusal=reason)

    def _without(self, taken: Edge | None) -> State:
        """The document's state while a wire is held: that wire closes no cycle."""
        state = self.document.state
        if taken is None:
            return state
        return Disconnect(frozenset({taken})).apply(state)

    def why_not(self, state: State, edge: Edge) -> Refusal | None:
        """Why a wire does not fit; None if it does, as far as is known."""
        return refusal(state, edge, self.wires)

    def best_socket(self, loose: Loose, node: str, state: State) -> Hit:
        """The first socket of a node that the wire fits, one without a wire before others."""
        view = self.scene.views[node]
        spots = view.inputs if loose.fixed.side == "out" else view.outputs
        taken = {(edge.target, edge.target_socket) for edge in state.part.edges}
        found: list[Hit] = []
        for spot in sorted(spots, key=lambda s: s.side == "in" and (node, s.name) in taken and not s.variadic):
            hit = Hit("socket", node, spot.side, spot.name)
            edge = _edge(loose.fixed, hit)
            if edge is not None and self.why_not(state, edge) is None:
                return hit
            found.append(hit)
        return found[0] if found else NOTHING

    def _drop(self, loose: Loose, at: Pointer) -> list[Outcome]:
        if loose.over.kind != "socket":
            if loose.taken is not None:
                return [Disconnect(frozenset({loose.taken, *loose.others}))]
            return [OpenSearch(at.canvas, loose.fixed)]
        edge = _edge(loose.fixed, loose.over)
        if edge is None or edge == loose.taken:
            return []
        if loose.refusal is not None:
            return [Refused(edge, loose.refusal, at.canvas)]
        made: list[Outcome] = [Connect(edge, self.is_variadic(edge), loose.taken)]
        if loose.others:
            moved = [replace(old, source=edge.source, source_socket=edge.source_socket) for old in loose.others]
            more = [Connect(new, self.is_variadic(new), old) for new, old in zip(moved, loose.others, strict=True)]
            first = made[0]
            assert isinstance(first, Connect)
            made = [commands.Several((first, *more), first.label)]
        return made

    def is_variadic(self, edge: Edge) -> bool:
        view = self.scene.views.get(edge.target)
        spot = view.socket("in", edge.target_socket) if view is not None else None
        return spot is not None and spot.variadic


_drags = count()


def _middle_at(at: Point) -> Point:
    """The corner of a bend whose middle is there."""
    return (at[0] - REROUTE_SIZE / 2, at[1] - REROUTE_SIZE / 2)


def _edge(fixed: Hit, over: Hit) -> Edge | None:
    """The wire between two sockets of different sides."""
    if over.kind != "socket" or fixed.side == over.side:
        return None
    source, target = (fixed, over) if fixed.side == "out" else (over, fixed)
    return Edge(source.node, source.socket, target.node, target.socket)


def _rect(a: Point, b: Point) -> Rect:
    return (min(a[0], b[0]), min(a[1], b[1]), max(a[0], b[0]), max(a[1], b[1]))
