"""The mouse on the canvas: Dear PyGui's events to the tool or the minimap, and what the tool asks of the window."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from studio.camera import Point
from studio.hit import Hit
from studio.requests import LEFT, MIDDLE, RIGHT, Edit, OpenMenu, OpenSearch, Outcome, Pan, Pointer, Refused, Zoom
from studio.view.canvas import Canvas
from studio.view.core import Core
from studio.view.gui import dpg, modifiers

BUTTONS = {0: LEFT, 1: RIGHT, 2: MIDDLE}
Asked = Callable[[Outcome], None]


class Mouse:
    """`asked` gets what the window has to do: searches, menus, edits in place, refusals."""

    def __init__(self, core: Core, canvas: Canvas, asked: Asked):
        self._core, self.canvas, self._asked = core, canvas, asked
        self._last: Point = (-1.0, -1.0)
        self._in_map = False  # the minimap is dragged
        self.presses = 0  # of buttons and the wheel
        self.events = 0  # counts what came in: the window stays awake
        with dpg.handler_registry():  # a press comes before the double click that it is a part of
            dpg.add_mouse_click_handler(callback=self._press)
            dpg.add_mouse_double_click_handler(callback=self._double)
            dpg.add_mouse_move_handler(callback=self._move)
            dpg.add_mouse_release_handler(callback=self._release)
            dpg.add_mouse_wheel_handler(callback=self._wheel)

    def pointer(self) -> Pointer:
        screen = self.canvas.at_mouse()
        held = modifiers() | (frozenset({"Space"}) if dpg.is_key_down(dpg.mvKey_Spacebar) else frozenset())
        camera = self._core.camera
        return Pointer(screen, camera.to_canvas(screen), camera.zoom, held)

    def _do(self, outcomes: Sequence[Outcome]) -> None:
        for outcome in self._core.perform(outcomes):
            match outcome:
                case Pan():
                    self._core.camera.pan(outcome.dx, outcome.dy)
                case Zoom():
                    self._core.camera.zoom_at(outcome.at, outcome.notches)
                case OpenSearch() | OpenMenu() | Edit() | Refused():
                    self._asked(outcome)
                case _:
                    pass

    def _press(self, sender: int, button: int) -> None:
        self.events += 1
        self.presses += 1
        if not self.canvas.is_hovered or button not in BUTTONS:
            return
        screen = self.canvas.at_mouse()
        if BUTTONS[button] == LEFT and self._core.tool.mode == "idle" and self.canvas.minimap.holds(screen):
            self._in_map = True
            self.canvas.minimap.go_to(screen)
            return
        self._do(self._core.tool.press(BUTTONS[button], self.pointer()))

    def _double(self, sender: int, button: int) -> None:
        self.events += 1
        if button == 0 and self.canvas.is_hovered and not self._in_map:
            self._core.tool.double_click(self.pointer())

    def _move(self) -> None:
        screen = self.canvas.at_mouse()
        if screen == self._last:
            return
        self._last = screen
        self.events += 1
        if self._in_map:
            self.canvas.minimap.go_to(screen)
        elif self._core.tool.mode != "idle" or self.canvas.is_hovered:
            self._do(self._core.tool.move(self.pointer()))

    def _release(self, sender: int, button: int) -> None:
        self.events += 1
        if self._in_map and button == 0:
            self._in_map = False
        elif self._core.tool.mode != "idle" and BUTTONS.get(button) == self._core.tool.button:
            self._do(self._core.tool.release(self.pointer()))

    def _wheel(self, sender: int, notches: float) -> None:
        self.events += 1
        self.presses += 1
        if self.canvas.is_hovered:
            self._do(self._core.tool.wheel(self.pointer(), float(notches)))

    @property
    def place(self) -> Point:
        """Where the mouse was last seen to move, in pixels from the canvas' corner."""
        return self._last

    @property
    def hovered(self) -> Hit | None:
        """What the idle mouse is over; None while a gesture goes on or the mouse is elsewhere."""
        idle = self._core.tool.mode == "idle" and not self._in_map
        if not idle or not self.canvas.is_hovered or self.canvas.minimap.holds(self._last):
            return None
        return self._core.tool.hovered
