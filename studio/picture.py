"""The whole drawing as a picture: what the canvas shows, drawn by Pillow with the studio's font. Needs no display.

Shapes are drawn at twice the size and reduced, tile by tile, so that edges are smooth and large drawings stay within memory.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from PIL import Image, ImageDraw, ImageFont

from munet import Graph
from munet.inspect import WireView
from studio import colors, fonts
from studio.camera import Rect
from studio.curves import along
from studio.hit import Scene, Wire, frame_rect
from studio.nodeviews import HEAD, Color, NodeView, Point, SocketSpot

SCALE = 2.0  # pixels to a canvas unit
MARGIN = 32.0  # canvas units
MAX_PIXELS = 60_000_000
OVER = 2  # times larger than the result, for smooth edges
TILE = 1024  # pixels of the result
TITLE_SIZE, TEXT_SIZE, SMALL_SIZE = 15.0, 13.0, 11.0
EM = 1 / 1.21  # Dear ImGui counts ascent and descent of the font, FreeType its em
Wires = Mapping[tuple[str, str], WireView]


def png_of(image: Image.Image) -> bytes:
    """A PNG file's content: files are written whole or not at all, so never by Pillow."""
    content = io.BytesIO()
    image.save(content, "PNG")
    return content.getvalue()


def of(graph: Graph, part: Graph, wires: Wires | None = None, scale: float = SCALE) -> Image.Image:
    """The picture of a drawing `part` of the project; `wires` are what its outputs carry. Smaller if it were too large."""
    scene = Scene()
    scene.update(graph, part, wires)
    left, top, right, bottom = scene.bounds or (0.0, 0.0, 100.0, 60.0)
    area = (left - MARGIN, top - MARGIN, right + MARGIN, bottom + MARGIN)
    width, height = area[2] - area[0], area[3] - area[1]
    scale = min(scale, (MAX_PIXELS / (width * height)) ** 0.5)
    picture = Image.new("RGB", (max(1, round(width * scale)), max(1, round(height * scale))), colors.PANEL)
    for y in range(0, picture.height, TILE):
        for x in range(0, picture.width, TILE):
            size = (min(TILE, picture.width - x), min(TILE, picture.height - y))
            tile = Image.new("RGB", (size[0] * OVER, size[1] * OVER), colors.PANEL)
            corner = (area[0] + x / scale, area[1] + y / scale)
            seen = (*corner, corner[0] + size[0] / scale, corner[1] + size[1] / scale)
            _draw(_Pen(ImageDraw.Draw(tile, "RGBA"), corner, scale * OVER), scene, wires or {}, seen)
            picture.paste(tile.resize(size, Image.Resampling.BOX), (x, y))
    return picture


@cache
def _font(file: str, pixels: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(file, pixels)


@dataclass
class _Pen:
    """Draws in canvas units."""

    draw: ImageDraw.ImageDraw
    corner: Point
    scale: float
    shift: Point = (0.0, 0.0)  # added to all positions: where the node lies
    _cjk: str = field(default_factory=lambda: str(fonts.find_cjk() or ""))

    def at(self, point: Sequence[float]) -> Point:
        x, y = point[0] + self.shift[0] - self.corner[0], point[1] + self.shift[1] - self.corner[1]
        return x * self.scale, y * self.scale

    def box(
        self, rect: Rect, fill: Sequence[int] | None, edge: Color | None = None, thick: float = 1.0, round_: float = 0.0
    ) -> None:
        corners = [self.at(rect[:2]), self.at(rect[2:])]
        line = max(1, round(thick * self.scale)) if edge is not None else 0
        paint = tuple(fill) if fill is not None else None
        self.draw.rounded_rectangle(corners, round_ * self.scale, paint, edge, line)

    def polygon(self, points: Sequence[Point], fill: Color, edge: Color) -> None:
        self.draw.polygon([self.at(point) for point in points], fill, edge, max(1, round(1.2 * self.scale)))

    def circle(self, at: Point, reach: float, fill: Color, edge: Color, thick: float = 1.2) -> None:
        (x, y), radius = self.at(at), reach * self.scale
        self.draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill, edge, max(1, round(thick * self.scale)))

    def line(self, points: Sequence[Point], color: Color, thick: float) -> None:
        self.draw.line([self.at(point) for point in points], color, max(1, round(thick * self.scale)), joint="curve")

    def font(self, words: str, size: float) -> ImageFont.FreeTypeFont:
        file = self._cjk if self._cjk and fonts.needs_cjk(words) else str(fonts.bundled(fonts.UI))
        return _font(file, max(1, round(size * EM * self.scale)))

    def width(self, words: str, size: float = TEXT_SIZE) -> float:
        return self.font(words, size).getlength(words) / self.scale

    def text(self, at: Point, words: str, size: float = TEXT_SIZE, color: Sequence[int] = colors.TEXT) -> None:
        """`at`: the upper left corner of the line, as on the canvas."""
        x, y = self.at(at)
        baseline = y + size * 1984 / 2478 * self.scale
        self.draw.text((x, baseline), words, tuple(color), self.font(words, size), anchor="ls")

    def fitted(self, words: str, room: float, size: float = TEXT_SIZE) -> str:
        if self.width(words, size) <= room:
            return words
        while len(words) > 1 and self.width(words + "…", size) > room:
            words = words[:-1]
        return words + "…"


def _draw(pen: _Pen, scene: Scene, wires: Wires, seen: Rect) -> None:
    for frame in scene.frames:
        left, top, right, bottom = frame_rect(frame)
        pen.box((left, top, right, bottom), (*colors.BLUE, 22), colors.LINE, 1.0, 6.0)
        pen.text((left + 10, top + 5), frame.title, TITLE_SIZE, colors.DIM)
    grown = (seen[0] - 40, seen[1] - 40, seen[2] + 40, seen[3] + 40)
    for edge in [edge for edge in scene.wires if edge in scene.wires_in(grown)]:
        view = scene.views.get(edge.source)
        spot = view.socket("out", edge.source_socket) if view is not None else None
        color = spot.color if spot is not None else colors.ERROR
        _wire(pen, scene.wires[edge], color, wires.get((edge.source, edge.source_socket)))
    inside = scene.nodes_in(grown)
    for id_, view in scene.views.items():
        if id_ in inside:
            pen.shift = (view.x, view.y)
            _node(pen, view)
    pen.shift = (0.0, 0.0)


def _wire(pen: _Pen, wire: Wire, color: Color, known: WireView | None) -> None:
    pen.line(along(wire.control, 48), color, 2.2)
    label = "×".join(map(str, known.shape)) if known is not None else ""
    width = pen.width(label, SMALL_SIZE) if label else 0.0
    if label and wire.control[3][0] - wire.control[0][0] > width + 14:
        x, y = wire.points[len(wire.points) // 2]
        pen.box((x - width / 2 - 4, y - 8, x + width / 2 + 4, y + 8), colors.PANEL, round_=4.0)
        pen.text((x - width / 2, y - 6), label, SMALL_SIZE, colors.DIM)


def _node(pen: _Pen, view: NodeView) -> None:
    if view.is_reroute:
        pen.circle((view.width / 2, view.height / 2), 6, view.color, colors.EDGE, 1.0)
        return
    width, height = view.width, view.height
    shade = 110 if view.muted else 255
    pen.box((3, 4, width + 3, height + 4), (0, 0, 0, 70), round_=8.0)
    pen.box((0, 0, width, height), (*colors.BODY, shade), round_=6.0)
    pen.box((0, 0, width, HEAD), (*view.color, shade), round_=6.0)
    pen.box((0, HEAD - 7, width, HEAD), (*view.color, shade))
    pen.box((0, 0, width, height), None, colors.EDGE, 1.0, 6.0)
    for spot in (*view.inputs, *view.outputs):
        _socket(pen, spot)
    _texts(pen, view)


def _texts(pen: _Pen, view: NodeView) -> None:
    title = pen.fitted(view.title, view.width - 18, TITLE_SIZE)
    pen.text((9, 5), title, TITLE_SIZE, colors.DIM if view.muted else colors.HEADING)
    room = view.width - 18 - pen.width(title, TITLE_SIZE) - 12
    if view.subtitle and pen.width(view.subtitle, SMALL_SIZE) <= room:
        pen.text((view.width - 9 - pen.width(view.subtitle, SMALL_SIZE), 8), view.subtitle, SMALL_SIZE, (225, 230, 238, 170))
    for spot in view.inputs:
        pen.text((spot.x + 11, spot.y - 7), spot.name, color=colors.DIM if spot.optional else colors.TEXT)
    for spot in view.outputs:
        pen.text((spot.x - 11 - pen.width(spot.name), spot.y - 7), spot.name)
    for row in view.params:
        name = pen.fitted(row.name, view.width * 0.6)
        value = pen.fitted(row.value, view.width - 30 - pen.width(name))
        pen.text((10, row.y + 3), name, color=colors.DIM)
        shown = colors.ACCENT if row.live and row.changed else colors.TEXT if row.changed else colors.DIM
        pen.text((view.width - 10 - pen.width(value), row.y + 3), value, color=shown)


def _socket(pen: _Pen, spot: SocketSpot) -> None:
    x, y = spot.x, spot.y
    hollow = spot.side == "in" and spot.optional and not spot.wired
    fill, edge = (colors.PANEL if hollow else spot.color), (spot.color if hollow else (20, 22, 26))
    match spot.shape:
        case "square":
            pen.polygon(((x - 5, y - 5), (x + 5, y - 5), (x + 5, y + 5), (x - 5, y + 5)), fill, edge)
        case "diamond":
            pen.polygon(((x - 6, y), (x, y - 6), (x + 6, y), (x, y + 6)), fill, edge)
        case "triangle":
            pen.polygon(((x - 5, y - 6), (x + 6, y), (x - 5, y + 6)), fill, edge)
        case "ring":
            pen.circle((x, y), 5, colors.PANEL, spot.color, 2.0)
        case _:
            pen.circle((x, y), 5, fill, edge)
