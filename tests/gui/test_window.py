"""The window, with real X events. Each story has a display and a process of its own: a crash does not lose the other results."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gui.running import ROOT, Display, display_of, environment, run, what_is_missing
from tests.gui.stories import SKIPPED, all_stories

MISSING = what_is_missing()
needs_display = pytest.mark.skipif(bool(MISSING), reason=MISSING)


@pytest.fixture
def display(tmp_path: Path) -> Iterator[Display]:
    with display_of(tmp_path) as found:
        yield found


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compiled shaders, shared by all stories; the processes of pytest-xdist have one parent folder."""
    base = tmp_path_factory.getbasetemp()
    found = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shaders"
    found.mkdir(exist_ok=True)
    return found


@needs_display
@pytest.mark.slow
@pytest.mark.parametrize("story", ["any"] if MISSING else list(all_stories()))
def test_story(story: str, display: Display, cache: Path, tmp_path: Path) -> None:
    environ, picture = environment(display, tmp_path, cache), tmp_path / "failed.png"
    done = run(["-m", "tests.gui.stories", story, str(tmp_path)], environ, display, picture)
    if done.code == SKIPPED:
        pytest.skip(done.out.strip())
    assert done.code == 0, f"{done}\nthe window then: {picture if picture.is_file() else 'nothing was kept'}"


@needs_display
@pytest.mark.slow
def test_the_command_opens_sleeps_and_quits(display: Display, cache: Path, tmp_path: Path) -> None:
    """Nothing is drawn while nothing happens: the process takes no time; Ctrl+Q wakes and ends it."""
    environ = environment(display, tmp_path, cache)
    command = [sys.executable, "-X", "faulthandler", "-m", "munet.cli", "studio", "xor"]
    with subprocess.Popen(command, cwd=ROOT, env=environ, stderr=subprocess.PIPE, text=True) as process:
        try:
            time.sleep(4.0)
            before = spent_s(process.pid)
            time.sleep(2.0)
            assert spent_s(process.pid) - before < 0.5
            subprocess.run(["xdotool", "mousemove", "600", "300"], env=environ, check=True, timeout=20)
            subprocess.run(["xdotool", "key", "--delay", "80", "ctrl+q"], env=environ, check=True, timeout=20)
            assert process.wait(20) == 0
        finally:
            process.kill()
    assert (tmp_path / "config" / "munet-studio" / "studio.json").is_file()


def spent_s(pid: int) -> float:
    """CPU time that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere there is always a display")
def test_without_a_display_it_says_so(tmp_path: Path) -> None:
    if importlib.util.find_spec("dearpygui") is None:
        pytest.skip("dearpygui is not installed: pip install 'munet-studio[studio]'")
    environ = environment(None, tmp_path, tmp_path)
    for display in ({}, {"DISPLAY": ":9871"}):  # none, and one that nobody answers for
        done = run(["-m", "munet", "studio", "xor"], environ | display)
        assert done.code == 2
        assert "display" in done.err and "Traceback" not in done.err


def test_without_the_toolkit_it_says_what_to_install(tmp_path: Path) -> None:
    hide = "import sys; sys.modules['dearpygui'] = None; sys.argv = ['munet', 'studio']; from munet.cli import main; main()"
    done = run(["-c", hide], environment(None, tmp_path, tmp_path))
    assert done.code == 2
    assert "pip install 'munet-studio[studio]'" in done.err and "Traceback" not in done.err
