"""Pictures of nodes and wires: made when they come into sight, a few milliseconds a frame, and touched only where they changed.

A drawing of a thousand nodes appears over some frames; what is out of sight is hidden and costs nothing. Moving is always done
at once, since it is cheap and the eye follows it; drawing anew waits its turn, the selected first.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from munet import Edge
from studio.nodeviews import NodeView
from studio.view import theme
from studio.view.core import Core
from studio.view.drawing import NEAR, Look, NodePicture, Pen, WirePicture, draw_node, draw_wire, level_at
from studio.view.gui import Tag, dpg

BUDGET_S = 0.004  # of a frame, for drawing anew
OUTSIDE = 30.0  # canvas units around what is seen


class Pictures:
    """`look` tells how a node looks besides its view; say `restyle` when that may have changed."""

    def __init__(self, core: Core, layers: dict[str, Tag], pen: Pen, look: Callable[[str], Look]):
        self._core, self._layers, self._pen, self._look = core, layers, pen, look
        self._nodes: dict[str, NodePicture] = {}
        self._wires: dict[Edge, WirePicture] = {}
        self._stale_nodes: set[str] = set()
        self._stale_wires: set[Edge] = set()
        self._seen_nodes: set[str] = set()  # in sight
        self._seen_wires: set[Edge] = set()
        self._place: object = None
        self._level = NEAR
        self._selected: frozenset[str] = frozenset()
        self._selected_wires: frozenset[Edge] = frozenset()
        self._problems: object = None
        self._broken: frozenset[str] = frozenset()
        self._held: frozenset[Edge] = frozenset()
        self._shapes_shown = True
        self.version = 0  # counts frames in which something was drawn

    @property
    def pending(self) -> int:
        """Pictures in sight that are still to be drawn."""
        return len(self._stale_nodes & self._seen_nodes) + len(self._stale_wires & self._seen_wires)

    def restyle(self) -> None:
        self._stale_nodes |= self._core.scene.views.keys()

    def redraw(self) -> None:
        """Everything anew: the font has come."""
        for picture in self._nodes.values():
            dpg.delete_item(picture.item)
        for wire in self._wires.values():
            dpg.delete_item(wire.item)
        self._nodes.clear()
        self._wires.clear()
        self._stale_nodes |= self._core.scene.views.keys()
        self._stale_wires |= self._core.scene.wires.keys()

    # -- once a frame --------------------------------------------------------------------------------------------------

    def sync(self) -> None:
        self._take_changes()
        self._cull()
        end = time.perf_counter() + BUDGET_S
        self._draw_nodes(end)
        self._draw_wires(end)

    def _take_changes(self) -> None:
        core = self._core
        if core.stale_nodes or core.stale_wires:
            self._take_stale()
        selection = core.document.selection
        if selection.nodes is not self._selected:
            self._stale_nodes |= (selection.nodes ^ self._selected) & core.scene.views.keys()
            self._selected = selection.nodes
        if selection.edges is not self._selected_wires:
            self._stale_wires |= selection.edges ^ self._selected_wires
            self._selected_wires = selection.edges
        if core.problems is not self._problems:
            broken = frozenset(core.problems)
            self._stale_nodes |= (broken ^ self._broken) & core.scene.views.keys()
            self._problems, self._broken = core.problems, broken
        loose = core.tool.loose
        held = frozenset(e for e in (loose.taken, *loose.others) if e is not None) if loose is not None else frozenset[Edge]()
        if held != self._held:
            self._stale_wires |= held ^ self._held
            self._held = held
        if core.preferences.show_shapes != self._shapes_shown:
            self._shapes_shown = core.preferences.show_shapes
            self._stale_wires |= core.scene.wires.keys()

    def _take_stale(self) -> None:
        core = self._core
        for id_ in core.stale_nodes:
            view, picture = core.scene.views.get(id_), self._nodes.get(id_)
            if view is None:
                if picture is not None:
                    dpg.delete_item(self._nodes.pop(id_).item)
                self._stale_nodes.discard(id_)
            elif picture is not None and _is_only_moved(picture.view, view):
                picture.place(view.x, view.y)
                picture.view = view
            else:
                self._stale_nodes.add(id_)
        for edge in core.stale_wires:
            if edge in core.scene.wires:
                self._stale_wires.add(edge)
            else:
                self._stale_wires.discard(edge)
                if edge in self._wires:
                    dpg.delete_item(self._wires.pop(edge).item)
        core.stale_nodes.clear()
        core.stale_wires.clear()
        self.version += 1

    def _cull(self) -> None:
        """Which nodes and wires are in sight; the others are hidden."""
        core, camera = self._core, self._core.camera
        now = (camera.version, camera.width, camera.height, core.scene.version)
        if now == self._place:
            return
        self._place = now
        level = level_at(camera.zoom)
        if level != self._level:
            self._level = level
            self._stale_nodes |= self._nodes.keys()
            self._stale_wires |= self._wires.keys()
        left, top, right, bottom = camera.seen
        seen = (left - OUTSIDE, top - OUTSIDE, right + OUTSIDE, bottom + OUTSIDE)
        nodes, wires = core.scene.nodes_in(seen), core.scene.wires_in(seen)
        for id_ in nodes ^ self._seen_nodes:
            if id_ in self._nodes:
                dpg.configure_item(self._nodes[id_].item, show=id_ in nodes)
        for edge in wires ^ self._seen_wires:
            if edge in self._wires:
                dpg.configure_item(self._wires[edge].item, show=edge in wires)
        self._seen_nodes, self._seen_wires = nodes, wires
        self.version += 1

    def _draw_nodes(self, end: float) -> None:
        waiting = self._stale_nodes & self._seen_nodes
        if not waiting:
            return
        self.version += 1
        for id_ in sorted(waiting, key=lambda id_: id_ not in self._selected):
            self._draw_node(id_)
            self._stale_nodes.discard(id_)
            if time.perf_counter() > end:
                return

    def _draw_node(self, id_: str) -> None:
        view, look = self._core.scene.views[id_], self._look(id_)
        picture = self._nodes.get(id_)
        layer = self._layers["raised" if look.selected else "nodes"]
        if picture is not None and not (picture.view is view or _is_only_moved(picture.view, view)):
            dpg.delete_item(picture.item)
            picture = None
        if picture is None:
            picture = self._nodes[id_] = draw_node(view, layer)
            picture.place(view.x, view.y)
            picture.style(look, self._pen)
        elif look != picture.look:
            if look.selected != picture.look.selected:
                dpg.move_item(picture.item, parent=layer)
            picture.style(look, self._pen)
        picture.show_level(self._level, self._pen)

    def _draw_wires(self, end: float) -> None:
        waiting = self._stale_wires & self._seen_wires
        if not waiting:
            return
        self.version += 1
        for edge in waiting:
            if edge in self._wires:
                dpg.delete_item(self._wires.pop(edge).item)
            if edge not in self._held:
                self._draw_wire(edge)
            self._stale_wires.discard(edge)
            if time.perf_counter() > end:
                return

    def _draw_wire(self, edge: Edge) -> None:
        core = self._core
        source = core.scene.views.get(edge.source)
        spot = source.socket("out", edge.source_socket) if source is not None else None
        color = spot.color if spot is not None else theme.ERROR
        known = core.tool.wires.get((edge.source, edge.source_socket))
        wire = core.scene.wires[edge]
        picture = draw_wire(wire, color, edge in self._selected_wires, known, self._layers["wires"], self._pen)
        picture.show_label(self._level == NEAR and self._shapes_shown, self._pen)
        self._wires[edge] = picture


def _is_only_moved(old: NodeView, new: NodeView) -> bool:
    return replace(old, x=new.x, y=new.y) == new
