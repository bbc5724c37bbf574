"""The start page, in place of the canvas while nothing is open: recent projects, examples as cards, new and open.

Projects are read on a thread; the page is laid out anew when its size changes. It goes with the first node or project.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from studio import start
from studio.files import time_text
from studio.icons import icon, labelled
from studio.start import Card, Found, Recent
from studio.texts import text
from studio.view import theme
from studio.view.core import Core
from studio.view.drawing import CLEAR, Pen
from studio.view.gui import Tag, clear, dpg

CARD_WIDTH, CARD_HEIGHT, STRIP, GAP, EDGE = 224.0, 136.0, 42.0, 12.0, 28.0  # at scale 1
RECENT_WIDTH, ROW, ROWS = 380.0, 44.0, 12
HEAD_WIDTH = 760.0  # below it the buttons lie under the title
NARROW, NARROW_ROWS = 1000.0, 4  # below it recent projects lie above the cards
TITLE, NAME, SMALL = 26, 16, 14
GREY: theme.Rgb = (104, 110, 122)
Place = tuple[float, float]


@dataclass(frozen=True)
class Spot:
    """A rectangle of the page, in lengths at scale 1, and what a press on it does."""

    rect: tuple[float, float, float, float]
    then: Callable[[], object]

    def holds(self, at: Place) -> bool:
        return self.rect[0] <= at[0] < self.rect[2] and self.rect[1] <= at[1] < self.rect[3]


class StartPage:
    """Fills `parent` and hides `canvas` while it is shown. `run` starts an action, `open_path` and `open_example` projects.

    Arrows and Enter choose, unless `taken` says that they are another's.
    """

    def __init__(
        self, core: Core, parent: Tag, canvas: Tag, font: Tag | None, run: Callable[[str], None],
        open_path: Callable[[Path], None], open_example: Callable[[str], None],
        taken: Callable[[], bool],
    ):  # fmt: skip
        self._core, self._canvas, self._pen, self._run = core, canvas, Pen(font), run
        self._open_path, self._open_example, self._taken = open_path, open_example, taken
        self._found: Found | None = None
        self._answers: queue.SimpleQueue[Found] = queue.SimpleQueue()
        self._awaited = False
        self._shown_at = -1
        self._laid_out: object = None
        # What can be pressed: "new", "open", names of examples, paths of recent projects, "remove PATH". Drawn, not widgets: a
        # list that is drawn into takes the mouse from what lies over it.
        self.spots: dict[str, Spot] = {}
        self._hovered = ""
        self._picked = ""  # by the arrows
        self._box: Tag = dpg.add_child_window(parent=parent, show=False, border=False)
        self._page: Tag = 0
        dpg.bind_item_theme(self._box, theme.padded_theme(0, 0))

    @property
    def is_shown(self) -> bool:
        return bool(dpg.is_item_shown(self._box))

    @property
    def is_open(self) -> bool:
        return self.is_shown and bool(self.spots) and not self._taken()

    def move(self, by: int) -> None:
        """To the next of what can be opened."""
        names = [name for name in self.spots if not name.startswith("remove ")]
        at = names.index(self._picked) + by if self._picked in names else (0 if by > 0 else -1)
        self._picked = names[at % len(names)]

    def enter(self) -> None:
        if self._picked in self.spots:
            self.spots[self._picked].then()

    @property
    def busy(self) -> bool:
        """Whether projects are being read."""
        return self._awaited

    def show(self) -> None:
        self._shown_at, self._picked = self._core.document.version, ""
        dpg.hide_item(self._canvas)
        dpg.show_item(self._box)
        self._look()

    def hide(self) -> bool:
        """Whether it was shown."""
        if not self.is_shown:
            return False
        dpg.hide_item(self._box)
        dpg.show_item(self._canvas)
        return True

    def _look(self) -> None:
        recent = self._core.preferences.recent
        self._awaited = True
        threading.Thread(target=lambda: self._answers.put(start.look(recent)), name="start page", daemon=True).start()

    def sync(self) -> None:
        if not self.is_shown:
            return
        if self._core.document.version != self._shown_at:
            self.hide()
            return
        while not self._answers.empty():
            self._found, self._awaited = self._answers.get(), False
        width, height = dpg.get_item_rect_size(self._box)
        now = (round(width), round(height), theme.scale(), id(self._found))
        if now != self._laid_out and width > 100:
            self._laid_out = now
            self._lay_out(width / theme.scale())
        self._point()

    def _point(self) -> None:
        """Lighten what the mouse is over; a press does it."""
        over = ""
        if self._page and dpg.is_item_hovered(self._page):
            x, y = dpg.get_mouse_pos(local=False)
            left, top = dpg.get_item_rect_min(self._page)
            at = (x - left) / theme.scale(), (y - top) / theme.scale()
            over = next((name for name, spot in reversed(self.spots.items()) if spot.holds(at)), "")
        pressed, over = over, over or (self._picked if self._picked in self.spots else "")
        if over != self._hovered:
            self._hovered = over
            dpg.delete_item(self._light, children_only=True)
            if over:
                x0, y0, x1, y1 = self.spots[over].rect
                corners = self._at((x0, y0)), self._at((x1, y1))
                dpg.draw_rectangle(*corners, parent=self._light, color=CLEAR, fill=(255, 255, 255, 18), rounding=theme.px(7))
        if pressed and dpg.is_mouse_button_clicked(0):
            self.spots[pressed].then()

    def place(self, name: str) -> Place:
        """The middle of what can be pressed, in the window."""
        x0, y0, x1, y1 = self.spots[name].rect
        left, top = dpg.get_item_rect_min(self._page)
        return left + theme.px((x0 + x1) / 2), top + theme.px((y0 + y1) / 2)

    # -- layout, in lengths at scale 1 ---------------------------------------------------------------------------------

    def _lay_out(self, width: float) -> None:
        clear(self._box)
        self.spots.clear()
        self._hovered = ""
        self._page = dpg.add_drawlist(theme.px(width - 16), theme.px(96), parent=self._box)
        self._words((EDGE, 22), "MuNet Studio", TITLE, theme.HEADING)
        self._words((EDGE, 56), self._pen.fitted(text("view.start_line"), width - 2 * EDGE, SMALL), SMALL, theme.DIM)
        wide = width >= HEAD_WIDTH
        row = 28 if wide else 82
        self._button("open", labelled("open", text("action.open")), (width - EDGE - 112, row), 112, theme.INPUT)
        self._button("new", labelled("new", text("action.new")), (width - EDGE - 112 - 10 - 142, row), 142, theme.BLUE)
        if self._found is not None:
            self._projects(self._found, width, 96.0 if wide else 132.0)
        self._light: Tag = dpg.add_draw_layer(parent=self._page)

    def _projects(self, found: Found, width: float, top: float) -> None:
        left = EDGE
        recent = found.recent
        if recent and width >= NARROW:
            self._recent(recent[:ROWS], (left, top), RECENT_WIDTH)
            left += RECENT_WIDTH + EDGE
        elif recent:
            top = self._recent(recent[:NARROW_ROWS], (left, top), width - 2 * EDGE) + 12
        self._words((left, top), text("view.examples"), NAME, theme.TEXT)
        bottom = self._cards(found.cards, (left, top + 28), width - left - EDGE)
        dpg.configure_item(self._page, height=theme.px(max(bottom, 132 + ROW * (len(recent[:ROWS]) + 1))))

    def _cards(self, cards: tuple[Card, ...], at: Place, width: float) -> float:
        """Gives where they end."""
        columns = max(1, int((width + GAP) / (CARD_WIDTH + GAP)))
        card_width = min(1.25 * CARD_WIDTH, (width - GAP * (columns - 1)) / columns)
        for index, card in enumerate(cards):
            row, column = divmod(index, columns)
            self._card(card, (at[0] + column * (card_width + GAP), at[1] + row * (CARD_HEIGHT + GAP)), card_width)
        return at[1] + (len(cards) + columns - 1) // columns * (CARD_HEIGHT + GAP) + GAP

    def _card(self, card: Card, at: Place, width: float) -> None:
        (x, y), end = at, (at[0] + width, at[1] + CARD_HEIGHT)
        self._rect(at, end, (30, 33, 40), 7, theme.LINE)
        self._rect((x + 1, y + 1), (end[0] - 1, y + STRIP + 14), theme.BAR, 6)
        self._thumbnail(card, (x + 12, y + 7), (width - 24, STRIP))
        self._words((x + 12, y + STRIP + 22), self._pen.fitted(card.title, width - 72, NAME), NAME, theme.HEADING)
        count = f"{icon('nodes')}  {card.nodes}"
        self._words((end[0] - 12 - self._pen.width(count, SMALL), y + STRIP + 24), count, SMALL, theme.DIM)
        for row, line in enumerate(self._wrapped(card.line, width - 24, 2)):
            self._words((x + 12, y + STRIP + 46 + 18 * row), line, SMALL, theme.DIM)
        self.spots[card.name] = Spot((x, y, *end), partial(self._open_example, card.name))

    def _thumbnail(self, card: Card, at: Place, room: Place) -> None:
        """The example's drawing, as large as there is room."""
        width = min(room[0], room[1] * card.shape)
        height = width / card.shape
        left, top = at[0] + (room[0] - width) / 2, at[1] + (room[1] - height) / 2

        def put(point: Place) -> Place:
            return left + point[0] * width, top + point[1] * height

        for source, target, color in card.lines:
            dpg.draw_line(self._at(put(source)), self._at(put(target)), color=(*color, 150), parent=self._page)
        for corner, other, color in card.boxes:
            (x0, y0), (x1, y1) = put(corner), put(other)
            self._rect((x0, y0), (max(x1, x0 + 3), max(y1, y0 + 3)), color, 2)

    def _recent(self, recent: tuple[Recent, ...], at: Place, width: float) -> float:
        """The list; gives where it ends."""
        self._words(at, text("view.recent_projects"), NAME, theme.TEXT)
        top = at[1] + 28
        for known in recent:
            path = str(known.path)
            color = theme.TEXT if known.there else GREY
            x = at[0] + 8
            self._words((x, top + 11), icon("file" if known.there else "missing"), NAME, theme.DIM if known.there else color)
            self._words((x + 24, top + 3), known.path.stem, NAME, color)
            when = time_text(known.changed_at) if known.changed_at is not None else text("view.gone")
            self._words((at[0] + width - 42 - self._pen.width(when, SMALL), top + 13), when, SMALL, theme.DIM)
            self._words((x + 24, top + 23), self._tail(str(known.path.parent), width - 150), SMALL, GREY)
            if known.there:
                self.spots[path] = Spot((at[0], top, at[0] + width, top + ROW), partial(self._open_path, known.path))
            corner = at[0] + width - 34, top + 8
            self._words((corner[0] + 7, corner[1] + 6), icon("remove"), SMALL, theme.DIM)
            self.spots[f"remove {path}"] = Spot((*corner, corner[0] + 28, corner[1] + 28), partial(self._forget, path))
            top += ROW
        return top

    def _forget(self, path: str) -> None:
        known = self._core.preferences
        self._core.preferences = replace(known, recent=tuple(other for other in known.recent if other != path))
        if self._found is not None:
            self._found = replace(self._found, recent=tuple(r for r in self._found.recent if str(r.path) != path))

    # -- pieces --------------------------------------------------------------------------------------------------------

    @staticmethod
    def _at(at: Place) -> list[int]:
        return [theme.px(at[0]), theme.px(at[1])]

    def _rect(self, at: Place, end: Place, fill: theme.Rgb, rounding: float, edge: tuple[int, ...] = CLEAR) -> None:
        corners = self._at(at), self._at(end)
        dpg.draw_rectangle(*corners, parent=self._page, color=edge, fill=fill, rounding=theme.px(rounding))

    def _words(self, at: Place, words: str, size: int, color: theme.Rgb) -> None:
        self._pen.text(self._at(at), words, self._page, theme.px(size), color)

    def _button(self, name: str, label: str, at: Place, width: float, color: theme.Rgb) -> None:
        end = at[0] + width, at[1] + 32
        self._rect(at, end, color, 5)
        room = width - self._pen.width(label, NAME)
        self._words((at[0] + room / 2, at[1] + 8), label, NAME, theme.HEADING)
        self.spots[name] = Spot((*at, *end), partial(self._run, name))

    def _wrapped(self, words: str, room: float, lines: int) -> list[str]:
        found = [""]
        for word in words.split():
            longer = f"{found[-1]} {word}".strip()
            if self._pen.width(longer, SMALL) <= room:
                found[-1] = longer
            else:
                found.append(word)
        if len(found) > lines:
            found[lines - 1] = self._pen.fitted(f"{found[lines - 1]} {found[lines]} …", room, SMALL)
        return found[:lines]

    def _tail(self, words: str, room: float) -> str:
        """A path, or as much of its end as there is room for."""
        if self._pen.width(words, SMALL) <= room:
            return words
        while len(words) > 1 and self._pen.width("…" + words, SMALL) > room:
            words = words[1:]
        return "…" + words
