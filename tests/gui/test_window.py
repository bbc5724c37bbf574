"""The window, with real X events. Each story has a display and a process of its own: a crash does not lose the other results."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gui.stories import all_stories

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 150


def what_is_missing() -> str:
    if not sys.platform.startswith("linux"):
        return "GUI tests need X11"
    if importlib.util.find_spec("dearpygui") is None:
        return "dearpygui is not installed: pip install 'munet-studio[studio]'"
    gone = [program for program in ("Xvfb", "xdotool") if shutil.which(program) is None]
    return f"{' and '.join(gone)} not found: apt-get install xvfb xdotool" if gone else ""


MISSING = what_is_missing()
needs_display = pytest.mark.skipif(bool(MISSING), reason=MISSING)


@pytest.fixture
def display() -> Iterator[str]:
    """A free display; Xvfb picks the number itself."""
    reader, writer = os.pipe()
    command = ["Xvfb", "-displayfd", str(writer), "-screen", "0", "1280x800x24", "-nolisten", "tcp"]
    with subprocess.Popen(command, pass_fds=(writer,), stderr=subprocess.DEVNULL) as server:
        os.close(writer)
        with os.fdopen(reader) as stream:
            number = stream.readline().strip()
        try:
            assert number, "Xvfb did not start"
            yield f":{number}"
        finally:
            server.terminate()


def told(arguments: list[str], display: str | None, home: Path) -> subprocess.CompletedProcess[str]:
    settings = {"XDG_CONFIG_HOME": str(home / "config"), "XDG_STATE_HOME": str(home / "state"), "PYTHONPATH": str(ROOT)}
    environment = {**os.environ, **settings}
    environment.pop("DISPLAY", None)
    if display is not None:
        environment["DISPLAY"] = display
    command = [sys.executable, "-X", "faulthandler", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )  # fmt: skip


@needs_display
@pytest.mark.slow
@pytest.mark.parametrize("story", [] if MISSING else list(all_stories()))
def test_story(story: str, display: str, tmp_path: Path) -> None:
    done = told(["-m", "tests.gui.stories", story, str(tmp_path)], display, tmp_path)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-4000:]}"


@needs_display
@pytest.mark.slow
def test_the_command_opens_sleeps_and_quits(display: str, tmp_path: Path) -> None:
    """Nothing is drawn while nothing happens: the process takes no time; Ctrl+Q wakes and ends it."""
    environment = {**os.environ, "DISPLAY": display, "XDG_CONFIG_HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)}
    command = [sys.executable, "-X", "faulthandler", "-m", "munet.cli", "studio", "xor"]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            time.sleep(4.0)
            before = spent_s(process.pid)
            time.sleep(2.0)
            assert spent_s(process.pid) - before < 0.5
            subprocess.run(["xdotool", "mousemove", "600", "300"], env=environment, check=True, timeout=20)
            subprocess.run(["xdotool", "key", "--delay", "80", "ctrl+q"], env=environment, check=True, timeout=20)
            assert process.wait(20) == 0
        finally:
            process.kill()
    assert (tmp_path / "munet-studio" / "studio.json").is_file()


def spent_s(pid: int) -> float:
    """CPU time that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere there is always a display")
def test_without_a_display_it_says_so(tmp_path: Path) -> None:
    if importlib.util.find_spec("dearpygui") is None:
        pytest.skip("dearpygui is not installed: pip install 'munet-studio[studio]'")
    done = told(["-m", "munet.cli", "studio", "xor"], None, tmp_path)
    assert done.returncode == 2
    assert "display" in done.stderr and "Traceback" not in done.stderr


def test_without_the_toolkit_it_says_what_to_install(tmp_path: Path) -> None:
    hide = "import sys; sys.modules['dearpygui'] = None; sys.argv = ['munet', 'studio']; from munet.cli import main; main()"
    done = told(["-c", hide], None, tmp_path)
    assert done.returncode == 2
    assert "pip install 'munet-studio[studio]'" in done.stderr and "Traceback" not in done.stderr
