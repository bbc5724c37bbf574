"""The message at the lower edge of the window: as much of it as there is room for; where the mouse rests on it, all of it."""

from __future__ import annotations

from studio.view import theme
from studio.view.canvas import status_color
from studio.view.core import Core
from studio.view.gui import Tag, dpg

TIP_WIDTH = 560


class StatusLine:
    def __init__(self, core: Core, parent: Tag):
        self._core = core
        self.label: Tag = dpg.add_text("", parent=parent)
        with dpg.tooltip(self.label, delay=0.3, show=False) as self._tip:
            self._all: Tag = dpg.add_text("", wrap=theme.px(TIP_WIDTH))
        self._seen: object = None

    def sync(self) -> None:
        """Once a frame."""
        core = self._core
        room = dpg.get_viewport_client_width() - dpg.get_item_rect_min(self.label)[0] - theme.px(16)
        now = (core.status_version, room, core.trainer.phase)
        if now == self._seen:
            return
        self._seen = now
        line = core.message.partition("\n")[0]
        shown = theme.cut(line, room)
        dpg.set_value(self.label, shown)
        theme.redress(self.label, line)
        dpg.configure_item(self.label, color=status_color(core.trainer.phase, core.message_is_error))
        dpg.set_value(self._all, core.message)
        theme.redress(self._all, core.message)
        dpg.configure_item(self._tip, show=shown != core.message)
