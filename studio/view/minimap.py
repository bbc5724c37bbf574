"""The minimap in the canvas' lower right corner: the whole drawing and what is seen of it; a press or a drag moves the view.

Its nodes are drawn once and follow the camera by a transform, so that panning a large drawing costs two calls.
"""

from __future__ import annotations

import time

from studio.camera import Rect
from studio.nodeviews import NodeView, Point
from studio.view import theme
from studio.view.core import Core
from studio.view.drawing import CLEAR
from studio.view.gui import Tag, dpg

WIDTH, HEIGHT, GAP = 168.0, 108.0, 12.0  # pixels at most; the gap is to the canvas' edges
MOST = 0.22  # of the canvas' width and height; a map that would be narrower than LEAST is not shown
LEAST = 76.0
GROUND = (17, 19, 23, 165)
PAD = 5.0
BUDGET_S = 0.003  # of a frame, for drawing nodes


class Minimap:
    """Draws into a layer of the canvas; nothing while all of the drawing is in sight."""

    def __init__(self, core: Core, layer: Tag):
        self._core, self._layer = core, layer
        self._seen: object = None
        self._drawn: dict[str, tuple[NodeView, Tag]] = {}
        self._back: Tag = dpg.add_draw_node(parent=layer)
        self._nodes: Tag = dpg.add_draw_node(parent=layer)
        self._front: Tag = dpg.add_draw_node(parent=layer)
        self._scale = 1.0  # pixels of the map for a canvas unit
        self._corner: Point = (0.0, 0.0)  # canvas position at the map's upper left
        self.shown = False

    @property
    def size(self) -> Point:
        """Smaller in a small canvas, at the same shape."""
        camera = self._core.camera
        part = min(1.0, MOST * camera.width / WIDTH, MOST * camera.height / HEIGHT)
        return part * WIDTH, part * HEIGHT

    @property
    def rect(self) -> Rect:
        """On the screen, from the canvas' corner."""
        camera = self._core.camera
        right, bottom, size = camera.width - GAP, camera.height - GAP, self.size
        return (right - size[0], bottom - size[1], right, bottom)

    def holds(self, screen: Point) -> bool:
        left, top, right, bottom = self.rect
        return self.shown and left <= screen[0] <= right and top <= screen[1] <= bottom

    def go_to(self, screen: Point) -> None:
        """Bring what the map shows under the mouse to the middle of the view."""
        left, top = self.rect[:2]
        x = self._corner[0] + (screen[0] - left) / self._scale
        y = self._corner[1] + (screen[1] - top) / self._scale
        self._core.camera.center(x, y)

    def on_map(self, canvas: Point) -> Point:
        """Where a canvas position is on the map, in pixels from the canvas' corner."""
        left, top = self.rect[:2]
        return left + (canvas[0] - self._corner[0]) * self._scale, top + (canvas[1] - self._corner[1]) * self._scale

    def sync(self) -> None:
        core, camera = self._core, self._core.camera
        whole, seen = core.scene.bounds, camera.seen
        wanted = (
            core.preferences.show_minimap and whole is not None and not _within(whole, seen)
            and self.size[0] >= LEAST
        )  # fmt: skip
        now = (camera.version, whole, wanted, core.scene.version)
        if now == self._seen:
            return
        if wanted != self.shown:
            self.shown = wanted
            dpg.configure_item(self._layer, show=wanted)
        if wanted and whole is not None:
            self._draw(whole, seen)
            if not self._draw_nodes():
                return
        self._seen = now

    def _draw_nodes(self) -> bool:
        """Those that have changed, some in a frame; whether all of them are as they should be."""
        core, drawn = self._core, self._drawn
        if core.tool.mode == "move":  # a drag is shown when it has ended
            return False
        for id_ in drawn.keys() - core.scene.views.keys():
            dpg.delete_item(drawn.pop(id_)[1])
        stale = [view for id_, view in core.scene.views.items() if id_ not in drawn or drawn[id_][0] is not view]
        end = time.perf_counter() + BUDGET_S
        for view in stale:
            if time.perf_counter() > end:
                return False
            if view.id in drawn:
                dpg.delete_item(drawn[view.id][1])
            x0, y0, x1, y1 = view.rect
            drawn[view.id] = view, dpg.draw_rectangle((x0, y0), (x1, y1), parent=self._nodes, color=CLEAR, fill=view.color)
        return True

    def _draw(self, whole: Rect, seen: Rect) -> None:
        camera = self._core.camera
        area = (min(whole[0], seen[0]), min(whole[1], seen[1]), max(whole[2], seen[2]), max(whole[3], seen[3]))
        across, down = max(1e-6, area[2] - area[0]), max(1e-6, area[3] - area[1])
        width, height = self.size
        self._scale = min((width - 2 * PAD) / across, (height - 2 * PAD) / down)
        self._corner = (
            (area[0] + area[2] - width / self._scale) / 2, (area[1] + area[3] - height / self._scale) / 2,
        )  # fmt: skip
        left, top, right, bottom = self.rect
        low, high = camera.to_canvas((left, top)), camera.to_canvas((right, bottom))
        dpg.delete_item(self._back, children_only=True)
        dpg.draw_rectangle(low, high, parent=self._back, color=theme.LINE, fill=GROUND)
        ratio = self._scale / camera.zoom
        move = dpg.create_translation_matrix([low[0] - self._corner[0] * ratio, low[1] - self._corner[1] * ratio, 0])
        dpg.apply_transform(self._nodes, move * dpg.create_scale_matrix([ratio, ratio, 1]))
        dpg.delete_item(self._front, children_only=True)
        corners = [camera.to_canvas(self.on_map(at)) for at in (seen[:2], seen[2:])]
        dpg.draw_rectangle(*corners, parent=self._front, color=theme.ACCENT, fill=(*theme.ACCENT, 18))


def _within(inner: Rect, outer: Rect) -> bool:
    return inner[0] >= outer[0] and inner[1] >= outer[1] and inner[2] <= outer[2] and inner[3] <= outer[3]
