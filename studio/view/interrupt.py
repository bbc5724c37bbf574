"""Ctrl-C in the terminal, and a request to end from the system: the work is put into the autosave, then the process ends.

A window that sleeps waits for input inside Dear PyGui, where no handler of Python runs. So the signal is read from a pipe by a
thread of its own; it saves, lets the frame loop end by itself, and ends the process if that does not come in time.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable

WAIT_S = 2.0
EXIT_CODE = 130  # as shells have it for what was interrupted


class Interrupt:
    """Made in the main thread; `save` is called on another one. The loop ends once `asked` is set; then call `close`."""

    def __init__(self, save: Callable[[], None]):
        self.asked = False
        self._save, self._ended = save, threading.Event()
        self._reader, self._writer = socket.socketpair()
        self._writer.setblocking(False)
        self._numbers = [signal.SIGINT, signal.SIGTERM]
        self._before = [signal.signal(number, lambda *_: None) for number in self._numbers]
        self._wakeup = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        self._thread = threading.Thread(target=self._watch, name="interrupt", daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while signals := self._reader.recv(1):
            if signals[0] not in self._numbers:
                continue
            if self.asked:  # for the second time: at once
                os._exit(EXIT_CODE)
            self._save()
            self.asked = True
            if not self._ended.wait(WAIT_S):
                os._exit(EXIT_CODE)

    def close(self) -> None:
        """The window is closed: signals do again what they did."""
        self._ended.set()
        signal.set_wakeup_fd(self._wakeup)
        for number, handler in zip(self._numbers, self._before, strict=True):
            signal.signal(number, handler)
        self._writer.close()
        self._thread.join(1.0)
        self._reader.close()
