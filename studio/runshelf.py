"""Earlier runs on the disk, handled on a thread of their own: reading, deleting, pruning, and taking over those of a project that
had no file yet.

Runs lie in a folder for each project (`runs.folder_of`). A project that is saved for the first time takes its runs along: they
are moved into its own folder, one that is still being written as soon as that has ended.
"""

from __future__ import annotations

import contextlib
import json
import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from munet import MunetError, Problem, ProjectError, parse_json, read_file, take_lock, write_file
from munet.inspect import PastRun, read_run
from studio import runlabels
from studio.runlabels import NONE, Label
from studio.texts import text

BESIDE = "runs"  # a folder beside the project file
ADOPTED = "taken-over.json"  # runs that still lie elsewhere
_OURS = ("run.json", "project.json", "metrics.jsonl", runlabels.FILE, ".lock")
_NOT_READ = (runlabels.FILE, ".lock")
MAX_BYTES = 2**20


@dataclass(frozen=True)
class Wanted:
    """Where to look: `parents` hold run folders, `single` are some; those beside `project` count if its name is theirs.

    `keep`: of unpinned runs in the first of the parents, only so many stay, those in `spared` besides; 0 = all.
    """

    parents: tuple[Path, ...] = ()
    single: tuple[Path, ...] = ()
    project: Path | None = None
    name: str = ""
    keep: int = 0
    spared: frozenset[Path] = frozenset()


@dataclass(frozen=True, eq=False)
class Listing:
    """Runs, the newest first, and what could not be read with the reason; `pruned`: how many were deleted for their number."""

    runs: tuple[PastRun, ...] = ()
    broken: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, Label] = field(default_factory=dict)  # by path
    pruned: int = 0

    def label(self, run: PastRun) -> Label:
        return self.labels.get(run.path, NONE)


EMPTY = Listing()


@dataclass(frozen=True)
class Done:
    """A job on the disk has ended; `words` are to be told."""

    words: str
    failed: bool = False


class Shelf:
    """`look`, `do` and the polls never wait. A folder that has not changed is not read again."""

    def __init__(self) -> None:
        self._asked: queue.SimpleQueue[Callable[[], Listing | Done] | None] = queue.SimpleQueue()
        self._found: queue.SimpleQueue[Listing | Done] = queue.SimpleQueue()
        self._known: dict[Path, tuple[object, PastRun]] = {}
        self._pending = 0
        self._thread = threading.Thread(target=self._work, name="runs", daemon=True)
        self._thread.start()

    @property
    def busy(self) -> bool:
        return self._pending > 0

    def look(self, wanted: Wanted) -> None:
        self._ask(lambda: self.read(wanted))

    def do(self, work: Callable[[], None], words: str) -> None:
        """`words` are told when it has been done, else what kept it from being done."""

        def job() -> Done:
            try:
                work()
            except (MunetError, OSError) as error:
                return Done(str(error), failed=True)
            return Done(words)

        self._ask(job)

    def _ask(self, job: Callable[[], Listing | Done]) -> None:
        self._pending += 1
        self._asked.put(job)

    def poll(self) -> tuple[Listing | None, list[Done]]:
        """The newest listing since the last call, if there is one, and what was done."""
        newest, done = None, list[Done]()
        while True:
            try:
                found = self._found.get_nowait()
            except queue.Empty:
                return newest, done
            self._pending -= 1
            if isinstance(found, Done):
                done.append(found)
                continue
            if found.pruned:
                done.append(Done(text("runs.pruned", count=found.pruned)))
            newest = found

    def close(self, timeout_s: float = 2.0) -> None:
        self._asked.put(None)
        self._thread.join(timeout_s)

    def _work(self) -> None:
        while (job := self._asked.get()) is not None:
            try:
                found = job()
            except Exception as error:  # noqa: BLE001  # the panel must learn of it, which else waits for ever
                found = Done(text("job.unexpected", error=f"{type(error).__name__}: {error}"), failed=True)
            self._found.put(found)

    # -- reading -------------------------------------------------------------------------------------------------------

    def read(self, wanted: Wanted) -> Listing:
        """What there is; waits for it."""
        elsewhere = [path for parent in wanted.parents for path in take_over(parent)]
        runs: dict[Path, PastRun] = {}
        broken: dict[str, str] = {}
        for path, own in _candidates(wanted, elsewhere):
            try:
                run = self._read(path)
            except FileNotFoundError:
                continue  # deleted between being listed and being read
            except (MunetError, OSError) as error:
                broken[str(path)] = str(error).splitlines()[0]
                continue
            if own or run.graph.name == wanted.name:
                runs[path] = run
        labels = {str(path): runlabels.read_label(path) for path in runs}
        found = sorted(runs.values(), key=lambda run: (run.started_at, run.path), reverse=True)
        gone = _prune(surplus(found, labels, wanted), broken)
        self._known = {path: self._known[path] for path in runs if str(path) not in gone}
        return Listing(tuple(run for run in found if run.path not in gone), broken, labels, len(gone))

    def _read(self, path: Path) -> PastRun:
        files = [file for file in sorted(path.iterdir()) if file.name not in _NOT_READ]
        stamp = tuple((file.name, (found := file.stat()).st_mtime_ns, found.st_size) for file in files)
        known = self._known.get(path)
        if known is None or known[0] != stamp:
            self._known[path] = known = (stamp, read_run(path))
        return known[1]


def _candidates(wanted: Wanted, elsewhere: Sequence[Path]) -> Iterator[tuple[Path, bool]]:
    """Folders that may be runs, and whether they are surely of this project."""
    seen: set[Path] = set()
    beside = [wanted.project.parent / BESIDE] if wanted.project is not None else []
    for own, parents in ((True, wanted.parents), (False, beside)):
        for parent in parents:
            children = sorted(parent.iterdir()) if parent.is_dir() else []
            for path in (path for path in children if (path / "run.json").is_file() or (own and path.is_dir())):
                if path not in seen:
                    seen.add(path)
                    yield path, own
    yield from ((path, True) for path in dict.fromkeys((*wanted.single, *elsewhere)) if path not in seen and path.is_dir())


# -- deleting --------------------------------------------------------------------------------------------------------------


def is_in_use(path: Path) -> bool:
    """Whether a run is being written there, by whomever."""
    try:
        with (path / ".lock").open("r+b") as stream:
            return not take_lock(stream)
    except OSError:
        return False


def delete_run(path: Path) -> None:
    """Remove a run's files, and its folder if nothing else is in it. Raises ProjectError, also for one that is being written."""
    if is_in_use(path):
        raise ProjectError([Problem("run-in-use", text("runs.in_use"), file=str(path))])
    files = [file for file in path.iterdir() if file.name in _OURS or file.suffix == ".safetensors"] if path.is_dir() else []
    for file in files:
        delete_file(file)
    with contextlib.suppress(OSError):  # something else lies in it
        path.rmdir()


def delete_file(path: Path) -> None:
    """Raises ProjectError when it cannot be removed."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise ProjectError([Problem("file-write", f"it cannot be deleted ({error.strerror})", file=str(path))]) from None


def surplus(found: Sequence[PastRun], labels: Mapping[str, Label], wanted: Wanted) -> list[PastRun]:
    """Runs beyond the number that is kept, of those that may go; `found` is in order, the newest first."""
    if not wanted.keep or not wanted.parents:
        return []
    loose = [
        run for run in found if Path(run.path).parent == wanted.parents[0] and not labels.get(run.path, NONE).pinned
    ]  # fmt: skip
    return [run for run in loose[wanted.keep :] if Path(run.path) not in wanted.spared]


def _prune(runs: Sequence[PastRun], broken: dict[str, str]) -> set[str]:
    """Paths of those that were deleted; one that another program writes stays."""
    gone: set[str] = set()
    for run in runs:
        if is_in_use(Path(run.path)):
            continue
        try:
            delete_run(Path(run.path))
        except (MunetError, OSError) as error:
            broken[run.path] = str(error).splitlines()[0]
        else:
            gone.add(run.path)
    return gone


# -- a project gets its first file -----------------------------------------------------------------------------------------


def adopt(parent: Path, runs: Sequence[Path]) -> None:
    """These runs belong to the project whose folder is `parent` from now on. Raises ProjectError."""
    known = dict.fromkeys([*_adopted(parent), *runs])
    if known:
        try:
            parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ProjectError([Problem("file-write", f"it cannot be made ({error.strerror})", file=str(parent))]) from None
        write_file(parent / ADOPTED, (json.dumps([str(path) for path in known]) + "\n").encode())


def take_over(parent: Path) -> list[Path]:
    """Move runs that were adopted into the folder; those that have to stay where they are, as they are being written."""
    waiting = [path for path in _adopted(parent) if path.is_dir()]
    stay: list[Path] = []
    for path in waiting:
        target = parent / path.name
        try:
            if is_in_use(path) or target.exists():
                stay.append(path)
            else:
                path.replace(target)
        except OSError:  # on another disk, perhaps: it is listed where it lies
            stay.append(path)
    if not stay:
        with contextlib.suppress(OSError):
            (parent / ADOPTED).unlink(missing_ok=True)
    return stay


def _adopted(parent: Path) -> list[Path]:
    if not (parent / ADOPTED).is_file():
        return []
    try:
        known = parse_json(read_file(parent / ADOPTED, MAX_BYTES))
    except ProjectError:
        return []
    return [Path(path) for path in known if isinstance(path, str)] if isinstance(known, list) else []
