"""How often to look into a network that trains: never so often that training becomes noticeably slower.

    budget = Budget()
    if budget.take("preview", now, every_s=1.0): ...look...; budget.spent("preview", now, seconds)

All who look share one budget. What a look costs is measured; after it nobody looks for so long that it was at most SHARE of the
time. Who has waited longest comes first, so that a quick look is not always in front of another one.
"""

from __future__ import annotations

SHARE = 0.03
FORGOTTEN_S = 1.0  # who has not asked for so long does not wait any more


class Budget:
    """Times are seconds of a steady clock."""

    def __init__(self, share: float = SHARE):
        self._share = share
        self._free_at = 0.0
        self._looked: dict[str, float] = {}
        self._asked: dict[str, float] = {}

    def take(self, name: str, now: float, every_s: float) -> bool:
        """Whether `name` may look now, and not more often than every so many seconds."""
        if now < self._looked.get(name, -1e9) + every_s:
            return False
        self._asked[name] = now
        if now < self._free_at:
            return False
        waiting = [other for other, at in self._asked.items() if now - at < FORGOTTEN_S]
        if min(waiting, key=lambda other: self._looked.get(other, -1e9)) != name:
            return False
        del self._asked[name]
        self._looked[name] = now
        return True

    def spent(self, now: float, seconds: float) -> None:
        """A look that ended now has cost so much of training's time. Those of others that were under way with it add to that."""
        self._free_at = max(self._free_at, now) + seconds / self._share - seconds
