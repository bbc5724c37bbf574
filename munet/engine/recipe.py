"""A project's run settings, followed: train, evaluate, save the last state and the best one, end early when nothing improves.

A run that is resumed goes on as if it had never stopped: what was best is read back from its folder.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from munet.engine.errors import NonFiniteError, Problem, ProjectError
from munet.engine.events import Event, Finished, Paused, Progress, Saved
from munet.engine.graph import Node, Run
from munet.engine.operator import REGISTRY
from munet.engine.runfolder import RunFolder

if TYPE_CHECKING:
    from munet.engine.session import Session


@dataclass
class Judge:
    """Says which evaluation was the best so far, and whether it is time to give up. `patience` 0: never."""

    metric: str
    larger_is_better: bool
    patience: int = 0
    best: float = math.nan
    since: int = 0  # evaluations after the best one

    def improved(self, metrics: Mapping[str, float]) -> bool:
        """Take an evaluation into account; whether it is better than all before. NaN never is."""
        value = metrics.get(self.metric, math.nan)
        better = value > self.best if self.larger_is_better else value < self.best
        if better or (math.isnan(self.best) and not math.isnan(value)):
            self.best, self.since = value, 0
            return True
        self.since += 1
        return False

    def remember(self, evaluations: Iterable[tuple[int, Mapping[str, float]]]) -> None:
        """Those of a run that is resumed. One that had ended already is given its patience again."""
        for _, metrics in evaluations:
            self.improved(metrics)
        if self.exhausted:
            self.since = 0

    @property
    def exhausted(self) -> bool:
        return 0 < self.patience <= self.since


def judge_of(run: Run, nodes: Mapping[str, Node], recorded: Iterable[str]) -> Judge | None:
    """The judge that the run settings ask for, if any. Raises ProjectError when they cannot be met."""
    names = tuple(recorded)
    if not run.keep_best and not run.patience:
        return None
    if run.patience and not run.evaluate_every:
        found = f"patience is {run.patience} evaluations, but evaluate_every is 0"
        raise ProjectError([Problem("run-settings", found, cure="evaluate_every, the steps between evaluations")])
    if run.judged_by not in names:
        found, rule = f'the run is judged by "{run.judged_by}"', f"its metrics: {', '.join(names) or 'none'}"
        raise ProjectError([Problem("run-settings", found, rule=rule, cure="one of them as judged_by")])
    return Judge(run.judged_by, _larger_is_better(nodes, run.judged_by), run.patience)


def _larger_is_better(nodes: Mapping[str, Node], metric: str) -> bool:
    for node in nodes.values():
        declared = REGISTRY.get(node.operator)
        if declared is not None and declared.role:
            names = {node.id, *declared.outputs, *(f"{node.id}.{socket}" for socket in declared.outputs)}
            if metric in names:
                return declared.larger_is_better
    return False


def follow(session: Session, total: int | None, folder: RunFolder | None) -> Iterator[Event]:
    """Train until the run has `total` steps, or as many as its settings say. See `Session.run`."""
    settings = session.graph.run
    total = settings.steps if total is None else total
    judge = judge_of(settings, session.nodes, session.metric_names)
    if judge and folder:
        judge.remember(folder.evaluations(session.step_count))
    started, reason = time.perf_counter(), ""
    while session.step_count < total and not session.stopping and not reason:
        every = (settings.evaluate_every, settings.checkpoint_every)
        end = min(total, *(_next_multiple(session.step_count, steps) for steps in every))
        try:
            yield from _recorded(session.steps_until(end, wait=end == total), folder)
        except NonFiniteError as error:
            # The states are those before the step that failed: worth as much as any checkpoint.
            yield from _recorded(session.steps_until(session.step_count), folder)
            if folder:
                yield from _saved(session, folder, folder.checkpoint)
                error.keep(str(folder.checkpoint), session.step_count)
            raise
        done = session.step_count >= total
        if not session.stopping and (done or _is_multiple(session.step_count, settings.evaluate_every)):
            metrics = session.evaluate()
            if metrics:
                yield session.evaluated
                yield from _judged(session, judge, metrics, folder)
        if judge and judge.exhausted and not done:
            reason = f"{judge.metric} has not improved for {judge.since} evaluations"
        if folder and (done or session.stopping or reason or _is_multiple(session.step_count, settings.checkpoint_every)):
            yield from _saved(session, folder, folder.checkpoint)
    yield from _recorded(session.steps_until(session.step_count), folder)  # steps that were timed by themselves
    if folder:
        folder.settle()
    wall_s = time.perf_counter() - started
    yield session.tell(Finished(session.step_count, dict(session.metrics), wall_s, session.stopping or bool(reason), reason))


def _recorded(events: Iterator[Event], folder: RunFolder | None) -> Iterator[Event]:
    """Progress and pauses, progress written into the folder."""
    for event in events:
        if isinstance(event, Progress) and folder:
            folder.progress(event)
        if isinstance(event, Progress | Paused):
            yield event


def _judged(session: Session, judge: Judge | None, metrics: Mapping[str, float], folder: RunFolder | None) -> Iterator[Event]:
    if folder:
        folder.report(session.step_count, metrics, split="test")
    if judge and judge.improved(metrics) and folder and session.graph.run.keep_best:
        yield from _saved(session, folder, folder.best)


def _saved(session: Session, folder: RunFolder, path: Path) -> Iterator[Event]:
    folder.settle()
    try:
        session.save(path)
    except ProjectError as error:
        folder.go_on_after(error)
    else:
        yield session.tell(Saved(str(path), session.step_count))


def _is_multiple(step: int, every: int) -> bool:
    return every > 0 and step % every == 0


def _next_multiple(step: int, every: int) -> int:
    """The next step at which something is due that is done every so many steps; far away if it never is."""
    return (step // every + 1) * every if every > 0 else 2**62
