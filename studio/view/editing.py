"""What the canvas asks of the window: searches, menus, fields in place, cures for a refused wire; what is dropped."""

from __future__ import annotations

import queue
import threading
from functools import partial

from studio import coloring
from studio.advice import Cure, cures
from studio.nodeviews import Point
from studio.requests import Edit, OpenMenu, OpenSearch, Outcome, Refused
from studio.search import Entry
from studio.texts import text
from studio.view.actions import Actions
from studio.view.canvas import Canvas
from studio.view.contextmenu import ContextMenu
from studio.view.core import Core
from studio.view.gui import Tag, dpg
from studio.view.inplace import InPlace
from studio.view.palette import PAYLOAD, placing
from studio.view.popup import Popup, Row
from studio.view.searchbox import Search

GRAB: Point = (40.0, 12.0)  # where the mouse holds a node that is dragged in from the palette


class Editing:
    """See the module's head. `sync` once a frame."""

    def __init__(self, core: Core, canvas: Canvas, actions: Actions, search: Search):
        self._core, self._canvas, self._actions, self._search = core, canvas, actions, search
        self.popup = Popup()
        self.inplace = InPlace(core, canvas, self.popup)
        self._menu = ContextMenu(core, actions, search, self.inplace, self.in_window)
        self._awaited = 0
        self._cures: queue.SimpleQueue[tuple[Refused, list[Cure]]] = queue.SimpleQueue()
        actions.provide(
            rename=self._rename, add=self._search_at_mouse,
            **{f"color_{mode}": partial(canvas.heat.choose, mode) for mode in coloring.MODES},
        )  # fmt: skip
        dpg.configure_item(canvas.plot, payload_type=PAYLOAD, drop_callback=self._dropped)

    @property
    def busy(self) -> bool:
        """Whether something is awaited that opens a menu."""
        return self._awaited > 0

    @property
    def is_typing(self) -> bool:
        """Whether keys are a field's or a menu's."""
        return self.inplace.is_open or self.popup.is_open

    def cancel(self) -> bool:
        """Escape; whether it closed anything."""
        if self.popup.is_open:
            self.popup.close()
            return True
        return self.inplace.close()

    def sync(self) -> None:
        self.inplace.sync()
        self._search.sync()
        while not self._cures.empty():
            self._awaited -= 1
            self._offer(*self._cures.get())

    def in_window(self, at: Point) -> Point:
        """A canvas position in pixels of the window."""
        x, y = self._core.camera.to_screen(at)
        left, top = self._canvas.origin
        return x + left, y + top

    def asked(self, outcome: Outcome) -> None:
        match outcome:
            case OpenSearch():
                self._search.open(outcome.at, self.in_window(outcome.at), outcome.socket)
            case OpenMenu():
                self.popup.open(self.in_window(outcome.at), self._menu.rows(outcome))
            case Edit():
                self.inplace.edit(outcome.hit, outcome.at)
            case Refused():
                self._refused(outcome)
            case _:
                pass

    def _refused(self, asked: Refused) -> None:
        """Say why at once; what would make it fit is tried on a thread."""
        self._core.say(asked.refusal.reason, error=True)
        state = self._core.document.state
        self._awaited += 1
        threading.Thread(target=lambda: self._cures.put((asked, cures(state, asked.edge))), name="cures", daemon=True).start()

    def _offer(self, asked: Refused, found: list[Cure]) -> None:
        reason = asked.refusal.reason if found else f"{asked.refusal.reason} {text('view.no_way')}"
        rows = [Row(cure.label, partial(self._cure, asked, cure)) for cure in found]
        self.popup.open(self.in_window(asked.at), rows, reason, is_error=True)

    def _cure(self, asked: Refused, cure: Cure) -> None:
        self._core.edit(cure.command(asked.edge, asked.at))

    def _search_at_mouse(self) -> None:
        camera = self._core.camera
        at = camera.to_canvas(self._canvas.at_mouse() if self._canvas.is_hovered else (camera.width / 2, camera.height / 2))
        self._search.open(at, self.in_window(at))

    def _dropped(self, sender: Tag, entry: Entry) -> None:
        x, y = self._core.camera.to_canvas(self._canvas.at_mouse())
        self._core.edit(placing(entry, (x - GRAB[0], y - GRAB[1])))

    def _rename(self) -> None:
        """The selected node's name or the frame's title, in place; with nothing selected, the name of the subgraph shown."""
        core, chosen = self._core, self._core.document.selection
        if len(chosen.nodes) == 1:
            (id_,) = chosen.nodes
            core.camera.show(core.scene.views[id_].rect)
            self.inplace.name(id_)
        elif len(chosen.frames) == 1 and not chosen.nodes:
            self.inplace.title(next(iter(chosen.frames)))
        elif not chosen and core.document.state.inside:
            self._actions.run("rename_subgraph")
