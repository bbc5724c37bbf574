"""Runs one story in this process: `python -m tests.gui.stories NAME FOLDER`, with DISPLAY set.

A story is a function of a `Hand` in a module stories_*.py, listed in that module's STORIES. Nothing sleeps: after each event some
frames are drawn, then the document is looked at. A story ends well, or with an assertion; then failed.png shows the window.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path

SKIPPED = 77  # exit code of a story that cannot be told here


def modules() -> list[str]:
    return sorted(path.stem for path in Path(__file__).parent.glob("stories_*.py"))


def all_stories() -> dict[str, Callable[[object], None]]:
    """By name."""
    found = [story for name in modules() for story in importlib.import_module(f"tests.gui.{name}").STORIES]
    names = [story.__name__ for story in found]
    assert len(set(names)) == len(names), f"two stories have one name: {sorted(names)}"
    return {story.__name__: story for story in found}


def main() -> int:
    from studio.view.app import App
    from tests.gui.hand import Hand, Skipped

    name, folder = sys.argv[1], Path(sys.argv[2])
    app = App()
    try:
        hand = Hand(app, folder)
        try:
            all_stories()[name](hand)
        except Skipped as why:
            sys.stdout.write(f"{why}\n")
            return SKIPPED
        except BaseException:
            hand.keep("failed")
            raise
    finally:
        app.close()
    sys.stdout.write(f"{name}: {app.times}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
