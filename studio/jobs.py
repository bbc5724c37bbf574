"""The worker thread that owns the session: commands in, messages out, neither side ever waits for the other.

    jobs = Jobs(); jobs.submit(Open(graph)); jobs.submit(Run())
    for message in jobs.poll(): ...

Commands are taken between submits of the run, that is every few tens of milliseconds; a compile is only interrupted by `cancel`.
Graphs and messages are immutable, so nothing is shared. What the thread does: `worker.py`.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable

from munet import Session
from studio.messages import COMPILING, OPENING, Command, Message
from studio.worker import Worker


class Jobs:
    """One worker. `submit`, `poll`, `cancel` and `phase` may be used from any thread and return at once."""

    def __init__(self, open_session: Callable[..., Session] = Session.open):
        self._commands: queue.SimpleQueue[Command | None] = queue.SimpleQueue()
        self._messages: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._worker = Worker(self._commands, self._messages, open_session)
        self._thread = threading.Thread(target=self._worker.loop, name="session", daemon=True)
        self._thread.start()

    @property
    def phase(self) -> str:
        return self._worker.phase

    @property
    def waiting(self) -> tuple[int, int]:
        """How many commands the worker has not taken yet, and how many of its messages nobody has polled."""
        return self._commands.qsize(), self._messages.qsize()

    def submit(self, command: Command) -> None:
        self._commands.put(command)

    def cancel(self) -> bool:
        """End a compile that is under way, as soon as it reports; the session is as it was before. False if there is none."""
        if self.phase not in (OPENING, COMPILING):
            return False
        self._worker.cancelled.set()
        return True

    def poll(self, limit_s: float = 0.004) -> list[Message]:
        """What has come in, in order; stops after a while, so that a frame is never late."""
        found: list[Message] = []
        end = time.perf_counter() + limit_s
        while time.perf_counter() < end:
            try:
                found.append(self._messages.get_nowait())
            except queue.Empty:
                break
        return found

    def close(self, timeout_s: float = 10.0) -> bool:
        """End the thread and its session; whether it ended in time."""
        self._worker.closing.set()
        self._commands.put(None)
        self._thread.join(timeout_s)
        return not self._thread.is_alive()
