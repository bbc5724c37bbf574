"""Loss and metrics of the run, with those of earlier runs dimmed behind; exported as a picture or as a table."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from munet import ProjectError, write_file
from studio.files import slug
from studio.picture import png_of
from studio.plotlines import LOSS, Curve, Smoother, csv_of, curves_of, frozen
from studio.plotpicture import picture_of
from studio.texts import text
from studio.view import theme
from studio.view.chart import Chart
from studio.view.core import Core
from studio.view.dialogs import Dialogs
from studio.view.flow import Flow
from studio.view.gui import Tag, dpg
from studio.view.past import Past

DRAW_EVERY_S = 0.15
ROOM = 26  # around and between the charts
SLIDER = 240
ABOVE = 76  # them: title and settings


class Plots:
    """Two charts beside each other below their settings, which are remembered in the preferences."""

    def __init__(self, core: Core, parent: Tag, past: Past, dialogs: Dialogs):
        self._core, self._past, self._dialogs = core, past, dialogs
        self._drawn: tuple[object, float] = (None, 0.0)
        self._written: queue.SimpleQueue[tuple[str, bool]] = queue.SimpleQueue()
        self._writing = 0
        preferences = core.preferences
        self._flow = Flow(parent)
        self.log: Tag = dpg.add_checkbox(
            label=text("plots.log"),
            default_value=preferences.log_axis,
            callback=lambda s, on: self._prefer(log_axis=on),
            parent=self._flow.cell(),
        )
        self.follow: Tag = dpg.add_checkbox(
            label=text("plots.follow"), default_value=preferences.follow_plots,
            callback=lambda s, on: self._prefer(follow_plots=on), parent=self._flow.cell(),
        )  # fmt: skip
        self.png: Tag = dpg.add_button(label=text("plots.png"), callback=lambda: self.export_png(), parent=self._flow.cell())
        self.csv: Tag = dpg.add_button(label=text("plots.csv"), callback=lambda: self.export_csv(), parent=self._flow.cell())
        self.smoothing: Tag = dpg.add_slider_float(
            min_value=0.0, max_value=0.99, default_value=preferences.smoothing, clamped=True,
            format=text("plots.smoothing"), callback=lambda s, value: self._prefer(smoothing=value), parent=self._flow.cell(),
        )  # fmt: skip
        theme.sized(self.smoothing, width=SLIDER)
        for name in ("log", "follow", "png", "csv", "smoothing"):
            theme.tip(getattr(self, name), text(f"plots.{name}_tip"))
        self._empty: Tag = dpg.add_text(text("plots.empty"), parent=parent, color=theme.DIM, wrap=0)
        turned = self._zoomed, self._fitted
        with dpg.group(parent=parent, horizontal=True) as row:
            self.charts = Chart(row, *turned), Chart(row, *turned, rises=True)
        self._parent, self._arranged = parent, (0, 0, True, False, 0.0)
        self._smoother = Smoother()
        with dpg.handler_registry():
            dpg.add_mouse_wheel_handler(callback=lambda: [chart.wheel() for chart in self.charts])

    def _prefer(self, **settings: float | bool) -> None:
        self._core.preferences = replace(self._core.preferences, **settings)
        self._drawn = (None, 0.0)

    def toggle_log(self) -> None:
        on = not self._core.preferences.log_axis
        self._prefer(log_axis=on)
        dpg.set_value(self.log, on)

    def toggle_follow(self) -> None:
        if self._core.preferences.follow_plots:
            self._zoomed()
        else:
            self._fitted()

    def _zoomed(self) -> None:
        if self._core.preferences.follow_plots:
            self._prefer(follow_plots=False)
            dpg.set_value(self.follow, False)

    def _fitted(self) -> None:
        self._prefer(follow_plots=True)
        dpg.set_value(self.follow, True)

    def sync(self, now: float) -> None:
        self._arrange()
        for chart in self.charts:
            chart.look()
        known, at = self._drawn
        wanted = (self._core.trainer.record.version, self._past.version)
        if wanted == known or now - at < DRAW_EVERY_S:
            return
        self._drawn = (wanted, now)
        preferences = self._core.preferences
        curves = curves_of(self._core.trainer.record, self._past.earlier, preferences.smoothing, self._smoother)
        dpg.configure_item(self._empty, show=not curves)
        losses = [curve for curve in curves if curve.group == LOSS]
        others = [curve for curve in curves if curve.group != LOSS]
        self.charts[0].show(losses, log=preferences.log_axis, follow=preferences.follow_plots)
        self.charts[1].show(others, log=False, follow=preferences.follow_plots)

    def _arrange(self) -> None:
        """Side by side; the losses have all the room while there is no other metric."""
        self._flow.fit(dpg.get_item_width(self._parent) - theme.px(ROOM))
        any_, both = bool(self.charts[0].shown or self.charts[1].shown), bool(self.charts[1].shown)
        width = dpg.get_item_width(self._parent) - theme.px(ROOM)
        height = dpg.get_item_height(self._parent) - theme.px(ABOVE)
        wanted = max(60, width // 2 if both else width), height, any_, both, theme.scale()
        if wanted != self._arranged:
            self._arranged = wanted
            for chart in self.charts:
                chart.resize(wanted[0], height)
            dpg.configure_item(self.charts[0].plot, show=any_)
            dpg.configure_item(self.charts[1].plot, show=both)

    def hear(self) -> None:
        """Once a frame: what came of exports."""
        while not self._written.empty():
            self._writing -= 1
            self._core.say(*self._written.get())

    @property
    def busy(self) -> bool:
        """Whether something is being written."""
        return self._writing > 0

    # -- exports -------------------------------------------------------------------------------------------------------

    def export_png(self) -> None:
        core = self._core
        smoothing, log, title = core.preferences.smoothing, core.preferences.log_axis, core.document.name
        self._export(lambda path, curves: write_file(path, png_of(picture_of(curves, title, log))), ".png", smoothing)

    def export_csv(self) -> None:
        self._export(lambda path, curves: write_file(path, csv_of(curves).encode()), ".csv")

    def _export(self, write: Callable[[Path, list[Curve]], None], ending: str, smoothing: float = 0.0) -> None:
        """Ask for a file; it is written on a thread of its own, as a picture takes longer than a frame may."""
        core = self._core
        if not core.trainer.record.series:
            core.say(text("plots.nothing"), error=True)
            return

        def work(path: Path, curves: list[Curve]) -> None:
            try:
                write(path, curves)
            except (OSError, ProjectError) as error:
                self._written.put((str(error), True))
            else:
                self._written.put((text("plots.saved", name=path.name), False))

        def then(path: Path) -> None:
            curves = frozen(curves_of(core.trainer.record, self._past.earlier, smoothing))
            self._writing += 1
            threading.Thread(target=work, args=(path, curves), name="export", daemon=True).start()

        name = f"{slug(core.document.name) or 'run'}{ending}"
        self._dialogs.file(text(f"plots.{ending[1:]}"), then, saving=True, name=name, purpose="plots", endings=(ending,))
