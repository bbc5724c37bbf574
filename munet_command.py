"""The entry point of the command `munet`: hears Ctrl-C from its first moment on, while the rest is still being imported."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType, TracebackType


def main() -> None:
    begin()
    from munet.cli import main as run  # late: it takes a second

    run()


def begin() -> None:
    """While all is imported, Ctrl-C may end the process on the spot; a fault in own nodes is told without a traceback."""
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, _leave)
    sys.excepthook = _told


def imported() -> None:
    """From now on Ctrl-C and faults are the command's own business."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if sys.excepthook is _told:
        sys.excepthook = sys.__excepthook__


def _leave(number: int, frame: FrameType | None) -> None:
    os._exit(130)


def _told(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    # A faulty file of the user's own nodes (MUNET_NODES) ends the import of all of munet, the error's class included.
    if kind.__name__ != "DeclarationError":
        sys.__excepthook__(kind, error, trace)
        return
    sys.stderr.write(f"munet: {error}\n")
    sys.stderr.flush()
    os._exit(2)


if __name__ == "__main__":
    main()
