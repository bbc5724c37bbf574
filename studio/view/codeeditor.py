"""Edits code in colour: an input field of Dear PyGui lies over the coloured view, with letters that are clear.

What the field can do, it does: typing, selecting, undo, clipboard, input methods; only its cursor and selection are seen. It is
as large as its text, so that it never scrolls by itself: the box around both does, and the cursor's line is kept in sight there.
"""

from __future__ import annotations

from collections.abc import Callable

from studio.caret import MOVES, Caret, caret_after
from studio.view import theme
from studio.view.codeview import PADDING, CodeView
from studio.view.gui import Tag, dpg, modifiers

TAB = "    "  # the field draws a tab as wide as four spaces, wherever it stands
SPARE_LINES, SPARE_LETTERS = 2, 48  # room behind the text: the field must not scroll before it has grown
AWAY_FRAMES = 3
PAGES = {"PageUp": 517, "PageDown": 518}  # mvKey_Prior and mvKey_Next are numbers of an older Dear ImGui, which never come


class CodeEditor(CodeView):
    """`typed` is called with each change that a person makes. Show a text with `put`; `content` is what the field holds."""

    def __init__(self, parent: Tag, typed: Callable[[str], None]):
        super().__init__(parent, size=theme.MONO_SIZE, line=theme.MONO_SIZE)
        self._heard = typed
        self.caret = Caret()
        self._placed: object = None
        self._waits = 0  # frames until another text can be put into the field
        self.input: Tag = dpg.add_input_text(
            parent=self.box, multiline=True, tab_input=True, no_horizontal_scroll=True, callback=self._typed, pos=PADDING
        )  # fmt: skip
        dpg.bind_item_theme(self.input, _clear_theme())
        if self._font is not None:
            dpg.bind_item_font(self.input, self._font)
        self._codes = {PAGES[name] if name in PAGES else getattr(dpg, f"mvKey_{name}"): name for name in MOVES}
        with dpg.handler_registry():
            dpg.add_key_press_handler(callback=self._pressed)

    @property
    def content(self) -> str:
        return self.text if self._waits else dpg.get_value(self.input)

    def put(self, content: str) -> None:
        """Another text, which nobody has typed."""
        self.caret = Caret()
        self.show(content)
        if self.is_typing:  # then the field keeps to what it has: it must first let go of the cursor, by being away for a moment
            self._waits = AWAY_FRAMES
            dpg.hide_item(self.input)
        else:
            dpg.set_value(self.input, content)

    def focus(self) -> None:
        dpg.focus_item(self.input)

    @property
    def is_typing(self) -> bool:
        return bool(dpg.is_item_active(self.input))

    def sync(self) -> None:
        super().sync()
        if self._waits:
            self._waits -= 1
            if not self._waits:
                dpg.set_value(self.input, self.text)
                dpg.show_item(self.input)
                self.focus()
        scale = dpg.get_global_font_scale()
        width, height = dpg.get_item_rect_size(self.box)
        now = (self._extent, self._left, width, height, scale)
        if now != self._placed:
            self._placed = now
            wide, tall = self._extent
            room = max(wide - self._left + SPARE_LETTERS * self._letter, width - self._left - 2 * theme.px(12))
            dpg.configure_item(
                self.input, pos=[PADDING[0] + self._left, PADDING[1]], width=int(room),
                height=int(max(tall + SPARE_LINES * self._line, height - 2 * theme.px(12))),
            )  # fmt: skip
        if self.is_typing and dpg.is_mouse_button_down(0):  # also while a selection is drawn out of the box
            self._go(Caret(*self._place_at_mouse()).within(self.content.split("\n")))

    @property
    def line_under_mouse(self) -> int | None:
        return 1 + self._place_at_mouse()[0] if dpg.is_item_hovered(self.input) else None

    def _place_at_mouse(self) -> tuple[int, int]:
        (x, y), (left, top) = dpg.get_mouse_pos(local=False), dpg.get_item_rect_min(self._sheet)
        return int((y - top) // self._line), max(0, round((x - left - self._left) / max(self._letter, 1.0)))

    # -- what the field does -------------------------------------------------------------------------------------------

    def _typed(self, sender: Tag, content: str) -> None:
        if self._waits:
            return
        at = caret_after(self.text, content)
        self._heard(content)
        self._go(at)

    def _pressed(self, sender: Tag, code: int) -> None:
        if code in self._codes and self.is_typing:
            self._go(self.caret.moved(self._codes[code], self.content.split("\n"), "Ctrl" in modifiers()))

    def _go(self, caret: Caret) -> None:
        """Keep the cursor in sight."""
        if caret == self.caret:
            return
        self.caret = caret
        width, height = dpg.get_item_rect_size(self.box)
        line, x = self.text.split("\n")[: caret.line + 1][-1], 0.0
        x = self._left + len(self._shown(line[: caret.column])) * self._letter
        top, bottom = caret.line * self._line, (caret.line + 2.5) * self._line
        scrolled = dpg.get_y_scroll(self.box)
        if not scrolled <= top or bottom > scrolled + height:
            dpg.set_y_scroll(self.box, max(0.0, top - self._line if top < scrolled else bottom - height))
        aside = dpg.get_x_scroll(self.box)
        if not aside + self._left <= x < aside + width - 4 * self._letter:
            dpg.set_x_scroll(self.box, max(0.0, x - width / 2))

    # -- how it is drawn -----------------------------------------------------------------------------------------------

    def _split(self, text: str) -> list[str]:
        return text.split("\n")  # behind a last new line the cursor has a line of its own

    def _shown(self, line: str) -> str:
        return line.replace("\t", TAB)

    @property
    def _height(self) -> float:
        return float(round(super()._height))  # as Dear ImGui rounds the size of the field's font

    @property
    def _line(self) -> float:
        return self._height


def _clear_theme() -> Tag:
    """A field of which only the cursor and the selection are seen, its letters where they were laid."""
    clear = (0, 0, 0, 0)
    with dpg.theme() as made, dpg.theme_component(dpg.mvInputText):
        for name in ("Text", "FrameBg", "FrameBgHovered", "FrameBgActive", "Border"):
            dpg.add_theme_color(getattr(dpg, f"mvThemeCol_{name}"), clear)
        dpg.add_theme_color(dpg.mvThemeCol_InputTextCursor, theme.ACCENT)
        dpg.add_theme_color(dpg.mvThemeCol_TextSelectedBg, (*theme.BLUE, 120))
        dpg.add_theme_style(dpg.mvStyleVar_FramePadding, 0, 0)
        dpg.add_theme_style(dpg.mvStyleVar_FrameBorderSize, 0)
    return made
