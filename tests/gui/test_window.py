"""The window, with real X events. Each story has a display and a process of its own: a crash does not lose the other results."""

from __future__ import annotations

import importlib.util
import json
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
    command = [sys.executable, "-X", "faulthandler", "-m", "munet.cli", "studio", "xor", "--stats"]
    with subprocess.Popen(command, cwd=ROOT, env=environ, stderr=subprocess.PIPE, text=True) as process:
        try:
            time.sleep(3.0)
            assert any(spent_within_s(process.pid, 2.0) < 0.5 for _ in range(8)), "it does not fall asleep"
            subprocess.run(["xdotool", "mousemove", "600", "300"], env=environ, check=True, timeout=20)
            subprocess.run(["xdotool", "key", "--delay", "80", "ctrl+q"], env=environ, check=True, timeout=20)
            assert process.wait(20) == 0
        finally:
            process.kill()
    assert (tmp_path / "config" / "munet-studio" / "studio.json").is_file()


BROKEN = {
    "text": ("{ not json", "[Docking][Data]\nDockSpace ID=zzz\n"),
    "bytes": ("\0\1\2", "\0\1\2[Window][###"),
    "strange": ('{"ui_scale": "large", "recent": 3, "window": "x", "keys": []}', "[Window][###1000000001]\nPos=9,9\n" * 500),
}


@needs_display
@pytest.mark.slow
@pytest.mark.parametrize("kind", BROKEN)
def test_broken_settings_and_layout_do_not_keep_the_window_shut(kind: str, display: Display, cache: Path, tmp_path: Path) -> None:
    environ = environment(display, tmp_path, cache)
    folder = tmp_path / "config" / "munet-studio"
    folder.mkdir(parents=True)
    for name, content in zip(("studio.json", "layout.ini"), BROKEN[kind], strict=True):
        (folder / name).write_text(content)
    command = [sys.executable, "-X", "faulthandler", "-m", "munet", "studio", "xor"]
    with subprocess.Popen(command, cwd=ROOT, env=environ, stderr=subprocess.PIPE, text=True) as process:
        try:
            end = time.monotonic() + 40
            while process.poll() is None and time.monotonic() < end:
                time.sleep(1.0)
                subprocess.run(["xdotool", "mousemove", "600", "300"], env=environ, check=True, timeout=20)
                subprocess.run(["xdotool", "key", "--delay", "80", "ctrl+q"], env=environ, check=True, timeout=20)
            assert process.wait(5) == 0
            assert process.stderr is not None and "Traceback" not in process.stderr.read()
        finally:
            process.kill()
    json.loads((folder / "studio.json").read_text())
    assert "[Docking]" in (folder / "layout.ini").read_text()


def spent_s(pid: int) -> float:
    """CPU time that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def spent_within_s(pid: int, span_s: float) -> float:
    before = spent_s(pid)
    time.sleep(span_s)
    return spent_s(pid) - before


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere there is always a display")
def test_without_a_display_it_says_so(tmp_path: Path) -> None:
    if importlib.util.find_spec("dearpygui") is None:
        pytest.skip("dearpygui is not installed: pip install -e '.[studio]'")
    environ = environment(None, tmp_path, tmp_path)
    for display in ({}, {"DISPLAY": ":9871"}):  # none, and one that nobody answers for
        done = run(["-m", "munet", "studio", "xor"], environ | display)
        assert done.code == 2
        assert "display" in done.err and "Traceback" not in done.err


def test_without_the_toolkit_it_says_what_to_install(tmp_path: Path) -> None:
    hide = "import sys; sys.modules['dearpygui'] = None; sys.argv = ['munet', 'studio']; from munet.cli import main; main()"
    done = run(["-c", hide], environment(None, tmp_path, tmp_path))
    assert done.code == 2
    assert "pip install -e '.[studio]'" in done.err and "Traceback" not in done.err


def test_without_a_library_of_the_toolkit_it_names_it(tmp_path: Path) -> None:
    package = tmp_path / "dearpygui"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "dearpygui.py").write_text("raise ImportError('libGL.so.1: cannot open shared object file')")
    start = f"import sys; sys.path[:0] = [{str(tmp_path)!r}]; sys.argv = ['munet', 'studio']; from munet.cli import main; main()"
    done = run(["-c", start], environment(None, tmp_path, tmp_path))
    assert done.code == 2
    assert "libGL.so.1" in done.err and "Traceback" not in done.err
