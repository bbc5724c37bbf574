"""The camera of a canvas: which part of the drawing is seen. Screen positions are pixels from the canvas' upper left corner."""

from __future__ import annotations

import math
from dataclasses import dataclass

Point = tuple[float, float]
Rect = tuple[float, float, float, float]  # left, top, right, bottom

MIN_ZOOM, MAX_ZOOM = 0.05, 3.0
FIT_ZOOM = 1.5  # a single node does not fill the window
MARGIN = 40.0  # pixels around what is fitted
WHEEL = 1.15  # factor of a notch


@dataclass
class Camera:
    """`x`, `y`: canvas position of the upper left pixel; `zoom`: pixels of a canvas unit; `version` counts changes."""

    x: float = 0.0
    y: float = 0.0
    zoom: float = 1.0
    width: float = 1.0  # of the view, pixels
    height: float = 1.0
    version: int = 0

    def to_canvas(self, screen: Point) -> Point:
        return (self.x + screen[0] / self.zoom, self.y + screen[1] / self.zoom)

    def to_screen(self, canvas: Point) -> Point:
        return ((canvas[0] - self.x) * self.zoom, (canvas[1] - self.y) * self.zoom)

    @property
    def seen(self) -> Rect:
        """The part of the canvas that is on the screen."""
        right, bottom = self.to_canvas((self.width, self.height))
        return (self.x, self.y, right, bottom)

    def resize(self, width: float, height: float) -> None:
        if (width, height) != (self.width, self.height) and width > 0 and height > 0:
            self.width, self.height = width, height
            self.version += 1

    def pan(self, dx: float, dy: float) -> None:
        """Move what is seen by so many pixels."""
        self.x -= dx / self.zoom
        self.y -= dy / self.zoom
        self.version += 1

    def zoom_at(self, screen: Point, notches: float) -> None:
        """Zoom in by notches of a wheel; the canvas position under `screen` stays there."""
        self.zoom_to(screen, self.zoom * WHEEL**notches)

    def zoom_to(self, screen: Point, zoom: float) -> None:
        if not math.isfinite(zoom):
            return
        fixed = self.to_canvas(screen)
        self.zoom = min(MAX_ZOOM, max(MIN_ZOOM, zoom))
        self.x, self.y = fixed[0] - screen[0] / self.zoom, fixed[1] - screen[1] / self.zoom
        self.version += 1

    def fit(self, rect: Rect | None, limit: float = FIT_ZOOM) -> None:
        """Show a part of the canvas as large as possible; None (nothing is drawn) shows the origin."""
        left, top, right, bottom = rect or (0.0, 0.0, 0.0, 0.0)
        room = (max(1.0, self.width - 2 * MARGIN), max(1.0, self.height - 2 * MARGIN))
        across = room[0] / max(right - left, 1e-6)
        down = room[1] / max(bottom - top, 1e-6)
        self.zoom = min(limit, MAX_ZOOM, max(MIN_ZOOM, min(across, down))) if rect else 1.0
        self.center((left + right) / 2, (top + bottom) / 2)

    def center(self, x: float, y: float) -> None:
        """Bring a canvas position to the middle: a click on the minimap."""
        self.x, self.y = x - self.width / 2 / self.zoom, y - self.height / 2 / self.zoom
        self.version += 1

    def show(self, rect: Rect) -> None:
        """Pan as little as possible so that a part of the canvas is seen; zoom only if it is too large."""
        left, top, right, bottom = self.seen
        if rect[2] - rect[0] > right - left or rect[3] - rect[1] > bottom - top:
            self.fit(rect)
            return
        edge = MARGIN / self.zoom if min(self.width, self.height) > 4 * MARGIN else 0.0
        dx = min(0.0, rect[0] - edge - left) + max(0.0, rect[2] + edge - right)
        dy = min(0.0, rect[1] - edge - top) + max(0.0, rect[3] + edge - bottom)
        if dx or dy:
            self.x, self.y = self.x + dx, self.y + dy
            self.version += 1


def bounds(rects: list[Rect]) -> Rect | None:
    """The smallest rectangle around all; None for none."""
    if not rects:
        return None
    return (min(r[0] for r in rects), min(r[1] for r in rects), max(r[2] for r in rects), max(r[3] for r in rects))
