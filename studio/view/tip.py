"""What is told about the thing under the mouse: a node with its shapes, costs and times, a socket, what a wire carries."""

from __future__ import annotations

import time
from collections.abc import Callable

from studio import hovertext
from studio.hit import Hit
from studio.nodeviews import Point
from studio.view import theme
from studio.view.core import Core
from studio.view.drawing import BADGE_HIGH, BADGE_LOW, NEAR_ZOOM, badge_width
from studio.view.editing import Editing
from studio.view.gui import FLOATING, Tag, dpg
from studio.view.mouse import Mouse

DELAY_S, PROBLEM_DELAY_S = 0.4, 0.1  # the mouse rests so long before anything is told
WRAP, ROOM = 400, 16


class Tip:
    """A window of its own: Dear PyGui has no tooltip for a plot. `keys` counts key presses.

    After a press or a key, and when the drawing has changed beneath it, nothing is told until the mouse moves.
    """

    def __init__(self, core: Core, mouse: Mouse, editing: Editing, keys: Callable[[], int]):
        self._core, self._mouse, self._editing, self._keys = core, mouse, editing, keys
        self._done: object = None
        self._quiet_at: Point | None = None
        self._on: object = None
        self._since = 0.0
        self.text = ""  # what is shown
        with dpg.window(
            show=False, no_title_bar=True, no_resize=True, no_move=True, autosize=True, no_focus_on_appearing=True,
            min_size=(20, 20), **FLOATING,
        ) as self._window:  # fmt: skip
            self._label: Tag = dpg.add_text("", wrap=WRAP)

    def sync(self) -> None:
        done = (self._mouse.presses, self._keys(), self._core.document.version, self._core.document.state.inside)
        if done != self._done:
            self._done, self._quiet_at = done, self._mouse.place
        elif self._quiet_at != self._mouse.place:
            self._quiet_at = None
        hit = None if self._editing.is_typing or self._quiet_at is not None else self._hovered()
        now = time.monotonic()
        if hit != self._on:
            self._on, self._since = hit, now
            if hit is not None and hit.kind == "node":
                self._mouse.canvas.heat.want_costs()
        told = ""
        if hit is not None and now - self._since >= (PROBLEM_DELAY_S if hit.node in self._core.problems else DELAY_S):
            told = self._about(hit)
        if told != self.text:
            self._show(told)

    def _hovered(self) -> Hit | None:
        """What the mouse is on; a node's badge counts as the node."""
        hit = self._mouse.hovered
        if hit is None or hit.kind not in ("nothing", "frame") or self._core.camera.zoom < NEAR_ZOOM:
            return hit if hit is not None and hit.kind in ("node", "socket", "wire") else None
        x, y = self._core.camera.to_canvas(self._mouse.canvas.at_mouse())
        for id_ in self._core.scene.nodes_in((x, y - BADGE_HIGH, x, y - BADGE_LOW)):
            view = self._core.scene.views[id_]
            badge = self._mouse.canvas.heat.badge(id_)[0]
            if badge and view.y + BADGE_LOW <= y <= view.y and x <= view.x + badge_width(badge, self._mouse.canvas.pen):
                return Hit("node", id_)
        return None

    def _about(self, hit: Hit) -> str:
        core, heat = self._core, self._mouse.canvas.heat
        view = core.scene.views.get(hit.node)
        wires = core.tool.wires
        if hit.kind == "wire" and hit.edge is not None:
            return hovertext.of_wire(hit.edge, wires)
        if view is None:
            return ""
        if hit.kind == "socket":
            return hovertext.of_socket(view, hit, wires)
        id_, problems = view.id, core.problems.get(hit.node, ())
        node = core.document.part.nodes[id_]
        return hovertext.of_node(view, node, wires, problems, heat.times.get(id_), heat.costs.get(id_), heat.norms.get(id_))

    def _show(self, told: str) -> None:
        """Beside the mouse, in the window."""
        appears = told and not self.text
        self.text = told
        if not told:
            dpg.hide_item(self._window)
            return
        dpg.set_value(self._label, told)
        theme.redress(self._label, told)
        dpg.configure_item(self._label, wrap=theme.px(WRAP))
        if appears:
            x, y = dpg.get_mouse_pos(local=False)
            scale = dpg.get_global_font_scale()
            measured = dpg.get_text_size(told, wrap_width=WRAP, font=theme.font_for(told) or 0)  # knows nothing of the scale
            width, height = (scale * length for length in measured or (WRAP, 100))
            right, bottom = dpg.get_viewport_client_width(), dpg.get_viewport_client_height()
            x = max(0, min(x + ROOM, right - width - 2 * ROOM))
            y = y + ROOM if y + height + 3 * ROOM < bottom else max(0, y - height - 2 * ROOM)
            dpg.configure_item(self._window, show=True, pos=[x, y])
