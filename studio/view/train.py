"""The training panel: buttons, progress of a compile or a run, metrics, live values that are changed while it trains."""

from __future__ import annotations

import math
from functools import partial

from munet.inspect import LiveParameter
from studio import messages
from studio.liveparams import SetLive, in_range, order
from studio.texts import text
from studio.view import theme
from studio.view.core import Core
from studio.view.gui import Callback, Tag, clear, dpg, is_typing

LIVE_ROWS = 4  # in sight without scrolling


class Train:
    """`start` starts what the buttons are for, by the names of the keyboard map."""

    def __init__(self, core: Core, parent: Tag, start: Callback):
        self._core, self._start = core, start
        self._seen: object = None
        self._live_seen: object = None
        self.buttons: dict[str, Tag] = {}
        self.live: dict[str, Tag] = {}  # fields by "node.param"
        self._params: tuple[LiveParameter, ...] = ()
        with dpg.group(parent=parent):
            self._device: Tag = dpg.add_text("", wrap=0, color=theme.DIM)
            with dpg.tooltip(self._device, delay=0.3):
                self._notes: Tag = dpg.add_text("", wrap=360)
            with dpg.group(horizontal=True):
                for name in ("run", "pause", "stop", "reset"):
                    self._button(name)
                dpg.bind_item_theme(self.buttons["run"], theme.button_theme((46, 125, 90)))
            with dpg.group(horizontal=True):
                self._button("step")
                self.count: Tag = dpg.add_input_int(default_value=10, min_value=1, min_clamped=True, width=theme.px(62), step=0)
                self._button("step_many")
                self._button("evaluate")
            self._bar: Tag = dpg.add_progress_bar(width=-1, height=theme.px(20))
            self._values: Tag = dpg.add_text("", wrap=0)
            self._held_out: Tag = dpg.add_text("", wrap=0, color=theme.DIM, show=False)
            self._live_box: Tag = dpg.add_group()

    def _button(self, name: str) -> None:
        self.buttons[name] = dpg.add_button(label=text(f"action.{name}"), callback=partial(self._start, name))

    @property
    def inputs(self) -> set[Tag]:
        """Fields that may have the keyboard."""
        return {self.count, *self.live.values()}

    def sync(self, now: float) -> None:
        trainer = self._core.trainer
        seconds = int(trainer.time_left_s or 0)
        run = (trainer.phase, trainer.device, trainer.record.version, trainer.total_steps)
        state = (*run, trainer.stage, trainer.fraction, seconds)
        if state != self._seen:
            self._seen = state
            self._show_state()
        self._sync_live()

    # -- state ---------------------------------------------------------------------------------------------------------

    def _show_state(self) -> None:
        trainer = self._core.trainer
        record, phase = trainer.record, trainer.phase
        dpg.set_value(self._device, trainer.device or text("view.no_device"))
        dpg.set_value(self._notes, "\n".join(trainer.device_notes) or text("view.device_chosen"))
        compiling = phase in (messages.OPENING, messages.COMPILING)
        total = max(trainer.total_steps, record.step, 1)
        dpg.set_value(self._bar, trainer.fraction if compiling else record.step / total)
        dpg.configure_item(self._bar, overlay=trainer.stage if compiling else self._progress())
        found = [f"{name} {series.values[-1]:.4g}" for name, series in record.series.items() if series.values]
        state = text("view.device_chosen" if phase == messages.IDLE else f"job.{phase}")
        dpg.set_value(self._values, "   ".join(found) or state)
        held = [f"{name} {points.values[-1]:.4g}" for name, points in record.held_out.items() if points.values]
        dpg.set_value(self._held_out, f"{text('train.held_out')}:  {'   '.join(held)}")
        dpg.configure_item(self._held_out, show=bool(held))
        running, open_ = phase == messages.RUNNING, trainer.has_session
        enabled = {
            "run": not running and not compiling, "pause": running or phase == messages.PAUSED, "stop": open_, "reset": open_,
            "step": not compiling, "step_many": not compiling, "evaluate": open_ and not compiling,
        }  # fmt: skip
        for name, on in enabled.items():
            dpg.configure_item(self.buttons[name], enabled=on)

    def _progress(self) -> str:
        trainer = self._core.trainer
        words = [text("train.steps_of", step=f"{trainer.record.step:,}", total=f"{trainer.total_steps:,}")]
        if trainer.phase == messages.RUNNING and trainer.record.steps_per_second:
            words.append(text("train.rate", rate=f"{trainer.record.steps_per_second:,.0f}"))
            if trainer.time_left_s is not None:
                words.append(text("train.left", time=_duration(trainer.time_left_s)))
        return "   ".join(words)

    # -- live values ---------------------------------------------------------------------------------------------------

    def _sync_live(self) -> None:
        version = self._core.document.version
        if version == self._live_seen or is_typing(self.live.values()):
            return
        self._live_seen = version
        found = tuple(order(self._core.trainer.live_parameters))
        if [param.key for param in found] != [param.key for param in self._params]:
            self._build_live(found)
        self._params = found
        for param in found:
            dpg.set_value(self.live[param.key], param.value)

    def _build_live(self, found: tuple[LiveParameter, ...]) -> None:
        clear(self._live_box)
        self.live.clear()
        if not found:
            return
        head = dpg.add_text(text("train.live"), parent=self._live_box, color=theme.DIM)
        theme.tip(head, text("train.live_tip"))
        height = theme.px(26 * min(len(found), LIVE_ROWS) + 2)
        with dpg.child_window(parent=self._live_box, height=height, border=False):
            for param in found:
                with dpg.group(horizontal=True):
                    speed = max(abs(param.value), 1e-4) * 0.01
                    self.live[param.key] = field = dpg.add_drag_float(
                        width=theme.px(110), speed=speed, format="%.6g", default_value=param.value,
                        callback=partial(self._changed, param),
                    )  # fmt: skip
                    theme.tip(field, param.doc or param.key)
                    theme.dress(dpg.add_text(param.key), param.key)

    def _changed(self, param: LiveParameter, sender: Tag, given: float) -> None:
        if not math.isfinite(given):
            return
        self._core.edit(SetLive(param.node, param.param, in_range(param, given), f"live {param.key}"))


def _duration(seconds: float) -> str:
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"
