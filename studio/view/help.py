"""The help of a node, drawn: close lines under headings, formulas in the font of even width."""

from __future__ import annotations

from collections.abc import Iterable

from studio.helping import FACTS, FORMULA, WORDS, Section
from studio.view import theme
from studio.view.gui import Tag, dpg

COLORS = {WORDS: theme.TEXT, FORMULA: theme.ACCENT, FACTS: theme.DIM}


class Help:
    """`show` adds sections to the container that is open. `wrap` in pixels at scale 1; 0: as wide as there is room."""

    def __init__(self) -> None:
        with dpg.theme() as self._close, dpg.theme_component(dpg.mvAll):
            dpg.add_theme_style(dpg.mvStyleVar_FramePadding, 0, 1)
            dpg.add_theme_style(dpg.mvStyleVar_ItemSpacing, 7, 3)

    def show(self, sections: Iterable[Section], wrap: int = 0) -> None:
        for section in sections:
            with dpg.group() as group:
                if section.title:
                    dpg.add_spacer(height=theme.px(4))
                    theme.dress(dpg.add_text(section.title, color=theme.HEADING), section.title)
                for line in section.lines:
                    self._line(line, section.kind, wrap)
            dpg.bind_item_theme(group, self._close)

    def _line(self, line: str, kind: str, wrap: int) -> None:
        item: Tag = theme.dress(dpg.add_text(line, wrap=0, color=COLORS[kind]), line)
        if wrap:
            theme.sized(item, wrap=wrap)
        mono = theme.load_mono()
        if kind == FORMULA and mono is not None:
            dpg.bind_item_font(item, mono)
