"""Nodes to add: the palette on the left, by category, and the search that opens at the cursor."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from munet import Edge
from studio.commands import AddNode, Connect, InsertOnWire, Several
from studio.document import Command
from studio.edits import fresh_id
from studio.hit import Hit
from studio.nodeviews import CATEGORY_COLORS, PLAIN, Point, declaration_of
from studio.search import ALL, Carried, Entry, Found, categories, entries, outputs_of, search, that_give, that_take
from studio.subgraph_commands import AddSubgraph
from studio.texts import text
from studio.view import theme
from studio.view.core import Core
from studio.view.gui import FLOATING, Tag, clear, dpg

PAYLOAD = "node"
ROWS = 12
SEARCH_WIDTH, SEARCH_HEIGHT = 330, 372


def placing(entry: Entry, at: Point) -> AddNode | AddSubgraph:
    """The command that places what was found; a saved block brings its definitions along."""
    return AddSubgraph(entry.block, entry.graph, at) if entry.block is not None else AddNode(entry.node(at))


class Palette:
    """All nodes, filtered by a search text. A click adds one in the middle of the view; they can be dragged onto the canvas."""

    def __init__(self, core: Core, parent: Tag):
        self._core = core
        self._seen: object = None
        self.input: Tag = dpg.add_input_text(parent=parent, hint=text("view.find"), width=-1, callback=self._rebuild)
        self.rows: dict[str, Tag] = {}  # by name of what is listed
        self._list: Tag = dpg.add_child_window(parent=parent, border=False)

    def sync(self, now: float) -> None:
        known = (tuple(self._core.document.graph.subgraphs), self._core.document.state.owner, self._core.shelf.version)
        if known != self._seen:
            self._seen = known
            self._rebuild()

    def _rebuild(self) -> None:
        clear(self._list)
        self.rows.clear()
        document = self._core.document
        query = dpg.get_value(self.input)
        theme.redress(self.input, query)
        among = entries(document.graph, document.state.owner, self._core.shelf.blocks)
        found = [hit.entry for hit in search(query, among)]
        for category, group in categories(found).items():
            color = CATEGORY_COLORS.get(category, PLAIN)
            with dpg.tree_node(label=category, parent=self._list, default_open=bool(query), span_full_width=True):
                for entry in group:
                    self._row(entry, color)

    def _row(self, entry: Entry, color: tuple[int, int, int]) -> None:
        row = self.rows[entry.name] = dpg.add_selectable(label=entry.name, callback=partial(self._add, entry))
        theme.dress(row, entry.name)
        with dpg.drag_payload(parent=row, payload_type=PAYLOAD, drag_data=entry):
            theme.dress(dpg.add_text(entry.name), entry.name)
        with dpg.tooltip(row, delay=0.4):
            dpg.add_text(entry.category, color=tuple(min(255, c + 60) for c in color))
            theme.dress(dpg.add_text(entry.doc, wrap=320), entry.doc)

    def _add(self, entry: Entry) -> None:
        left, top, right, bottom = self._core.camera.seen
        at = ((left + right) / 2 - 84, (top + bottom) / 2 - 40)
        while any(abs(n.position[0] - at[0]) + abs(n.position[1] - at[1]) < 12 for n in self._core.document.part.nodes.values()):
            at = (at[0] + 24, at[1] + 24)
        self._core.edit(placing(entry, at))


class Search:
    """A small window at the cursor: type, choose with the arrows, Enter adds. With a socket or a wire it lists what fits that."""

    def __init__(self, core: Core):
        self._core = core
        self._found: list[Found] = []
        self._chosen = 0
        self._at: Point = (0.0, 0.0)
        self._socket: Hit | None = None
        self._wire: Edge | None = None
        self._recent: list[str] = []
        with dpg.window(
            show=False, no_title_bar=True, no_resize=True, no_move=True, **FLOATING,
            width=SEARCH_WIDTH, height=SEARCH_HEIGHT, no_scrollbar=True,
        ) as self.window:  # fmt: skip
            self.input: Tag = dpg.add_input_text(hint=text("view.find"), width=-1, callback=self.look)
            with dpg.child_window(height=ROWS * 23, border=False, no_scrollbar=True) as box:
                self._rows = [self._row(index) for index in range(ROWS)]
            dpg.bind_item_theme(box, theme.list_theme())
            self._doc: Tag = dpg.add_text("", wrap=SEARCH_WIDTH - 20, color=theme.DIM)

    def _row(self, index: int) -> tuple[Tag, Tag]:
        with dpg.group(horizontal=True):
            row = dpg.add_selectable(width=190, callback=partial(self._take, index))
            category = dpg.add_text("", color=theme.DIM)
        return row, category

    @property
    def is_open(self) -> bool:
        return bool(dpg.is_item_shown(self.window))

    def open(self, at: Point, screen: Point, socket: Hit | None = None, wire: Edge | None = None) -> None:
        """`screen` is where the window's corner goes, if there is room. What is found goes to a socket, or into a wire."""
        self._at, self._socket, self._wire, self._chosen = at, socket, wire, 0
        room = dpg.get_viewport_client_width() - SEARCH_WIDTH - 4, dpg.get_viewport_client_height() - SEARCH_HEIGHT - 4
        place = [max(0, min(screen[0], room[0])), max(24, min(screen[1], room[1]))]
        dpg.set_value(self.input, "")
        dpg.configure_item(self.window, show=True, pos=place)
        dpg.focus_item(self.window)
        dpg.focus_item(self.input)
        self.look()

    def close(self) -> None:
        dpg.hide_item(self.window)

    def move(self, by: int) -> None:
        if self._found:
            self._chosen = (self._chosen + by) % min(ROWS, len(self._found))
            self._show()

    def enter(self) -> None:
        self.look(keep=True)
        self._take(self._chosen)

    def look(self, keep: bool = False) -> None:
        """List what the text in the field finds."""
        query = dpg.get_value(self.input)
        theme.redress(self.input, query)
        document = self._core.document
        among = entries(document.graph, document.state.owner, self._core.shelf.blocks)
        if self._wire is not None:
            leaving = Hit("socket", self._wire.source, "out", self._wire.source_socket)
            found = self._fitting(leaving, [entry for entry in among if entry.block is None], query)
            self._found = [hit for hit in found if self._output_of(hit.entry)]
        elif self._socket is None:
            self._found = search(query, among, self._recent)
        else:
            self._found = self._fitting(self._socket, among, query)
        self._chosen = self._chosen if keep else 0
        self._show()

    def _output_of(self, entry: Entry) -> str:
        declared = declaration_of(self._core.document.graph, entry.node())
        return declared.outputs[0].name if declared is not None and declared.outputs else ""

    def _fitting(self, socket: Hit, among: Sequence[Entry], query: str) -> list[Found]:
        graph, part = self._core.document.graph, self._core.document.part
        node = part.nodes[socket.node]
        if socket.side == "out":
            leaving = dict(outputs_of(graph, node, self._core.tool.wires)).get(socket.socket, Carried(ALL))
            return that_take(leaving, among, graph, query)
        declared = declaration_of(graph, node)
        wanted = next((s for s in declared.inputs if s.name == socket.socket), None) if declared else None
        return that_give(wanted, among, graph, query) if wanted is not None else search(query, among)

    def _show(self) -> None:
        for index, (row, category) in enumerate(self._rows):
            there = index < len(self._found)
            dpg.configure_item(row, show=there)
            dpg.configure_item(category, show=there)
            if there:
                entry = self._found[index].entry
                dpg.configure_item(row, label=entry.name)
                theme.redress(row, entry.name)
                dpg.set_value(row, index == self._chosen)
                dpg.set_value(category, entry.category)
        doc = self._found[self._chosen].entry.doc if self._found else text("view.nothing_found")
        line = doc.splitlines()[0] if doc else ""
        dpg.set_value(self._doc, line)
        theme.redress(self._doc, line)

    def _take(self, index: int) -> None:
        """Add what is in a row, wired to the socket that the search was opened for."""
        self.close()
        if not 0 <= index < len(self._found):
            return
        found, socket = self._found[index], self._socket
        self._recent = [found.entry.name, *(name for name in self._recent if name != found.entry.name)][:10]
        if self._wire is not None:
            node, out = found.entry.node(self._at), self._output_of(found.entry)
            self._core.edit(InsertOnWire(node, self._wire, found.socket, out))
        else:
            self._core.edit(self._placing(found, socket))

    def _placing(self, found: Found, socket: Hit | None) -> Command:
        entry = found.entry
        command = placing(entry, self._at)
        if socket is None:
            return command
        id_ = fresh_id(self._core.document.part.nodes, entry.node().id)
        if socket.side == "out":
            wire = Edge(socket.node, socket.socket, id_, found.socket)
        else:
            wire = Edge(id_, found.socket, socket.node, socket.socket)
        return Several((command, Connect(wire)), command.label)
