"""A run that is written down while it trains: its folder, checkpoints by the clock, and what cannot be written.

The folder is like that of `munet run --out`. Whatever cannot be written is told once, and training goes on.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path

from munet import Graph, MunetError, Problem, Progress, ProjectError, RunFolder, Saved, Session
from studio.messages import Keep
from studio.texts import text

LOOK_EVERY_S = 2.0  # whether the folder is still there
FACTS = "run.json"  # what makes a folder one of a run


class Keeper:
    """Used by the worker alone. `tell` gets what cannot be written."""

    def __init__(self, tell: Callable[[MunetError], None]):
        self._tell = tell
        self._told: set[str] = set()
        self._held = contextlib.ExitStack()
        self._every_s, self._saved_at, self._saved_step = 0.0, 0.0, -1
        self._before: tuple[Path, int] | None = None
        self._looked = 0.0
        self.folder: RunFolder | None = None

    def start(self, keep: Keep, session: Session) -> bool:
        """Begin the folder of a run unless it has one; whether one was begun."""
        if self.folder is not None:
            return False
        self._told.clear()
        folder = RunFolder(keep.folder, thinned=True, unwritten=self.unwritten)
        try:
            self._held.enter_context(folder.held())
            folder.start(session.graph, session.seed, session.executor.info)
            if self._before is not None:
                folder.follow_on(RunFolder(self._before[0]), self._before[1])
        except ProjectError as error:
            self._held.close()
            self.unwritten(error)
            return False
        self.folder, self._every_s = folder, keep.every_s
        self._saved_at, self._saved_step = time.monotonic(), session.step_count
        return True

    def unwritten(self, error: MunetError) -> None:
        """Tell an error, but the same one only once a run."""
        if str(error) not in self._told:
            self._told.add(str(error))
            self._tell(error)

    def resumed(self, checkpoint: Path, step: int) -> None:
        """The session has gone back to a checkpoint: what follows is another run, with the metrics of that one up to there."""
        self.end(None)
        self._before = (checkpoint.parent, step) if (checkpoint.parent / FACTS).is_file() else None

    def redrawn(self, graph: Graph) -> None:
        if self.folder is not None:
            try:
                self.folder.redrawn(graph)
            except ProjectError as error:
                self.unwritten(error)

    def progress(self, event: Progress) -> None:
        """Single steps, which no run writes down by itself."""
        if self.folder is not None:
            self.folder.progress(event)

    def report(self, step: int, metrics: dict[str, float]) -> None:
        """An evaluation that the run itself does not write."""
        if self.folder is not None:
            self.folder.report(step, metrics, split="test")

    def saved(self, event: Saved) -> None:
        """The run has written a checkpoint by itself."""
        if self.folder is not None and Path(event.path) == self.folder.checkpoint:
            self._saved_at, self._saved_step = time.monotonic(), event.step

    def save_if_due(self, session: Session) -> Saved | None:
        """The last state, by the clock."""
        if self.folder is not None and time.monotonic() - self._looked > LOOK_EVERY_S:
            self.make_anew(session)
        if self.folder is None or not self._every_s or time.monotonic() - self._saved_at < self._every_s:
            return None
        return self._save(session)

    def end(self, session: Session | None) -> Saved | None:
        """Close the folder; with a session, its state is saved first if that was not done yet."""
        self._before = None
        if self.folder is None:
            return None
        saved = self._save(session) if session is not None and session.step_count != self._saved_step else None
        self._held.close()
        self.folder = None
        return saved

    def make_anew(self, session: Session) -> None:
        """Somebody may have deleted the folder: what is written from now on is to be found again."""
        self._looked = time.monotonic()
        folder = self.folder
        if folder is None or folder.path.is_dir():
            return
        self._held.close()
        try:
            self._held.enter_context(folder.held())
            folder.start(session.graph, session.seed, session.executor.info)
        except ProjectError as error:
            self.unwritten(error)
            return
        found, cure = text("run.folder_gone"), text("run.folder_gone.cure")
        self._tell(ProjectError([Problem("run-folder", found, cure=cure, file=str(folder.path))]))

    def _save(self, session: Session) -> Saved | None:
        assert self.folder is not None
        self.make_anew(session)
        path, self._saved_at = self.folder.checkpoint, time.monotonic()
        self.folder.settle()
        try:
            session.save(path)
        except ProjectError as error:
            self.unwritten(error)
            return None
        self._saved_step = session.step_count
        return Saved(str(path), session.step_count)
