"""The panel of earlier runs of this project and their checkpoints: lay their curves over, name and pin them, go on, delete."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from munet import Graph
from munet.inspect import Checkpoint, PastRun
from studio import runs
from studio.figures import bytes_text
from studio.icons import icon
from studio.record import Table
from studio.runlabels import LONGEST_NAME, Label
from studio.texts import shown, text
from studio.view import theme
from studio.view.core import Core
from studio.view.dialogs import Dialogs, Field
from studio.view.gui import Tag, clear, dpg
from studio.view.past import Past, date_of, size_of

SHOWN = 60  # runs and checkpoints that are listed
FOLLOW_EVERY_S = 0.25  # what the run of now has reached
COMPARE_EVERY_S = 0.5  # the drawing with those of the runs, while it is edited
COLUMNS = {"overlay": 30, "pin": 30, "run": 2.2, "steps": 1.0, "loss": 1.1, "best": 1.9, "differs": 2.4, "more": 74}
OF_CHECKPOINTS = {"step": 0.8, "time": 1.0, "run": 1.5, "metrics": 3.0, "size": 0.9, "more": 130}
NEEDS = {"steps": 300, "best": 380, "differs": 470}  # columns that there are from so many pixels of room on, at scale 1
UNNAMED = ("overlay", "pin", "more")  # columns without a head


class Runs:
    """Two tables behind tabs."""

    def __init__(self, core: Core, parent: Tag, past: Past, dialogs: Dialogs):
        self._core, self._past, self._dialogs = core, past, dialogs
        self._seen: dict[str, object] = {}  # what each tab shows
        self._compared: tuple[Graph | None, float] = (None, 0.0)
        self._optional: dict[str, Tag] = {}  # columns that a narrow panel leaves out
        self._room = 0.0
        self._lines: dict[str, tuple[PastRun, Tag, Tag]] = {}  # in what a run differs: its text and tip, by path
        self._now: tuple[Tag, ...] = ()  # steps, loss and best value of the run that is being written
        self._followed, self._heard = 0.0, -1
        self.checks: dict[str, Tag] = {}  # by path of the run, as the next three are
        self.pins: dict[str, Tag] = {}
        self.edits: dict[str, Tag] = {}
        self.deletes: dict[str, Tag] = {}
        self.resumes: dict[str, Tag] = {}  # by path of the checkpoint
        with dpg.tab_bar(parent=parent) as self._bar:
            self.tabs: dict[str, Tag] = {name: dpg.add_tab(label=text(f"runs.tab_{name}")) for name in ("runs", "checkpoints")}
        self._left, self._right = (dpg.add_child_window(parent=tab, border=False) for tab in self.tabs.values())

    def sync(self, now: float) -> None:
        core, past = self._core, self._past
        known = (past.version, core.trainer.folder, core.trainer.has_session, theme.scale())
        name = "checkpoints" if dpg.get_value(self._bar) == self.tabs["checkpoints"] else "runs"
        if known != self._seen.get(name):  # only the one in front: many rows take a good part of a frame's time
            self._seen[name] = known
            if name == "runs":
                self._compared = (None, 0.0)
                self._show_runs(past.listing.runs)
            else:
                self._show_checkpoints(past.listing.runs)
        room = dpg.get_item_rect_size(self._left)[0]
        if room and room != self._room:
            self._room = room
            self._leave_out()
        self._follow(now)
        graph, at = self._compared
        if graph is not core.document.graph and now - at > COMPARE_EVERY_S:
            self._compared = (core.document.graph, now)
            for run, line, tip in self._lines.values():
                found = runs.differences(core.document.graph, run.graph)
                dpg.set_value(line, runs.told(found) or text("runs.same"))
                dpg.set_value(tip, "\n".join(found) or text("runs.same"))

    def _leave_out(self) -> None:
        """Columns for which there is no room: numbers that are cut off would be read as others."""
        for name, column in self._optional.items():
            dpg.configure_item(column, show=self._room >= theme.px(NEEDS[name]))

    def _table(self, parent: Tag, columns: dict[str, float], title: Callable[[str], str]) -> Tag:
        """Numbers above 10 are pixels at scale 1, others shares of what is left."""
        table: Tag = dpg.add_table(
            parent=parent, row_background=True, policy=dpg.mvTable_SizingStretchProp, scrollY=True, freeze_rows=1,
            resizable=True, no_saved_settings=True,
        )  # fmt: skip
        for name, room in columns.items():
            label = "" if name in UNNAMED else title(name)
            size = {"width_fixed": True, "init_width_or_weight": theme.px(room)} if room > 10 else {"init_width_or_weight": room}
            column = dpg.add_table_column(label=label, parent=table, **size)
            if name in NEEDS and columns is COLUMNS:
                self._optional[name] = column
        return table

    # -- runs ----------------------------------------------------------------------------------------------------------

    def _show_runs(self, found: tuple[PastRun, ...]) -> None:
        clear(self._left)
        self._now, self._heard = (), -1
        for known in (self.checks, self.pins, self.edits, self.deletes, self._lines, self._optional):
            known.clear()
        total = text("runs.total", count=len(found), size=bytes_text(sum(c.size_bytes for run in found for c in run.checkpoints)))
        if len(found) > SHOWN:
            total += text("runs.newest", count=SHOWN)
        dpg.add_text(total if found else text("runs.none"), parent=self._left, color=theme.DIM)
        broken = self._past.listing.broken
        if broken:
            line = dpg.add_text(text("runs.broken", count=len(broken)), parent=self._left, color=theme.HOT)
            theme.tip(line, "\n".join(f"{path}: {why}" for path, why in broken.items()))
        if not found:
            return
        table = self._table(self._left, COLUMNS, lambda name: text(f"runs.{name}"))
        self._leave_out()
        for run in found[:SHOWN]:
            with dpg.table_row(parent=table):
                self._run(run)

    def _run(self, run: PastRun) -> None:
        past, is_now, label = self._past, self._past.is_now(run), self._past.listing.label(run)
        self.checks[run.path] = check = dpg.add_checkbox(
            default_value=run.path in past.overlaid, enabled=not is_now, callback=partial(self._lay_over, run.path),
        )  # fmt: skip
        theme.tip(check, text("runs.overlay"))
        pinned = replace(label, pinned=not label.pinned)
        self.pins[run.path] = pin = dpg.add_button(label=icon("star"), small=True, callback=lambda: past.set_label(run, pinned))
        dpg.bind_item_theme(pin, _pin_theme(label.pinned))
        theme.tip(pin, text("runs.unpin" if label.pinned else "runs.pin"))
        words = text("runs.now") if is_now else label.name or date_of(run.started_at)
        if is_now and label.name:
            words = f"{label.name} ({words})"
        title = theme.dress(dpg.add_text(words, color=theme.GOOD if is_now else theme.TEXT), words)
        facts = (label.note, date_of(run.started_at, seconds=True), run.device, f"seed {run.seed}", shown(run.path))
        theme.tip(title, "\n".join(filter(None, facts)))
        figures = self._figures(run.step, run.series, run.evaluations, run.graph)
        cells = [dpg.add_text(words) for words in figures]
        theme.tip(cells[-1], text("runs.best_tip") if figures[-1] else text("runs.not_evaluated"))
        if is_now:
            self._now = tuple(cells)
        line = dpg.add_text("", color=theme.DIM)
        with dpg.tooltip(line, delay=0.4):
            self._lines[run.path] = run, line, theme.sized(dpg.add_text(""), wrap=400)
        with dpg.group(horizontal=True):
            self.edits[run.path] = edit = dpg.add_button(label=icon("rename"), small=True, callback=partial(self._edit, run))
            theme.tip(edit, text("runs.edit"))
            self.deletes[run.path] = button = dpg.add_button(
                label=icon("delete"), small=True, callback=partial(self._ask_delete, run), enabled=not is_now
            )
            theme.tip(button, text("runs.in_use" if is_now else "runs.delete_tip"))

    @staticmethod
    def _figures(step: int, series: Table, evaluations: Table, graph: Graph) -> tuple[str, str, str]:
        """Steps, loss, the best value of the held-out samples."""
        loss, best = runs.last_loss(series), runs.best_metric(evaluations, graph.run.judged_by)
        return f"{step:,}", "" if loss is None else f"{loss:.4g}", "" if best is None else f"{best[0]} {best[1]:.4g}"

    def _follow(self, now: float) -> None:
        """The run of now as it is, which its folder says only after a while."""
        record, graph = self._core.trainer.record, self._core.document.graph
        if not self._now or now - self._followed < FOLLOW_EVERY_S:
            return
        self._followed = now
        if record.version != self._heard:
            self._heard = record.version
            for cell, words in zip(self._now, self._figures(record.step, *record.tables, graph), strict=True):
                dpg.set_value(cell, words)

    def _lay_over(self, path: str, sender: Tag, on: bool) -> None:
        self._past.lay_over(path, on)

    def _edit(self, run: PastRun) -> None:
        label = self._past.listing.label(run)
        fields = (Field("name", text("runs.name"), label.name), Field("note", text("runs.note"), label.note, lines=5))

        def take(given: dict[str, str]) -> None:
            self._past.set_label(run, Label(given["name"].strip()[:LONGEST_NAME], given["note"].strip(), label.pinned))

        title = text("runs.of", date=date_of(run.started_at, seconds=True))
        self._dialogs.form(title, fields, take, text("runs.take"), text("view.cancel"))

    def _ask_delete(self, run: PastRun) -> None:
        question = text("runs.ask_delete", date=self._past.title_of(run), size=size_of(run))
        if self._past.listing.label(run).pinned:
            question = f"{text('runs.is_pinned')} {question}"
        choices = ((text("runs.delete"), partial(self._past.delete, run)), (text("view.cancel"), lambda: None))
        self._dialogs.ask(question, choices, careful=True)

    # -- checkpoints ---------------------------------------------------------------------------------------------------

    def _show_checkpoints(self, found: tuple[PastRun, ...]) -> None:
        clear(self._right)
        self.resumes.clear()
        checkpoints = runs.all_checkpoints(found)
        with dpg.group(parent=self._right, horizontal=True):
            save = dpg.add_button(
                label=text("checkpoints.save"),
                callback=self._core.trainer.save_checkpoint,
                enabled=self._core.trainer.has_session,
            )
            theme.tip(save, text("checkpoints.save_tip"))
            size = bytes_text(sum(checkpoint.size_bytes for _, checkpoint in checkpoints))
            total = text("checkpoints.total", count=len(checkpoints), size=size)
            if len(checkpoints) > SHOWN:
                total += text("runs.newest", count=SHOWN)
            dpg.add_text(total if checkpoints else text("checkpoints.none"), color=theme.DIM)
        if not checkpoints:
            return
        table = self._table(self._right, OF_CHECKPOINTS, lambda name: text(f"checkpoints.{name}"))
        for run, checkpoint in checkpoints[:SHOWN]:
            with dpg.table_row(parent=table):
                self._checkpoint(run, checkpoint)

    def _checkpoint(self, run: PastRun, checkpoint: Checkpoint) -> None:
        theme.tip(dpg.add_text(f"{checkpoint.step:,}"), shown(checkpoint.path))
        dpg.add_text(date_of(checkpoint.written_at))
        words = text("runs.now") if self._past.is_now(run) else self._past.title_of(run)
        theme.dress(dpg.add_text(words, color=theme.DIM), words)
        metrics = ", ".join(f"{name} {value:.4g}" for name, value in checkpoint.metrics.items())
        theme.tip(dpg.add_text(metrics, color=theme.DIM), metrics or text("runs.not_evaluated"))
        dpg.add_text(bytes_text(checkpoint.size_bytes), color=theme.DIM)
        with dpg.group(horizontal=True):
            path = Path(checkpoint.path)
            self.resumes[checkpoint.path] = resume = dpg.add_button(
                label=text("checkpoints.resume"), small=True, callback=partial(self._core.trainer.resume, path, run)
            )
            theme.tip(resume, text("checkpoints.resume_tip"))
            button = dpg.add_button(label=icon("delete"), small=True, callback=partial(self._ask_delete_file, checkpoint))
            theme.tip(button, text("checkpoints.delete_tip"))

    def _ask_delete_file(self, checkpoint: Checkpoint) -> None:
        facts = {"step": checkpoint.step, "name": Path(checkpoint.path).name, "size": bytes_text(checkpoint.size_bytes)}
        delete = partial(self._past.delete_checkpoint, checkpoint)
        choices = ((text("runs.delete"), delete), (text("view.cancel"), lambda: None))
        self._dialogs.ask(text("runs.ask_delete_checkpoint", **facts), choices, careful=True)


_PINS: dict[bool, Tag] = {}


def _pin_theme(pinned: bool) -> Tag:
    if pinned not in _PINS or not dpg.does_item_exist(_PINS[pinned]):
        _PINS[pinned] = theme.text_theme(theme.ACCENT if pinned else theme.DIM, (3, 0))
    return _PINS[pinned]
