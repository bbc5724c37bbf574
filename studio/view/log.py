"""The panel with what the status line has said."""

from __future__ import annotations

from studio.texts import text
from studio.view import copying, theme
from studio.view.core import Core
from studio.view.gui import Tag, clear, dpg


class Log:
    """Newest lines below; it follows them."""

    def __init__(self, core: Core, parent: Tag):
        self._core, self._seen = core, -1
        with dpg.group(parent=parent, horizontal=True):
            self.clear: Tag = dpg.add_button(label=text("log.clear"), callback=lambda: core.log.clear())
            self.copy: Tag = dpg.add_button(label=text("log.copy"), callback=lambda: copying.copy(core.log.text))
            theme.tip(self.clear, text("log.clear_tip"))
            theme.tip(self.copy, text("log.copy_tip"))
        self._box: Tag = dpg.add_child_window(parent=parent, border=False)
        dpg.bind_item_theme(self._box, theme.list_theme())

    def sync(self, now: float) -> None:
        log = self._core.log
        if log.version == self._seen:
            return
        self._seen = log.version
        clear(self._box)
        if not log.lines:
            dpg.add_text(text("log.none"), parent=self._box, color=theme.DIM)
        for line in log.lines:
            dpg.add_text(str(line), parent=self._box, wrap=0, color=theme.ERROR if line.error else theme.TEXT)
        dpg.set_y_scroll(self._box, -1.0)
