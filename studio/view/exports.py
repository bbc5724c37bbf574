"""What leaves the studio as files: the project as a script of Python, the trained weights, the drawing as a picture.

Files are written on a thread, so that a slow disk does not hold the window; weights by the worker that has them.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

from munet import Graph, MunetError, Problem, ProjectError, Session, write_file
from studio import export_python, picture
from studio.files import slug
from studio.texts import text
from studio.view.core import Core
from studio.view.dialogs import Dialogs


class Exports:
    """One action each; `sync` tells how they ended."""

    def __init__(self, core: Core, dialogs: Dialogs):
        self._core, self._dialogs = core, dialogs
        self._done: queue.SimpleQueue[tuple[str, bool]] = queue.SimpleQueue()
        self._running = 0

    @property
    def busy(self) -> bool:
        return self._running > 0

    def sync(self) -> None:
        while not self._done.empty():
            words, failed = self._done.get()
            self._running -= 1
            self._core.say(words, error=failed)

    def python(self) -> None:
        document = self._core.document
        content = export_python.script(document.graph, document.path.parent if document.path is not None else None).encode()
        self._ask("python", ".py", lambda path: self._start(path, lambda: write_file(path, content)))

    def png(self) -> None:
        """The drawing that is shown, all of it."""
        state, wires = self._core.document.state, dict(self._core.tool.wires)
        if not state.part.nodes and not state.part.frames:
            self._core.say(text("view.nothing_drawn"), error=True)
            return

        def draw(path: Path) -> None:
            write_file(path, picture.png_of(picture.of(state.graph, state.part, wires)))

        self._ask("picture", ".png", lambda path: self._start(path, lambda: draw(path)))

    def weights(self) -> None:
        if not self._core.trainer.has_session:
            self._core.say(text("view.no_weights"), error=True)
            return

        def write(path: Path) -> None:
            trainer = self._core.trainer
            drawn = None if trainer.is_current else self._core.document.graph
            if drawn is not None and not trainer.hand_over():  # the weights are to fit the drawing
                return
            told = lambda result: self._core.say(text("view.exported", name=path.name))  # noqa: E731
            if not trainer.ask("export weights", partial(_export, path=path, drawn=drawn), told, stays=True):
                self._core.say(text("view.no_weights"), error=True)

        self._ask("weights", ".safetensors", write)

    def _ask(self, purpose: str, ending: str, then: Callable[[Path], None]) -> None:
        document = self._core.document
        name = (document.path.stem if document.path else slug(document.name) or slug(text("view.untitled"))) + ending
        self._dialogs.file(text(f"view.export_{purpose}"), then, purpose=purpose, endings=(ending,), saving=True, name=name)

    def _start(self, path: Path, write: Callable[[], object]) -> None:
        def work() -> None:
            try:
                write()
            except (OSError, MunetError) as error:
                self._done.put((str(error), True))
            else:
                self._done.put((text("view.exported", name=path.name), False))

        self._running += 1
        threading.Thread(target=work, name="export", daemon=True).start()


def _export(session: Session, path: Path, drawn: Graph | None) -> None:
    """`drawn`: the drawing that the session was asked to take before. Raises ProjectError if it could not."""
    if drawn is not None and session.graph is not drawn:
        raise ProjectError([Problem("older-session", text("view.older_weights"))])
    session.export_weights(path)
