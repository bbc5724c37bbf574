"""The training panel: device, buttons, progress, and plots of loss and metrics."""

from __future__ import annotations

from studio import messages
from studio.texts import text
from studio.view import theme
from studio.view.core import Core
from studio.view.gui import Callback, Tag, dpg

DRAW_EVERY_S = 0.12
SHOWN_POINTS = 1000


class Plot:
    """One plot with a line for each of its metrics."""

    def __init__(self, parent: Tag, height: int, *, log: bool = False):
        self.item: Tag = dpg.add_plot(parent=parent, width=-1, height=height, no_title=True, no_menus=True)
        dpg.add_plot_legend(parent=self.item, location=dpg.mvPlot_Location_NorthEast)
        self._x: Tag = dpg.add_plot_axis(dpg.mvXAxis, parent=self.item)
        self._y: Tag = dpg.add_plot_axis(dpg.mvYAxis, parent=self.item)
        self._lines: dict[str, Tag] = {}
        self.set_log(log)

    def set_log(self, log: bool) -> None:
        dpg.configure_item(self._y, scale=dpg.mvPlotScale_Log10 if log else dpg.mvPlotScale_Linear)

    def show(self, lines: dict[str, tuple[list[int], list[float]]], follow: bool) -> None:
        for name in self._lines.keys() - lines.keys():
            dpg.delete_item(self._lines.pop(name))
        for name, (steps, values) in lines.items():
            every = max(1, len(steps) // SHOWN_POINTS)
            data = [[float(step) for step in steps[::every]], values[::every]]
            if name in self._lines:
                dpg.set_value(self._lines[name], data)
            else:
                self._lines[name] = dpg.add_line_series(*data, label=name, parent=self._y)
        if follow and lines:
            dpg.fit_axis_data(self._x)
            dpg.fit_axis_data(self._y)


class Train:
    """`actions` starts what the buttons are for, by the names of the keyboard map."""

    def __init__(self, core: Core, parent: Tag, start: Callback):
        self._core = core
        self._seen: object = None
        self._drawn = (-1, 0.0)
        preferences = core.preferences
        self._smoothing, self._log, self._follow = preferences.smoothing, preferences.log_axis, preferences.follow_plots
        self.buttons: dict[str, Tag] = {}
        with dpg.group(parent=parent):
            self._device: Tag = dpg.add_text("", wrap=0, color=theme.DIM)
            with dpg.tooltip(self._device, delay=0.3):
                self._notes: Tag = dpg.add_text("", wrap=360)
            with dpg.group(horizontal=True):
                for name in ("run", "pause", "step", "stop", "reset"):
                    self.buttons[name] = dpg.add_button(label=text(f"action.{name}"), user_data=name, callback=self._pressed)
                dpg.bind_item_theme(self.buttons["run"], theme.button_theme((46, 125, 90)))
            self._bar: Tag = dpg.add_progress_bar(width=-1, height=20)
            self._values: Tag = dpg.add_text("", wrap=0)
            with dpg.group(horizontal=True):
                dpg.add_checkbox(label=text("view.log"), default_value=self._log, callback=self._set_log)
                dpg.add_checkbox(label=text("view.follow"), default_value=self._follow, callback=self._set_follow)
                dpg.add_slider_float(
                    width=-1, min_value=0.0, max_value=0.99, default_value=self._smoothing, format=text("view.smoothing"),
                    callback=self._set_smoothing,
                )  # fmt: skip
        self._plots = Plot(parent, 160, log=self._log), Plot(parent, -1)
        self._start = start

    def _pressed(self, sender: Tag, given: object, name: str) -> None:
        self._start(name)

    def _set_log(self, sender: Tag, value: bool) -> None:
        self._log = value
        self._plots[0].set_log(value)
        self._drawn = (-1, 0.0)

    def _set_follow(self, sender: Tag, value: bool) -> None:
        self._follow = value
        self._drawn = (-1, 0.0)

    def _set_smoothing(self, sender: Tag, value: float) -> None:
        self._smoothing = value
        self._drawn = (-1, 0.0)

    def sync(self, now: float) -> None:
        core, record = self._core, self._core.trainer.record
        state = (core.trainer.phase, core.trainer.device, record.version, core.trainer.total_steps)
        if state != self._seen:
            self._seen = state
            self._show_state()
        version, drawn = self._drawn
        if record.version != version and now - drawn > DRAW_EVERY_S:
            self._drawn = (record.version, now)
            self._draw()

    def _show_state(self) -> None:
        core, record = self._core, self._core.trainer.record
        dpg.set_value(self._device, core.trainer.device or text("view.no_device"))
        dpg.set_value(self._notes, "\n".join(core.trainer.device_notes) or text("view.device_chosen"))
        total = max(core.trainer.total_steps, record.step, 1)
        dpg.set_value(self._bar, record.step / total)
        running = core.trainer.phase == messages.RUNNING
        rate = f"   {record.steps_per_second:,.0f} /s" if record.steps_per_second and running else ""
        dpg.configure_item(self._bar, overlay=f"{record.step:,} / {core.trainer.total_steps:,}{rate}")
        found = [f"{name} {series.values[-1]:.4g}" for name, series in record.series.items() if series.values]
        last = "   ".join(found)
        state_text = text("view.device_chosen" if core.trainer.phase == messages.IDLE else f"job.{core.trainer.phase}")
        dpg.set_value(self._values, last or state_text)
        dpg.configure_item(self.buttons["run"], enabled=not running)
        dpg.configure_item(self.buttons["pause"], enabled=running or core.trainer.phase == messages.PAUSED)
        for name in ("stop", "reset"):
            dpg.configure_item(self.buttons[name], enabled=core.trainer.has_session)

    def _draw(self) -> None:
        series = self._core.trainer.record.series
        lines = {name: (found.steps, found.smoothed(self._smoothing)) for name, found in series.items()}
        losses = {name: line for name, line in lines.items() if name.split(".")[-1].startswith("loss")}
        losses = losses or dict(list(lines.items())[:1])
        self._plots[0].show(losses, self._follow)
        self._plots[1].show({name: line for name, line in lines.items() if name not in losses}, self._follow)
