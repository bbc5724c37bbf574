"""What lies over and under the nodes: frames, what a gesture shows, the legend of colours, the pulse of a guilty node, a hint."""

from __future__ import annotations

import math
from collections.abc import Sequence

from studio import coloring
from studio.coloring import Legend
from studio.curves import bezier
from studio.hit import FRAME_HEAD, frame_rect
from studio.nodeviews import Color
from studio.texts import text
from studio.view import theme
from studio.view.core import Core
from studio.view.drawing import CLEAR, SMALL_SIZE, TEXT_SIZE, TITLE_SIZE, Pen
from studio.view.gui import Tag, dpg

NOTE_ROW = 19.0  # canvas units
PULSE_S, PULSES_A_SECOND = 5.0, 1.6
FRAME_COLOR: Color = (59, 110, 180)
LEGEND_WIDTH, LEGEND_ROW, LEGEND_GAP = 150.0, 17.0, 12.0  # pixels


def frame_color(given: str) -> Color:
    """Of a frame's "#rrggbb"; the usual one for anything else."""
    digits = given.removeprefix("#")
    try:
        red, green, blue = bytes.fromhex(digits) if len(digits) == 6 else bytes(FRAME_COLOR)
    except ValueError:
        return FRAME_COLOR
    return red, green, blue


def wrapped(words: str, room: float, pen: Pen, size: int = TEXT_SIZE) -> list[str]:
    """Lines that are no wider than there is room for."""
    lines: list[str] = []
    for paragraph in words.splitlines():
        line = ""
        for word in paragraph.split(" "):
            longer = f"{line} {word}" if line else word
            if line and pen.width(longer, size) > room:
                lines.append(line)
                longer = word
            line = longer
        lines.append(line)
    return lines


class Frames:
    """Frames below everything, their notes above the wires: below the title where there is room above the frame's nodes, else
    above the frame."""

    def __init__(self, core: Core, layer: Tag, notes: Tag, pen: Pen):
        self._core, self._layer, self._notes, self._pen = core, layer, notes, pen
        self._seen: object = None

    def redraw(self) -> None:
        self._seen = None

    def sync(self) -> bool:
        """Whether anything was drawn."""
        chosen = self._core.document.selection.frames
        noted = {index: self._room(index) for index, frame in enumerate(self._core.scene.frames) if frame.note}
        now = (self._core.scene.frames, chosen, noted)
        if now == self._seen:
            return False
        self._seen = now
        dpg.delete_item(self._layer, children_only=True)
        dpg.delete_item(self._notes, children_only=True)
        for index, frame in enumerate(self._core.scene.frames):
            left, top, right, bottom = frame_rect(frame)
            color = frame_color(frame.color)
            edge, thick = (theme.ACCENT, 2.0) if index in chosen else ((*color, 150), 1.0)
            common = {"parent": self._layer, "rounding": 6}
            dpg.draw_rectangle((left, top), (right, bottom), color=edge, fill=(*color, 24), thickness=thick, **common)
            dpg.draw_rectangle((left, top), (right, top + FRAME_HEAD), color=CLEAR, fill=(*color, 60), **common)
            room = right - left - 20
            self._pen.text((left + 10, top + 5), self._pen.fitted(frame.title, room, TITLE_SIZE), self._layer, TITLE_SIZE)
            if frame.note:
                self._note(wrapped(frame.note, room, self._pen, TITLE_SIZE), (left, top), right - left, noted[index])
            grip = [(right - 4, bottom - 14), (right - 4, bottom - 4), (right - 14, bottom - 4)]
            dpg.draw_polyline(grip, parent=self._layer, color=(*color, 200), thickness=2)
        return True

    def _room(self, index: int) -> float:
        """Height between a frame's title and what lies highest in it."""
        scene = self._core.scene
        _, top, _, bottom = frame_rect(scene.frames[index])
        rect = scene.bounds_of(scene.nodes_of_frame(index))
        return (rect[1] if rect is not None else bottom) - top - FRAME_HEAD

    def _note(self, lines: Sequence[str], corner: tuple[float, float], width: float, room: float) -> None:
        left, top = corner
        height = NOTE_ROW * len(lines) + 8
        y = top + FRAME_HEAD + 2 if height + 4 <= room else top - height - 4
        low, high = (left + 4, y), (left + width - 4, y + height)
        dpg.draw_rectangle(low, high, parent=self._notes, color=CLEAR, fill=(*theme.BAR, 225), rounding=4)
        for row, line in enumerate(lines):
            self._pen.text((left + 10, y + 4 + NOTE_ROW * row), line, self._notes, TITLE_SIZE)


class Gestures:
    """The loose wire, the box, the cut, the wire that a node would go into; a hint when the drawing is empty."""

    def __init__(self, core: Core, layer: Tag, pen: Pen):
        self._core, self._layer, self._pen = core, layer, pen
        self._seen: object = None

    def sync(self) -> bool:
        core, tool, layer = self._core, self._core.tool, self._layer
        empty = not core.scene.views and not core.scene.frames
        shown_at = core.camera.version if empty else 0
        now = (tool.loose, tool.box, len(tool.path), tool.insert, empty, shown_at)
        if now == self._seen:
            return False
        self._seen = now
        dpg.delete_item(layer, children_only=True)
        if tool.box is not None:
            left, top, right, bottom = tool.box
            dpg.draw_rectangle((left, top), (right, bottom), parent=layer, color=theme.ACCENT, fill=(*theme.ACCENT, 24))
        if tool.loose is not None:
            self._loose_wire(layer)
        if tool.path:
            dpg.draw_polyline(tool.path, parent=layer, color=theme.ERROR, thickness=2)
        if tool.insert is not None and tool.insert in core.scene.wires:
            control = core.scene.wires[tool.insert].control
            dpg.draw_bezier_cubic(*control, parent=layer, color=theme.ACCENT, thickness=5, segments=24)
        if empty:
            self._hint(layer)
        return True

    def _loose_wire(self, layer: Tag) -> None:
        loose = self._core.tool.loose
        if loose is None:
            return
        scene = self._core.scene
        over = loose.over
        end = scene.socket_at(over.node, over.side, over.socket) if over.kind == "socket" else loose.end
        refused = loose.refusal is not None
        color = theme.ERROR if refused else theme.GOOD if over.kind == "socket" else (255, 255, 255, 210)
        for wire in loose.ends:
            fixed = scene.socket_at(wire.node, wire.side, wire.socket)
            control = bezier(fixed, end) if wire.side == "out" else bezier(end, fixed)
            dpg.draw_bezier_cubic(*control, parent=layer, color=color, thickness=2.5, segments=24)
        if over.kind == "socket":
            dpg.draw_circle(end, 9, parent=layer, color=color, thickness=2)
        if loose.refusal is not None:
            self._reason(loose.refusal.reason, loose.end, layer)

    def _reason(self, reason: str, at: tuple[float, float], layer: Tag) -> None:
        """Beside the mouse, as large on the screen at every zoom."""
        zoom = self._core.camera.zoom
        width = self._pen.width(reason) / zoom
        x, y = at[0] + 16 / zoom, at[1] + 12 / zoom
        low, high = (x - 6 / zoom, y - 4 / zoom), (x + width + 6 / zoom, y + 18 / zoom)
        dpg.draw_rectangle(low, high, parent=layer, color=CLEAR, fill=theme.ERROR_BACK, rounding=4 / zoom)
        self._pen.text((x, y), reason, layer, TEXT_SIZE / zoom, (254, 226, 226))

    def _hint(self, layer: Tag) -> None:
        camera = self._core.camera
        for row, key in enumerate(("view.hint_add", "view.hint_wire", "view.hint_examples")):
            words = text(key)
            x, y = camera.to_canvas((camera.width / 2, camera.height / 2 + 24 * row - 24))
            size = TITLE_SIZE / camera.zoom
            self._pen.text((x - self._pen.width(words, TITLE_SIZE) / camera.zoom / 2, y), words, layer, size, theme.DIM)


class LegendBox:
    """In the lower left corner, as large at every zoom: what the colours of the nodes mean."""

    def __init__(self, core: Core, layer: Tag, pen: Pen):
        self._core, self._layer, self._pen = core, layer, pen
        self._seen: object = None

    def sync(self, legend: Legend | None) -> bool:
        now = (legend, self._core.camera.version if legend is not None else 0)
        if now == self._seen:
            return False
        self._seen = now
        dpg.delete_item(self._layer, children_only=True)
        if legend is not None:
            self._draw(legend)
        return True

    def _draw(self, legend: Legend) -> None:
        camera, layer = self._core.camera, self._layer
        pixel = 1 / camera.zoom
        hint = wrapped(legend.hint, LEGEND_WIDTH - 20, self._pen) if legend.hint else []
        rows = len(legend.rows) or len(hint) or 2
        height = 28 + LEGEND_ROW * rows + 4
        left, top = camera.to_canvas((LEGEND_GAP, camera.height - LEGEND_GAP - height))

        def at(x: float, y: float) -> tuple[float, float]:
            return left + x * pixel, top + y * pixel

        def box(low: tuple[float, float], high: tuple[float, float], fill: Sequence[int], edge: Sequence[int] = CLEAR) -> None:
            dpg.draw_rectangle(at(*low), at(*high), parent=layer, color=edge, fill=fill)

        def word(x: float, y: float, words: str, size: int = SMALL_SIZE, color: Color = theme.DIM) -> None:
            self._pen.text(at(x, y), words, layer, size * pixel, color)

        box((0, 0), (LEGEND_WIDTH, height), (17, 19, 23, 225), theme.LINE)
        word(10, 7, legend.title, TEXT_SIZE, theme.TEXT)
        for row, (name, color) in enumerate(legend.rows):
            y = 28 + LEGEND_ROW * row
            box((10, y + 2), (21, y + 13), color)
            word(28, y + 1, name)
        for row, line in enumerate(hint):
            word(10, 28 + LEGEND_ROW * row, line, TEXT_SIZE)
        if not legend.rows and not hint:
            steps = 24
            width = (LEGEND_WIDTH - 20) / steps
            for step in range(steps):
                box((10 + width * step, 29), (10 + width * (step + 1) + 0.5, 41), coloring.heat(step / (steps - 1)))
            word(10, 46, legend.low)
            word(LEGEND_WIDTH - 10 - self._pen.width(legend.high, SMALL_SIZE), 46, legend.high)


class Pulse:
    """The nodes that gave the first number that is not finite: they pulse for some seconds. What stays is their red border."""

    def __init__(self, core: Core, layer: Tag):
        self._core, self._layer = core, layer
        self._problems: object = ()
        self._until = 0.0
        self._there = False
        self.nodes: set[str] = set()

    def sync(self, now: float) -> bool:
        core = self._core
        if core.trainer.problems is not self._problems:
            self._problems = core.trainer.problems
            state = core.document.state
            guilty = [problem.node for problem in core.trainer.problems if problem.code == "not-finite" and problem.node]
            self.nodes = {coloring.shown_node(state, state.part, path) for path in guilty} - {""}
            self._until = now + PULSE_S if self.nodes else 0.0
        if now >= self._until and not self._there:
            return False
        dpg.delete_item(self._layer, children_only=True)
        self._there = now < self._until
        if self._there:
            left = self._until - now
            strength = 0.5 + 0.5 * math.cos(2 * math.pi * PULSES_A_SECOND * (PULSE_S - left))
            for id_ in self.nodes & core.scene.views.keys():
                x0, y0, x1, y1 = core.scene.views[id_].rect
                grown = 6 + 8 * strength
                dpg.draw_rectangle(
                    (x0 - grown, y0 - grown), (x1 + grown, y1 + grown), parent=self._layer, rounding=9 + grown / 2,
                    color=(*theme.ERROR, round(90 + 165 * strength)), fill=(*theme.ERROR, round(20 + 70 * strength)), thickness=3,
                )  # fmt: skip
        return True
