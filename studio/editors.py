"""A person's own editor, started for a file: which command, why there is none, and what it said when it ended badly."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from munet import MunetError
from studio.texts import text

NEED_TERMINAL = ("vi", "vim", "nvim", "nano", "micro", "hx", "helix", "joe", "ed", "less")
TERMINALS = ("x-terminal-emulator", "gnome-terminal", "konsole", "xfce4-terminal", "alacritty", "kitty", "xterm")


class NoEditor(MunetError):
    """Why a file cannot be opened in the editor that is named."""


def editor_command(chosen: str, path: Path) -> list[str]:
    """How to open a file in the editor `chosen`; one that runs in a terminal gets one. Raises NoEditor."""
    try:
        words = shlex.split(chosen)
    except ValueError as problem:  # a quotation mark that is not closed
        raise NoEditor(text("editor.unclear", command=chosen, problem=problem)) from problem
    if not words:
        raise NoEditor(text("editor.none"))
    if shutil.which(words[0]) is None:
        raise NoEditor(text("editor.missing", name=words[0]))
    if Path(words[0]).name not in NEED_TERMINAL:
        return [*words, str(path)]
    terminal = next((name for name in TERMINALS if shutil.which(name)), "")
    if not terminal:
        raise NoEditor(text("editor.no_terminal", name=words[0]))
    return [terminal, "--" if terminal == "gnome-terminal" else "-e", *words, str(path)]


class Opened:
    """An editor that runs. It goes on when the studio ends. Raises NoEditor if it cannot be started."""

    def __init__(self, command: Sequence[str]):
        self.name = Path(command[0]).name
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  # as long as the editor runs
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self._said, start_new_session=True
            )
        except OSError as problem:
            self._said.close()
            raise NoEditor(text("editor.failed", name=self.name, problem=problem.strerror or problem)) from problem

    def poll(self) -> str | None:
        """None while it runs, "" once it has ended well, else what went wrong."""
        code = self._process.poll()
        if code is None:
            return None
        if self._said.closed:
            return ""
        self._said.seek(0)
        lines = self._said.read(4000).decode(errors="replace").strip().splitlines()
        self._said.close()
        return (
            ""
            if code == 0
            else text("editor.failed", name=self.name, problem=lines[-1] if lines else text("editor.code", code=code))
        )
