"""Earlier runs of the open project as panels and plots share them: the list, which of them are laid over this run."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from munet import ProjectError
from munet.inspect import Checkpoint, PastRun
from studio import runs
from studio.figures import bytes_text
from studio.runs import EMPTY, Listing, Wanted
from studio.texts import text
from studio.view.core import Core


class Past:
    """`sync` once a frame. `version` counts changes of the list and of what is laid over."""

    def __init__(self, core: Core):
        self._core = core
        self._shelf = runs.Shelf()
        self._seen: object = None
        self._seen_path: Path | None = None
        self._asked = False
        self.listing: Listing = EMPTY
        self.overlaid: set[str] = set()  # paths
        self.version = 0

    @property
    def busy(self) -> bool:
        return self._asked

    def sync(self) -> None:
        core = self._core
        wanted = (core.trainer.runs_version, core.document.path, core.document.graph.name)
        if wanted != self._seen:
            if self._seen is not None and wanted[1] != self._seen_path:
                self.overlaid.clear()
            self._seen, self._seen_path = wanted, wanted[1]
            self.look()
        found = self._shelf.poll()
        if found is not None:
            self._asked = False
            self.listing = found
            self.overlaid &= {run.path for run in found.runs}
            self.version += 1

    def look(self) -> None:
        """Read the folders anew, on the shelf's thread."""
        core = self._core
        self._asked = True
        trainer, document = core.trainer, core.document
        name = document.graph.name
        self._shelf.look(Wanted((trainer.runs_folder,), tuple(trainer.folders), document.path, name))

    # -- which are shown -----------------------------------------------------------------------------------------------

    def lay_over(self, path: str, on: bool) -> None:
        (self.overlaid.add if on else self.overlaid.discard)(path)
        self.version += 1

    def is_now(self, run: PastRun) -> bool:
        """Whether it is the run that is being written."""
        folder = self._core.trainer.folder
        return folder is not None and Path(run.path) == folder

    @property
    def earlier(self) -> dict[str, PastRun]:
        """Those laid over, by how a legend calls them."""
        chosen = [run for run in self.listing.runs if run.path in self.overlaid and not self.is_now(run)]
        return {title_of(run): run for run in reversed(chosen)}

    # -- deleting ------------------------------------------------------------------------------------------------------

    def delete(self, run: PastRun) -> None:
        if self.is_now(run):
            self._core.say(text("runs.in_use"), error=True)
            return
        self._delete(run.name, lambda: runs.delete_run(Path(run.path)))

    def delete_checkpoint(self, checkpoint: Checkpoint) -> None:
        path = Path(checkpoint.path)
        self._delete(path.name, lambda: runs.delete_file(path))

    def _delete(self, name: str, delete: Callable[[], None]) -> None:
        try:
            delete()
        except (ProjectError, OSError) as error:
            self._core.say(str(error), error=True)
        else:
            self._core.say(text("runs.deleted", name=name))
        self.look()

    def close(self) -> None:
        self._shelf.close()


def title_of(run: PastRun) -> str:
    return date_of(run.started_at, seconds=True)


def date_of(at: float, *, seconds: bool = False) -> str:
    """A time of today as "14:02", of another day as "03-17 14:02"."""
    when, today = time.localtime(at), time.localtime()
    hour = time.strftime("%H:%M:%S" if seconds else "%H:%M", when)
    return hour if when[:3] == today[:3] else f"{time.strftime('%Y-%m-%d' if when[0] != today[0] else '%m-%d', when)} {hour}"


def size_of(run: PastRun) -> str:
    return bytes_text(sum(checkpoint.size_bytes for checkpoint in run.checkpoints))
