"""What the window costs the training: pairs of stretches, one as `munet run` trains, one as the studio does; no window is needed.

The studio's side trains in its worker thread, while the main thread does what a window's does: 60 times a second it takes in what
has come and is busy in Python for as long as a frame's own part is; a preview of the network is asked for every second, and
every pass is timed every five. Stretches take turns, so that a device that grows warm or is shared favours nobody.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from munet import Graph, Session, flatten, load_project
from munet.inspect import wire_shapes
from studio.jobs import Jobs
from studio.messages import PAUSED, Answer, Ask, Failed, Message, Metrics, Open, Opened, Pause, Phase, Profile, Run, Timed
from studio.previews import Wish, look
from studio.purpose import Purpose, purpose_of
from studio.record import Record

FRAME_S = 1 / 60
PREVIEW_EVERY_S = 1.0
PROFILE_EVERY_S = 5.0
ENDLESS = 10**9
WAIT_S = 300.0


@dataclass
class Pairs:
    """Steps a second, in the order in which they were measured; `slowdown` in percent, above 0 where the studio is slower."""

    key: str
    plain: list[float] = field(default_factory=list)
    studio: list[float] = field(default_factory=list)
    previews: int = 0
    profiles: int = 0

    @property
    def slowdowns(self) -> list[float]:
        return [100 * (alone / watched - 1) for alone, watched in zip(self.plain, self.studio, strict=True)]

    @property
    def row(self) -> dict[str, object]:
        found = self.slowdowns
        return {
            "key": self.key, "plain_steps_per_s": self.plain, "studio_steps_per_s": self.studio, "slowdown_percent": found,
            "median_percent": statistics.median(found), "previews": self.previews, "profiles": self.profiles,
        }  # fmt: skip


class Studio:
    """The studio's side of a training, without the window."""

    def __init__(self, graph: Graph, device: str, frame_ms: float):
        flat = flatten(graph).graph
        self._purpose: Purpose | None = purpose_of(flat, wire_shapes(flat))
        self._frame_s = frame_ms / 1000
        self.jobs, self.record = Jobs(), Record()
        self.previews = self.profiles = 0
        self.jobs.submit(Open(graph, device))
        self.until(lambda message: isinstance(message, Opened))

    def close(self) -> None:
        self.jobs.close()

    def stretch(self, seconds: float) -> float:
        """Steps a second."""
        first = self._step_count()
        started = time.perf_counter()
        self.jobs.submit(Run(ENDLESS))
        self.jobs.submit(Profile(PROFILE_EVERY_S))
        asked = 0.0
        while time.perf_counter() - started < seconds:
            if time.perf_counter() - asked > PREVIEW_EVERY_S:
                asked = time.perf_counter()
                self.jobs.submit(Ask("preview", lambda session: look(session, Wish(), self._purpose)))
            self.frame()
        self.jobs.submit(Pause())
        self.until(lambda message: isinstance(message, Phase) and message.name == PAUSED)
        ended = time.perf_counter()
        return (self._step_count() - first) / (ended - started)

    def frame(self) -> list[Message]:
        """One frame of a window: take in, be busy, wait."""
        started = time.perf_counter()
        found = self.jobs.poll()
        for message in found:
            match message:
                case Metrics():
                    self.record.add(message)
                case Answer():
                    self.previews += message.tag == "preview"
                case Failed():
                    raise RuntimeError(f"{message.command}: {message.problems} {message.detail}")
                case Timed():
                    self.profiles += 1
                case _:
                    pass
        while time.perf_counter() - started < self._frame_s:
            pass  # holds the interpreter, as the window's own part does
        time.sleep(max(0.0, FRAME_S - (time.perf_counter() - started)))
        return found

    def _step_count(self) -> int:
        self.jobs.submit(Ask("steps", lambda session: session.step_count))
        answer = self.until(lambda message: isinstance(message, Answer) and message.tag == "steps")
        assert isinstance(answer, Answer)
        return int(answer.value)

    def until(self, wanted: Callable[[Message], bool]) -> Message:
        end = time.perf_counter() + WAIT_S
        while time.perf_counter() < end:
            for message in self.frame():
                if wanted(message):
                    return message
        raise RuntimeError("the worker does not answer")


def plain_stretch(session: Session, seconds: float) -> float:
    """Steps a second, as `munet run` trains."""
    first, started = session.step_count, time.perf_counter()
    for _ in session.run(ENDLESS):
        if time.perf_counter() - started > seconds:
            session.stop()
    return (session.step_count - first) / (time.perf_counter() - started)


def pairs_of(project: Path, device: str, *, pairs: int, seconds: float, frame_ms: float) -> Pairs:
    graph = load_project(project)
    graph = replace(graph, run=replace(graph.run, steps=ENDLESS, evaluate_every=0, checkpoint_every=0))
    found = Pairs(project.stem)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(0.001)  # as the studio has it
    with Session.open(graph, device) as session:
        studio = Studio(graph, device, frame_ms)
        try:
            plain_stretch(session, min(seconds, 2.0))
            studio.stretch(min(seconds, 2.0))
            studio.previews = studio.profiles = 0
            for pair in range(pairs):
                for side in ("plain", "studio") if pair % 2 == 0 else ("studio", "plain"):
                    rate = plain_stretch(session, seconds) if side == "plain" else studio.stretch(seconds)
                    getattr(found, side).append(rate)
                print(f"  {found.key}: {found.plain[-1]:.1f} and {found.studio[-1]:.1f} steps/s", file=sys.stderr, flush=True)
        finally:
            studio.close()
            sys.setswitchinterval(interval)
    found.previews, found.profiles = studio.previews, studio.profiles
    return found


def told(rows: Sequence[Pairs], *, seconds: float, frame_ms: float) -> list[str]:
    """A Markdown table."""
    lines = [
        f"The studio's cost: stretches of {seconds:g} s, {frame_ms:g} ms of Python a frame, 60 frames/s",
        "", "| project | steps/s alone | in the studio | slower by, median (least to most) | previews | profiles |",
        "|---|---|---|---|---|---|",
    ]  # fmt: skip
    for pairs in rows:
        slow = pairs.slowdowns
        spread = f"{statistics.median(slow):.1f} % ({min(slow):.1f} to {max(slow):.1f})"
        alone, watched = statistics.median(pairs.plain), statistics.median(pairs.studio)
        lines.append(f"| {pairs.key} | {alone:.4g} | {watched:.4g} | {spread} | {pairs.previews} | {pairs.profiles} |")
    return lines
