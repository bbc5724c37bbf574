"""The shader panel: assets and variants with their verdicts and times on this device; beside them the code of the chosen one.

All work is the desk's, on a thread of its own. `tick` is called each frame, seen or not: a session takes up a changed shader also
while another panel is in front. `sync` draws, while the panel is seen.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from munet import Session
from munet.shaders import BROKEN, OK, REFUSED, UNVERIFIED, WRONG, contraction_sizes
from studio import shaderdesk as say
from studio.cycle import after
from studio.icons import icon, labelled
from studio.shaderdesk import Desk, Request
from studio.shaders import ICONS, Key, Row, contract_lines, details, find, rows
from studio.texts import text
from studio.view import theme
from studio.view.core import Core
from studio.view.dialogs import Dialogs
from studio.view.gui import Tag, clear, dpg
from studio.view.shader_code import ShaderCode

LIST_WIDTH = 268  # at scale 1
LIST_HEIGHT = 150
COLORS = {OK: theme.GOOD, UNVERIFIED: theme.DIM, REFUSED: theme.ACCENT, WRONG: theme.ERROR, BROKEN: theme.ERROR}
MOODS = {"": theme.TEXT, "dim": theme.DIM, "good": theme.GOOD, "bad": theme.ERROR}
UNSEEN_S = 1.0  # after its last `sync` the panel counts as hidden


class Shaders:
    """See the module's head."""

    def __init__(self, core: Core, parent: Tag, dialogs: Dialogs):
        self._core = core
        self.desk = Desk()
        self.seen = say.Seen((), "")
        self.chosen: Key | None = None
        self.rows: dict[Key, Tag] = {}
        self._asked_device = ""
        self._drawn: object = None
        self._version = 0  # counts what the desk has told
        self._synced = -UNSEEN_S
        self._recompile = False
        self._taken_up: list[Key] = []  # variants that it is for
        self._waiting: Callable[[], object] | None = None
        with dpg.group(parent=parent, horizontal=True):
            with dpg.child_window(width=theme.px(LIST_WIDTH), border=False):
                with dpg.group(horizontal=True):
                    self.verify_all: Tag = dpg.add_button(
                        label=labelled("flask", text("shader.verify_all")), callback=self.verify_every
                    )  # fmt: skip
                    self.tune: Tag = dpg.add_button(label=labelled("tune", text("shader.tune")), callback=self.tune_sizes)
                    theme.tip(self.verify_all, text("shader.verify_all_tip"))
                    theme.tip(self.tune, text("shader.tune_tip"))
                with dpg.group(horizontal=True, show=False) as self._progress:
                    self._bar: Tag = dpg.add_progress_bar(width=theme.px(LIST_WIDTH - 84), height=theme.px(22))
                    cancel = dpg.add_button(label=text("shader.cancel"), callback=self.desk.cancel)
                    theme.tip(cancel, text("shader.cancel_tip"))
                self._problem: Tag = dpg.add_text("", color=theme.ACCENT, wrap=0, show=False)
                self._list: Tag = dpg.add_child_window(height=theme.px(LIST_HEIGHT), border=False)
                dpg.bind_item_theme(self._list, theme.list_theme())
                dpg.add_separator()
                self._details: Tag = dpg.add_child_window(border=False)
                dpg.bind_item_theme(self._details, theme.list_theme())
            with dpg.group() as right:
                self.code = ShaderCode(core, dialogs, right, self._submit)

    @property
    def busy(self) -> bool:
        """Whether something is awaited."""
        return self.desk.busy or self._recompile or self._waiting is not None or self.code.busy

    @property
    def inputs(self) -> tuple[Tag, ...]:
        """Fields that take text."""
        return self.code.new.name, self.code.editor.input

    # -- once a frame, seen or not -------------------------------------------------------------------------------------

    def tick(self, now: float) -> None:
        for news in self.desk.poll():
            self._hear(news)
        self.code.tick(now)
        trainer = self._core.trainer
        in_session = any(view.variant != "generated" for view in trainer.passes)
        seen = now - self._synced < UNSEEN_S
        if (seen or in_session) and self._asked_device != self._core.preferences.device:
            self._asked_device = self._core.preferences.device
            self._submit(say.Look(self._asked_device))
        self.desk.watch(seen or in_session)
        if self._recompile and trainer.phase not in ("compiling", "opening"):
            self._recompile = False
            names = sorted({key[1] for key in self._taken_up})
            self._taken_up.clear()
            trainer.recompile(text("shader.taken_up", count=len(names), names=", ".join(names)) if names else "")

    def _hear(self, news: say.News) -> None:
        match news:
            case say.Seen():
                self.seen = news
                self._version += 1
            case say.Working():
                self._show_work(news)
            case say.Note():
                self._core.say(news.message, error=news.error)
            case say.Created():
                self._choose(news.key)
                self._draw()
                self.code.made()
            case say.Saved():
                self.code.saved(news)
                self._version += 1
            case say.Conflict():
                self.code.conflict(news.path)
            case say.Checked():
                self.code.checked(news)
            case say.Ready():
                self._take_up(news.key)

    def _take_up(self, key: Key | None) -> None:
        """Compile the session's program anew where the variant matters to it."""
        trainer = self._core.trainer
        view = find(self.seen.assets, key)
        running = key is not None and any(p.variant == key[1] for p in trainer.passes)
        if trainer.has_session and (key is None or running or (view is not None and (view.used or view.own))):
            self._recompile = True
            if key is not None:
                self._core.say(text("shader.reloaded", name=key[1]))
                if view is not None and view.verdict == OK:
                    self._taken_up.append(key)

    def _show_work(self, news: say.Working) -> None:
        dpg.configure_item(self._progress, show=news.count > 0)
        if news.count:
            dpg.set_value(self._bar, news.done / news.count)
            dpg.configure_item(self._bar, overlay=f"{news.what}  {news.done}/{news.count}")

    # -- drawing -------------------------------------------------------------------------------------------------------

    def sync(self, now: float) -> None:
        self._synced = now
        state = (self._version, self._core.trainer.passes_version, self.chosen)
        if state != self._drawn:
            self._drawn = state
            self._draw()
        if self._waiting is not None and self.code.view is not None:
            call, self._waiting = self._waiting, None
            call()
        self.code.sync()

    def _draw(self) -> None:
        clear(self._list)
        self.rows.clear()
        dpg.configure_item(self._problem, show=bool(self.seen.problem))
        dpg.set_value(self._problem, self.seen.problem)
        listed = rows(self.seen.assets, {view.variant for view in self._core.trainer.passes})
        variants = [row.key for row in listed if row.key[1]]
        if self.chosen not in variants and variants and not self.code.is_kept(self.code.view):
            self.chosen = variants[0]
        with dpg.table(parent=self._list, header_row=False, policy=dpg.mvTable_SizingStretchProp):
            dpg.add_table_column(width_fixed=True, init_width_or_weight=theme.px(18))
            dpg.add_table_column(init_width_or_weight=1.0)
            dpg.add_table_column(width_fixed=True)
            for row in listed:
                self._draw_row(row)
        self._draw_chosen()

    def _draw_row(self, row: Row) -> None:
        if not row.key[1]:
            with dpg.table_row():
                dpg.add_text(icon("code"), color=theme.DIM)
                dpg.add_text(row.label, color=theme.DIM)
            return
        with dpg.table_row():
            dpg.add_text(icon(ICONS[row.verdict]), color=COLORS[row.verdict])
            marks = "  ".join(icon(name) for name, on in (("star", row.used), ("run", row.chosen), ("rename", row.own)) if on)
            tag = dpg.add_selectable(
                label=f"{row.label}   {marks}", span_columns=True, default_value=row.key == self.chosen,
                callback=partial(self._choose, row.key),
            )  # fmt: skip
            self.rows[row.key] = tag
            with dpg.tooltip(tag, delay=0.3):
                words = text("shader.fine" if row.verdict == OK else f"shader.{row.verdict}")
                dpg.add_text(words, color=COLORS[row.verdict])
                for name, on in (("use", row.used), ("in_use", row.chosen), ("own", row.own)):
                    if on:
                        dpg.add_text(text(f"shader.{name}"))
            dpg.add_text(row.time, color=theme.DIM)

    def _choose(self, key: Key) -> None:
        self.chosen = key
        for other, tag in self.rows.items():
            dpg.set_value(tag, other == key)

    def _draw_chosen(self) -> None:
        view = find(self.seen.assets, self.chosen)
        asset = next((asset for asset in self.seen.assets if view is not None and asset.name == view.asset), None)
        clear(self._details)
        if view is not None and asset is not None:
            for line in (*details(asset, view), *contract_lines(asset)):
                dpg.add_text(line.text, parent=self._details, color=MOODS[line.mood], wrap=0)
        self.code.show(asset, view)

    # -- what is asked for ---------------------------------------------------------------------------------------------

    def verify_every(self) -> None:
        self._submit(say.Verify())

    def step(self, by: int) -> None:
        """To another variant of the list."""
        if self.rows:
            self._choose(after(self.chosen or ("", ""), tuple(self.rows), by))

    def when_known(self, call: Callable[[], object]) -> None:
        """Do something with the variant that is shown: at once, or as soon as one is."""
        if self.code.view is not None:
            call()
        else:
            self._waiting = call

    def _submit(self, request: Request) -> None:
        self.desk.submit(request)

    def tune_sizes(self) -> None:
        """Time variants for the sizes of the compiled step."""

        def sizes(session: Session) -> list[dict[str, int]]:
            return contraction_sizes(session.program)

        def then(found: Any) -> None:
            if found:
                self._submit(say.Tune("contraction", tuple(found)))
            else:
                self._core.say(text("shader.tune_nothing"), error=True)

        if not self._core.trainer.ask("shader sizes", sizes, then):
            self._core.say(text("shader.tune_no_session"), error=True)

    def close(self) -> None:
        """End the thread."""
        self.desk.close()
