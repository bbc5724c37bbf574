"""Asks the session for what is looked at: at once when it stands still, seldom enough while it trains; see `studio/budget.py`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from munet import Graph, MunetError, Session, flatten
from studio import messages
from studio.budget import Budget
from studio.purpose import Purpose, purpose_of
from studio.view.core import Core

T = TypeVar("T")


class Looks:
    """`want` is called in every frame by all who look at something; it does nothing while they have what they want."""

    def __init__(self, core: Core):
        self._core, self.budget = core, Budget()
        self._seen: dict[str, tuple[object, int, int]] = {}  # by asker: what was wanted, session, step
        self._purpose: tuple[int, Graph, Purpose | None] | None = None

    @property
    def purpose(self) -> Purpose | None:
        """What the drawing is for, by the last check."""
        core = self._core
        known = self._purpose
        if known is None or known[0] != core.findings_version or known[1] is not core.document.graph:
            found = purpose_of(flatten(core.document.graph).graph, core.findings.wires) if core.findings.wires else None
            known = self._purpose = (core.findings_version, core.document.graph, found)
        return known[2]

    def forget(self, name: str) -> None:
        """The next `want` of this name is asked at once."""
        self._seen.pop(name, None)

    def want(
        self, name: str, key: object, call: Callable[[Session], T], then: Callable[[T], None], now: float, more: bool = False
    ) -> None:
        """`call` is made on the worker's thread if `key` is another one than before, or training has gone on and it is time.

        `then` gets its result, unless something else is wanted by then. `call` should not raise. `more`: what it brings goes on.
        """
        trainer = self._core.trainer
        if not trainer.has_session or trainer.phase == messages.COMPILING or trainer.is_asked(name):
            return
        wanted = (key, trainer.session_version, trainer.record.step)
        known = self._seen.get(name)
        if wanted == known and not more:
            return
        runs = trainer.phase == messages.RUNNING
        again = known is not None and known[:2] == wanted[:2]
        if runs and again and not self.budget.take(name, now, self._core.preferences.look_every_s):
            return

        def timed(session: Session) -> tuple[T, float]:
            session.settle()
            started = time.perf_counter()
            return call(session), time.perf_counter() - started

        def done(found: tuple[T, float]) -> None:
            if runs and again:  # the first time includes compiling, which does not come again
                self.budget.spent(time.monotonic(), found[1])
            if self._seen.get(name) == wanted:
                then(found[0])

        if trainer.ask(name, timed, done):
            self._seen[name] = wanted


def quietly(call: Callable[[Session], T], otherwise: Callable[[str], T]) -> Callable[[Session], T]:
    """The call, with what the engine refuses as a result of its own: a look is no reason for an error message."""

    def made(session: Session) -> T:
        try:
            return call(session)
        except MunetError as error:
            return otherwise(str(error))

    return made
