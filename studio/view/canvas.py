"""The canvas: a plot whose axis limits are the camera, and layers that draw into it. Only what changed is drawn anew.

The plot scales texts, roundings and line widths by itself, so that panning and zooming are two calls however large the drawing.
"""

from __future__ import annotations

import time

from studio import messages
from studio.camera import MARGIN
from studio.nodeviews import Point
from studio.view import theme
from studio.view.core import Core
from studio.view.drawing import Look, Pen
from studio.view.gui import Tag, dpg
from studio.view.heat import Heat
from studio.view.minimap import Minimap
from studio.view.overlay import Frames, Gestures, LegendBox, Pulse
from studio.view.pictures import Pictures

OPEN_ZOOM = 0.55  # a project is not opened smaller
LEAST_WIDTH = 120  # of the plot once the window has been laid out, pixels
LAYERS = ("frames", "wires", "notes", "pulse", "nodes", "previews", "raised", "tool", "legend", "map")  # from below


class Canvas:
    """Makes the plot in `parent`; `sync` brings it to the core's scene."""

    def __init__(self, core: Core, parent: Tag, font: Tag | None):
        self.core, self.pen = core, Pen(font)
        self.plot: Tag = dpg.add_plot(
            parent=parent, width=-1, height=-1, no_title=True, no_menus=True, no_box_select=True, no_mouse_pos=True,
            no_frame=True, no_inputs=True,
        )  # fmt: skip
        dpg.bind_item_theme(self.plot, theme.canvas_theme())
        usual = {
            "parent": self.plot, "no_label": True, "no_tick_marks": True, "no_tick_labels": True, "no_menus": True,
            "no_highlight": True, "no_initial_fit": True, "no_side_switch": True,
        }  # fmt: skip
        self._axes = dpg.add_plot_axis(dpg.mvXAxis, **usual), dpg.add_plot_axis(dpg.mvYAxis, invert=True, **usual)
        self._layers: dict[str, Tag] = {name: dpg.add_draw_layer(parent=self.plot) for name in LAYERS}
        self.heat = Heat(core)
        self.pictures = Pictures(core, self._layers, self.pen, self._look)
        self.minimap = Minimap(core, self._layers["map"])
        self.pulse = Pulse(core, self._layers["pulse"])
        self._frames = Frames(core, self._layers["frames"], self._layers["notes"], self.pen)
        self._gestures = Gestures(core, self._layers["tool"], self.pen)
        self._legend = LegendBox(core, self._layers["legend"], self.pen)
        self._camera_seen: object = None
        self._heat_seen = 0
        self._fit_wanted = False
        self._inside: tuple[str, ...] = ()
        self._left: dict[tuple[str, ...], tuple[float, float, float]] = {}  # where the camera was in other drawings
        self._size: tuple[float, float] = (0.0, 0.0)
        self._redraws = 0

    @property
    def version(self) -> int:
        """Counts redraws."""
        return self._redraws + self.pictures.version

    @property
    def origin(self) -> Point:
        """Upper left corner in the window."""
        x, y = dpg.get_item_rect_min(self.plot)
        return float(x), float(y)

    def layer(self, name: str) -> Tag:
        """To draw into, in canvas units: a name of LAYERS."""
        return self._layers[name]

    def at_mouse(self) -> Point:
        """The mouse in pixels from the canvas' corner."""
        x, y = dpg.get_mouse_pos(local=False)
        left, top = self.origin
        return x - left, y - top

    @property
    def is_hovered(self) -> bool:
        return bool(dpg.is_item_hovered(self.plot))

    def fit(self) -> None:
        """Show the drawing from its beginning, as soon as the size is known."""
        self._fit_wanted = True
        self._left.clear()

    def fonts_changed(self) -> None:
        """Draw everything anew: widths of texts are known now."""
        self.pictures.redraw()
        self._frames.redraw()

    # -- once a frame --------------------------------------------------------------------------------------------------

    def sync(self) -> None:
        self._sync_inside()
        self._sync_size()
        self.heat.sync()
        if self.heat.version != self._heat_seen:
            self._heat_seen = self.heat.version
            self.pictures.restyle()
        self._sync_camera()
        if not self._is_coming:
            self.pictures.sync()
        self.minimap.sync()
        drawn = (
            self._frames.sync(), self._gestures.sync(), self._legend.sync(self.heat.legend), self.pulse.sync(time.monotonic()),
        )  # fmt: skip
        self._redraws += any(drawn)

    @property
    def _is_coming(self) -> bool:
        """Another drawing has been opened and is not taken in yet: what was there stays in sight until it can be shown."""
        return self._fit_wanted and self.core.scene.pending > 0

    def _sync_inside(self) -> None:
        """Another drawing is shown: as it was left, or from its beginning if it is new. Whoever moved the camera knows better."""
        camera, inside = self.core.camera, self.core.document.state.inside
        if inside != self._inside:
            if self._camera_seen == (camera.version, camera.width, camera.height):
                self._left[self._inside] = (camera.x, camera.y, camera.zoom)
                if inside in self._left:
                    camera.x, camera.y, camera.zoom = self._left[inside]
                    camera.version += 1
                else:
                    self._fit_wanted = True
            self._inside = inside

    def _sync_size(self) -> None:
        width, height = dpg.get_item_rect_size(self.plot)
        self.core.camera.resize(width, height)
        settled, self._size = (width, height) == self._size, (width, height)
        if self._fit_wanted and settled and width > LEAST_WIDTH and not self._is_coming:
            self._fit_wanted = False
            self._fit()

    def _fit(self) -> None:
        """Everything, unless that made texts unreadable: then the left end of the drawing, where it begins."""
        camera, whole = self.core.camera, self.core.scene.bounds
        camera.fit(whole)
        if whole is not None and camera.zoom < OPEN_ZOOM:
            camera.zoom = OPEN_ZOOM
            camera.center(whole[0] + (camera.width / 2 - MARGIN) / OPEN_ZOOM, (whole[1] + whole[3]) / 2)

    def _look(self, id_: str) -> Look:
        core = self.core
        badge, hot = self.heat.badge(id_)
        return Look(id_ in core.document.selection.nodes, id_ in core.problems, badge, hot, self.heat.colors.get(id_))

    def _sync_camera(self) -> None:
        camera = self.core.camera
        now = (camera.version, camera.width, camera.height)
        if now == self._camera_seen:
            return
        self._camera_seen = now
        left, top, right, bottom = camera.seen
        dpg.set_axis_limits(self._axes[0], left, right)
        dpg.set_axis_limits(self._axes[1], top, bottom)
        self._redraws += 1


def status_color(phase: str, is_error: bool) -> tuple[int, int, int]:
    """Of the status line's message."""
    if is_error or phase == messages.FAILED:
        return theme.ERROR
    return theme.GOOD if phase == messages.RUNNING else theme.TEXT
