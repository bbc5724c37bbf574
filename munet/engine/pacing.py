"""How many steps a submit holds: long enough that the host hardly matters, short enough that a display or a driver's
watchdog never suffers and live values take effect soon.

Before anything is measured, a step's time is guessed from its arithmetic and its number of dependent passes.
"""

from __future__ import annotations

from munet.engine.device import DeviceInfo
from munet.engine.execute.base import guessed_ms
from munet.engine.program import Program

IN_FLIGHT = 3  # submits: one runs, one waits, one is being prepared
_GROWTH = 16  # a submit has at most so many times the steps of one that was measured


class Pace:
    """Sizes submits of one program; told what they took, it settles at the aim."""

    def __init__(self, program: Program, device: DeviceInfo, capacity: int):
        self.capacity = capacity
        self.aim_ms = 500.0 if device.is_cpu else 50.0
        self.step_ms = guessed_ms(program, device)
        self._measured = 0  # largest number of steps that a finished submit had

    def steps(self) -> int:
        """How many steps the next submit should have."""
        largest = max(1, self.capacity // 2)  # so that the next one finds room in the rings while this one runs
        if not self._measured:
            return max(1, min(int(self.aim_ms / 5 / max(self.step_ms, 1e-6)), 64, largest))
        return max(1, min(int(self.aim_ms / max(self.step_ms, 1e-6)), self._measured * _GROWTH, largest))

    def may_start(self, in_flight: int) -> bool:
        """Whether one more submit is welcome; before the first measurement only a second one is."""
        return in_flight < (IN_FLIGHT if self._measured else 2)

    def measured(self, steps: int, elapsed_ms: float) -> None:
        """A submit took so long on the device."""
        step_ms = elapsed_ms / steps
        # Downwards at once: some drivers compile shaders in the first submit, and that is not what a step costs.
        weight = 1.0 if step_ms < self.step_ms or not self._measured else 0.5
        self.step_ms += weight * (step_ms - self.step_ms)
        self._measured = max(self._measured, steps)

    @property
    def nap_s(self) -> float:
        """How long to sleep between two looks at the device: a small part of what a submit takes."""
        return min(0.01, max(0.0002, self.steps() * self.step_ms / 16e3))
