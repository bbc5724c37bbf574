"""The way into the subgraph that is shown, above the canvas: a press on a name goes back there, on the last one renames it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from studio.camera import Rect
from studio.texts import label, text
from studio.view import theme
from studio.view.core import Core
from studio.view.gui import Tag, clear, dpg


class Crumbs:
    """Nothing is shown in the project's own drawing. `leave` goes so many levels up, `rename` is for what is shown."""

    def __init__(self, core: Core, parent: Tag, leave: Callable[[int], None], rename: Callable[[], None]):
        self._core, self._leave, self._rename = core, leave, rename
        self._box: Tag = dpg.add_group(show=False, parent=parent)
        dpg.add_spacer(parent=self._box, height=1)
        self._group: Tag = dpg.add_group(parent=self._box, horizontal=True)
        dpg.bind_item_theme(self._group, theme.list_theme())
        self._seen: object = ()
        self.buttons: list[Tag] = []  # the project first

    @property
    def last(self) -> Rect:
        """Where the name of what is shown is, in the window."""
        left, top = dpg.get_item_rect_min(self.buttons[-1])
        width, height = dpg.get_item_rect_size(self.buttons[-1])
        return left, top, left + width, top + height

    def sync(self) -> None:
        state = self._core.document.state
        now = (state.inside, state.owner)
        if now == self._seen:
            return
        self._seen = now
        dpg.configure_item(self._box, show=bool(state.inside))
        clear(self._group)
        dpg.add_spacer(parent=self._group, width=1)
        self.buttons.clear()
        for depth, name in enumerate((text("view.root"), *state.inside)):
            levels = len(state.inside) - depth
            if depth:
                dpg.add_text("›", parent=self._group, color=theme.DIM)
            last = depth > 0 and levels == 0
            words = f"{name}  ({state.owner})" if last and state.owner != name else name
            press = self._rename if last else partial(self._leave, levels)
            button = dpg.add_button(label=label(words), parent=self._group, callback=press)
            self.buttons.append(theme.dress(button, words))
            theme.tip(button, text("crumb.rename", name=state.owner) if last else text("crumb.leave", name=name))
