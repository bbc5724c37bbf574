"""One node or wire as Dear PyGui draw items, in canvas units. A picture is restyled, moved and hidden without being drawn anew.

How much of it is drawn depends on the zoom: from afar no texts, from farther no sockets. Such parts are made when they are first
seen. A circle's outline is a pixel wide at every zoom, so that from afar sockets are drawn without.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from munet.inspect import WireView
from studio.hit import Wire
from studio.nodeviews import HEAD, LETTER, TITLE_LETTER, Color, NodeView, SocketSpot, text_width
from studio.texts import text
from studio.view import theme
from studio.view.gui import Tag, dpg

CLEAR = (0, 0, 0, 0)
TITLE_SIZE, TEXT_SIZE, SMALL_SIZE = 15, 13, 11
EDGE: Color = (66, 72, 84)
FAR, MIDDLE, NEAR = 0, 1, 2  # how much is drawn: the body, sockets as well, texts as well
NEAR_ZOOM, MIDDLE_ZOOM = 0.4, 0.2
BADGE_LOW, BADGE_HIGH = -19.0, -3.0  # above the node


def level_at(zoom: float) -> int:
    return NEAR if zoom >= NEAR_ZOOM else MIDDLE if zoom >= MIDDLE_ZOOM else FAR


@dataclass(frozen=True)
class Look:
    """What a node's picture depends on besides its view. `color` is the head's, None for the category's."""

    selected: bool = False
    broken: bool = False
    badge: str = ""
    hot: bool = False  # of the badge: among the slowest
    color: Color | None = None


class Pen:
    """Draws texts in the window's font; `width` measures them."""

    def __init__(self, font: Tag | None):
        self.font = font
        self._widths: dict[tuple[str, int], float] = {}

    def text(self, at: Sequence[float], words: str, parent: Tag, size: float = TEXT_SIZE, color: Any = theme.TEXT) -> None:
        item = dpg.draw_text(at, words, parent=parent, size=size, color=color)
        font = theme.font_for(words) or self.font
        if font is not None:
            dpg.bind_item_font(item, font)

    def width(self, words: str, size: int = TEXT_SIZE) -> float:
        """In canvas units; rough before the first frame, when fonts are not there yet."""
        known = self._widths.get((words, size))
        if known is not None:
            return known
        measured = dpg.get_text_size(words, font=theme.font_for(words) or self.font or 0)
        if not measured or measured[0] <= 0:
            return text_width(words, TITLE_LETTER if size >= TITLE_SIZE else LETTER)
        width = self._widths[words, size] = measured[0] * size / theme.FONT_SIZE
        return width

    def fitted(self, words: str, room: float, size: int = TEXT_SIZE) -> str:
        """The text, or as much of its start as there is room for."""
        if self.width(words, size) <= room:
            return words
        while len(words) > 1 and self.width(words + "…", size) > room:
            words = words[:-1]
        return words + "…"


@dataclass
class NodePicture:
    """A node at the origin of a draw node, moved to its place by a transform."""

    view: NodeView
    item: Tag
    border: Tag
    heads: tuple[Tag, ...] = ()
    look: Look = field(default_factory=Look)
    level: int = -1
    parts: dict[int, Tag] = field(default_factory=dict)  # by level
    badge: Tag = 0  # holds the badge; 0: no texts have been drawn
    halo: Tag = 0  # around a broken node

    def place(self, x: float, y: float) -> None:
        dpg.apply_transform(self.item, dpg.create_translation_matrix([x, y, 0]))

    def style(self, look: Look, pen: Pen) -> None:
        """Selected or not, broken or not, its colour, its badge."""
        edge = theme.ACCENT if look.selected else theme.ERROR if look.broken else EDGE
        thick = 2.4 if look.selected or look.broken else 1.0
        dpg.configure_item(self.border, color=edge, thickness=thick)
        if look.broken != self.look.broken and not self.view.is_reroute:
            if self.halo:
                dpg.delete_item(self.halo)
            self.halo = draw_halo(self.view, self.item) if look.broken else 0
        shade = _shade(self.view)
        for head in self.heads:
            dpg.configure_item(head, fill=(*(look.color or self.view.color), shade))
        changed = (look.badge, look.hot) != (self.look.badge, self.look.hot)
        self.look = look
        if changed and self.badge:
            dpg.delete_item(self.badge, children_only=True)
            draw_badge(look, self.badge, pen)

    def show_level(self, level: int, pen: Pen) -> None:
        """As much as can be seen at a zoom."""
        if level == self.level:
            return
        if self.level in self.parts:
            dpg.configure_item(self.parts[self.level], show=False)
        self.level = level
        if level in self.parts:
            dpg.configure_item(self.parts[level], show=True)
        elif level > FAR and not self.view.is_reroute:
            part = self.parts[level] = dpg.add_draw_node(parent=self.item)
            for spot in (*self.view.inputs, *self.view.outputs):
                draw_socket(spot, (spot.x, spot.y), part, outlined=level == NEAR)
            if level == NEAR:
                draw_texts(self.view, part, pen)
                self.badge = dpg.add_draw_node(parent=part)
                draw_badge(self.look, self.badge, pen)


def draw_node(view: NodeView, parent: Tag) -> NodePicture:
    """The body of a node; style, level and place are given to the picture."""
    item = dpg.add_draw_node(parent=parent)
    if view.is_reroute:
        middle = (view.width / 2, view.height / 2)
        border = dpg.draw_circle(middle, 6, parent=item, color=EDGE, fill=view.color, thickness=1)
        return NodePicture(view, item, border)
    width, height = view.width, view.height
    shade = _shade(view)
    dpg.draw_rectangle((3, 4), (width + 3, height + 4), parent=item, color=CLEAR, fill=(0, 0, 0, 70), rounding=8)
    dpg.draw_rectangle((0, 0), (width, height), parent=item, color=CLEAR, fill=(*theme.BODY, shade), rounding=6)
    fill = (*view.color, shade)
    round_head = dpg.draw_rectangle((0, 0), (width, HEAD), parent=item, color=CLEAR, fill=fill, rounding=6)
    head = dpg.draw_rectangle((0, HEAD - 7), (width, HEAD), parent=item, color=CLEAR, fill=fill)
    border = dpg.draw_rectangle((0, 0), (width, height), parent=item, color=EDGE, thickness=1, rounding=6)
    return NodePicture(view, item, border, (round_head, head))


def draw_halo(view: NodeView, parent: Tag) -> Tag:
    low, high = (-5, -5), (view.width + 5, view.height + 5)
    return dpg.draw_rectangle(low, high, parent=parent, color=theme.ERROR, thickness=2.2, rounding=9)


def _shade(view: NodeView) -> int:
    return 110 if view.muted else 255


def draw_texts(view: NodeView, parent: Tag, pen: Pen) -> None:
    """Title, sockets, parameters, and marks of a node that has a note or is frozen."""
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
    _marks(view, parent, pen)


def _marks(view: NodeView, parent: Tag, pen: Pen) -> None:
    """Above the right end: muted, frozen; a dog-ear where there is a note."""
    end = view.width
    if view.note:
        dpg.draw_triangle((end - 13, 0), (end, 0), (end, 13), parent=parent, color=CLEAR, fill=theme.ACCENT)
    for shown, key, front, back in (
        (view.muted, "view.muted", theme.DIM, (38, 41, 48)),
        (view.frozen, "view.frozen", (147, 197, 253), (30, 45, 72)),
    ):
        if shown:
            word = text(key)
            width = pen.width(word, SMALL_SIZE) + 10
            low, high = (end - width, BADGE_LOW), (end, BADGE_HIGH)
            dpg.draw_rectangle(low, high, parent=parent, color=CLEAR, fill=back, rounding=4)
            pen.text((end - width + 5, BADGE_LOW + 2), word, parent, SMALL_SIZE, front)
            end -= width + 4


def draw_badge(look: Look, parent: Tag, pen: Pen) -> None:
    if not look.badge:
        return
    width = badge_width(look.badge, pen)
    back, front = (theme.HOT_BACK, theme.HOT) if look.hot else (theme.GOOD_BACK, theme.GOOD)
    dpg.draw_rectangle((0, BADGE_LOW), (width, BADGE_HIGH), parent=parent, color=CLEAR, fill=back, rounding=4)
    pen.text((6, BADGE_LOW + 2), look.badge, parent, SMALL_SIZE, front)


def badge_width(words: str, pen: Pen) -> float:
    return pen.width(words, SMALL_SIZE) + 12


def draw_socket(spot: SocketSpot, at: tuple[float, float], parent: Tag, *, outlined: bool = True) -> None:
    """Colour and shape say the dtype; what is not wired is drawn hollow if it may stay so."""
    x, y = at
    reach = 5.0
    hollow = spot.side == "in" and spot.optional and not spot.wired
    fill = theme.PANEL if hollow and outlined else spot.color
    edge = (spot.color if hollow else (20, 22, 26)) if outlined else CLEAR
    common: dict[str, Any] = {"parent": parent, "color": edge, "fill": fill, "thickness": 1.2}
    match spot.shape:
        case "square":
            dpg.draw_rectangle((x - reach, y - reach), (x + reach, y + reach), **common)
        case "diamond":
            dpg.draw_quad((x - 6, y), (x, y - 6), (x + 6, y), (x, y + 6), **common)
        case "triangle":
            dpg.draw_triangle((x - 5, y - 6), (x + 6, y), (x - 5, y + 6), **common)
        case "ring" if outlined:
            dpg.draw_circle((x, y), reach, parent=parent, color=spot.color, fill=theme.PANEL, thickness=2)
        case _:
            dpg.draw_circle((x, y), reach, segments=16, **common)


@dataclass
class WirePicture:
    """A wire and, where there is room, the shape that it carries above its middle."""

    item: Tag
    wire: Wire
    label: str
    texts: Tag = 0  # 0: not drawn yet

    def show_label(self, shown: bool, pen: Pen) -> None:
        if self.texts:
            dpg.configure_item(self.texts, show=shown)
        elif shown and self.label:
            self.texts = dpg.add_draw_node(parent=self.item)
            x, y = self.wire.points[len(self.wire.points) // 2]
            half = pen.width(self.label, SMALL_SIZE) / 2
            low, high = (x - half - 4, y - 8), (x + half + 4, y + 8)
            dpg.draw_rectangle(low, high, parent=self.texts, color=CLEAR, fill=theme.PANEL, rounding=4)
            pen.text((x - half, y - 6), self.label, self.texts, SMALL_SIZE, theme.DIM)


def draw_wire(wire: Wire, color: Color, selected: bool, known: WireView | None, parent: Tag, pen: Pen) -> WirePicture:
    item = dpg.add_draw_node(parent=parent)
    shown, thick = (theme.ACCENT, 3.2) if selected else (color, 2.2)
    dpg.draw_bezier_cubic(*wire.control, parent=item, color=shown, thickness=thick, segments=24)
    label = "×".join(map(str, known.shape)) if known is not None else ""
    room = wire.control[3][0] - wire.control[0][0] - 14
    return WirePicture(item, wire, label if label and room > pen.width(label, SMALL_SIZE) else "")
