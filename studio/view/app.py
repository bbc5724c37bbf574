"""The window: puts the panels together, runs the frame loop, and answers what the canvas asks for.

Every callback runs in this loop on the main thread; the worker and the checks report through queues. Frames come one after the
other while something happens or is awaited; else the window sleeps until there is input, and nothing is drawn.
"""

from __future__ import annotations

import inspect
import queue
import signal
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from munet import MunetError
from studio import preferences as settings
from studio import storage
from studio.advice import Cure, cures
from studio.commands import AddNode
from studio.preferences import Preferences
from studio.requests import Edit, OpenMenu, OpenSearch, Outcome, Refused
from studio.search import Entry
from studio.texts import text
from studio.view import theme
from studio.view.actions import Actions
from studio.view.canvas import Canvas, status_color
from studio.view.core import Core
from studio.view.dialogs import Dialogs
from studio.view.gui import Tag, dpg, is_typing, why_no_window
from studio.view.inspector import Inspector
from studio.view.keyboard import Keyboard, Menus
from studio.view.mouse import Mouse
from studio.view.palette import PAYLOAD, Palette, Search
from studio.view.panels import Panels
from studio.view.tables import Passes, Problems
from studio.view.tip import Tip
from studio.view.train import Train

WIDTH, HEIGHT = 1280, 800
AWAKE_S = 0.6  # frames come quickly for so long after the last input
BUSY_FRAME_S = 1 / 60
DOCKED_AFTER = 3  # frames; a panel whose title changes before that falls out of its dock
MENU = ("duplicate", "copy", "delete", "delete_bridged", "mute", "rename", "collapse", "frame", "fit_selection")


class Syncing(Protocol):
    """A panel: brings what it shows up to date, and does little if nothing has changed. `now`: seconds of the steady clock."""

    def sync(self, now: float) -> None: ...


class App:
    """Made once a process, in the main thread. `frame` draws one frame; `loop` draws them until the window is closed."""

    def __init__(self, preferences: Preferences | None = None, size: tuple[int, int] = (WIDTH, HEIGHT)):
        self.core = Core(preferences or Preferences())
        self.frames, self.longest_ms = 0, 0.0  # our own part of a frame, without drawing
        self._awake_until, self._seen_events = 0.0, -1
        self._sleeps = False
        self._cures_awaited = 0
        self._cures: queue.SimpleQueue[tuple[Refused, list[Cure]]] = queue.SimpleQueue()
        self._titled, self._status_seen = "", -1
        dpg.create_context()
        dpg.configure_app(manual_callback_management=True)
        self.panels = Panels()
        self.panels.prepare(size, self.core.preferences.ui_scale)
        dpg.create_viewport(
            title="MuNet Studio", width=size[0], height=size[1], x_pos=0, y_pos=0, vsync=False, disable_close=True,
            min_width=800, min_height=560, clear_color=theme.BAR,
        )  # fmt: skip
        font = theme.load_font()
        if font is not None:
            dpg.bind_font(font)
        theme.apply(self.core.preferences.ui_scale)
        self._build(font)
        dpg.setup_dearpygui()
        dpg.set_exit_callback(lambda: self.actions.run("quit"))
        dpg.show_viewport()

    # -- layout --------------------------------------------------------------------------------------------------------

    def _build(self, font: Tag | None) -> None:
        """Panels by name: each has a `sync(now)`, which is called while it is seen."""
        core, box = self.core, self.panels.box
        self.panels.build()
        self._crumbs: Tag = dpg.add_group(horizontal=True, show=False, parent=box("graph"))
        self.canvas = Canvas(core, box("graph"), font)
        self._status: Tag = dpg.add_text("", parent=box("status"))
        self.search, self.dialogs = Search(core), Dialogs()
        self.problems = Problems(core, box("problems"), lambda title: self.panels.rename("problems", title))
        self.actions = Actions(
            core, self.canvas, self.dialogs, self.problems, self._search_at_mouse, self._rename, self._cancel,
        )  # fmt: skip
        self.palette = Palette(core, box("nodes"))
        self.inspector = Inspector(core, box("inspector"))
        self.train = Train(core, box("training"), lambda name: self.actions.run(name))
        self.passes = Passes(core, box("passes"))
        self._seen_panels: dict[str, Syncing] = {
            "nodes": self.palette, "inspector": self.inspector, "training": self.train, "passes": self.passes,
        }  # fmt: skip
        self.menus = Menus(self.actions, self.panels)
        self.mouse = Mouse(core, self.canvas, self._asked)
        self.keyboard = Keyboard(self.actions, self.search, self._is_typing, core.preferences.keys)
        dpg.configure_item(self.canvas.plot, payload_type=PAYLOAD, drop_callback=self._dropped)
        self.tip = Tip(core, self.mouse)

    # -- frames --------------------------------------------------------------------------------------------------------

    def loop(self) -> None:
        while dpg.is_dearpygui_running():
            started = time.perf_counter()
            self.frame()
            awake = self._is_awake(started)
            if awake == self._sleeps:
                self._sleeps = not awake
                self.core.autosave_if_due(time.monotonic(), at_once=True)
                # Holds Dear PyGui's lock in the next frame until there is input: no other thread may call it, and none does.
                dpg.configure_app(wait_for_input=self._sleeps)
            wait = BUSY_FRAME_S - (time.perf_counter() - started)
            if awake and wait > 0:
                time.sleep(wait)

    def _is_awake(self, now: float) -> bool:
        events = self.mouse.events + self.keyboard.events + self.canvas.version
        if events != self._seen_events or self.core.busy or self._cures_awaited:
            self._seen_events = events
            self._awake_until = now + AWAKE_S
        return now < self._awake_until

    def frame(self) -> None:
        """Draw one frame and do what came in with it."""
        dpg.render_dearpygui_frame()
        started = time.perf_counter()
        for job in dpg.get_callback_queue() or ():
            self._call(job)
        now = time.monotonic()
        self.core.tick(now)
        self.canvas.sync()
        self.menus.sync()
        if self.frames > DOCKED_AFTER:
            self.problems.sync()
        for name, panel in self._seen_panels.items():
            if self.panels.is_seen(name):
                panel.sync(now)
        self._sync_rest()
        self.frames += 1
        if self.frames == 2:
            self.canvas.fonts_changed()
        if self.frames > 5:
            self.longest_ms = max(self.longest_ms, (time.perf_counter() - started) * 1000)

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
        if core.status_version != self._status_seen:
            self._status_seen = core.status_version
            dpg.set_value(self._status, core.message)
            dpg.configure_item(self._status, color=status_color(core.trainer.phase, core.message_is_error))
        mark = " *" if core.document.dirty else ""
        title = f"{core.document.name or text('view.untitled')}{mark} - MuNet Studio"
        if title != self._titled:
            self._titled = title
            dpg.set_viewport_title(title)
        self._sync_crumbs()
        self.tip.sync()
        while not self._cures.empty():
            self._cures_awaited -= 1
            self._offer(*self._cures.get())

    def _sync_crumbs(self) -> None:
        inside = self.core.document.state.inside
        if dpg.get_item_user_data(self._crumbs) == inside:
            return
        dpg.configure_item(self._crumbs, user_data=inside, show=bool(inside))
        dpg.delete_item(self._crumbs, children_only=True)
        for depth, name in enumerate((text("view.root"), *inside)):
            levels = len(inside) - depth
            dpg.add_button(label=name, parent=self._crumbs, small=True, callback=partial(self.actions.leave, levels))

    # -- what the canvas asks for --------------------------------------------------------------------------------------

    def _asked(self, outcome: Outcome) -> None:
        match outcome:
            case OpenSearch():
                self.search.open(outcome.at, self._in_window(outcome.at), outcome.socket)
            case OpenMenu():
                choices = [(text(f"action.{name}"), partial(self.actions.run, name)) for name in MENU]
                add = (text("action.add"), partial(self._asked, OpenSearch(outcome.at)))
                self.dialogs.menu(self._in_window(outcome.at), [add, *choices] if self.core.document.selection else [add])
            case Edit():
                self._rename()
            case Refused():
                self.core.say(outcome.refusal.reason, error=True)
                state = self.core.document.state
                work = threading.Thread(target=lambda: self._cures.put((outcome, cures(state, outcome.edge))), daemon=True)
                self._cures_awaited += 1
                work.start()
            case _:
                pass

    def _offer(self, refused: Refused, found: list[Cure]) -> None:
        def choice(cure: Cure) -> tuple[str, Callable[[], None]]:
            return cure.label, lambda: (self.core.edit(cure.command(refused.edge, refused.at)), None)[1]

        reason = refused.refusal.reason if found else f"{refused.refusal.reason} {text('view.no_way')}"
        self.dialogs.menu(self._in_window(refused.at), [choice(cure) for cure in found], reason)

    def _in_window(self, at: tuple[float, float]) -> tuple[float, float]:
        x, y = self.core.camera.to_screen(at)
        left, top = self.canvas.origin
        return x + left, y + top

    def _search_at_mouse(self) -> None:
        camera = self.core.camera
        at = camera.to_canvas(self.canvas.at_mouse() if self.canvas.is_hovered else (camera.width / 2, camera.height / 2))
        self.search.open(at, self._in_window(at))

    def _dropped(self, sender: Tag, entry: Entry) -> None:
        x, y = self.core.camera.to_canvas(self.canvas.at_mouse())
        self.core.edit(AddNode(entry.node((x - 40, y - 12))))

    def _rename(self) -> None:
        field = self.inspector.field("name")
        if field is not None:
            dpg.focus_item(field)

    def _cancel(self) -> None:
        if not self.dialogs.cancel():
            self.core.perform(self.core.tool.cancel())

    def _is_typing(self) -> bool:
        return self.dialogs.is_open or is_typing({self.palette.input, self.search.input, *self.inspector.inputs})

    # -- start and end -------------------------------------------------------------------------------------------------

    def offer_recovery(self) -> None:
        """Work that another studio left behind when it ended unasked."""
        found = storage.orphans(self.core.autosave.folder)
        if not found:
            return
        newest = found[0]

        def take() -> None:
            self.core.open(newest.graph, newest.path, saved=False)
            self.canvas.fit()
            storage.forget(newest)

        name = newest.path.name if newest.path else newest.graph.name or text("view.untitled")
        forget = partial(storage.forget, newest)
        self.dialogs.ask(text("view.recover", name=name), ((text("view.yes_recover"), take), (text("view.no_recover"), forget)))

    def close(self) -> None:
        self.core.close()
        dpg.destroy_context()


def open_window(project: Path | None = None) -> str:
    """Show the window until it is closed; "" then, or at once why there cannot be one."""
    why = why_no_window()
    if why:
        return why
    # While the window sleeps, Python's own handler would not run: Ctrl-C ends the process, the autosave is offered next time.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    app = App(settings.load())
    try:
        if project is not None:
            app.actions.open_path(project)
        else:
            app.offer_recovery()
        app.loop()
    finally:
        app.panels.save()
        try:
            settings.save(replace(app.core.preferences))
        except MunetError as error:
            app.core.say(str(error), error=True)
        app.close()
    return ""
