"""How far compiling is: told to whoever waits for it, by stage and as a fraction from 0 to 1.

A hook may raise to give up: opening or replacing ends with what it raised, and everything is as it was before.
"""

from __future__ import annotations

from collections.abc import Callable

Report = Callable[[str, float], None]


def silent(stage: str, fraction: float) -> None:
    """Tells nobody."""


def within(report: Report, start: float, end: float) -> Report:
    """A hook for one part of the work, whose fractions lie from `start` to `end` of the whole."""
    return lambda stage, fraction: report(stage, start + fraction * (end - start))
