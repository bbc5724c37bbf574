"""The window: puts the panels together, runs the frame loop, and answers what the canvas asks for.

Every callback runs in this loop on the main thread; the worker and the checks report through queues. Frames come one after the
other while something happens or is awaited; else the window sleeps until there is input, and nothing is drawn.
"""

from __future__ import annotations

import gc
import inspect
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from studio import frametimes, messages
from studio.files import slug
from studio.frametimes import FrameTimes, Times
from studio.preferences import Preferences
from studio.texts import text
from studio.view import imgui, theme
from studio.view.actions import Actions
from studio.view.arranging import Arranging
from studio.view.canvas import Canvas
from studio.view.code import Code
from studio.view.comfort import Comfort
from studio.view.core import Core
from studio.view.crumbs import Crumbs
from studio.view.devices import Devices
from studio.view.dialogs import Dialogs
from studio.view.editing import Editing
from studio.view.fusion import Fusion
from studio.view.gui import Tag, dpg, end_frame, is_typing
from studio.view.inside import Inside
from studio.view.inspector import Inspector
from studio.view.live import Live
from studio.view.log import Log
from studio.view.looks import Looks
from studio.view.machine import Machine, show_node
from studio.view.memory import Memory
from studio.view.mouse import Mouse
from studio.view.palette import Palette
from studio.view.panels import Panels
from studio.view.passes import Passes
from studio.view.past import Past
from studio.view.plots import Plots
from studio.view.preview import Preview
from studio.view.problems import Problems
from studio.view.runs import Runs
from studio.view.searchbox import Search
from studio.view.shaders import Shaders
from studio.view.statusline import StatusLine
from studio.view.subgraphs import Subgraphs
from studio.view.tensor import TensorPanel
from studio.view.timeline import TimelinePanel
from studio.view.tip import Tip
from studio.view.train import Train
from studio.waking import Waking

WIDTH, HEIGHT = 1280, 800
LEAST = (800, 560)
BUSY_FRAME_S = 1 / 60
STATS_EVERY_S = 0.25


class Syncing(Protocol):
    """A panel: brings what it shows up to date, and does little if nothing has changed. `now`: seconds of the steady clock."""

    def sync(self, now: float) -> None: ...


class App:
    """Made once a process, in the main thread. `frame` draws one frame; `loop` draws them until the window is closed.

    `stats`: the status line begins with the times of frames.
    """

    def __init__(self, preferences: Preferences | None = None, size: tuple[int, int] = (WIDTH, HEIGHT), stats: bool = False):
        sys.setswitchinterval(0.001)  # compiling is pure Python: the window waits so long at most for its turn, not 5 ms
        self.core = Core(preferences or Preferences())
        self.frames, self._times = 0, FrameTimes()
        self._drawn = 0  # frames since all that is seen was made
        self._waking, self._typed = Waking(), False
        self._sleeps = False
        self._phase_seen = ""
        self._titled, self._opened_seen, self._refusals_seen = "", 0, 0
        self._anew, self._lay_again = False, False
        self._stats, self._stats_at = stats, 0.0
        dpg.create_context()
        theme.begin()
        dpg.configure_app(manual_callback_management=True)
        self.panels = Panels()
        self.panels.prepare(size, self.core.preferences.ui_scale)
        left, top = self.core.preferences.window[:2] or (0, 0)
        dpg.create_viewport(
            title="MuNet Studio", width=size[0], height=size[1], x_pos=max(0, left), y_pos=max(0, top), vsync=False,
            disable_close=True, min_width=LEAST[0], min_height=LEAST[1], clear_color=theme.BAR,
        )  # fmt: skip
        self._build()
        dpg.setup_dearpygui()
        dpg.set_exit_callback(lambda: self.actions.run("quit"))
        dpg.show_viewport()
        theme.color_tabs()
        _keep_from_collector()

    # -- layout --------------------------------------------------------------------------------------------------------

    def build_anew(self) -> None:
        """Make all that is seen anew as soon as nothing is being written: for another language, font or size."""
        self._anew = True
        self.shaders.desk.cancel()

    def _build_anew(self) -> None:
        """Between two frames. What is drawn, the run and the places of the panels stay as they are."""
        self._anew = False
        core, past, code, comfort = self.core, self.past, self.shaders.code, self.comfort
        core.perform(core.tool.cancel())
        core.trainer.forget_askers()
        self.shaders.close()
        past.close()
        comfort.save()
        start, preferences = comfort.start.is_shown, comfort.settings.place
        self.panels.retitle(theme.scale(), core.preferences.ui_scale)
        for item in dpg.get_all_items():
            # One that was deleted may have taken others with it.
            if dpg.does_item_exist(item) and not dpg.get_item_parent(item) and not self._stays(item):
                dpg.delete_item(item)
        gc.unfreeze()
        self._build()
        self.past.overlaid |= past.overlaid
        self.shaders.code.take_over(code)
        self.comfort.keeps = comfort.keeps
        if start:
            self.comfort.start.show()
        if preferences:
            self.comfort.settings.open(preferences)
        self._titled, self._drawn, self._lay_again = "", 0, True
        _keep_from_collector()

    def _stays(self, item: Tag) -> bool:
        return self.panels.holds(item) or theme.is_fonts(item)

    def _build(self) -> None:
        """Panels by name: each has a `sync(now)`, which is called while it is seen."""
        core, box = self.core, self.panels.box
        font = theme.load_font(core.preferences.cjk_font)
        if font is not None:
            dpg.bind_font(font)
        theme.apply(core.preferences.ui_scale)
        self.panels.build()
        self.crumbs = Crumbs(core, box("graph"), lambda levels: self.actions.leave(levels), lambda: self.subgraphs.rename_shown())
        self.canvas = Canvas(core, box("graph"), font)
        status: Tag = dpg.add_group(horizontal=True, parent=box("status"))
        dpg.bind_item_theme(status, theme.list_theme())
        self.search, self.dialogs = Search(core), Dialogs(core)
        self.problems = Problems(core, box("problems"), status, lambda: self.panels.show("problems"))
        self.stats: Tag = dpg.add_text("", parent=status, color=theme.DIM, show=self._stats)
        self._status = StatusLine(core, status)
        self.actions = Actions(
            core, self.canvas, self.dialogs, self.problems, self._cancel,
        )  # fmt: skip
        self.editing = Editing(core, self.canvas, self.actions, self.search)
        self.arranging = Arranging(core, self.canvas, self.actions, self.editing.asked)
        self.palette = Palette(core, box("nodes"), lambda entry, rect: self.subgraphs.menu(entry, rect))
        self.subgraphs = Subgraphs(
            core, self.actions, self.editing.inplace, self.editing.popup, self.dialogs, lambda: self.crumbs.last, self.palette.add
        )
        self.actions.provide(palette=self._find_node)
        self.inspector = Inspector(core, box("inspector"))
        self.past = Past(core)
        self.train = Train(core, box("training"), self.actions.run)
        self.plots = Plots(core, box("plots"), self.past, self.dialogs)
        self.machine = Machine(core)
        self.passes = Passes(self.machine, box("passes"))
        self.code, self.memory = Code(self.machine, box("code")), Memory(self.machine, box("memory"))
        self.timeline = TimelinePanel(self.machine, box("timeline"), self._ask_trace)
        self.fusion = Fusion(self.machine, box("fusion"))
        self._seen_panels: dict[str, Syncing] = {
            "nodes": self.palette, "inspector": self.inspector, "training": self.train, "passes": self.passes, "code": self.code,
            "memory": self.memory, "timeline": self.timeline, "fusion": self.fusion,
        }  # fmt: skip
        self.shaders = Shaders(core, box("shaders"), self.dialogs)
        self._seen_panels["shaders"] = self.shaders
        self.devices = Devices(core, box("device"))
        self._seen_panels |= {
            "plots": self.plots, "runs": Runs(core, box("runs"), self.past, self.dialogs), "device": self.devices,
            "log": Log(core, box("log")),
        }  # fmt: skip
        trainer = core.trainer
        self.actions.provide(
            step_many=lambda: trainer.step(dpg.get_value(self.train.count)), evaluate=trainer.evaluate,
            checkpoint=trainer.save_checkpoint, export_plot_png=self.plots.export_png, export_csv=self.plots.export_csv,
            next_device=self.devices.next, plot_log=self.plots.toggle_log, plot_follow=self.plots.toggle_follow,
            overlay_last=self.past.lay_last_over, resume_last=self.past.resume_last,
        )  # fmt: skip
        self._build_looks()
        self.comfort = Comfort(
            core, self.actions, self.canvas, self.dialogs, self.panels, (self.search, self.editing.popup, self.palette),
            lambda: self._typed or self._is_typing(), font, self.build_anew,
        )  # fmt: skip
        self.mouse = Mouse(core, self.canvas, self.editing.asked)
        self.tip = Tip(core, self.mouse, self.editing, lambda: self.comfort.keyboard.events)

    def _build_looks(self) -> None:
        """What looks into the network."""
        core, box = self.core, self.panels.box
        self.looks = Looks(core)
        self.live = Live(core, self.canvas, self.looks)
        self.preview = Preview(core, box("preview"), self.looks)
        self.tensor = TensorPanel(core, box("tensor"), self.looks, self._save_tensor)
        self._seen_panels |= {"preview": self.preview, "tensor": self.tensor}
        looks = self.preview, self.tensor
        inside = Inside(core, self.panels, self.machine, self.passes, self.code, self.memory, self.timeline, *looks, self.shaders)
        self.actions.provide(**inside.actions)
        self.actions.provide(show_preview=self.live.toggle, show_values=self._show_values)
        self.actions.provide(show_shaders=lambda: self.panels.show("shaders"), save=self._save, quit=self._quit)

    def _save(self) -> None:
        """The shader that is being typed, else the project."""
        if not self.shaders.code.save_if_typing():
            self.actions.save()

    def _quit(self) -> None:
        self.shaders.code.unless_unsaved(lambda: self.actions.unless_unsaved(dpg.stop_dearpygui))

    def _save_tensor(self, title: str, name: str, then: Callable[[Path], None]) -> None:
        self.dialogs.file(title, then, saving=True, name=name, purpose="tensor", endings=(".npy",))

    def _show_values(self) -> None:
        """The tensors of the selected node; of the one that training is held for, if there is one and none is selected."""
        if not self.core.document.selection.nodes and self.tensor.held:
            show_node(self.core, self.tensor.held)
        self.panels.show("tensor")

    # -- frames --------------------------------------------------------------------------------------------------------

    def loop(self, ended: Callable[[], bool] = lambda: False) -> None:
        """Until the window is closed, or `ended` says so."""
        while dpg.is_dearpygui_running() and not ended():
            started = time.perf_counter()
            self.frame()
            awake = self._is_awake()
            if awake == self._sleeps:
                self._sleeps = not awake
                self.core.autosave_if_due(time.monotonic(), at_once=True)
                # Holds Dear PyGui's lock in the next frame until there is input: no other thread may call it, and none does.
                dpg.configure_app(wait_for_input=self._sleeps)
                self._times.rested()
            wait = BUSY_FRAME_S - (time.perf_counter() - started)
            if awake and wait > 0:
                time.sleep(wait)

    def _is_awake(self) -> bool:
        """To be asked after a frame, which may have waited for input for long."""
        events = self.mouse.events + self.comfort.keyboard.events + self.canvas.version
        opened = self.dialogs.is_open, self.search.is_open, self.editing.is_typing, self.tip.text, self.comfort.opened
        others = (
            self.core, self.comfort, self.editing, self.arranging, self.shaders, self.past, self.plots, self.devices,
        )  # fmt: skip
        return self._waking.is_awake((events, opened), any(part.busy for part in others), time.perf_counter())

    def frame(self) -> None:
        """Draw one frame and do what came in with it."""
        dpg.render_dearpygui_frame()
        started, busy = time.perf_counter(), time.thread_time()
        for job in dpg.get_callback_queue() or ():
            self._call(job)
        now = time.monotonic()
        self.core.tick(now)
        self.canvas.sync()
        self.live.sync(now)
        self.past.sync()
        self.plots.hear()
        self.devices.hear()
        self.shaders.tick(now)
        self.comfort.sync(now)
        self.problems.sync()
        for name in list(self._seen_panels):
            if self.panels.is_seen(name):
                self._sync_panel(name, now)
        self._sync_rest()
        self.panels.sync()
        theme.sync_tips()
        self._typed = self._is_typing()
        end_frame()
        self.frames += 1
        self._drawn += 1
        if self._drawn == 2:
            self.canvas.fonts_changed()
            if self._lay_again:
                self._lay_again = False
                self.panels.lay_again()
        ended = time.perf_counter()
        self._times.add(ended - started, ended, time.thread_time() - busy)
        if self._stats and now - self._stats_at > STATS_EVERY_S:
            self._stats_at = now
            dpg.set_value(self.stats, frametimes.line(self.times, self.core.trainer.jobs.waiting))
        if self._anew and not (self.comfort.exports.busy or self.shaders.desk.busy or self.dialogs.is_open):
            self._build_anew()
            self._times.rested()

    def _sync_panel(self, name: str, now: float) -> None:
        """A panel with a fault stands still from then on; that is told, and the drawing goes on."""
        try:
            self._seen_panels[name].sync(now)
        except Exception as error:  # noqa: BLE001  # see above
            traceback.print_exc()
            del self._seen_panels[name]
            title = text(f"panel.{name}")
            self.core.say(text("view.panel_fault", name=title, error=f"{type(error).__name__}: {error}"), error=True)

    @property
    def times(self) -> Times:
        """How long frames take: our own part, without drawing, and the time between frames."""
        return self._times.now

    def count_anew(self) -> None:
        """For measurements: times of the frames from now on."""
        self._times.restart()

    def _call(self, job: Any) -> None:
        """One callback. A fault in it is told and goes no further: the drawing must not be lost with it."""
        if job[0] is None:
            return
        count = len(inspect.signature(job[0]).parameters)
        try:
            job[0](*job[1 : 1 + count])
        except Exception as error:  # noqa: BLE001  # see above
            traceback.print_exc()
            self.core.say(text("job.unexpected", error=f"{type(error).__name__}: {error}"), error=True)

    def _sync_rest(self) -> None:
        core = self.core
        asks = self.dialogs.is_open  # another window in front would close it
        if core.opened_version != self._opened_seen and not asks:  # whoever opens a project wants to see it
            self._opened_seen = core.opened_version
            self.panels.show("graph")
        if core.trainer.refusals != self._refusals_seen and not asks:  # whoever is told of problems wants to see them
            self._refusals_seen = core.trainer.refusals
            self.panels.show("problems")
        if core.trainer.phase != self._phase_seen:
            self._phase_seen = core.trainer.phase
            begins = self._phase_seen == messages.RUNNING and not core.trainer.record.step
            if begins and self.panels.is_seen("problems") and not self.problems.all:
                self.panels.show("plots")  # whoever begins to train wants to see the curve, not that nothing is wrong
        self._status.sync()
        mark = " *" if core.document.dirty else ""
        title = f"{core.document.name or text('view.untitled')}{mark} - MuNet Studio"
        if title != self._titled:
            self._titled = title
            dpg.set_viewport_title(title)
        self.crumbs.sync()
        self.tip.sync()
        self.editing.sync()
        self.arranging.sync()

    # -- keys ----------------------------------------------------------------------------------------------------------

    def _find_node(self) -> None:
        self.panels.show("nodes")
        dpg.focus_item(self.palette.input)

    def _ask_trace(self, then: Callable[[Path], None]) -> None:
        name = f"{slug(self.core.document.name) or slug(text('view.untitled'))}-trace"
        self.dialogs.file(text("timeline.export"), then, name=name, saving=True, purpose="trace")

    def _cancel(self) -> None:
        if not (self.editing.cancel() or self.dialogs.cancel() or imgui.close_menus() or self.comfort.cancel()):
            self.core.perform(self.core.tool.cancel())

    def _is_typing(self) -> bool:
        """Whether a field has the keys. One that Enter has just ended had them a frame ago: see `_typed`."""
        inputs = {self.palette.input, self.search.input, *self.preview.inputs, *self.tensor.inputs, *self.shaders.inputs}
        inputs.add(self.plots.smoothing)
        return (
            self.dialogs.is_open
            or self.editing.is_typing
            or is_typing({*inputs, *self.inspector.inputs, *self.comfort.inputs, *self.train.inputs})
        )

    # -- start and end -------------------------------------------------------------------------------------------------

    def close(self, *, keep: bool = False) -> None:
        """`keep`: what is not saved is offered at the next start."""
        self.shaders.close()
        self.past.close()
        self.core.close(keep=keep)
        dpg.destroy_context()


def _keep_from_collector() -> None:
    """What is there now stays: the collector need not go through it again, which took 70 to 100 ms of a frame now and then."""
    gc.collect()
    gc.freeze()
