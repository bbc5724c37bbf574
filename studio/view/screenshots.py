"""Pictures of the window for the documentation: python -m studio.view.screenshots [FOLDER]. Needs a display, Xvfb's will do."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from munet import bundled_project
from studio import messages
from studio.commands import Delete
from studio.document import selected
from studio.shaderdesk import Verify
from studio.view.app import App
from studio.view.gui import dpg, why_no_window

WAIT_S = 120.0


def frames(app: App, count: int) -> None:
    for _ in range(count):
        app.frame()


def until(app: App, ready: Callable[[], bool], limit_s: float = WAIT_S) -> bool:
    """Draw frames until something has happened; whether it has."""
    end = time.monotonic() + limit_s
    while not ready():
        if time.monotonic() > end:
            return False
        app.frame()
    return True


def shoot(app: App, path: Path) -> None:
    """The file is written in the frame after the call and shows the one before."""
    frames(app, 4)
    dpg.output_frame_buffer(str(path))
    until(app, path.is_file, 10.0)
    frames(app, 2)


def load(app: App, name: str) -> None:
    path = bundled_project(name)
    assert path is not None
    app.actions.open_path(path)
    frames(app, 4)
    until(app, lambda: app.core.findings.version == app.core.document.version)


def take_all(app: App, folder: Path) -> None:
    load(app, "spiral_mlp")
    app.core.document.select(selected([next(n.id for n in app.core.document.part.nodes.values() if n.operator == "Linear")]))
    app.core.trainer.run()
    until(app, lambda: app.core.trainer.record.step >= app.core.trainer.total_steps * 3 // 4)
    app.core.trainer.measure()
    until(app, lambda: app.core.trainer.phase != messages.RUNNING or app.core.trainer.timings is not None, 20.0)
    app.panels.show("preview")
    frames(app, 30)
    app.panels.show("plots")
    app.core.camera.zoom_to((0.0, app.core.camera.height / 2), 0.8)
    frames(app, 12)
    shoot(app, folder / "studio-training.png")
    take_panels(app, folder)
    app.core.trainer.stop()
    load(app, "digits_lenet")
    app.search.open((0.0, 0.0), (420.0, 250.0))
    dpg.set_value(app.search.input, "conv")
    app.search.look()
    shoot(app, folder / "studio-search.png")
    app.search.close()


def take_panels(app: App, folder: Path) -> None:
    """Each panel that shows the run, brought to the front in its place; two at a time, one on the right and one below."""
    pairs = (
        ("device", "runs"), ("tensor", "code"), ("inspector", "passes"), ("preview", "memory"), ("inspector", "timeline"),
        ("preview", "fusion"),
    )  # fmt: skip
    for right, below in pairs:
        for name in (right, below):
            app.panels.show(name)
            frames(app, 3)
        until(app, lambda: not app.core.trainer.busy, 20.0)
        frames(app, 60)
        shoot(app, folder / f"studio-{below}.png")
    app.panels.show("log")
    app.panels.show("inspector")
    frames(app, 6)


def take_inside(app: App, folder: Path) -> None:
    """A few steps of LeNet: feature maps, previews below nodes, time as colour."""
    load(app, "digits_lenet")
    app.core.trainer.step(8)
    until(app, lambda: app.core.trainer.record.step >= 8)
    app.core.trainer.measure()
    until(app, lambda: not app.core.trainer.busy, 30.0)
    app.core.document.select(selected(["conv 1", "relu 1", "pool 1"]))
    app.actions.run("show_preview")
    app.core.document.select(selected(["conv 1"]))
    app.panels.show("preview")
    app.actions.run("color_time")
    app.core.camera.zoom_to((0.0, app.core.camera.height / 2), 0.8)
    frames(app, 90)
    shoot(app, folder / "studio-inside.png")
    app.actions.run("color_category")
    app.panels.show("inspector")


def take_start(app: App, folder: Path) -> None:
    """What one sees first."""
    app.actions.run("start")
    frames(app, 12)
    shoot(app, folder / "studio-start.png")
    app.actions.run("cancel")
    frames(app, 4)


def take_problem(app: App, folder: Path) -> None:
    """A layer is missing: red nodes, and the list that says why."""
    load(app, "xor")
    document = app.core.document
    app.core.edit(Delete(selected(["linear 2"])))
    until(app, lambda: app.core.findings.version == document.version)
    document.select(selected(["loss"]))
    app.panels.show("problems")
    app.core.refresh()
    app.core.camera.fit(app.core.scene.bounds)
    shoot(app, folder / "studio-problems.png")


def take_shaders(app: App, folder: Path) -> None:
    """The variants of an asset with their verdicts on this device, and the code of one."""
    load(app, "xor")
    panel = app.shaders
    app.panels.show("shaders")
    until(app, lambda: bool(panel.rows), 20.0)
    panel.desk.submit(Verify())
    until(app, lambda: not panel.busy, 120.0)
    frames(app, 8)
    shoot(app, folder / "studio-shaders.png")
    app.panels.show("graph")
    frames(app, 4)


def main() -> int:
    why = why_no_window()
    if why:
        sys.stderr.write(why + "\n")
        return 2
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images")
    folder.mkdir(parents=True, exist_ok=True)
    app = App()
    try:
        take_start(app, folder)
        take_all(app, folder)
        take_inside(app, folder)
        take_problem(app, folder)
        take_shaders(app, folder)
    finally:
        app.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
