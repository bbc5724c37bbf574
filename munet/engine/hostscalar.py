"""HostScalar: a number that the host works out once a step, in double precision, and feeds to the device.

Learning rates, bias corrections and everything else that depends only on the step number and on live parameters stay on
the host side while they are combined with each other; the first time one meets a tensor it becomes a column of the
step's row of scalars. So a schedule costs no pass, and changing a live value needs no compile.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class StepContext:
    """What a host scalar may depend on: the step (from 0) and the live parameters as they are now, by "node.param".

    `step` may be an array of steps: what depends on it is then an array of the very same numbers.
    """

    step: Any
    live: Mapping[str, float]


@dataclass(frozen=True)
class HostScalar:
    """`text` identifies it (equal text, equal column); `value(context)` gives the number, or one for each step."""

    text: str
    value: Callable[[StepContext], Any]

    def _with(self, other: Any, sign: str, apply: Callable[[Any, Any], Any], swapped: bool = False) -> Any:
        if not isinstance(other, HostScalar | int | float):
            return NotImplemented
        right = other if isinstance(other, HostScalar) else constant(float(other))
        first, second = (right, self) if swapped else (self, right)
        return HostScalar(f"({first.text} {sign} {second.text})", lambda c: apply(first.value(c), second.value(c)))

    def __add__(self, other: Any) -> Any:
        return self._with(other, "+", operator.add)

    def __radd__(self, other: Any) -> Any:
        return self._with(other, "+", operator.add, swapped=True)

    def __sub__(self, other: Any) -> Any:
        return self._with(other, "-", operator.sub)

    def __rsub__(self, other: Any) -> Any:
        return self._with(other, "-", operator.sub, swapped=True)

    def __mul__(self, other: Any) -> Any:
        return self._with(other, "*", operator.mul)

    def __rmul__(self, other: Any) -> Any:
        return self._with(other, "*", operator.mul, swapped=True)

    def __truediv__(self, other: Any) -> Any:
        return self._with(other, "/", operator.truediv)

    def __rtruediv__(self, other: Any) -> Any:
        return self._with(other, "/", operator.truediv, swapped=True)

    def __pow__(self, other: Any) -> Any:
        return self._with(other, "**", _power)

    def __neg__(self) -> HostScalar:
        return HostScalar(f"(-{self.text})", lambda c: -self.value(c))


def constant(number: float) -> HostScalar:
    return HostScalar(repr(number), lambda c: number)


def step(every: int = 1) -> HostScalar:
    """The number of the update being made, from 1, as optimisers count; one is made `every` so many steps."""
    return HostScalar("t" if every == 1 else f"t/{every}", lambda c: c.step // every + 1.0)


def live(node: str, param: str) -> HostScalar:
    key = f"{node}.{param}"
    return HostScalar(key, lambda c: c.live[key])


def scheduled(node: str, function: Callable[..., float], names: tuple[str, ...]) -> HostScalar:
    """A schedule node's value: function(step, **its live parameters), step from 0."""

    def rate(context: StepContext) -> Any:
        given = {name: context.live[f"{node}.{name}"] for name in names}
        if isinstance(context.step, np.ndarray):
            return np.array([float(function(step, **given)) for step in context.step.tolist()])
        return float(function(context.step, **given))

    return HostScalar(f"{node}.rate", rate)


def square_root(value: Any) -> Any:
    """Of a host scalar, or of a number."""
    if not isinstance(value, HostScalar):
        return math.sqrt(value)
    return HostScalar(f"sqrt({value.text})", lambda c: _power(value.value(c), 0.5))


def _power(base: Any, exponent: Any) -> Any:
    """base ** exponent, number by number: NumPy's own power may round otherwise in an array than alone."""
    if not isinstance(base, np.ndarray):
        return np.array([base**y for y in exponent.tolist()]) if isinstance(exponent, np.ndarray) else base**exponent
    if not isinstance(exponent, np.ndarray):
        return np.array([x**exponent for x in base.tolist()])
    return np.array([x**y for x, y in zip(base.tolist(), exponent.tolist(), strict=True)])
