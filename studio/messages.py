"""What is said to the worker thread and by it: commands in, messages out; all of them immutable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from munet import Carried, Event, Graph, Problem, Session
from munet.inspect import Timings
from studio.lineage import UNMOVED, Lineage

IDLE, OPENING, COMPILING, READY, RUNNING, PAUSED, FAILED = "idle", "opening", "compiling", "ready", "running", "paused", "failed"

# -- commands --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Open:
    """Open a graph on a device, in place of the session there is. `version` of the document comes back with `Opened`."""

    graph: Graph
    device: str = "auto"
    seed: int | None = None
    version: int = -1
    weights: str | None = None
    lineage: Lineage = UNMOVED


@dataclass(frozen=True)
class Replace:
    """Go on with a changed drawing; states of unchanged nodes are kept, and of those that `lineage` says have been renamed.

    Opens it where nothing is open.
    """

    graph: Graph
    version: int = -1
    lineage: Lineage = UNMOVED


@dataclass(frozen=True)
class Keep:
    """How a run is kept: the folder that is made when it starts, and how often its state is saved on top of the project's own
    settings; 0 seconds = never."""

    folder: Path
    every_s: float = 0.0


@dataclass(frozen=True)
class Run:
    """Train until the run has `total` steps, or as many as the project says; goes on after a pause.

    `keep` is looked at when a run starts; one that goes on stays in its folder.
    """

    total: int | None = None
    keep: Keep | None = None


@dataclass(frozen=True)
class Pause:
    """Hold; the state stays on the device."""


@dataclass(frozen=True)
class Step:
    """So many steps, then pause."""

    count: int = 1


@dataclass(frozen=True)
class Stop:
    """End the run; the session stays open."""


@dataclass(frozen=True)
class Reset:
    """Back to step 0: states as drawn from the seed."""


@dataclass(frozen=True)
class SetValue:
    """A live parameter."""

    node: str
    param: str
    value: float


@dataclass(frozen=True)
class Evaluate:
    pass


@dataclass(frozen=True)
class Save:
    """Write a checkpoint: to `path`, or under the name of its step into the run's folder, which `keep` says if it has none."""

    path: Path | None = None
    keep: Keep | None = None


@dataclass(frozen=True)
class Load:
    """Go on from a checkpoint; what no longer fits the drawing starts anew if `partial`."""

    path: Path
    partial: bool = False


@dataclass(frozen=True)
class Move:
    """Go on with the same run on another device: its state goes along."""

    device: str


@dataclass(frozen=True)
class Ask:
    """Anything else one may want of the session: previews, exports, plans. `Answer` brings what `call` gives, under `tag`.

    Of waiting calls with the same tag only the newest is made.
    """

    tag: str
    call: Callable[[Session], Any]


@dataclass(frozen=True)
class Profile:
    """Time each pass, now, and again every so many seconds of a run; 0 = only now."""

    every_s: float = 0.0


@dataclass(frozen=True)
class Close:
    """Close the session; the thread stays."""


Command = Open | Replace | Run | Pause | Step | Stop | Reset | SetValue | Evaluate | Save | Load | Move | Ask | Profile | Close


# -- messages --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Phase:
    """What the worker does from now on: one of the names above."""

    name: str
    detail: str = ""


@dataclass(frozen=True)
class Opened:
    """A drawing is compiled and on the device."""

    graph: Graph
    version: int
    device: str
    notes: tuple[str, ...]  # why a CPU driver was taken, and the like
    step: int
    elapsed_s: float
    carried: Carried | None = None
    live: dict[str, float] = field(default_factory=dict)
    moved: bool = False  # the run of before, on another device


@dataclass(frozen=True)
class Compiling:
    """How far opening or replacing is, from 0 to 1."""

    stage: str
    fraction: float


@dataclass(frozen=True)
class Kept:
    """The run is written into this folder from now on."""

    folder: Path


@dataclass(frozen=True, eq=False)
class Metrics:
    """Rows of the metrics of steps first_step + 1 to step; f32 [steps, len(names)]."""

    first_step: int
    step: int
    names: tuple[str, ...]
    rows: np.ndarray[Any, Any]
    steps_per_second: float


@dataclass(frozen=True)
class Told:
    """Another event of the session: an evaluation, a checkpoint, the end of the run. `asked`: by a command of its own."""

    event: Event
    asked: bool = False


@dataclass(frozen=True)
class Timed:
    timings: Timings


@dataclass(frozen=True)
class Answer:
    tag: str
    value: Any


@dataclass(frozen=True)
class Failed:
    """A command could not be carried out, or the run was stopped. `problems` name nodes where that is known.

    `kind`: "project", "not-finite" (training is held in the state before), "device-lost" (the session is gone), "refused",
    "cancelled" (a compile, by `Jobs.cancel`), "unwritten" (a file of the run, which goes on), "bug"
    """

    kind: str
    problems: tuple[Problem, ...]
    command: str = ""
    detail: str = ""  # for a bug report
    tag: str = ""  # of the Ask that failed
    step: int | None = None  # where the session stands, if the run was stopped


Message = Phase | Opened | Compiling | Kept | Metrics | Told | Timed | Answer | Failed
