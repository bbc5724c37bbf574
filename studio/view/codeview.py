"""Shows code: line numbers, colours, its own scrolling in both directions. Long texts cost nothing: only visible lines are drawn.

    view = CodeView(parent); view.show(text, "glsl"); view.sync()      sync once a frame while it is seen

A drawing as high as all lines lies in a scrolling box; lines that come into sight are drawn into it, others deleted. Of another
text only the lines that differ are drawn anew. `codeeditor.py` lays an input field over it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from studio.highlight import ends_in_comment, tokens
from studio.view import theme
from studio.view.gui import Tag, clear, dpg

SIZE = 14  # of the letters, at scale 1
LINE = 18  # from line to line
MARGIN = 4  # lines above and below that are drawn with the visible ones
COLORS: dict[str, theme.Rgb] = {
    "keyword": (198, 146, 233), "type": (86, 182, 214), "number": (224, 175, 104), "comment": (106, 115, 130),
    "preprocessor": (214, 120, 120), "function": (122, 175, 255), "name": (158, 206, 148), "punctuation": (150, 157, 170),
    "plain": theme.TEXT,
}  # fmt: skip
GUTTER: theme.Rgb = (82, 89, 102)
PADDING = (2, 4)  # of the box, pixels


class CodeView:
    """`text` is what is shown. `width`, `height`: as of a child window; negative leaves room. `size`, `line`: at scale 1."""

    def __init__(self, parent: Tag, width: int = -1, height: int = -1, size: int = SIZE, line: int = LINE):
        self.text = ""
        self._size, self._pitch = size, line
        self.lines: list[str] = []
        self._language = "glsl"
        self._in_comment: list[bool] = []  # whether a line begins inside a block comment
        self.box: Tag = dpg.add_child_window(parent=parent, width=width, height=height, border=True, horizontal_scrollbar=True)
        dpg.bind_item_theme(self.box, _box_theme())
        self._sheet: Tag = dpg.add_drawlist(1, 1, parent=self.box)
        self._font = theme.load_mono()
        self._drawn: dict[int, Tag] = {}
        self._marks: Mapping[int, theme.Rgb] = {}
        self._advance = 0.0
        self._measured_at = 0.0

    def show(self, text: str, language: str = "glsl", marks: Mapping[int, theme.Rgb] | None = None, stay: bool = False) -> None:
        """Another text, from its top unless it is to `stay`. `marks`: numbers of lines, from 1, that get a coloured ground."""
        marks = dict(marks or {})
        if (text, language, marks) == (self.text, self._language, self._marks):
            return
        if text != self.text and not stay:
            dpg.set_y_scroll(self.box, 0)
            dpg.set_x_scroll(self.box, 0)
        before = self._looks()
        self.text, self._marks = text, marks
        self.lines, self._language = [self._shown(line) for line in self._split(text)], language
        inside = False
        self._in_comment = []
        for line in self.lines:
            self._in_comment.append(inside)
            inside = language == "glsl" and ends_in_comment(line, inside)
        now = self._looks()
        for number in [n for n in self._drawn if n >= len(now) or n >= len(before) or now[n] != before[n]]:
            dpg.delete_item(self._drawn.pop(number))
        self._fit()

    def _split(self, text: str) -> list[str]:
        """Not by splitlines: a form feed or U+2028 is no new line for a compiler, nor for an input field."""
        return text.removesuffix("\n").split("\n")

    def _shown(self, line: str) -> str:
        """A line as it is drawn: the letters that take room."""
        return line.expandtabs(4)

    def _looks(self) -> list[object]:
        """What the picture of each line depends on."""
        left = self._left
        rows = zip(self.lines, self._in_comment, strict=True)
        return [(line, inside, self._language, self._marks.get(n), left) for n, (line, inside) in enumerate(rows, 1)]

    def scroll_to(self, line: int) -> None:
        """Bring a line, from 1, into the upper part."""
        dpg.set_y_scroll(self.box, max(0.0, (line - 3) * self._line))

    def sync(self) -> None:
        """Draw what has come into sight."""
        scale = dpg.get_global_font_scale()
        if scale != self._measured_at and not self._measure(scale):
            return
        first, last = self.visible
        for number in [n for n in self._drawn if not first <= n < last]:
            dpg.delete_item(self._drawn.pop(number))
        for number in range(first, last):
            if number not in self._drawn:
                self._drawn[number] = self._draw(number)

    def place_of(self, line: int) -> tuple[float, float]:
        """Where a line, from 1, begins in the window, scrolled as it is; half its height down."""
        left, top = dpg.get_item_rect_min(self._sheet)
        return left + self._left, top + (line - 0.5) * self._line

    @property
    def line_under_mouse(self) -> int | None:
        """The line that the mouse is over, from 1."""
        if not dpg.is_item_hovered(self._sheet):
            return None
        return 1 + int((dpg.get_mouse_pos(local=False)[1] - dpg.get_item_rect_min(self._sheet)[1]) / self._line)

    @property
    def visible(self) -> tuple[int, int]:
        """The first line that is drawn and the one after the last, from 0."""
        top = dpg.get_y_scroll(self.box) / self._line
        rows = dpg.get_item_rect_size(self.box)[1] / self._line
        return max(0, int(top) - MARGIN), min(len(self.lines), int(top + rows) + MARGIN + 1)

    @property
    def drawn(self) -> Collection[int]:
        """The lines that are drawn now, from 0."""
        return self._drawn.keys()

    @property
    def _line(self) -> float:
        return self._pitch * dpg.get_global_font_scale()

    def _measure(self, scale: float) -> bool:
        """Whether the font is there yet; sets the width of a letter and the size of the sheet."""
        measured = dpg.get_text_size("M" * 64, font=self._font or 0)  # knows nothing of the scale
        if not measured or measured[0] <= 0:
            return False
        size = theme.MONO_SIZE if self._font is not None else theme.FONT_SIZE
        self._advance = measured[0] / 64 * self._size / size  # at scale 1
        self._measured_at = scale
        clear(self._sheet)
        self._drawn.clear()
        self._fit()
        return True

    def _fit(self) -> None:
        """The sheet as large as the text."""
        width, height = self._extent
        dpg.configure_item(self._sheet, width=max(1, int(width)), height=max(1, int(height)))

    @property
    def _extent(self) -> tuple[float, float]:
        longest = max(map(len, self.lines), default=0)
        return self._left + (longest + 2) * self._letter, len(self.lines) * self._line + 4

    @property
    def _left(self) -> float:
        """Where lines begin: behind the numbers."""
        return (len(str(max(len(self.lines), 99))) + 2.5) * self._letter

    @property
    def _letter(self) -> float:
        """The width of one, in pixels."""
        return self._advance * self._height / self._size

    @property
    def _height(self) -> float:
        """Of letters, in pixels."""
        return self._size * dpg.get_global_font_scale()

    def _draw(self, number: int) -> Tag:
        letter, size, y = self._letter, self._height, number * self._line
        base = y + (self._line - size) / 4
        with dpg.draw_node(parent=self._sheet) as node:
            if number + 1 in self._marks:
                dpg.draw_rectangle((0, y), (10_000, y + self._line), color=(0, 0, 0, 0), fill=self._marks[number + 1])
            label = str(number + 1)
            self._write((self._left - (len(label) + 1.5) * letter, base), label, size, GUTTER)
            x = self._left
            for words, kind in tokens(self.lines[number], self._language, self._in_comment[number]):
                blank = len(words) - len(words.lstrip(" "))
                if blank < len(words):
                    self._write((x + blank * letter, base), words.strip(" "), size, COLORS[kind])
                x += len(words) * letter
        return node

    def _write(self, at: tuple[float, float], words: str, size: float, color: theme.Rgb) -> None:
        item = dpg.draw_text(at, words, size=size, color=color)
        if self._font is not None:
            dpg.bind_item_font(item, self._font)


def _box_theme() -> Tag:
    with dpg.theme() as made, dpg.theme_component(dpg.mvAll):
        dpg.add_theme_color(dpg.mvThemeCol_ChildBg, theme.BAR)
        dpg.add_theme_style(dpg.mvStyleVar_WindowPadding, *PADDING)
    return made
