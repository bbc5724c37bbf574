"""The training panel: buttons, progress of a compile or a run, metrics, live values that are changed while it trains."""

from __future__ import annotations

import math
from functools import partial

from munet.inspect import LiveParameter
from studio import messages
from studio.keys import shortcuts
from studio.liveparams import SetLive, in_range, order
from studio.texts import text
from studio.view import theme
from studio.view.core import Core
from studio.view.flow import Flow
from studio.view.gui import Callback, Tag, clear, dpg, is_typing

LIVE_ROWS, ROW = 4, 28  # rows that a list of its own must have room for, and the height of one at scale 1
FIELD = 110
TITLE, MARGIN = 54, 28  # what of the panel's height and width is not free for its contents


class Train:
    """`start` starts what the buttons are for, by the names of the keyboard map."""

    def __init__(self, core: Core, parent: Tag, start: Callback):
        self._core, self._start, self._parent = core, start, parent
        self._seen: object = None
        self._live_seen: object = None
        self._keys_seen: object = None
        self.buttons: dict[str, Tag] = {}
        self._tips: dict[str, Tag] = {}
        self.live: dict[str, Tag] = {}  # fields by "node.param"
        self._params: tuple[LiveParameter, ...] = ()
        self._head: Tag = 0  # above the live fields
        self._list: Tag = 0  # what holds them
        self._list_size = (0, 0)
        with dpg.item_handler_registry() as self._handlers:  # a drag or a text that was typed has ended: one step of undo
            dpg.add_item_deactivated_handler(callback=lambda: core.document.seal())
        with dpg.group(parent=parent) as box:
            self._device: Tag = dpg.add_text("", wrap=0, color=theme.DIM)
            with dpg.tooltip(self._device, delay=0.3):
                self._notes: Tag = theme.sized(dpg.add_text(""), wrap=360)
            self._flows = Flow(box), Flow(box)
            for name in ("run", "pause", "stop", "reset"):
                self._button(name, self._flows[0])
            dpg.bind_item_theme(self.buttons["run"], theme.button_theme((46, 125, 90)))
            self._button("step", self._flows[1])
            self.count: Tag = dpg.add_input_int(
                default_value=10, min_value=1, min_clamped=True, step=0, parent=self._flows[1].cell()
            )
            theme.tip(theme.sized(self.count, width=62), text("train.count_tip"))
            for name in ("step_many", "evaluate"):
                self._button(name, self._flows[1])
            self.bar: Tag = theme.sized(dpg.add_progress_bar(width=-1), height=20)
            self.fault: Tag = dpg.add_text("", wrap=0, color=theme.ERROR, show=False)
            with dpg.tooltip(self.fault, delay=0.3):
                self._fault_tip: Tag = theme.sized(dpg.add_text(""), wrap=460)
            self._values: Tag = dpg.add_text("", wrap=0)
            self._held_out: Tag = dpg.add_text("", wrap=0, color=theme.DIM)  # its row is always there: nothing jumps
            self._live_box: Tag = dpg.add_group()

    def _button(self, name: str, flow: Flow) -> None:
        button = dpg.add_button(label=text(f"action.{name}"), callback=partial(self._start, name), parent=flow.cell())
        self.buttons[name] = button
        with dpg.tooltip(button, delay=0.4):
            self._tips[name] = theme.sized(dpg.add_text(""), wrap=340)

    @property
    def inputs(self) -> set[Tag]:
        """Fields that may have the keyboard."""
        return {self.count, *self.live.values()}

    def sync(self, now: float) -> None:
        trainer = self._core.trainer
        seconds = int(trainer.time_left_s or 0)
        run = (trainer.phase, trainer.device, trainer.record.version, trainer.total_steps, trainer.problems)
        state = (*run, trainer.stage, trainer.fraction, seconds)
        if state != self._seen:
            self._seen = state
            self._show_state()
        keys = self._core.preferences.keys
        if keys != self._keys_seen:
            self._keys_seen = keys
            known = shortcuts(keys)
            for name, tip in self._tips.items():
                dpg.set_value(tip, "\n".join((text(f"train.{name}_tip"), *(["  ".join(known[name])] if name in known else []))))
        self._sync_live()
        self._make_room()

    # -- state ---------------------------------------------------------------------------------------------------------

    def _show_state(self) -> None:
        trainer = self._core.trainer
        record, phase = trainer.record, trainer.phase
        state = text("view.device_chosen" if phase == messages.IDLE else f"job.{phase}")
        dpg.set_value(self._device, f"{trainer.device}: {state}" if trainer.device else text("view.no_device"))
        dpg.set_value(self._notes, "\n".join(trainer.device_notes) or text("view.device_chosen"))
        compiling = phase in (messages.OPENING, messages.COMPILING)
        total = max(trainer.total_steps, record.step, 1)
        dpg.set_value(self.bar, trainer.fraction if compiling else record.step / total)
        dpg.configure_item(self.bar, overlay=trainer.stage if compiling else self._progress())
        found = [f"{name} {series.values[-1]:.4g}" for name, series in record.series.items() if series.values]
        dpg.set_value(self._values, "   ".join(found) or ("" if trainer.device else state))
        fault = str(trainer.problems[0]) if trainer.problems else ""
        dpg.set_value(self.fault, fault.partition("\n")[0])
        dpg.set_value(self._fault_tip, fault)
        dpg.configure_item(self.fault, show=bool(fault))
        held = [f"{name} {points.values[-1]:.4g}" for name, points in record.held_out.items() if points.values]
        dpg.set_value(self._held_out, f"{text('train.held_out')}:  {'   '.join(held)}" if held else "")
        running, open_ = phase == messages.RUNNING, trainer.has_session
        enabled = {
            "run": not running and not compiling, "pause": running or phase == messages.PAUSED, "stop": open_, "reset": open_,
            "step": not compiling, "step_many": not compiling, "evaluate": open_ and not compiling,
        }  # fmt: skip
        for name, on in enabled.items():
            dpg.configure_item(self.buttons[name], enabled=on)

    def _progress(self) -> str:
        trainer = self._core.trainer
        step, total = trainer.record.step, trainer.total_steps
        beyond = step > total  # single steps and timed ones go on after the last one of a run
        words = [text("train.steps" if beyond else "train.steps_of", step=f"{step:,}", total=f"{total:,}")]
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
            dpg.configure_item(self.live[param.key], speed=max(abs(param.value), 1e-4) * 0.01)

    def _build_live(self, found: tuple[LiveParameter, ...]) -> None:
        clear(self._live_box)
        self.live.clear()
        self._list, self._list_size = 0, (0, 0)
        if not found:
            return
        self._head = dpg.add_text(text("train.live"), parent=self._live_box, color=theme.DIM)
        theme.tip(self._head, text("train.live_tip"))
        with dpg.child_window(parent=self._live_box, height=theme.px(ROW), border=False) as self._list:
            for param in found:
                with dpg.group(horizontal=True):
                    self.live[param.key] = field = dpg.add_drag_float(
                        format="%.6g", default_value=param.value, callback=partial(self._changed, param),
                    )  # fmt: skip
                    dpg.bind_item_handler_registry(field, self._handlers)
                    theme.tip(field, "\n".join(filter(None, (param.doc, text("train.field_tip")))))
                    theme.dress(dpg.add_text(param.key), param.key)

    def _make_room(self) -> None:
        """Buttons go on in another row of a narrow panel. Live values take what is left of it, and scroll."""
        room = dpg.get_item_width(self._parent) - theme.px(MARGIN)
        for flow in self._flows:
            flow.fit(room)
        if not self._list:
            return
        top = dpg.get_item_rect_max(self._head)[1] - dpg.get_item_rect_min(self._device)[1]
        left = dpg.get_item_height(self._parent) - top - theme.px(TITLE)
        least, most = (theme.px(ROW * count + 2) for count in (min(len(self.live), LIVE_ROWS), len(self.live)))
        height = min(most, left) if left >= least else most  # one scrollbar: the list's, or in a small panel the panel's
        wanted = round(height), round(min(theme.px(FIELD), 0.45 * room))
        if wanted != self._list_size:
            self._list_size = wanted
            dpg.configure_item(self._list, height=wanted[0])
            for field in self.live.values():
                dpg.configure_item(field, width=wanted[1])

    def _changed(self, param: LiveParameter, sender: Tag, given: float) -> None:
        if not math.isfinite(given):
            return
        self._core.edit(SetLive(param.node, param.param, in_range(param, given), f"live {param.key}"))


def _duration(seconds: float) -> str:
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"
