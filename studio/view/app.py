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
from typing import Any

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
from studio.view.tables import Passes, Problems
from studio.view.train import Train

WIDTH, HEIGHT = 1280, 800
LEFT_WIDTH, RIGHT_WIDTH, BELOW_HEIGHT, STATUS_HEIGHT = 200, 316, 196, 32
AWAKE_S = 0.6  # frames come quickly for so long after the last input
BUSY_FRAME_S = 1 / 60
MENU = ("duplicate", "copy", "delete", "delete_bridged", "mute", "rename", "collapse", "frame", "fit_selection")


class App:
    """Made once a process, in the main thread. `frame` draws one frame; `loop` draws them until the window is closed."""

    def __init__(self, preferences: Preferences | None = None, size: tuple[int, int] = (WIDTH, HEIGHT)):
        self.core = Core(preferences or Preferences())
        self.frames, self.longest_ms = 0, 0.0  # our own part of a frame, without drawing
        self._awake_until, self._seen_events, self._tip = 0.0, -1, ""
        self._sleeps = False
        self._cures_awaited = 0
        self._cures: queue.SimpleQueue[tuple[Refused, list[Cure]]] = queue.SimpleQueue()
        self._titled, self._status_seen = "", -1
        dpg.create_context()
        dpg.configure_app(manual_callback_management=True)
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
        dpg.set_primary_window(self._window, True)
        dpg.configure_item(self._window, no_scrollbar=True, no_scroll_with_mouse=True)

    # -- layout --------------------------------------------------------------------------------------------------------

    def _build(self, font: Tag | None) -> None:
        core = self.core
        with dpg.window(no_scrollbar=True, no_scroll_with_mouse=True) as self._window:
            with dpg.group(horizontal=True):
                with dpg.child_window(width=LEFT_WIDTH, height=-STATUS_HEIGHT, resizable_x=True) as left:
                    self.palette = Palette(core, left)
                with dpg.group(width=-RIGHT_WIDTH - 7) as middle:
                    self._crumbs: Tag = dpg.add_group(horizontal=True, show=False)
                    with dpg.child_window(height=-BELOW_HEIGHT - STATUS_HEIGHT, no_scrollbar=True) as frame:
                        self.canvas = Canvas(core, frame, font)
                    dpg.bind_item_theme(frame, theme.bare_theme())
                    self._below(middle)
                with dpg.child_window(width=RIGHT_WIDTH, height=-STATUS_HEIGHT, border=False, no_scrollbar=True) as right:
                    self._right(right)
            with dpg.group(horizontal=True):
                self._status: Tag = dpg.add_text("")
        self.search, self.dialogs = Search(core), Dialogs()
        self.actions = Actions(
            core, self.canvas, self.dialogs, self.problems, self._search_at_mouse, self._rename, self._cancel,
        )  # fmt: skip
        dpg.push_container_stack(self._window)
        self.menus = Menus(self.actions)
        dpg.pop_container_stack()
        self.mouse = Mouse(core, self.canvas, self._asked)
        self.keyboard = Keyboard(self.actions, self.search, self._is_typing, core.preferences.keys)
        dpg.configure_item(self.canvas.plot, payload_type=PAYLOAD, drop_callback=self._dropped)
        # A window of its own: Dear PyGui has no tooltip for a plot.
        with dpg.window(
            show=False, no_title_bar=True, no_resize=True, no_move=True, autosize=True, no_focus_on_appearing=True,
            no_saved_settings=True, min_size=(20, 20),
        ) as self._tip_window:  # fmt: skip
            self._tip_text: Tag = dpg.add_text("", wrap=380)

    def _below(self, parent: Tag) -> None:
        with dpg.child_window(parent=parent, height=-STATUS_HEIGHT, no_scrollbar=True), dpg.tab_bar() as self.tabs:
            with dpg.tab(label=text("view.no_problems")) as self.problems_tab:
                self.problems = Problems(self.core, self.problems_tab, self.problems_tab)
            with dpg.tab(label=text("view.passes")) as self.passes_tab:
                self.passes = Passes(self.core, self.passes_tab)

    def _right(self, parent: Tag) -> None:
        with dpg.child_window(parent=parent, height=276, resizable_y=True) as above:
            self.inspector = Inspector(self.core, above)
        with dpg.child_window(parent=parent) as below:
            self.train = Train(self.core, below, lambda name: self.actions.run(name))

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
        for sync in (self.canvas, self.palette, self.inspector, self.problems, self.passes, self.menus):
            sync.sync()
        self.train.sync(now)
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
            dpg.configure_item(self._status, color=status_color(core.phase, core.message_is_error))
        mark = " *" if core.document.dirty else ""
        title = f"{core.document.name or text('view.untitled')}{mark} - MuNet Studio"
        if title != self._titled:
            self._titled = title
            dpg.set_viewport_title(title)
        self._sync_crumbs()
        self._sync_tip()
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

    def _sync_tip(self) -> None:
        """Below the mouse: problems of a node, the meaning of a socket, what a wire carries."""
        hit, core = self.mouse.hovered, self.core
        tip = ""
        if hit is not None and hit.kind == "node" and hit.node in core.problems:
            tip = "\n".join(str(problem) for problem in core.problems[hit.node])
        elif hit is not None and hit.kind == "socket" and hit.node in core.scene.views:
            spot = core.scene.views[hit.node].socket(hit.side, hit.socket)
            known = core.tool.wires.get((hit.node, hit.socket)) if hit.side == "out" else None
            if spot is not None:
                tip = f"{spot.name}: {known or f'{spot.dtype} [{spot.pattern}]'}" + (f"\n{spot.doc}" if spot.doc else "")
        elif hit is not None and hit.kind == "wire" and hit.edge is not None:
            known = core.tool.wires.get((hit.edge.source, hit.edge.source_socket))
            ends = f"{hit.edge.source}.{hit.edge.source_socket} > {hit.edge.target}.{hit.edge.target_socket}"
            tip = f"{ends}\n{known or ''}".strip()
        if tip != self._tip:
            self._tip = tip
            dpg.set_value(self._tip_text, tip)
            x, y = dpg.get_mouse_pos(local=False)
            dpg.configure_item(self._tip_window, show=bool(tip), pos=[x + 16, y + 18])

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
        try:
            settings.save(replace(app.core.preferences))
        except MunetError as error:
            app.core.say(str(error), error=True)
        app.close()
    return ""
