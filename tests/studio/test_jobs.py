"""The worker thread: opening, running, pausing, stepping, live values, replacing the drawing, and every kind of failure."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from munet import DeviceLost, Edge, Evaluated, Finished, Graph, Node, OutOfDeviceMemory, Saved, Session
from studio.commands import SetParam
from studio.document import Document
from studio.jobs import Jobs
from studio.messages import (
    FAILED,
    PAUSED,
    READY,
    RUNNING,
    Answer,
    Ask,
    Close,
    Evaluate,
    Failed,
    Load,
    Message,
    Metrics,
    Open,
    Opened,
    Pause,
    Phase,
    Profile,
    Replace,
    Reset,
    Run,
    Save,
    SetValue,
    Step,
    Stop,
    Timed,
    Told,
)
from tests.studio.helpers import project

WAIT_S = 8.0


class Desk:
    """A window's side of the jobs; remembers all messages."""

    def __init__(self, jobs: Jobs):
        self.jobs = jobs
        self.seen: list[Message] = []
        self.waiting: deque[Message] = deque()

    def until(self, wanted: Callable[[Message], bool]) -> Message:
        """The first message from now on that is wanted."""
        end = time.perf_counter() + WAIT_S
        while time.perf_counter() < end:
            for message in self.take():
                if wanted(message):
                    return message
            time.sleep(0.002)
        raise AssertionError(f"it did not come; the last were {self.seen[-5:]}")

    def take(self) -> Iterator[Message]:
        self.waiting += self.jobs.poll()
        while self.waiting:
            self.seen.append(self.waiting.popleft())
            yield self.seen[-1]

    def phase(self, name: str) -> None:
        self.until(lambda message: isinstance(message, Phase) and message.name == name)

    def failed(self) -> Failed:
        message = self.until(lambda message: isinstance(message, Failed))
        assert isinstance(message, Failed)
        return message

    def ask(self, call: Callable[[Session], Any]) -> Any:
        self.jobs.submit(Ask("test", call))
        message = self.until(lambda message: isinstance(message, Answer) and message.tag == "test")
        assert isinstance(message, Answer)
        return message.value

    def open(self, graph: Graph) -> Opened:
        self.jobs.submit(Open(graph, "cpu", version=1))
        message = self.until(lambda message: isinstance(message, Opened | Failed))
        assert isinstance(message, Opened), message
        self.phase(READY)
        return message


@pytest.fixture
def desk() -> Iterator[Desk]:
    jobs = Jobs()
    yield Desk(jobs)
    assert jobs.close(), "the worker did not end"


def xor(steps: int = 100_000) -> Graph:
    graph = project("xor")
    return replace(graph, run=replace(graph.run, steps=steps, evaluate_every=0, checkpoint_every=0))


def rows_of(messages: list[Message]) -> list[Metrics]:
    return [message for message in messages if isinstance(message, Metrics)]


def test_a_run_from_start_to_end(desk: Desk):
    opened = desk.open(xor(40))
    assert opened.version == 1
    assert opened.device == "NumPy reference"
    assert any(key.endswith(".lr") for key in opened.live)
    desk.jobs.submit(Run())
    desk.until(lambda message: isinstance(message, Told) and isinstance(message.event, Finished))
    desk.phase(READY)
    metrics = rows_of(desk.seen)
    assert [m.first_step for m in metrics] == [0, *(m.step for m in metrics[:-1])]
    assert sum(len(m.rows) for m in metrics) == metrics[-1].step == 40
    assert all(m.rows.shape[1] == len(m.names) for m in metrics)
    desk.jobs.submit(Run(50))
    desk.until(lambda message: isinstance(message, Metrics) and message.step == 50)


def test_timed_steps_and_single_ones_skip_no_evaluation(desk: Desk):
    graph = xor(400)
    desk.open(replace(graph, run=replace(graph.run, evaluate_every=7)))
    desk.jobs.submit(Run())
    for _ in range(3):
        desk.jobs.submit(Profile(0.0))
    desk.jobs.submit(Pause())
    desk.jobs.submit(Step(20))
    desk.jobs.submit(Run())
    desk.until(lambda message: isinstance(message, Told) and isinstance(message.event, Finished))
    steps = [m.event.step for m in desk.seen if isinstance(m, Told) and isinstance(m.event, Evaluated)]
    assert steps == [*range(7, 400, 7), 400]


def test_pause_keeps_the_state_step_goes_on_and_stop_ends(desk: Desk):
    desk.open(xor())
    desk.jobs.submit(Run())
    desk.phase(RUNNING)
    desk.until(lambda message: isinstance(message, Metrics))
    desk.jobs.submit(Pause())
    desk.phase(PAUSED)
    paused_at = desk.ask(lambda session: session.step_count)
    time.sleep(0.05)
    assert desk.ask(lambda session: session.step_count) == paused_at
    desk.jobs.submit(Step(3))
    desk.until(lambda message: isinstance(message, Metrics) and message.step == paused_at + 3)
    desk.jobs.submit(Run())
    desk.phase(RUNNING)
    desk.until(lambda message: isinstance(message, Metrics) and message.step > paused_at + 3)
    desk.jobs.submit(Stop())
    desk.phase(READY)
    assert desk.ask(lambda session: session.step_count) > paused_at


def test_live_values_evaluation_and_reset(desk: Desk):
    graph = xor()
    optimiser = next(id_ for id_, node in graph.nodes.items() if node.operator in ("Adam", "SGD"))
    desk.open(graph)
    desk.jobs.submit(Step(5))
    desk.until(lambda message: isinstance(message, Metrics))
    desk.jobs.submit(SetValue(optimiser, "lr", 0.25))
    assert desk.ask(lambda session: session.live[f"{optimiser}.lr"]) == 0.25
    desk.jobs.submit(SetValue(optimiser, "lr", -1.0))
    assert desk.failed().problems[0].node == optimiser
    desk.jobs.submit(Evaluate())
    desk.until(lambda message: isinstance(message, Told))
    desk.jobs.submit(Reset())
    opened = desk.until(lambda message: isinstance(message, Opened))
    assert isinstance(opened, Opened)
    assert opened.step == 0


def test_the_drawing_is_replaced_while_it_runs_and_weights_stay(desk: Desk):
    document = Document(xor())
    desk.open(document.graph)
    desk.jobs.submit(Run())
    desk.until(lambda message: isinstance(message, Metrics) and message.step > 5)
    nodes = document.graph.nodes
    act = next(id_ for id_, node in nodes.items() if node.operator in ("tanh", "relu", "sigmoid"))
    changed = replace(document.graph, nodes={**nodes, act: replace(nodes[act], operator="softsign")})
    desk.jobs.submit(Replace(changed, 2))
    opened = desk.until(lambda message: isinstance(message, Opened))
    assert isinstance(opened, Opened)
    assert opened.version == 2
    assert opened.carried is not None
    assert opened.carried.kept
    desk.phase(RUNNING)
    desk.until(lambda message: isinstance(message, Metrics) and message.step > opened.step)
    linear = next(id_ for id_, node in changed.nodes.items() if node.operator == "Linear")
    document.do(SetParam((linear,), "out_features", 0))
    desk.jobs.submit(Replace(document.graph, 3))
    failed = desk.failed()
    assert failed.kind == "project"
    assert linear in {problem.node for problem in failed.problems}
    before = desk.ask(lambda session: session.step_count)
    desk.until(lambda message: isinstance(message, Metrics) and message.step > before)  # the last good one runs on


def test_checkpoints_profiles_and_questions(desk: Desk, tmp_path: Path):
    desk.open(xor())
    desk.jobs.submit(Step(4))
    path = tmp_path / "c.safetensors"
    desk.jobs.submit(Save(path))
    saved = desk.until(lambda message: isinstance(message, Told) and isinstance(message.event, Saved))
    assert isinstance(saved, Told)
    states = desk.ask(lambda session: session.states())
    desk.jobs.submit(Step(3))
    desk.jobs.submit(Load(path))
    opened = desk.until(lambda message: isinstance(message, Opened))
    assert isinstance(opened, Opened)
    assert opened.step == 4
    again = desk.ask(lambda session: session.states())
    assert all(np.array_equal(states[name], again[name]) for name in states)
    desk.jobs.submit(Profile())
    desk.until(lambda message: isinstance(message, Timed | Failed))
    desk.jobs.submit(Load(tmp_path / "nothing.safetensors"))
    assert desk.failed().command == "Load"


def test_of_equal_questions_only_the_newest_is_answered(desk: Desk):
    desk.open(xor())
    desk.jobs.submit(Ask("slow", lambda session: time.sleep(0.2)))
    time.sleep(0.05)
    for number in range(20):
        desk.jobs.submit(Ask("preview", lambda session, n=number: n))
    message = desk.until(lambda message: isinstance(message, Answer) and message.tag == "preview")
    assert isinstance(message, Answer)
    assert message.value == 19


def test_problems_of_a_project_and_commands_without_one(desk: Desk):
    desk.jobs.submit(Run())
    assert desk.failed().problems[0].code == "nothing-open"
    desk.jobs.submit(Open(Graph(nodes={"l": Node("l", "Linear")}), "cpu"))
    failed = desk.failed()
    assert (failed.kind, failed.command) == ("project", "Open")
    assert "l" in {problem.node for problem in failed.problems}
    assert desk.jobs.phase == FAILED
    desk.jobs.submit(Open(xor(), "vulkan:977"))
    assert desk.failed().kind == "refused"
    desk.open(xor())  # and it goes on
    desk.jobs.submit(Close())
    desk.phase("idle")


def test_a_number_that_is_not_finite_holds_training_and_names_the_node(desk: Desk):
    graph = xor()
    loss = next(edge for edge in graph.edges if edge.target_socket == "prediction")
    nodes = {**graph.nodes, "bad": Node("bad", "log"), "minus": Node("minus", "neg"), "big": Node("big", "square")}
    edges = [edge for edge in graph.edges if edge != loss]
    edges += [Edge(loss.source, loss.source_socket, "big", "x"), Edge("big", "y", "minus", "x"), Edge("minus", "y", "bad", "x")]
    edges += [Edge("bad", "y", loss.target, loss.target_socket)]
    desk.open(replace(graph, nodes=nodes, edges=tuple(edges)))
    desk.jobs.submit(Run())
    failed = desk.failed()
    assert failed.kind == "not-finite"
    assert failed.problems[0].node == "bad"
    assert desk.ask(lambda session: session.step_count) == 0
    assert desk.jobs.phase == PAUSED


class Losing(Session):
    """A session whose device goes away in the second submit, or whose author made a mistake."""

    error: BaseException = DeviceLost("the device is gone", where="pass 3")

    def run(self, total: int | None = None, folder: Any = None) -> Iterator[Any]:
        for place, event in enumerate(super().run(total, folder)):
            if place == 1:
                raise self.error
            yield event


class Mistaken(Losing):
    error = RuntimeError("a slip")


@pytest.mark.parametrize(("kind", "session"), [("device-lost", Losing), ("bug", Mistaken)])
def test_lost_devices_and_slips_are_told_and_survived(kind: str, session: type[Session]):
    jobs = Jobs(session.open)
    desk = Desk(jobs)
    desk.open(xor())
    jobs.submit(Run())
    failed = desk.failed()
    assert failed.kind == kind
    assert bool(failed.detail) == (kind == "bug")
    desk.phase(FAILED if kind == "device-lost" else READY)
    desk.open(xor())
    assert desk.ask(lambda s: s.step_count) == 0
    assert jobs.close()


def test_too_little_memory_is_told_and_survived():
    def full(*arguments: Any, **options: Any) -> Session:
        if not refused:
            refused.append(True)
            raise OutOfDeviceMemory("arena: 9 GiB are needed, 1 GiB is free")
        return Session.open(*arguments, **options)

    refused: list[bool] = []
    jobs = Jobs(full)
    desk = Desk(jobs)
    jobs.submit(Open(xor(), "cpu"))
    jobs.submit(Run())
    failed = desk.failed()
    assert (failed.kind, failed.command) == ("refused", "Open") and "9 GiB are needed" in failed.problems[0].found
    desk.phase(FAILED)
    desk.open(xor())
    jobs.submit(Run())
    desk.phase(RUNNING)
    assert jobs.close()


def test_what_was_meant_for_a_refused_drawing_does_not_train_the_one_before(desk: Desk):
    graph = xor()
    desk.open(graph)
    linear = next(id_ for id_, node in graph.nodes.items() if node.operator == "Linear")
    broken = replace(graph, nodes={**graph.nodes, linear: replace(graph.nodes[linear], params={"out_features": 0})})
    for command in (Replace(broken, 2), Run(), Step(2)):
        desk.jobs.submit(command)
    assert desk.failed().command == "Replace"
    assert desk.ask(lambda session: session.step_count) == 0
    assert desk.jobs.phase == READY
    desk.jobs.submit(Replace(graph, 3))
    desk.jobs.submit(Run())
    desk.until(lambda message: isinstance(message, Metrics))


def test_the_caller_never_waits(desk: Desk):
    longest = 0.0
    for graph in (xor(), project("spiral_mlp")):
        for command in (Open(graph, "cpu"), Run(), Pause(), Step(), Stop(), Reset()):
            started = time.perf_counter()
            desk.jobs.submit(command)
            list(desk.take())
            longest = max(longest, time.perf_counter() - started)
    assert longest < 0.05
