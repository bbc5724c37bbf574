"""The panel of earlier runs of this project and their checkpoints: lay their curves over, go on from one, delete."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from munet.inspect import Checkpoint, PastRun
from studio import runs
from studio.figures import bytes_text
from studio.texts import text
from studio.view import theme
from studio.view.core import Core
from studio.view.dialogs import Dialogs
from studio.view.gui import Tag, clear, dpg
from studio.view.past import Past, date_of, size_of

SHOWN = 60  # runs and checkpoints that are listed


class Runs:
    """Two tables: runs on the left, checkpoints on the right."""

    def __init__(self, core: Core, parent: Tag, past: Past, dialogs: Dialogs):
        self._core, self._past, self._dialogs = core, past, dialogs
        self._seen: object = None
        self.checks: dict[str, Tag] = {}  # by path of the run
        self.resumes: dict[str, Tag] = {}  # by path of the checkpoint
        with dpg.group(parent=parent, horizontal=True):
            self._left: Tag = dpg.add_child_window(width=theme.px(392), border=False)
            self._right: Tag = dpg.add_child_window(border=False)

    def sync(self, now: float) -> None:
        core, past = self._core, self._past
        known = (past.version, core.trainer.folder, core.trainer.runs_version, core.document.version)
        if known == self._seen:
            return
        self._seen = known
        self._show_runs(past.listing.runs)
        self._show_checkpoints(past.listing.runs)

    def _show_runs(self, found: tuple[PastRun, ...]) -> None:
        clear(self._left)
        self.checks.clear()
        total = text("runs.total", count=len(found), size=bytes_text(sum(c.size_bytes for run in found for c in run.checkpoints)))
        dpg.add_text(total if found else text("runs.none"), parent=self._left, color=theme.DIM)
        broken = self._past.listing.broken
        if broken:
            line = dpg.add_text(text("runs.broken", count=len(broken)), parent=self._left, color=theme.HOT)
            theme.tip(line, "\n".join(f"{path}: {why}" for path, why in broken.items()))
        if not found:
            return
        columns = ("overlay", "date", "steps", "loss", "best", "differs", "delete")
        with dpg.table(
            parent=self._left, row_background=True, resizable=True, policy=dpg.mvTable_SizingStretchProp, scrollY=True,
            freeze_rows=1, no_saved_settings=True,
        ):  # fmt: skip
            for name, weight in zip(columns, (0.32, 0.65, 0.6, 0.75, 1.2, 1.3, 0.34), strict=True):
                shown = "" if name in ("overlay", "delete") else text(f"runs.{name}")
                dpg.add_table_column(label=shown, init_width_or_weight=weight)
            for run in found[:SHOWN]:
                with dpg.table_row():
                    self._run(run)

    def _run(self, run: PastRun) -> None:
        past, is_now = self._past, self._past.is_now(run)
        self.checks[run.path] = check = dpg.add_checkbox(
            default_value=run.path in past.overlaid, enabled=not is_now,
            callback=partial(self._lay_over, run.path),
        )  # fmt: skip
        theme.tip(check, text("runs.overlay"))
        date = dpg.add_text(text("runs.now") if is_now else date_of(run.started_at), color=theme.GOOD if is_now else theme.TEXT)
        theme.tip(date, f"{run.path}\n{run.device}\nseed {run.seed}")
        dpg.add_text(f"{run.step:,}")
        loss, best = runs.last_loss(run), runs.best_metric(run)
        dpg.add_text("" if loss is None else f"{loss:.4g}")
        dpg.add_text("" if best is None else f"{best[0]} {best[1]:.4g}")
        differences = runs.differences(self._core.document.graph, run.graph)
        line = dpg.add_text(runs.told(differences) or text("runs.same"), color=theme.DIM)
        theme.tip(line, "\n".join(differences) or text("runs.same"))
        question = text("runs.ask_delete", date=date_of(run.started_at), size=size_of(run))
        choices = ((text("runs.delete"), partial(past.delete, run)), (text("view.cancel"), lambda: None))
        button = dpg.add_button(label="×", small=True, callback=lambda: self._dialogs.ask(question, choices))
        theme.tip(button, text("runs.delete"))

    def _lay_over(self, path: str, sender: Tag, on: bool) -> None:
        self._past.lay_over(path, on)

    def _show_checkpoints(self, found: tuple[PastRun, ...]) -> None:
        clear(self._right)
        self.resumes.clear()
        checkpoints = runs.all_checkpoints(found)
        with dpg.group(parent=self._right, horizontal=True):
            dpg.add_button(label=text("checkpoints.save"), callback=lambda: self._core.trainer.save_checkpoint())
            size = bytes_text(sum(checkpoint.size_bytes for _, checkpoint in checkpoints))
            total = text("checkpoints.total", count=len(checkpoints), size=size)
            dpg.add_text(total if checkpoints else text("checkpoints.none"), color=theme.DIM)
        if not checkpoints:
            return
        with dpg.table(
            parent=self._right, row_background=True, policy=dpg.mvTable_SizingStretchProp, scrollY=True, freeze_rows=1,
            no_saved_settings=True,
        ):  # fmt: skip
            for name, weight in zip(("step", "time", "metrics", "size", ""), (0.5, 0.6, 1.0, 0.75, 1.45), strict=True):
                dpg.add_table_column(label=text(f"checkpoints.{name}") if name else "", init_width_or_weight=weight)
            for _, checkpoint in checkpoints[:SHOWN]:
                with dpg.table_row():
                    self._checkpoint(checkpoint)

    def _checkpoint(self, checkpoint: Checkpoint) -> None:
        step = dpg.add_text(f"{checkpoint.step:,}")
        theme.tip(step, checkpoint.path)
        dpg.add_text(date_of(checkpoint.written_at))
        dpg.add_text(", ".join(f"{name} {value:.4g}" for name, value in checkpoint.metrics.items()), color=theme.DIM)
        dpg.add_text(bytes_text(checkpoint.size_bytes), color=theme.DIM)
        with dpg.group(horizontal=True):
            path = Path(checkpoint.path)
            self.resumes[checkpoint.path] = dpg.add_button(
                label=text("checkpoints.resume"), small=True, callback=partial(self._core.trainer.resume, path)
            )
            facts = {"step": checkpoint.step, "name": path.name, "size": bytes_text(checkpoint.size_bytes)}
            question = text("runs.ask_delete_checkpoint", **facts)
            choices = (
                (text("runs.delete"), partial(self._past.delete_checkpoint, checkpoint)), (text("view.cancel"), lambda: None),
            )  # fmt: skip
            dpg.add_button(label="×", small=True, callback=lambda: self._dialogs.ask(question, choices))
