"""Starts stories and the studio: displays without a screen, processes of their own, and what is kept when one of them fails."""

from __future__ import annotations

import importlib
import importlib.util
import os
import shutil
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 150
APT = "apt-get install xvfb xdotool libgl1 libgl1-mesa-dri libxcursor1 libxi6 libxinerama1 libxrandr2 libxxf86vm1"


def what_is_missing() -> str:
    """Why the stories cannot run here, with the line to type; "" if they can."""
    if not sys.platform.startswith("linux"):
        return "tests of the window need X11"
    if importlib.util.find_spec("dearpygui") is None:
        return "dearpygui is not installed: pip install -e '.[studio]'"
    gone = [program for program in ("Xvfb", "xdotool") if shutil.which(program) is None]
    if gone:
        return f"{' and '.join(gone)} not found: {APT}"
    try:
        importlib.import_module("dearpygui.dearpygui")
    except ImportError as error:  # it is linked with libGL
        return f"{error}: {APT}"
    return ""


@dataclass(frozen=True)
class Display:
    """`name` is what DISPLAY says; `buffer` is the file in which Xvfb keeps its picture."""

    name: str
    buffer: Path

    def picture(self, path: Path) -> None:
        """What is on it now, as a PNG; also while the process that draws hangs."""
        raw = self.buffer.read_bytes()
        head = struct.unpack(">25I", raw[:100])  # X window dump: sizes big-endian, pixels as the server has them
        size, width, height, stride, colors = head[0], head[4], head[5], head[12], head[19]
        start = size + 12 * colors
        rows = np.frombuffer(raw, np.uint8, stride * height, start).reshape(height, stride)
        pixels = rows[:, : 4 * width].reshape(height, width, 4)[:, :, 2::-1]
        Image.fromarray(np.ascontiguousarray(pixels)).save(path)


@contextmanager
def display_of(folder: Path, size: tuple[int, int] = (1280, 800)) -> Iterator[Display]:
    """A free display; Xvfb picks the number itself."""
    reader, writer = os.pipe()
    screen = f"{size[0]}x{size[1]}x24"
    # A server without clients starts anew, and refuses who comes just then: xdotool is often the only client for a moment.
    command = ["Xvfb", "-displayfd", str(writer), "-screen", "0", screen, "-nolisten", "tcp", "-noreset", "-fbdir", str(folder)]
    with subprocess.Popen(command, pass_fds=(writer,), stderr=subprocess.DEVNULL) as server:
        os.close(writer)
        with os.fdopen(reader) as stream:
            number = stream.readline().strip()
        try:
            assert number, "Xvfb did not start"
            yield Display(f":{number}", folder / "Xvfb_screen0")
        finally:
            server.terminate()


def environment(display: Display | None, home: Path, cache: Path) -> dict[str, str]:
    """Settings and state of its own; compiled shaders are shared."""
    own = {"XDG_CONFIG_HOME": str(home / "config"), "XDG_STATE_HOME": str(home / "state"), "MUNET_CACHE_DIR": str(cache)}
    own["MUNET_SHADERS"] = str(home / "shaders")
    found = {**os.environ, **own, "PYTHONPATH": str(ROOT)}
    found.pop("DISPLAY", None)
    return found | ({"DISPLAY": display.name} if display is not None else {})


@dataclass(frozen=True)
class Done:
    """How a process ended. `code` is negative for a signal: -11 is a segmentation fault."""

    code: int
    out: str
    err: str

    def __str__(self) -> str:
        return f"exit code {self.code}\n{self.out[-2000:]}\n{self.err[-6000:]}"


def run(
    arguments: Sequence[str], env: Mapping[str, str], display: Display | None = None, picture: Path | None = None, *,
    limit_s: float = LIMIT_S,
) -> Done:  # fmt: skip
    """Run Python to its end. One that takes too long is photographed, tells where its threads are, and is killed."""
    command = [sys.executable, "-X", "faulthandler", *arguments]
    with subprocess.Popen(
        command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            out, err = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            if display is not None and picture is not None:
                display.picture(picture)
            process.send_signal(signal.SIGABRT)  # faulthandler writes the tracebacks of all threads
            try:
                out, err = process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                out, err = process.communicate()
            err = f"it took longer than {limit_s:g} s\n{err}"
        except BaseException:
            process.kill()
            raise
    return Done(process.returncode, out, err)
