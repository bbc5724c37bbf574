"""The search for a node that opens at the cursor: of all, or of what fits a socket or goes into a wire."""

from __future__ import annotations

from collections.abc import Sequence

from munet import Edge
from studio.commands import Connect, InsertOnWire, Several
from studio.document import Command
from studio.edits import fresh_id
from studio.hit import Hit
from studio.nodeviews import Point, declaration_of
from studio.search import ALL, Carried, Entry, Found, entries, outputs_of, search, that_give, that_take
from studio.texts import label, text
from studio.view import theme
from studio.view.core import Core
from studio.view.gui import FLOATING, Tag, clear, dpg, is_under_mouse
from studio.view.palette import placing

ROWS = 12
WIDTH, HEIGHT, ROW_HEIGHT, NAME_WIDTH = 360, 484, 23, 200  # pixels at scale 1
FORMULA_LINES = 4  # the inspector shows all
TOP = 24  # below the menu bar


class Search:
    """A small window at the cursor: type, choose with the arrows, Enter adds. With a socket or a wire it lists what fits that."""

    def __init__(self, core: Core):
        self._core = core
        self._found: list[Found] = []
        self._chosen = self._first = 0  # the first one that is seen
        self._at: Point = (0.0, 0.0)
        self._socket: Hit | None = None
        self._wire: Edge | None = None
        self._recent: list[str] = []
        self._built_for = 0.0
        self.window: Tag = dpg.add_window(
            show=False, no_title_bar=True, no_resize=True, no_move=True, no_scrollbar=True, no_scroll_with_mouse=True, **FLOATING
        )
        with dpg.handler_registry():
            dpg.add_mouse_wheel_handler(callback=self._wheel)
        self._build()

    def _build(self) -> None:
        """Again when the scale has changed."""
        self._built_for = theme.scale()
        clear(self.window)
        dpg.configure_item(self.window, width=theme.px(WIDTH), height=theme.px(HEIGHT))
        with dpg.group(parent=self.window):
            self.input: Tag = dpg.add_input_text(hint=text("view.find"), width=-1, callback=lambda: self.look())
            height = theme.px(ROWS * ROW_HEIGHT)
            with dpg.child_window(height=height, border=False, no_scrollbar=True, no_scroll_with_mouse=True) as box:
                self._rows = [self._row(index) for index in range(ROWS)]
            dpg.bind_item_theme(box, theme.list_theme())
            self._count: Tag = dpg.add_text("", color=theme.DIM)
            self._doc: Tag = dpg.add_text("", wrap=theme.px(WIDTH - 20), color=theme.DIM)
            self._formula: Tag = dpg.add_text("", wrap=theme.px(WIDTH - 20), color=theme.ACCENT)
            mono = theme.load_mono()
            if mono is not None:
                dpg.bind_item_font(self._formula, mono)

    def _row(self, index: int) -> tuple[Tag, Tag]:
        with dpg.group(horizontal=True):
            row = dpg.add_selectable(width=theme.px(NAME_WIDTH), callback=lambda: self._take(self._first + index))
            category = dpg.add_text("", color=theme.DIM)
        return row, category

    @property
    def is_open(self) -> bool:
        return bool(dpg.is_item_shown(self.window))

    def open(self, at: Point, screen: Point, socket: Hit | None = None, wire: Edge | None = None) -> None:
        """`screen` is where the window's corner goes, if there is room. What is found goes to a socket, or into a wire."""
        self._at, self._socket, self._wire = at, socket, wire
        if self._built_for != theme.scale():
            self._build()
        width, height = dpg.get_viewport_client_width(), dpg.get_viewport_client_height()
        room = width - theme.px(WIDTH) - 4, height - theme.px(HEIGHT) - 4
        place = [max(0, min(screen[0], room[0])), max(theme.px(TOP), min(screen[1], room[1]))]
        dpg.set_value(self.input, "")
        dpg.configure_item(self.window, show=True, pos=place)
        dpg.focus_item(self.window)
        dpg.focus_item(self.input)
        self.look()

    def close(self) -> None:
        dpg.hide_item(self.window)

    def sync(self) -> None:
        """A press elsewhere closes it; not the one that opened it."""
        if self.is_open and dpg.is_mouse_button_clicked(0) and not is_under_mouse(self.window):
            self.close()

    def move(self, by: int) -> None:
        if self._found:
            self._chosen = (self._chosen + by) % len(self._found)
            self._first = min(max(self._first, self._chosen - ROWS + 1), self._chosen)
            self._show()

    def _wheel(self, sender: Tag, notches: float) -> None:
        if self.is_open and is_under_mouse(self.window):
            self._first = max(0, min(self._first - 3 * round(notches), len(self._found) - ROWS))
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
        if not keep:
            self._chosen = self._first = 0
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

    @property
    def titles(self) -> list[str]:
        """What is listed, for tests."""
        return [found.entry.name for found in self._found[self._first : self._first + ROWS]]

    @property
    def chosen(self) -> str:
        """What Enter adds."""
        return self._found[self._chosen].entry.name if self._found else ""

    def _show(self) -> None:
        for index, (row, category) in enumerate(self._rows):
            place = self._first + index
            there = place < len(self._found)
            dpg.configure_item(row, show=there)
            dpg.configure_item(category, show=there)
            if there:
                entry = self._found[place].entry
                dpg.configure_item(row, label=label(entry.name))
                theme.redress(row, entry.name)
                dpg.set_value(row, place == self._chosen)
                dpg.set_value(category, entry.category)
        dpg.set_value(self._count, text("view.found", count=len(self._found)) if len(self._found) > ROWS else "")
        entry = self._found[self._chosen].entry if self._found else None
        doc = entry.doc if entry is not None else text("view.nothing_found")
        line = doc.splitlines()[0] if doc else ""
        dpg.set_value(self._doc, line)
        theme.redress(self._doc, line)
        formula = entry.formula if entry is not None else ()
        if len(formula) > FORMULA_LINES:
            formula = (*formula[: FORMULA_LINES - 1], "…")
        dpg.set_value(self._formula, "\n".join(formula))

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
