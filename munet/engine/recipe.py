"""A project's run settings, followed: train, evaluate, save the last state and the best one, end early when nothing improves.

A run that is resumed goes on as if it had never stopped: what was best is read back from its folder.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from munet.engine.errors import MunetError, NonFiniteError, Problem, ProjectError
from munet.engine.events import Event, Finished, Paused, Progress, Saved
from munet.engine.graph import Node, Run
from munet.engine.operator import REGISTRY
from munet.engine.runfolder import RunFolder

if TYPE_CHECKING:
    from munet.engine.session import Session

_NEVER = 2**62  # a step that no run has


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


class Recipe:
    """What is due at which step of a run, be the steps the run's own or made by others in between: timed, or one by one."""

    def __init__(self, session: Session, total: int, folder: RunFolder | None):
        self._session, self._folder, self._settings = session, folder, session.graph.run
        self.total, self.reason = total, ""  # why it ends early
        self._judge = judge_of(self._settings, session.nodes, session.metric_names)
        if self._judge and folder:
            self._judge.remember(folder.evaluations(session.step_count))
        self._seen = session.step_count  # all that was due up to this step is done
        self._untold: deque[Event] = deque()

    @property
    def next_due(self) -> int:
        """The first step at which something is to be done; it is late if there are more steps than that."""
        self._seen = min(self._seen, self._session.step_count)  # somebody may have gone back to a checkpoint
        if self._seen >= self.total:
            return _NEVER
        every = (self._settings.evaluate_every, self._settings.checkpoint_every)
        return min(self.total, *(_next_multiple(self._seen, steps) for steps in every))

    def heard(self, event: Event) -> None:
        """Steps that have finished are written into the folder, and given by the run in their order; pauses are given too."""
        if isinstance(event, Progress) and self._folder:
            self._folder.progress(event)
        if isinstance(event, Progress | Paused):
            self._untold.append(event)

    def overtake(self) -> None:
        """Do what is due before others make more steps."""
        if self._session.step_count >= self.next_due:
            for event in self._session.arrived():
                self.heard(event)
            self.do()

    def untold(self) -> Iterator[Event]:
        """What was done for the run and heard of it since the last time."""
        while self._untold:
            yield self._untold.popleft()

    def do(self) -> None:
        """All that is due at this step, at once: nobody may make another one in between."""
        if self._seen >= self.total:
            return
        session, step, judge = self._session, self._session.step_count, self._judge
        done = step >= self.total
        evaluate, checkpoint = (
            _next_multiple(self._seen, every) <= step
            for every in (self._settings.evaluate_every, self._settings.checkpoint_every)
        )
        self._seen = step
        if not session.stopping and (done or evaluate):
            metrics = session.evaluate()
            if metrics:
                self._untold.append(session.evaluated)
                self._judged(metrics)
        if judge and judge.exhausted and not done:
            self.reason = f"{judge.metric} has not improved for {judge.since} evaluations"
        if done or session.stopping or self.reason or checkpoint:
            self.save()

    def save(self) -> None:
        """The last state, where there is a folder."""
        if self._folder:
            self._saved(self._folder, self._folder.checkpoint)

    def _judged(self, metrics: Mapping[str, float]) -> None:
        if self._folder:
            self._folder.report(self._session.step_count, metrics, split="test")
        if self._judge and self._judge.improved(metrics) and self._folder and self._settings.keep_best:
            self._saved(self._folder, self._folder.best)

    def _saved(self, folder: RunFolder, path: Path) -> None:
        folder.settle()
        try:
            self._session.save(path)
        except ProjectError as error:
            folder.go_on_after(error)
        else:
            self._untold.append(self._session.tell(Saved(str(path), self._session.step_count)))


def follow(session: Session, recipe: Recipe, folder: RunFolder | None) -> Iterator[Event]:
    """Train until the run has all its steps. See `Session.run`."""
    started, total = time.perf_counter(), recipe.total
    while session.step_count < total and not session.stopping and not recipe.reason:
        end = recipe.next_due
        try:
            yield from _recorded(session.steps_until(end, wait=end == total), recipe)
        except NonFiniteError as error:
            # The states are those before the step that failed: worth as much as any checkpoint.
            yield from _recorded(session.steps_until(session.step_count), recipe)
            if folder:
                recipe.save()
                yield from recipe.untold()
                error.keep(str(folder.checkpoint), session.step_count)
            raise
        try:
            recipe.do()
        except MunetError:
            yield from recipe.untold()  # what went well before
            raise
        yield from recipe.untold()
    yield from _recorded(session.steps_until(session.step_count), recipe)  # steps that were timed by themselves
    if folder:
        folder.settle()
    wall_s = time.perf_counter() - started
    stopped = session.stopping or bool(recipe.reason)
    yield session.tell(Finished(session.step_count, dict(session.metrics), wall_s, stopped, recipe.reason))


def _recorded(events: Iterator[Event], recipe: Recipe) -> Iterator[Event]:
    """Progress and pauses, and before each what others have made of the run meanwhile."""
    for event in events:
        recipe.heard(event)
        yield from recipe.untold()
    yield from recipe.untold()


def _next_multiple(step: int, every: int) -> int:
    """The next step at which something is due that is done every so many steps; far away if it never is."""
    return (step // every + 1) * every if every > 0 else _NEVER
