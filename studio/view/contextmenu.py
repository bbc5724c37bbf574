"""What the right mouse button offers: about nodes, a socket, a wire, a frame, or the empty canvas."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from munet import Edge, Frame
from studio.commands import AddFrame, Delete, Disconnect, EditFrame, add_reroute
from studio.document import Selection, selected
from studio.edits import SUBGRAPH
from studio.hit import Hit
from studio.keys import shortcuts
from studio.nodeviews import REROUTE_SIZE, Color, Point
from studio.requests import OpenMenu
from studio.texts import text
from studio.view.actions import FRAME_MARGIN, Actions
from studio.view.core import Core
from studio.view.inplace import InPlace
from studio.view.popup import Row
from studio.view.searchbox import Search

FRAME_COLORS: tuple[tuple[str, Color], ...] = (
    ("blue", (59, 110, 180)), ("green", (46, 125, 90)), ("red", (170, 70, 70)), ("purple", (110, 80, 150)),
    ("grey", (110, 116, 128)),
)  # fmt: skip
NEW_FRAME = (320.0, 220.0)  # canvas units
Rows = list[Row | None]


class ContextMenu:
    """`rows` for what the mouse was on. `place` turns a canvas position into one of the window."""

    def __init__(self, core: Core, actions: Actions, search: Search, inplace: InPlace, place: Callable[[Point], Point]):
        self._core, self._actions, self._search, self._inplace, self._place = core, actions, search, inplace, place

    def rows(self, asked: OpenMenu) -> Rows:
        hit = asked.hit
        match hit.kind:
            case "node":
                return self._of_nodes(hit.node)
            case "socket":
                return self._of_socket(hit, asked.at)
            case "wire" if hit.edge is not None:
                return self._of_wire(hit.edge, asked.at)
            case "frame" | "corner":
                return self._of_frame(hit.frame)
            case _:
                return self._of_nothing(asked.at)

    def _action(self, name: str) -> Row:
        keys = shortcuts(self._core.preferences.keys).get(name, ())
        return Row(text(f"action.{name}"), partial(self._actions.run, name), keys[0] if keys else "")

    def _act(self, *names: str) -> Rows:
        return [self._action(name) if name else None for name in names]

    def _of_nodes(self, id_: str) -> Rows:
        document = self._core.document
        node = document.part.nodes[id_]
        several = len(document.selection.nodes) > 1
        rows: Rows = []
        if node.operator == SUBGRAPH and not several:
            rows += self._act("enter", "expand", "rename_subgraph", "save_block", "")
        if not several:
            rows += [self._action("rename"), Row(text("menu.note"), partial(self._inplace.note, id_)), None]
        rows += self._act("cut", "copy", "duplicate", "duplicate_wired", "", "mute", "freeze", "collapse", "frame", "")
        rows += self._act("show_preview", "show_values", "")
        if several:
            rows += self._act("join", "layout", "align_left", "align_top", "distribute_x", "distribute_y", "")
        rows += self._act("unwire") if self._wires_of_selection() else []
        return [*rows, *self._act("delete", "delete_bridged")]

    def _wires_of_selection(self) -> list[Edge]:
        chosen = self._core.document.selection.nodes
        return [edge for edge in self._core.document.part.edges if edge.source in chosen or edge.target in chosen]

    def _of_socket(self, hit: Hit, at: Point) -> Rows:
        end = (hit.node, hit.socket)
        edges = self._core.document.part.edges
        there = [e for e in edges if end == ((e.source, e.source_socket) if hit.side == "out" else (e.target, e.target_socket))]
        rows: Rows = [Row(text("menu.fitting"), lambda: self._search.open(at, self._place(at), hit))]
        if there:
            rows.append(Row(text("menu.remove_wires", count=len(there)), lambda: self._core.edit(Disconnect(frozenset(there)))))
        return [*rows, None, *self._of_nodes(hit.node)]

    def _of_wire(self, edge: Edge, at: Point) -> Rows:
        corner = (at[0] - REROUTE_SIZE / 2, at[1] - REROUTE_SIZE / 2)
        ends = selected([edge.source, edge.target])
        return [
            Row(text("menu.insert"), lambda: self._search.open(at, self._place(at), wire=edge)),
            Row(text("menu.bend"), lambda: self._core.edit(add_reroute(edge, corner)), text("menu.bend_key")),
            Row(text("menu.ends"), lambda: self._core.document.select(ends)),
            None,
            self._action("delete"),
        ]

    def _of_frame(self, index: int) -> Rows:
        core = self._core

        def dye(color: Color) -> None:
            core.edit(EditFrame(index, {"color": "#{:02x}{:02x}{:02x}".format(*color)}))

        inside = core.scene.nodes_of_frame(index)
        everything = Selection(frozenset(inside), frozenset(), core.document.selection.frames)
        rows: Rows = [
            Row(text("menu.title"), partial(self._inplace.title, index), "F2"),
            Row(text("menu.note"), partial(self._inplace.frame_note, index)),
            Row(text("menu.tighten"), lambda: self._tighten(index)),
            Row(text("menu.inside"), lambda: core.document.select(selected(inside))),
            None,
            *(Row(text(f"menu.{name}"), partial(dye, color), color=color) for name, color in FRAME_COLORS),
            None,
            self._action("delete"),
            Row(text("menu.delete_inside"), lambda: core.edit(Delete(everything))),
        ]
        return rows

    def _tighten(self, index: int) -> None:
        """The frame as large as what lies in it."""
        rect = self._core.scene.bounds_of(self._core.scene.nodes_of_frame(index))
        if rect is not None:
            left, top = rect[0] - FRAME_MARGIN, rect[1] - FRAME_MARGIN - 20
            size = (rect[2] + FRAME_MARGIN - left, rect[3] + FRAME_MARGIN - top)
            self._core.edit(EditFrame(index, {"position": (left, top), "size": size}))

    def _of_nothing(self, at: Point) -> Rows:
        inside = self._core.document.state.inside
        rows: Rows = [Row(text("action.add"), lambda: self._search.open(at, self._place(at)), "Tab")]
        rows += [Row(text("menu.frame_here"), partial(self._add_frame, at))]
        rows += self._act("paste", "", "select_all", "layout", "fit_all", "snap")
        return [*rows, None, self._action("leave")] if inside else rows

    def _add_frame(self, at: Point) -> None:
        """An empty frame, whose title is then typed."""
        if self._core.edit(AddFrame(Frame(text("menu.new_frame"), at, NEW_FRAME))):
            self._inplace.title(len(self._core.document.part.frames) - 1)
