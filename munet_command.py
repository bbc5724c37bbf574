"""The entry point of the command `munet`: hears Ctrl-C from its first moment on, while the rest is still being imported."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType


def main() -> None:
    """Nothing has begun until all is imported, so that Ctrl-C may end the process on the spot."""
    before = signal.getsignal(signal.SIGINT)
    if before != signal.SIG_IGN:
        signal.signal(signal.SIGINT, _leave)
    try:
        from munet.cli import main as run  # late: it takes a second
    except Exception as error:
        # A faulty file of the user's own nodes (MUNET_NODES) ends the import of all of munet, the error's class included.
        if type(error).__name__ != "DeclarationError":
            raise
        sys.stderr.write(f"munet: {error}\n")
        sys.exit(2)

    if before != signal.SIG_IGN:
        signal.signal(signal.SIGINT, before)
    run()


def _leave(number: int, frame: FrameType | None) -> None:
    os._exit(130)


if __name__ == "__main__":
    main()
