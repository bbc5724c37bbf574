"""Earlier runs of the open project as panels and plots share them: the list, which of them are laid over this run."""

from __future__ import annotations

import time
from pathlib import Path

from munet.inspect import Checkpoint, PastRun
from studio import runs, runshelf
from studio.figures import bytes_text
from studio.runlabels import Label, write_label
from studio.runshelf import EMPTY, Listing, Shelf, Wanted
from studio.texts import text
from studio.view.core import Core


class Past:
    """`sync` once a frame. `version` counts changes of the list and of what is laid over."""

    def __init__(self, core: Core):
        self._core = core
        self._shelf = Shelf()
        self._seen: object = None
        self._project: tuple[int, Path | None, Path] | None = None  # opened version, file, folder of runs
        self._run: Path | None = None  # the run that was being written when it was last looked
        self.listing: Listing = EMPTY
        self.overlaid: set[str] = set()  # paths
        self.version = 0

    @property
    def busy(self) -> bool:
        return self._shelf.busy

    def sync(self) -> None:
        core = self._core
        self._heed_project()
        wanted = (core.trainer.runs_version, core.document.path, core.document.graph.name)
        if wanted != self._seen:
            self._seen = wanted
            self.look()
        found, done = self._shelf.poll()
        for each in done:
            if each.words:
                core.say(each.words, error=each.failed)
        if found is not None:
            self.listing = found
            self.overlaid &= {run.path for run in found.runs}
            self.version += 1

    def _heed_project(self) -> None:
        """Another project has other runs; one that is saved for the first time takes its runs along."""
        core = self._core
        now = core.opened_version, core.document.path, core.trainer.runs_folder
        before, self._project = self._project, now
        if before is None or before[:2] == now[:2]:
            return
        if before[0] != now[0]:
            self.overlaid.clear()
        elif before[1] is None and core.trainer.folders:
            folders = tuple(core.trainer.folders)
            self._shelf.do(lambda: runshelf.adopt(now[2], folders), "")

    def look(self) -> None:
        """Read the folders anew, on the shelf's thread. When a run begins, the oldest ones beyond the number kept go."""
        trainer, document = self._core.trainer, self._core.document
        begins = trainer.folder is not None and trainer.folder != self._run
        self._run = trainer.folder
        keep = int(self._core.preferences.runs_kept) if begins else 0
        spared = frozenset(map(Path, (*self.overlaid, *trainer.folders)))
        name = document.graph.name
        self._shelf.look(Wanted((trainer.runs_folder,), tuple(trainer.folders), document.path, name, keep, spared))

    # -- which are shown -----------------------------------------------------------------------------------------------

    def lay_over(self, path: str, on: bool) -> None:
        (self.overlaid.add if on else self.overlaid.discard)(path)
        self.version += 1

    def lay_last_over(self) -> None:
        """The newest run before this one, in the plots or out of them again."""
        run = next((run for run in self.listing.runs if not self.is_now(run)), None)
        if run is None:
            self._core.say(text("runs.none"), error=True)
            return
        on = run.path not in self.overlaid
        self.lay_over(run.path, on)
        self._core.say(text("runs.laid_over" if on else "runs.taken_away", name=self.title_of(run)))

    def resume_last(self) -> None:
        """Go on from the checkpoint that was written last."""
        found = runs.all_checkpoints(self.listing.runs)
        if found:
            self._core.trainer.resume(Path(found[0][1].path), found[0][0])
        else:
            self._core.say(text("checkpoints.none"), error=True)

    def is_now(self, run: PastRun) -> bool:
        """Whether it is the run that is being written."""
        folder = self._core.trainer.folder
        return folder is not None and Path(run.path) == folder

    def title_of(self, run: PastRun) -> str:
        return self.listing.label(run).name or date_of(run.started_at, seconds=True)

    @property
    def earlier(self) -> dict[str, PastRun]:
        """Those laid over, by how a legend calls them."""
        found: dict[str, PastRun] = {}
        for run in reversed(self.listing.runs):
            if run.path in self.overlaid and not self.is_now(run):
                title = self.title_of(run)
                found[title if title not in found else f"{title}, {date_of(run.started_at, seconds=True)}"] = run
        return found

    # -- labels, deleting ----------------------------------------------------------------------------------------------

    def set_label(self, run: PastRun, label: Label) -> None:
        if label != self.listing.label(run):
            self._shelf.do(lambda: write_label(Path(run.path), label), "")
            self.look()

    def delete(self, run: PastRun) -> None:
        if self.is_now(run):
            self._core.say(text("runs.in_use"), error=True)
            return
        self._shelf.do(lambda: runshelf.delete_run(Path(run.path)), text("runs.deleted", name=self.title_of(run)))
        self.look()

    def delete_checkpoint(self, checkpoint: Checkpoint) -> None:
        path = Path(checkpoint.path)
        self._shelf.do(lambda: runshelf.delete_file(path), text("runs.deleted", name=path.name))
        self.look()

    def close(self) -> None:
        self._shelf.close()


def date_of(at: float, *, seconds: bool = False) -> str:
    """A time of today as "14:02", of another day as "03-17 14:02"."""
    when, today = time.localtime(at), time.localtime()
    hour = time.strftime("%H:%M:%S" if seconds else "%H:%M", when)
    return hour if when[:3] == today[:3] else f"{time.strftime('%Y-%m-%d' if when[0] != today[0] else '%m-%d', when)} {hour}"


def size_of(run: PastRun) -> str:
    return bytes_text(sum(checkpoint.size_bytes for checkpoint in run.checkpoints))
