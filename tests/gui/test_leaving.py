"""The studio ends unasked: nothing that was drawn is lost."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from studio import storage
from tests.gui.running import ROOT, display_of, environment, what_is_missing

MISSING = what_is_missing()


@pytest.mark.skipif(bool(MISSING), reason=MISSING)
@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_what_is_not_saved_is_offered_next_time(how: signal.Signals, tmp_path: Path) -> None:
    """Nodes are muted, the window falls asleep; Ctrl-C in the terminal ends it with its usual exit code, a kill at once."""
    with display_of(tmp_path) as display:
        env = environment(display, tmp_path, tmp_path / "cache")
        command = [sys.executable, "-X", "faulthandler", "-m", "munet.cli", "studio", "xor"]
        with subprocess.Popen(command, cwd=ROOT, env=env, stderr=subprocess.PIPE, text=True) as process:
            try:
                folder = tmp_path / "state" / "munet-studio" / "autosave"
                time.sleep(3.0)
                subprocess.run(["xdotool", "mousemove", "600", "300"], env=env, check=True, timeout=20)
                end = time.monotonic() + 30
                while not list(folder.glob("*.autosave.json")) and time.monotonic() < end:
                    subprocess.run(["xdotool", "key", "--delay", "60", "ctrl+a", "m"], env=env, check=True, timeout=20)
                    time.sleep(3.0)
                assert storage.orphans(folder) == []  # it is in use
                process.send_signal(how)
                code = process.wait(10)
            finally:
                process.kill()
    assert code == (130 if how is signal.SIGINT else -9)
    (found,) = storage.orphans(folder)
    assert any(node.muted for node in found.graph.nodes.values())
    if how is signal.SIGINT:
        assert (tmp_path / "config" / "munet-studio" / "studio.json").is_file()


FAULTY = """
import sys
from studio.commands import toggle_mute
from studio.view.app import App
from studio.view.opening import open_window

class Fault(Exception):
    pass

drawn = App.frame

def frame(app):
    drawn(app)
    if app.frames == 12:
        app.core.document.select_all()
        app.core.edit(toggle_mute(app.core.document.state))
    if app.frames == 20:
        raise Fault

App.frame = frame
from munet import bundled_project
open_window(bundled_project("xor"))
"""


@pytest.mark.skipif(bool(MISSING), reason=MISSING)
@pytest.mark.slow
def test_a_fault_of_ours_loses_nothing(tmp_path: Path) -> None:
    with display_of(tmp_path) as display:
        env = environment(display, tmp_path, tmp_path / "cache")
        command = [sys.executable, "-c", FAULTY]
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and "Fault" in done.stderr
    (found,) = storage.orphans(tmp_path / "state" / "munet-studio" / "autosave")
    assert any(node.muted for node in found.graph.nodes.values())
