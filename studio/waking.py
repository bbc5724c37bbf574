"""When the window may sleep: some time and some frames after the last thing that happened.

Both count: a slow frame may outlast the time, and what has been opened is drawn, placed and focused in the frames that follow.
"""

from __future__ import annotations

from dataclasses import dataclass

AWAKE_S = 0.6  # frames come quickly for so long after the last change
AWAKE_FRAMES = 12  # and are so many at least


@dataclass
class Waking:
    """Asked once a frame, with the time after it: a frame of a sleeping window lasts until there is input."""

    _seen: object = None
    _until: float = 0.0
    _frames: int = 0

    def is_awake(self, what: object, busy: bool, now: float) -> bool:
        """`what`: compares unequal when something has happened; `busy`: something is awaited."""
        if busy or what != self._seen:
            self._seen, self._until, self._frames = what, now + AWAKE_S, AWAKE_FRAMES
        else:
            self._frames = max(0, self._frames - 1)
        return now < self._until or self._frames > 0
