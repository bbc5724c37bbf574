"""A run's folder: a copy of the project, what it ran on, its metrics, its last checkpoint.

project.json   the project as it was run        metrics.jsonl      one line a report, evaluations among them
run.json       seed, device, versions           last.safetensors   the state after the last step that was saved
                                                best.safetensors   the one with the best metric, where the run keeps it
"""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from munet.engine.device import DeviceInfo
from munet.engine.errors import MunetError, Problem, ProjectError
from munet.engine.files import PathLike, write_file
from munet.engine.graph import Graph
from munet.engine.project import save_project
from munet.engine.version import VERSION


class RunFolder:
    """Makes the folder when the run starts. Raises ProjectError when it cannot be written to, or holds another run."""

    def __init__(self, folder: PathLike):
        self.path = Path(folder)

    @property
    def checkpoint(self) -> Path:
        return self.path / "last.safetensors"

    @property
    def best(self) -> Path:
        return self.path / "best.safetensors"

    @property
    def has_checkpoint(self) -> bool:
        return self.checkpoint.is_file()

    def start(self, graph: Graph, seed: int, device: DeviceInfo, *, resumed_at: int | None = None) -> None:
        """Writes what is known at the start; a resumed run keeps its metrics up to the step it resumes at."""
        if resumed_at is None and self.has_checkpoint:
            found = "the folder holds a run already"
            cure = "resume it, or name another folder"
            raise ProjectError([Problem("run-exists", found, cure=cure, file=str(self.path))])
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            found = f"the folder cannot be made ({error.strerror})"
            raise ProjectError([Problem("file-write", found, file=str(self.path))]) from None
        save_project(graph, self.path / "project.json")
        facts = {
            "seed": seed,
            "device": device.name,
            "driver": device.driver,
            "munet": VERSION,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "system": platform.platform(),
        }
        write_file(self.path / "run.json", (json.dumps(facts, indent=2) + "\n").encode())
        write_file(self._metrics, self._lines_until(resumed_at or 0))

    def report(self, step: int, metrics: Mapping[str, float], *, split: str = "train") -> None:
        """Adds a line to metrics.jsonl."""
        line = json.dumps({"step": step, "split": split, **{name: finite(value) for name, value in metrics.items()}})
        try:
            with self._metrics.open("a", encoding="utf-8") as stream:
                stream.write(line + "\n")
        except OSError as error:
            raise MunetError(f"{self._metrics}: the metrics cannot be written ({error.strerror})") from None

    def evaluations(self, until: int) -> list[tuple[int, dict[str, float]]]:
        """Evaluations up to a step, oldest first, as (step, metrics)."""
        found: list[tuple[int, dict[str, float]]] = []
        for line in self._lines_until(until).decode().splitlines():
            known = json.loads(line)
            if known.get("split") == "test":
                metrics = {name: float(value) for name, value in known.items() if name not in ("step", "split")}
                found.append((known["step"], metrics))
        return found

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


def finite(number: float) -> float | str:
    """A number as strict JSON can hold it."""
    return number if np.isfinite(number) else str(number)
