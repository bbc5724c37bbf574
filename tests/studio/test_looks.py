"""When those who look into the network may ask: at once while it stands still, within the budget while it trains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from studio import messages
from studio.budget import SHARE
from studio.view import looks as module
from studio.view.looks import Looks


@dataclass
class Trainer:
    """Takes questions; `answer` makes the calls, each of which takes `cost` seconds of the clock."""

    clock: Clock
    phase: str = messages.PAUSED
    has_session: bool = True
    session_version: int = 1
    cost: float = 0.0
    record: Any = field(default_factory=lambda: SimpleNamespace(step=0))
    asked: dict[str, tuple[Callable[[Any], Any], Callable[[Any], None]]] = field(default_factory=dict)
    settled: int = 0

    def is_asked(self, tag: str) -> bool:
        return tag in self.asked

    def ask(self, tag: str, call: Callable[[Any], Any], then: Callable[[Any], None]) -> bool:
        self.asked[tag] = (call, then)
        return True

    def settle(self) -> None:
        self.settled += 1

    def answer(self) -> int:
        waiting, self.asked = self.asked, {}
        for call, then in waiting.values():
            then(call(self))
        return len(waiting)


@dataclass
class Clock:
    now: float = 100.0

    def monotonic(self) -> float:
        return self.now

    perf_counter = monotonic


def look(session: Any) -> str:
    """The trainer stands for the session, too."""
    session.clock.now += session.cost
    return f"step {session.record.step}"


@pytest.fixture
def trainer(monkeypatch: pytest.MonkeyPatch) -> Trainer:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return Trainer(clock)


def looks_of(trainer: Trainer) -> Looks:
    core: Any = SimpleNamespace(trainer=trainer, preferences=SimpleNamespace(look_every_s=1.0))
    return Looks(core)


def test_a_network_that_stands_still_is_looked_at_at_once_and_only_once(trainer: Trainer):
    looks, heard = looks_of(trainer), []
    for step, key, expected in ((0, "a", 1), (0, "a", 0), (1, "a", 1), (1, "b", 1), (1, "b", 0)):
        trainer.record.step = step
        looks.want("x", key, look, heard.append, trainer.clock.now)
        assert trainer.answer() == expected
    trainer.session_version = 2
    looks.want("x", "b", look, heard.append, trainer.clock.now)
    looks.want("x", "b", look, heard.append, trainer.clock.now)
    assert trainer.answer() == 1 and trainer.settled == 4
    assert heard == ["step 0", "step 1", "step 1", "step 1"]


def test_no_question_while_there_is_nobody_to_answer(trainer: Trainer):
    looks, heard = looks_of(trainer), []
    trainer.has_session = False
    looks.want("x", "a", look, heard.append, trainer.clock.now)
    trainer.has_session, trainer.phase = True, messages.COMPILING
    looks.want("x", "a", look, heard.append, trainer.clock.now)
    assert trainer.answer() == 0


def test_an_answer_to_what_is_not_wanted_any_more_is_dropped(trainer: Trainer):
    looks, heard = looks_of(trainer), []
    looks.want("x", "a", look, heard.append, trainer.clock.now)
    looks.forget("x")
    assert trainer.answer() == 1 and heard == []


def test_looks_at_a_run_take_their_share_of_its_time_and_the_first_with_its_compile_is_at_once(trainer: Trainer):
    looks, heard, clock = looks_of(trainer), list[str](), trainer.clock
    trainer.phase, trainer.cost = messages.RUNNING, 3.0
    looks.want("maps", "a", look, heard.append, clock.now)
    assert trainer.answer() == 1
    trainer.cost, start, count, spent = 0.05, clock.now, 0, 0.0
    while clock.now < start + 120:
        trainer.record.step += 1
        for name in ("maps", "norms"):
            looks.want(name, "a", look, heard.append, clock.now)
        answered = trainer.answer()
        count, spent = count + answered, spent + answered * trainer.cost
        clock.now += 0.016
    assert count > 40 and spent <= 1.05 * SHARE * 120 + 2 * trainer.cost
    trainer.phase = messages.PAUSED
    looks.want("maps", "a", look, heard.append, clock.now)
    assert trainer.answer() == 1 and heard[-1] == f"step {trainer.record.step}"
