"""A day-long run leaks nothing: after a warm-up, memory, objects, threads and open files stay as they are."""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from studio import messages
from studio.commands import Move
from studio.document import selected
from studio.preferences import Preferences
from studio.storage import Autosave
from studio.view.core import Core
from tests.studio.helpers import project

UPDATES, WARM_UP = 10_000, 2_000
PROC = Path("/proc/self")


@dataclass(frozen=True)
class Held:
    """What the process holds. Memory and files are 0 where the system does not tell."""

    objects: int
    threads: int
    files: int
    memory_bytes: int

    @classmethod
    def now(cls) -> Held:
        gc.collect()
        files = len(list((PROC / "fd").iterdir())) if PROC.is_dir() else 0
        memory = int((PROC / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if PROC.is_dir() else 0
        return cls(len(gc.get_objects()), threading.active_count(), files, memory)

    def assert_flat(self, later: Held, objects: int, memory_bytes: int) -> None:
        assert later.objects - self.objects < objects, f"{self} -> {later}"
        assert later.memory_bytes - self.memory_bytes < memory_bytes, f"{self} -> {later}"
        assert (later.threads, later.files) == (self.threads, self.files)


@pytest.fixture
def core(tmp_path: Path) -> Iterator[Core]:
    core = Core(Preferences(device="cpu", autosave_every_s=1.0))
    core.autosave = Autosave(tmp_path)
    core.trainer.runs_root = tmp_path / "runs"
    graph = project("xor")
    core.open(replace(graph, run=replace(graph.run, steps=10**9, evaluate_every=500, checkpoint_every=0)), None)
    yield core
    core.close()


def until(core: Core, ready: Callable[[], bool], each: Callable[[], None] = lambda: None) -> None:
    end = time.monotonic() + 120
    while not ready():
        assert time.monotonic() < end, "it did not happen in time"
        core.tick(time.monotonic())
        each()
        time.sleep(0.002)


@pytest.mark.slow
def test_ten_thousand_updates(core: Core) -> None:
    """With a look into the run at each step that is heard of, and a profile now and then."""
    seen = {"step": 0}

    def look() -> None:
        if not core.trainer.is_asked("look"):
            core.trainer.ask("look", lambda session: session.step_count, lambda step: seen.update(step=step))

    until(core, lambda: core.findings.version == core.document.version)
    core.trainer.run()
    until(core, lambda: core.trainer.record.step > WARM_UP, look)
    before = Held.now()
    step = core.trainer.record.step
    until(core, lambda: core.trainer.record.step > step + UPDATES, look)
    assert seen["step"] > WARM_UP
    core.trainer.pause()
    until(core, lambda: core.trainer.phase == messages.PAUSED)
    before.assert_flat(Held.now(), objects=2_000, memory_bytes=16 * 2**20)


@pytest.mark.slow
def test_hundreds_of_edits_checks_and_recompiles(core: Core) -> None:
    """Edits taken back and made again, each checked and compiled; the history has an end."""

    def rounds(count: int) -> None:
        for number in range(count):
            core.edit(Move(selected(["loss"]), 1.0, 0.0))
            core.document.seal()
            core.set_param("linear 1", "out_features", 5 + number % 3)
            core.document.seal()
            core.document.undo()
            core.document.undo()
            core.document.redo()
            if number % 10 == 0:
                core.trainer.step()
                step = core.trainer.record.step
                until(core, lambda: core.trainer.record.step == step + 1)  # noqa: B023  # called within this round
            core.tick(time.monotonic())

    until(core, lambda: core.findings.version == core.document.version)
    rounds(100)
    core.autosave_if_due(time.monotonic(), at_once=True)  # holds its lock from now on
    until(core, lambda: core.findings.version == core.document.version)
    before = Held.now()
    rounds(300)
    until(core, lambda: core.findings.version == core.document.version)
    before.assert_flat(Held.now(), objects=4_000, memory_bytes=24 * 2**20)
