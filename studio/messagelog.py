"""What the status line has said, with the time of day: so many lines, the oldest ones go."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass

MAX_LINES = 500


@dataclass(frozen=True)
class Line:
    """`at`: seconds since the epoch."""

    at: float
    words: str
    error: bool = False

    def __str__(self) -> str:
        return f"{time.strftime('%H:%M:%S', time.localtime(self.at))}  {self.words}"


class MessageLog:
    """`version` counts changes."""

    def __init__(self) -> None:
        self.lines: deque[Line] = deque(maxlen=MAX_LINES)
        self.version = 0

    def add(self, words: str, error: bool = False) -> None:
        """Empty messages only clear the status line: they are no news."""
        if words:
            self.lines.append(Line(time.time(), words, error))
            self.version += 1

    def clear(self) -> None:
        self.lines.clear()
        self.version += 1

    @property
    def text(self) -> str:
        return "\n".join(map(str, self.lines))
