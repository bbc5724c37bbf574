"""Files of the studio: saving, autosave, recovery, changes from outside, preferences (CASES 50, 53)."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from munet import Graph, ProjectError, load_project
from studio import preferences, storage
from studio.commands import SetProject
from studio.document import Document
from studio.preferences import Preferences
from studio.storage import Autosave, changed_outside, forget, orphans
from tests.studio.helpers import PROJECTS, project


def test_a_document_is_saved_and_read_again(tmp_path: Path):
    path = tmp_path / "网络 éü" / "投影.json"  # CASES 53
    path.parent.mkdir()
    document = Document(project())
    document.do(SetProject(name="Ünïcode 卷积"))
    stamp = storage.write(document.graph, path)
    document.mark_saved(document.graph, path)
    assert not document.dirty
    graph, again = storage.read(path)
    assert graph == document.graph
    assert again == stamp
    assert not changed_outside(path, stamp)
    document.do(SetProject(name="x"))
    assert document.dirty


def test_what_was_saved_while_editing_went_on_is_not_taken_for_the_newest(tmp_path: Path):
    document = Document(project())
    document.do(SetProject(name="one"))
    older = document.graph
    document.do(SetProject(name="two"))
    storage.write(older, tmp_path / "p.json")
    document.mark_saved(older, tmp_path / "p.json")
    assert document.dirty
    document.undo()
    assert not document.dirty


def test_changes_from_outside_are_seen(tmp_path: Path):
    path = tmp_path / "p.json"
    stamp = storage.write(project(), path)
    path.touch()
    assert changed_outside(path, stamp) == ""
    path.write_text(path.read_text(encoding="utf-8") + " ", encoding="utf-8")
    assert changed_outside(path, stamp) == "changed"
    path.unlink()
    assert changed_outside(path, stamp) == "gone"


def test_a_save_that_fails_leaves_the_file_and_the_document_as_they_were(tmp_path: Path):
    path = tmp_path / "p.json"
    storage.write(project("xor"), path)
    before = path.read_bytes()
    with pytest.raises(ProjectError):
        storage.write(project(), tmp_path / "no such folder" / "p.json")
    broken = replace(project(), subgraphs={"a": Graph(name="b")})
    with pytest.raises(ProjectError):
        storage.write(broken, path)
    assert path.read_bytes() == before


SAVING = """
import sys
from pathlib import Path
from munet import load_project
from studio import storage
graphs = [load_project(name) for name in sys.argv[2:4]]
paths = [Path(sys.argv[1]) / f"{i}.json" for i in range(2)]
print("ready", flush=True)
while True:
    for graph, path in zip(graphs, paths):
        storage.write(graph, path)
"""


@pytest.mark.slow
def test_killed_while_saving_two_projects(tmp_path: Path):  # CASES 50
    names = [str(PROJECTS / f"{name}.json") for name in ("xor", "spiral_mlp")]
    expected = [load_project(name) for name in names]
    for graph, number in zip(expected, range(2), strict=True):
        storage.write(graph, tmp_path / f"{number}.json")
    for attempt in range(12):
        process = subprocess.Popen([sys.executable, "-c", SAVING, str(tmp_path), *names], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.003 * attempt)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        assert [load_project(tmp_path / f"{number}.json") for number in range(2)] == expected


CRASHING = """
import sys, time
from pathlib import Path
from munet import load_project
from studio.storage import Autosave
autosave = Autosave(Path(sys.argv[1]))
autosave.write(load_project(sys.argv[2]), Path(sys.argv[2]))
print("saved", flush=True)
time.sleep(60)
"""


def test_after_a_crash_the_autosave_is_offered(tmp_path: Path):
    name = str(PROJECTS / "xor.json")
    process = subprocess.Popen([sys.executable, "-c", CRASHING, str(tmp_path), name], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"saved\n"
    assert orphans(tmp_path) == []  # it is still running
    process.kill()
    process.wait()
    process.stdout.close()
    found = orphans(tmp_path)
    assert [(r.path, r.graph) for r in found] == [(Path(name), load_project(name))]
    forget(found[0])
    assert orphans(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_an_autosave_of_ours_is_not_offered_and_goes_when_it_is_not_needed(tmp_path: Path):
    autosave = Autosave(tmp_path)
    autosave.write(project(), None)
    autosave.write(project("xor"), None)
    assert orphans(tmp_path) == []
    assert len(list(tmp_path.glob("*.autosave.json"))) == 1
    autosave.discard()
    assert list(tmp_path.glob("*.autosave.json")) == []
    autosave.close()
    assert list(tmp_path.iterdir()) == []


def test_broken_autosaves_are_left_alone(tmp_path: Path):
    for number, content in enumerate([b"", b"{}", b"\xff", b'{"path": null, "saved_at": 1, "project": "{}"}', b"[]"]):
        (tmp_path / f"{number}.autosave.json").write_bytes(content)
    assert orphans(tmp_path) == []
    assert len(list(tmp_path.iterdir())) == 5
    assert orphans(tmp_path / "nowhere") == []


# -- preferences -----------------------------------------------------------------------------------------------------------


def test_preferences_are_kept(tmp_path: Path):
    path = tmp_path / "deep" / "studio.json"
    kept = replace(Preferences(ui_scale=1.5, device="cpu", keys={"run": "F9"}), recent=("a", "b")).opened(tmp_path / "x.json")
    preferences.save(kept, path)
    assert preferences.load(path) == kept
    assert kept.recent[0] == str((tmp_path / "x.json").resolve())


def test_missing_broken_and_unfit_preferences(tmp_path: Path):
    path = tmp_path / "studio.json"
    assert preferences.load(path) == Preferences()
    path.write_text("{ broken", encoding="utf-8")
    assert preferences.load(path) == Preferences()
    assert (tmp_path / "studio.json.broken").exists()
    strange = {"ui_scale": 99, "device": 3, "snap": "yes", "grid": 10, "recent": ["a", 1], "new": 1}
    path.write_text(json.dumps(strange), encoding="utf-8")
    found = preferences.load(path)
    assert found == replace(Preferences(), ui_scale=3.0, grid=10.0, recent=("a",))
