"""The entry point of the command `munet`: hears Ctrl-C from its first moment on, while the rest is still being imported."""

from __future__ import annotations

import os
import signal
from types import FrameType


def main() -> None:
    """Nothing has begun until all is imported, so that Ctrl-C may end the process on the spot."""
    before = signal.getsignal(signal.SIGINT)
    if before != signal.SIG_IGN:
        signal.signal(signal.SIGINT, _leave)
    from munet.cli import main as run  # late: it takes a second

    if before != signal.SIG_IGN:
        signal.signal(signal.SIGINT, before)
    run()


def _leave(number: int, frame: FrameType | None) -> None:
    os._exit(130)


if __name__ == "__main__":
    main()
