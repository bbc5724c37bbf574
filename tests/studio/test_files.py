"""Files of the studio: saving, autosave, recovery, changes from outside, preferences (CASES 50, 53)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from munet import Graph, ProjectError, load_project
from studio import files, preferences, storage
from studio.commands import SetProject
from studio.document import Document
from studio.preferences import Preferences
from studio.storage import Autosave, changed_outside, forget, orphans
from studio.view.core import Core
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
    whole = json.loads(autosaved(tmp_path / "whole", project("xor")))
    parts: list[tuple[str, object]] = [("project", 5), ("project", {}), ("project", "{}"), ("saved_at", "1"), ("saved_at", True)]
    broken = [b"", b"{}", b"\xff", b"[]", b"5", b"[" * 100_000, *(json.dumps(whole | {key: it}).encode() for key, it in parts)]
    broken.append(json.dumps(whole | {"saved_at": float("nan")}).encode())
    for number, content in enumerate(broken):
        (tmp_path / f"{number}.autosave.json").write_bytes(content)
    (tmp_path / "folder.autosave.json").mkdir()
    strange = [("path", 5), ("path", "\0"), ("saved_at", 1e300), ("saved_at", -1e12), ("stamp", [1]), ("path_bytes", "zz")]
    for number, (key, it) in enumerate(strange):
        (tmp_path / f"good {number}.autosave.json").write_text(json.dumps(whole | {key: it}), encoding="utf-8")
    found = orphans(tmp_path)
    assert len(found) == len(strange) and all(recovered.graph == project("xor") for recovered in found)
    assert all(files.time_text(recovered.saved_at) for recovered in found)
    assert len(list(tmp_path.glob("*.autosave.json"))) == len(broken) + len(strange) + 1
    assert orphans(tmp_path / "nowhere") == []


def autosaved(folder: Path, graph: Graph, path: Path | None = None, stamp: storage.Stamp | None = None) -> bytes:
    """The content of an autosave whose process is gone, as far as others can see."""
    autosave = Autosave(folder)
    autosave.write(graph, path, stamp)
    autosave.let_go()
    return autosave.file.read_bytes()


def test_an_autosave_knows_a_file_whose_name_is_no_unicode(tmp_path: Path):
    path = tmp_path / os.fsdecode(b"caf\xe9.json")
    stamp = storage.Stamp(1, 2, "3")
    autosaved(tmp_path, project(), path, stamp)
    assert [(found.path, found.stamp) for found in orphans(tmp_path)] == [(path, stamp)]


# -- the window's core -----------------------------------------------------------------------------------------------------


@pytest.fixture
def core(tmp_path: Path) -> Iterator[Core]:
    core = Core(Preferences(device="cpu"))
    core.autosave = Autosave(tmp_path / "autosave")
    storage.write(project("xor"), tmp_path / "p.json")
    assert core.open_file(tmp_path / "p.json")
    yield core
    core.close()


def test_what_is_recovered_does_not_replace_what_another_program_wrote(core: Core, tmp_path: Path):
    core.set_param("adam", "lr", 0.2)
    core.autosave_if_due(0.0, at_once=True)
    core.autosave.let_go()
    other = Core(Preferences(device="cpu"))
    other.autosave = Autosave(tmp_path / "autosave")
    (lost,) = orphans(tmp_path / "autosave")
    other.recover(lost)
    assert other.document.path is not None and other.stamp is not None
    assert changed_outside(other.document.path, other.stamp) == ""
    assert orphans(tmp_path / "autosave") == [] and other.autosave.file.is_file()
    other.autosave.let_go()  # and that one crashes as well, and another program writes the file
    storage.write(project(), tmp_path / "p.json")
    (lost,) = orphans(tmp_path / "autosave")
    other.recover(lost)
    assert changed_outside(other.document.path, other.stamp) == "changed"
    other.close()


def test_an_autosave_that_failed_is_tried_again(core: Core, tmp_path: Path):
    (tmp_path / "autosave").write_text("in the way", encoding="utf-8")
    core.set_param("adam", "lr", 0.2)
    core.autosave_if_due(1e9)
    assert core.message_is_error
    core.say("seen")
    core.autosave_if_due(2e9)
    assert core.message == "seen"  # it is told once
    (tmp_path / "autosave").unlink()
    core.autosave_if_due(3e9)
    assert core.autosave.file.is_file()


def test_there_is_nothing_to_recover_when_all_was_taken_back(core: Core):
    core.set_param("adam", "lr", 0.2)
    core.autosave_if_due(1e9)
    assert core.autosave.file.is_file()
    core.document.undo()
    core.autosave_if_due(1e9)
    assert not core.autosave.file.is_file()
    core.document.redo()
    core.autosave_if_due(2e9)
    assert core.autosave.file.is_file()


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


def test_preferences_hold_no_text_that_cannot_be_shown_or_opened(tmp_path: Path):
    path = tmp_path / "studio.json"
    strange = {"recent": ["a", "\0x"], "language": "\0", "folders": {"a": "\0", "b": "c"}, "window": [-5, 10**12, 10**12, 900]}
    path.write_text(json.dumps(strange), encoding="utf-8")
    assert preferences.load(path) == replace(
        Preferences(), recent=("a",), folders={"b": "c"}, window=(0, *preferences.MOST_OF_WINDOW[1:3], 900)
    )
    for broken in ('{"recent": ["\\ud800"]}', "[" * 100_000, '{"ui_scale": 1e400}', '{"grid": NaN}'):
        path.write_text(broken, encoding="utf-8")
        assert preferences.load(path) == Preferences()
        assert not path.exists()
    odd = tmp_path / os.fsdecode(b"caf\xe9.json")
    assert Preferences().opened(odd) == Preferences()  # JSON cannot hold it
    assert Preferences().with_previews(odd, frozenset({"a"})) == Preferences()
    assert Preferences(previews={str(tmp_path / "p"): "[" * 100_000}).previews_of(tmp_path / "p") == frozenset()
