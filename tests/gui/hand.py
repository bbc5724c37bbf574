"""Mouse, keyboard and eyes of the GUI tests: real X events by xdotool, frames drawn in between, never a sleep."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

from munet import Problem
from studio.storage import Autosave
from studio.view.app import App
from studio.view.gui import dpg

PROJECTS = Path(__file__).resolve().parents[2] / "projects"
Point = tuple[float, float]


class Skipped(Exception):
    """A story that cannot be told here, and why."""


class Hand:
    """Mouse and keyboard, and eyes."""

    def __init__(self, app: App, folder: Path):
        self.app, self.folder = app, folder
        app.core.autosave = Autosave(folder / "autosave")
        self.frames(6)

    def open(self, name: str) -> None:
        """A shipped project, checked and without problems."""
        core = self.app.core
        self.app.actions.open_path(PROJECTS / f"{name}.json")
        self.until(lambda: core.findings.version == core.document.version)
        self.frames(4)
        assert core.findings.problems == tuple[Problem, ...]()

    def frames(self, count: int = 3) -> None:
        for _ in range(count):
            self.app.frame()

    def until(self, ready: Callable[[], bool], limit_s: float = 60.0) -> None:
        end = time.monotonic() + limit_s
        while not ready():
            assert time.monotonic() < end, "it did not happen in time"
            self.app.frame()

    def x(self, *words: str) -> None:
        subprocess.run(["xdotool", *words], check=True, timeout=20)
        self.frames()

    def to(self, at: Point) -> None:
        self.x("mousemove", str(round(at[0])), str(round(at[1])))

    def click(self, at: Point, button: int = 1) -> None:
        self.to(at)
        self.x("click", str(button))

    def double_click(self, at: Point) -> None:
        self.to(at)
        self.x("click", "--repeat", "2", "--delay", "40", "1")
        self.frames(4)

    def drag(self, start: Point, end: Point) -> None:
        self.to(start)
        self.x("mousedown", "1")
        self.to(((start[0] + end[0]) / 2, (start[1] + end[1]) / 2))
        self.to(end)
        self.x("mouseup", "1")

    def key(self, *keys: str) -> None:
        for key in keys:
            self.x("key", key)

    def type(self, words: str) -> None:
        self.x("type", "--delay", "30", words)
        self.frames(6)

    # -- where things are ----------------------------------------------------------------------------------------------

    def on_screen(self, canvas: Point) -> Point:
        x, y = self.app.core.camera.to_screen(canvas)
        left, top = self.app.canvas.origin
        return x + left, y + top

    def node(self, id_: str) -> Point:
        view = self.app.core.scene.views[id_]
        return self.on_screen((view.x + view.width / 2, view.y + 12))

    def socket(self, id_: str, side: str, name: str) -> Point:
        return self.on_screen(self.app.core.scene.socket_at(id_, side, name))

    def press(self, item: int | str) -> None:
        left, top = dpg.get_item_rect_min(item)
        width, height = dpg.get_item_rect_size(item)
        self.click((left + width / 2, top + height / 2))

    def enter(self, name: str, words: str) -> None:
        """Type into a field of the inspector, in place of what it holds."""
        self.until(lambda: self.app.inspector.field(name) is not None, 10.0)
        self.frames(2)
        left, top = dpg.get_item_rect_min(self.app.inspector.field(name))
        self.to((left + 20, top + 10))
        self.x("keydown", "Control_L", "click", "1", "keyup", "Control_L")  # makes a slider a field, however slow frames are
        self.frames(4)
        self.key("ctrl+a")
        self.type(words)
        self.key("Return")
        self.frames(3)

    def file(self, path: Path) -> None:
        """Type a path into the file dialog that is open; Enter takes it."""
        files = self.app.dialogs.files
        self.until(lambda: files.is_open and not files.busy, 10.0)
        self.frames(3)
        self.press(files.name)
        self.key("ctrl+a")
        self.type(str(path))
        self.until(lambda: dpg.get_value(files.name) == str(path), 10.0)
        self.key("Return")
        self.until(lambda: not files.is_open, 10.0)

    def keep(self, name: str) -> None:
        """What the window shows, for whoever looks into a failed story: the frame as it is, none is drawn by the studio."""
        path = self.folder / f"{name}.png"
        dpg.output_frame_buffer(str(path))
        for _ in range(3):
            dpg.render_dearpygui_frame()

    def picture(self, name: str) -> np.ndarray:
        path = self.folder / f"{name}.png"
        self.frames(3)
        dpg.output_frame_buffer(str(path))
        self.until(path.is_file, 10.0)
        self.frames(3)
        return np.asarray(Image.open(path).convert("RGB"))
