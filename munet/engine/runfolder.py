"""A run's folder: a copy of the project, what it ran on, its metrics, its last checkpoint.

project.json   the project as it was run        metrics.jsonl      one line a report, evaluations among them
run.json       date, seed, device, versions     last.safetensors   the state after the last step that was saved
.lock          held while a run writes here     best.safetensors   the one with the best metric, where the run keeps it
                                                before-N.safetensors   as it was at step N, before a changed drawing went on
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from munet.engine.device import DeviceInfo
from munet.engine.errors import MunetError, Problem, ProjectError
from munet.engine.events import Progress
from munet.engine.files import PathLike, take_lock, write_file
from munet.engine.graph import Graph
from munet.engine.project import save_project
from munet.engine.version import VERSION

_OURS = ("run.json", "project.json", "metrics.jsonl", "last.safetensors", "best.safetensors")
DENSE_STEPS = 1000  # of a thinned run, each with a line; afterwards half as many steps have one each time their number doubles
_TEMPORARY = re.compile(r"\..+\.(\d+)\.[0-9a-f]{8}\.tmp")  # as `write_file` names them, by process


class RunFolder:
    """Makes the folder when the run starts. Raises ProjectError when it cannot be written to, or holds another run.

    thinned    lines of training are thinned by their steps: a short run has a curve that one can see, and a run of a day a
               small file. What an evaluation, a checkpoint or the end refers to always has one. Else: a line a submit
    unwritten  gets what cannot be written while the run goes on; without it the run ends with that error
    """

    def __init__(self, folder: PathLike, *, thinned: bool = False, unwritten: Callable[[MunetError], None] | None = None):
        self.path = Path(folder)
        self._thinned, self._unwritten = thinned, unwritten
        self._passed_over: tuple[int, dict[str, float]] | None = None  # the newest step without a line

    @property
    def checkpoint(self) -> Path:
        return self.path / "last.safetensors"

    @property
    def best(self) -> Path:
        return self.path / "best.safetensors"

    @property
    def has_checkpoint(self) -> bool:
        return self.checkpoint.is_file()

    def check(self, *, resuming: bool) -> None:
        """Raises ProjectError when a run cannot start here, or there is nothing to resume; writes nothing."""
        if resuming and not self.has_checkpoint:
            raise self._refused(f"nothing to resume in {self.path}", "leave out --resume and --more to start a run there")
        if not resuming and self.has_checkpoint:
            raise self._refused("the folder holds a run already", "--resume, or another folder")
        found = [name for name in _OURS if (self.path / name).exists()]
        begun = "best.safetensors" in found or ("metrics.jsonl" in found and self._metrics.stat().st_size > 0)
        if "munet" not in self._facts():
            strange = [name for name in found if not (resuming and name.endswith(".safetensors"))]
            if strange:
                raise self._refused(f"the folder holds {' and '.join(strange)}, but no run of ours", "another folder")
        elif begun and not resuming:
            cure = "another folder, or delete what is in this one"
            raise self._refused("the folder holds a run whose last.safetensors is gone", cure)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """The folder, for one run at a time: made if need be, freed of what dead processes left. Raises ProjectError."""
        self._make()
        try:
            stream = (self.path / ".lock").open("ab")
        except OSError as error:
            raise self._unwritable(error) from None
        with stream:
            if not take_lock(stream):
                raise self._refused("another run writes here", "wait until it has ended, or another folder")
            self._sweep()
            yield

    def start(
        self, graph: Graph, seed: int, device: DeviceInfo, *, resumed_at: int | None = None, changes: Sequence[str] = ()
    ) -> None:
        """Writes what is known at the start; a resumed run keeps its metrics up to the step it resumes at.

        changes   those of the command line, as "node.param=value"; a resumed run adds them to those it had
        """
        self.check(resuming=resumed_at is not None)
        self._make()
        before = self._facts() if resumed_at is not None else {}
        earlier = before.get("set", [])
        save_project(graph, self.path / "project.json")
        facts = {
            "started": before.get("started", datetime.now(UTC).isoformat(timespec="seconds")),
            "seed": seed,
            "set": [*(earlier if isinstance(earlier, list) else []), *changes],
            "device": device.name,
            "driver": device.driver,
            "munet": VERSION,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "system": platform.platform(),
        }
        write_file(self.path / "run.json", (json.dumps(facts, indent=2) + "\n").encode())
        write_file(self._metrics, self._lines_until(resumed_at or 0))

    def keep_checkpoint(self, step: int) -> Path:
        """A copy of the last checkpoint under a name that no run writes to."""
        content = self.checkpoint.read_bytes()
        number, path = 1, self.path / f"before-{step}.safetensors"
        while path.exists() and path.read_bytes() != content:
            number += 1
            path = self.path / f"before-{step}-{number}.safetensors"
        write_file(path, content)
        return path

    def progress(self, event: Progress) -> None:
        """Adds lines for steps that have finished."""
        if not self._thinned:
            self.report(event.step, event.metrics)
            return
        lines: list[str] = []
        for place, row in enumerate(event.rows):
            step = event.first_step + 1 + place
            self._passed_over = (step, dict(zip(event.names, map(float, row), strict=True)))
            if step % _distance(step) == 0:
                lines.append(_line(*self._passed_over, "train"))
                self._passed_over = None
        self._append(lines)

    def report(self, step: int, metrics: Mapping[str, float], *, split: str = "train") -> None:
        """Adds a line to metrics.jsonl."""
        self.settle()
        self._append([_line(step, metrics, split)])

    def settle(self) -> None:
        """Write the newest metrics of training if they were passed over: what comes next refers to them."""
        if self._passed_over is not None:
            (step, metrics), self._passed_over = self._passed_over, None
            self._append([_line(step, metrics, "train")])

    def _append(self, lines: Sequence[str]) -> None:
        if not lines:
            return
        try:
            with self._metrics.open("a", encoding="utf-8") as stream:
                stream.write("".join(lines))
        except OSError as error:
            self.go_on_after(MunetError(f"{self._metrics}: the metrics cannot be written ({error.strerror})"))

    def go_on_after(self, error: MunetError) -> None:
        """What could not be written is told, and the run goes on; raises it where nobody listens."""
        if self._unwritten is None:
            raise error from None
        self._unwritten(error)

    def follow_on(self, other: RunFolder, step: int) -> None:
        """This run goes on from a checkpoint of another one: the metrics up to that step are its own too. Raises ProjectError."""
        write_file(self._metrics, other._lines_until(step))

    def redrawn(self, graph: Graph) -> None:
        """The run goes on with a changed drawing: project.json is that one from now on. Raises ProjectError."""
        save_project(graph, self.path / "project.json")

    def evaluations(self, until: int) -> list[tuple[int, dict[str, float]]]:
        """Evaluations up to a step, oldest first, as (step, metrics)."""
        found: list[tuple[int, dict[str, float]]] = []
        for line in self._lines_until(until).decode().splitlines():
            known = json.loads(line)
            if known.get("split") == "test":
                metrics = {name: float(value) for name, value in known.items() if name not in ("step", "split")}
                found.append((known["step"], metrics))
        return found

    def _refused(self, found: str, cure: str) -> ProjectError:
        return ProjectError([Problem("run-exists", found, cure=cure, file=str(self.path))])

    def _unwritable(self, error: OSError) -> ProjectError:
        found = f"the folder cannot be made or written to ({error.strerror})"
        return ProjectError([Problem("file-write", found, file=str(self.path))])

    def _make(self) -> None:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._unwritable(error) from None

    def _facts(self) -> dict[str, Any]:
        """What run.json says; {} where it is missing or no such file of ours."""
        try:
            facts = json.loads((self.path / "run.json").read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        return facts if isinstance(facts, dict) else {}

    def _sweep(self) -> None:
        """Remove the temporary files of processes that died while they wrote."""
        for path in self.path.glob(".*.tmp"):
            known = _TEMPORARY.fullmatch(path.name)
            if known and not _is_alive(int(known[1])):
                with contextlib.suppress(OSError):
                    path.unlink()

    @property
    def _metrics(self) -> Path:
        return self.path / "metrics.jsonl"

    def _lines_until(self, step: int) -> bytes:
        """Lines of an earlier run that are still true; those after its last checkpoint will be written again."""
        if not step or not self._metrics.is_file():
            return b""
        kept: list[str] = []
        for line in self._metrics.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                known = json.loads(line)
            except ValueError:
                continue  # half a line, from a run that was killed
            if isinstance(known, dict) and isinstance(known.get("step"), int) and known["step"] <= step:
                kept.append(line + "\n")
        return "".join(kept).encode()


def _distance(step: int) -> int:
    """Steps between two lines of a thinned run, around a step."""
    return 1 << max(0, ((step - 1) // DENSE_STEPS).bit_length())


def _line(step: int, metrics: Mapping[str, float], split: str) -> str:
    known = {name: finite(value) for name, value in metrics.items()}
    return json.dumps({"step": step, "split": split, **known}) + "\n"


def finite(number: float) -> float | str:
    """A number as strict JSON can hold it."""
    return number if np.isfinite(number) else str(number)


def _is_alive(process: int) -> bool:
    """Whether another process of this number runs. Windows does not say, but keeps the files that are open there."""
    if os.name == "nt" or process == os.getpid():
        return False
    try:
        os.kill(process, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True
