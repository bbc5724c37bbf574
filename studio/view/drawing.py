"""Draws one node or wire as Dear PyGui draw items, in canvas units; nothing is remembered here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from munet.inspect import WireView
from studio.hit import Wire
from studio.nodeviews import HEAD, LETTER, TITLE_LETTER, Color, NodeView, SocketSpot, text_width
from studio.view import theme
from studio.view.gui import Tag, dpg

CLEAR = (0, 0, 0, 0)
TITLE_SIZE, TEXT_SIZE, SMALL_SIZE = 15, 13, 11


@dataclass(frozen=True)
class Look:
    """What a node's picture depends on besides its view."""

    selected: bool = False
    broken: bool = False
    badge: str = ""
    hot: bool = False  # of the badge: among the slowest


class Pen:
    """Draws texts in the window's font; `width` measures them."""

    def __init__(self, font: Tag | None):
        self.font = font
        self._widths: dict[tuple[str, int], float] = {}

    def text(self, at: Sequence[float], words: str, parent: Tag, size: int = TEXT_SIZE, color: Any = theme.TEXT) -> None:
        item = dpg.draw_text(at, words, parent=parent, size=size, color=color)
        if self.font is not None:
            dpg.bind_item_font(item, self.font)

    def width(self, words: str, size: int = TEXT_SIZE) -> float:
        """In canvas units; rough before the first frame, when fonts are not there yet."""
        known = self._widths.get((words, size))
        if known is not None:
            return known
        measured = dpg.get_text_size(words, font=self.font or 0)
        if not measured or measured[0] <= 0:
            return text_width(words, TITLE_LETTER if size >= TITLE_SIZE else LETTER)
        width = self._widths[words, size] = measured[0] * size / theme.FONT_SIZE / dpg.get_global_font_scale()
        return width

    def fitted(self, words: str, room: float, size: int = TEXT_SIZE) -> str:
        """The text, or as much of its start as there is room for."""
        if self.width(words, size) <= room:
            return words
        while len(words) > 1 and self.width(words + "…", size) > room:
            words = words[:-1]
        return words + "…"


def draw_node(view: NodeView, look: Look, parent: Tag, pen: Pen) -> tuple[Tag, Tag]:
    """A node at the origin of a new draw node; gives it and the part that holds its texts."""
    item = dpg.add_draw_node(parent=parent)
    edge = theme.ACCENT if look.selected else theme.ERROR if look.broken else (66, 72, 84)
    thick = 2.2 if look.selected or look.broken else 1.0
    if view.is_reroute:
        middle = (view.width / 2, view.height / 2)
        dpg.draw_circle(middle, 6, parent=item, color=edge, fill=view.color, thickness=thick)
        return item, dpg.add_draw_node(parent=item)
    width, height = view.width, view.height
    shade = 110 if view.muted else 255
    body, head = (*theme.BODY, shade), (*view.color, shade)
    dpg.draw_rectangle((3, 4), (width + 3, height + 4), parent=item, color=CLEAR, fill=(0, 0, 0, 70), rounding=8)
    dpg.draw_rectangle((0, 0), (width, height), parent=item, color=CLEAR, fill=body, rounding=6)
    dpg.draw_rectangle((0, 0), (width, HEAD), parent=item, color=CLEAR, fill=head, rounding=6)
    dpg.draw_rectangle((0, HEAD - 7), (width, HEAD), parent=item, color=CLEAR, fill=head)
    dpg.draw_rectangle((0, 0), (width, height), parent=item, color=edge, thickness=thick, rounding=6)
    if look.broken:
        dpg.draw_rectangle((-5, -5), (width + 5, height + 5), parent=item, color=theme.ERROR, thickness=2.2, rounding=9)
    for spot in (*view.inputs, *view.outputs):
        draw_socket(spot, (spot.x, spot.y), item)
    texts = dpg.add_draw_node(parent=item)
    _texts(view, look, texts, pen)
    return item, texts


def _texts(view: NodeView, look: Look, parent: Tag, pen: Pen) -> None:
    color = theme.DIM if view.muted else (245, 247, 250)
    title = pen.fitted(view.title, view.width - 18, TITLE_SIZE)
    pen.text((9, 5), title, parent, TITLE_SIZE, color)
    room = view.width - 18 - pen.width(title, TITLE_SIZE) - 12
    if view.subtitle and pen.width(view.subtitle, SMALL_SIZE) <= room:
        end = view.width - 9 - pen.width(view.subtitle, SMALL_SIZE)
        pen.text((end, 8), view.subtitle, parent, SMALL_SIZE, (225, 230, 238, 170))
    for spot in view.inputs:
        pen.text((spot.x + 11, spot.y - 7), spot.name, parent, color=theme.DIM if spot.optional else theme.TEXT)
    for spot in view.outputs:
        pen.text((spot.x - 11 - pen.width(spot.name), spot.y - 7), spot.name, parent)
    for row in view.params:
        name = pen.fitted(row.name, view.width * 0.6)
        value = pen.fitted(row.value, view.width - 30 - pen.width(name))
        pen.text((10, row.y + 3), name, parent, color=theme.DIM)
        shown = theme.ACCENT if row.live and row.changed else theme.TEXT if row.changed else theme.DIM
        pen.text((view.width - 10 - pen.width(value), row.y + 3), value, parent, color=shown)
    if look.badge:
        width = pen.width(look.badge, SMALL_SIZE) + 12
        back, front = (theme.HOT_BACK, theme.HOT) if look.hot else (theme.GOOD_BACK, theme.GOOD)
        dpg.draw_rectangle((0, -19), (width, -3), parent=parent, color=CLEAR, fill=back, rounding=4)
        pen.text((6, -17), look.badge, parent, SMALL_SIZE, front)


def draw_socket(spot: SocketSpot, at: tuple[float, float], parent: Tag) -> None:
    """Colour and shape say the dtype; what is not wired is drawn hollow if it may stay so."""
    x, y = at
    reach = 5.0
    hollow = spot.side == "in" and spot.optional and not spot.wired
    fill, edge = (theme.PANEL if hollow else spot.color), (spot.color if hollow else (20, 22, 26))
    common: dict[str, Any] = {"parent": parent, "color": edge, "fill": fill, "thickness": 1.2}
    match spot.shape:
        case "square":
            dpg.draw_rectangle((x - reach, y - reach), (x + reach, y + reach), **common)
        case "diamond":
            dpg.draw_quad((x - 6, y), (x, y - 6), (x + 6, y), (x, y + 6), **common)
        case "triangle":
            dpg.draw_triangle((x - 5, y - 6), (x + 6, y), (x - 5, y + 6), **common)
        case "ring":
            dpg.draw_circle((x, y), reach, parent=parent, color=spot.color, fill=theme.PANEL, thickness=2)
        case _:
            dpg.draw_circle((x, y), reach, segments=16, **common)


def draw_wire(wire: Wire, color: Color, selected: bool, known: WireView | None, parent: Tag, pen: Pen) -> tuple[Tag, Tag]:
    """A wire and, where there is room, the shape that it carries above its middle."""
    item = dpg.add_draw_node(parent=parent)
    shown, thick = (theme.ACCENT, 3.2) if selected else (color, 2.2)
    dpg.draw_bezier_cubic(*wire.control, parent=item, color=shown, thickness=thick, segments=24)
    texts = dpg.add_draw_node(parent=item)
    label = "×".join(map(str, known.shape)) if known is not None else ""
    width = pen.width(label, SMALL_SIZE) if label else 0.0
    if label and wire.control[3][0] - wire.control[0][0] > width + 14:
        x, y = wire.points[len(wire.points) // 2]
        dpg.draw_rectangle(
            (x - width / 2 - 4, y - 8), (x + width / 2 + 4, y + 8), parent=texts, color=CLEAR, fill=theme.PANEL, rounding=4
        )  # fmt: skip
        pen.text((x - width / 2, y - 6), label, texts, SMALL_SIZE, theme.DIM)
    return item, texts
