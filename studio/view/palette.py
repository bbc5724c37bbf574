"""The palette on the left: all nodes that can be added, by category."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from studio.camera import Rect
from studio.commands import AddNode
from studio.helping import brief
from studio.nodeviews import CATEGORY_COLORS, PLAIN, Point
from studio.search import Entry, categories, entries, search
from studio.subgraph_commands import AddSubgraph
from studio.texts import label, text
from studio.view import theme
from studio.view.core import Core
from studio.view.gui import Tag, clear, dpg
from studio.view.help import Help

PAYLOAD = "node"
TIP_WIDTH = 360


def placing(entry: Entry, at: Point) -> AddNode | AddSubgraph:
    """The command that places what was found; a saved block brings its definitions along."""
    return AddSubgraph(entry.block, entry.graph, at) if entry.block is not None else AddNode(entry.node(at))


class Palette:
    """All nodes, filtered by a search text. A click adds one in the middle of the view; they can be dragged onto the canvas.

    While the text is typed, arrows choose and Enter adds. `menu` gets what the right button was pressed on, and where its row is.
    """

    def __init__(self, core: Core, parent: Tag, menu: Callable[[Entry, Rect], None]):
        self._core, self._menu = core, menu
        self._help = Help()
        self._seen: object = None
        self._typed = False  # in the field, in the last frame: Enter ends that before it is heard of
        self._chosen = 0
        self.input: Tag = dpg.add_input_text(
            parent=parent, hint=text("view.find"), width=-1, auto_select_all=True, callback=self._search
        )
        self.rows: dict[str, Tag] = {}  # by name of what is listed, "block NAME" for saved ones
        self._listed: dict[Tag, Entry] = {}
        self.tips: dict[Tag, Tag] = {}  # tooltips that are empty still, by row
        self._list: Tag = dpg.add_child_window(parent=parent, border=False)
        with dpg.item_handler_registry() as self._presses:
            dpg.add_item_clicked_handler(button=1, callback=self._pressed)
            dpg.add_item_hover_handler(callback=self._hovered)

    @property
    def is_open(self) -> bool:
        """Whether arrows and Enter are the list's."""
        return self._typed and bool(dpg.get_value(self.input)) and bool(self._listed)

    def move(self, by: int) -> None:
        self._chosen = (self._chosen + by) % len(self._listed)
        self._show()

    def enter(self) -> None:
        self.add(list(self._listed.values())[self._chosen])

    def sync(self, now: float) -> None:
        self._typed = bool(dpg.is_item_active(self.input))
        known = (tuple(self._core.document.graph.subgraphs), self._core.document.state.owner, self._core.shelf.version)
        if known != self._seen:
            self._seen = known
            self._rebuild()

    def _search(self) -> None:
        self._chosen = 0
        self._rebuild()

    def _rebuild(self) -> None:
        clear(self._list)
        self.rows.clear()
        self._listed.clear()
        self.tips.clear()
        document = self._core.document
        query = dpg.get_value(self.input)
        theme.redress(self.input, query)
        among = entries(document.graph, document.state.owner, self._core.shelf.blocks)
        found = [hit.entry for hit in search(query, among)]
        for category, group in categories(found).items():
            with dpg.tree_node(label=category, parent=self._list, default_open=bool(query), span_full_width=True):
                for entry in group:
                    self._row(entry)
        self._chosen = max(0, min(self._chosen, len(self._listed) - 1))
        self._show()

    def _show(self) -> None:
        """Mark what Enter adds, and bring it into sight."""
        searching = bool(dpg.get_value(self.input))
        for place, row in enumerate(self._listed):
            chosen = searching and place == self._chosen
            dpg.set_value(row, chosen)
            if chosen and place and dpg.get_item_rect_size(self._list)[1] > 0:
                y = dpg.get_item_rect_min(row)[1] - dpg.get_item_rect_max(self.input)[1]  # a child window tells no place
                room = dpg.get_item_rect_size(self._list)[1] - dpg.get_item_rect_size(row)[1]
                if not 0 <= y <= room:
                    dpg.set_y_scroll(self._list, max(0.0, dpg.get_y_scroll(self._list) + y - room / 2))

    def _row(self, entry: Entry) -> None:
        row = dpg.add_selectable(label=label(entry.name))
        dpg.configure_item(row, callback=partial(self._clicked, entry, row))
        self.rows[f"block {entry.name}" if entry.block is not None else entry.name] = row
        theme.dress(row, entry.name)
        self._listed[row] = entry
        dpg.bind_item_handler_registry(row, self._presses)
        with dpg.drag_payload(parent=row, payload_type=PAYLOAD, drag_data=entry):
            theme.dress(dpg.add_text(entry.name), entry.name)
        self.tips[row] = dpg.add_tooltip(row, delay=0.4)

    def _hovered(self, sender: Tag, row: Tag) -> None:
        """Only then a row gets its help: all of them at once would hold up each letter that is typed."""
        tip = self.tips.pop(row, None)
        if tip is None:
            return
        entry = self._listed[row]
        color = CATEGORY_COLORS.get(entry.category, PLAIN)
        dpg.push_container_stack(tip)
        dpg.add_text(entry.category, color=tuple(min(255, c + 60) for c in color))
        self._help.show(brief(entry.doc, entry.formula), TIP_WIDTH)
        dpg.pop_container_stack()

    def _pressed(self, sender: Tag, pressed: tuple[int, Tag]) -> None:
        entry = self._listed.get(pressed[1])
        if entry is not None:
            left, top = dpg.get_item_rect_min(pressed[1])
            width, height = dpg.get_item_rect_size(pressed[1])
            self._menu(entry, (left, top, left + width, top + height))

    def _clicked(self, entry: Entry, row: Tag) -> None:
        self.add(entry)
        self._show()  # the click has marked it

    def add(self, entry: Entry) -> None:
        """In the middle of the view, beside what lies there."""
        left, top, right, bottom = self._core.camera.seen
        at = ((left + right) / 2 - 84, (top + bottom) / 2 - 40)
        while any(abs(n.position[0] - at[0]) + abs(n.position[1] - at[1]) < 12 for n in self._core.document.part.nodes.values()):
            at = (at[0] + 24, at[1] + 24)
        self._core.edit(placing(entry, at))
