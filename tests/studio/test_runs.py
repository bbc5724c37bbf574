"""Earlier runs on the disk: labels, deleting, how many are kept, those of a project that gets its first file."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from munet import ProjectError, RunFolder
from munet.inspect import DeviceInfo
from studio import messages, runs, runshelf
from studio.preferences import Preferences
from studio.runlabels import FILE, NONE, Label, read_label, write_label
from studio.runshelf import Shelf, Wanted, adopt, delete_run, is_in_use
from studio.storage import Autosave
from studio.texts import text
from studio.view.core import Core
from studio.view.past import Past
from tests.studio.helpers import project

DEVICE = DeviceInfo("NumPy reference", "reference")


def made(parent: Path, day: int) -> Path:
    """A run that began on a day of March 2026."""
    folder = RunFolder(parent / f"run-{day}")
    with folder.held():
        folder.start(project("xor"), 1, DEVICE)
        folder.report(1, {"loss": 1.0 / day})
    facts = folder.path / "run.json"
    facts.write_text(json.dumps(json.loads(facts.read_text()) | {"started": f"2026-03-{day:02}T12:00:00+00:00"}))
    (folder.path / "last.safetensors").write_bytes(b"no checkpoint, but a file of the run")
    return folder.path


@pytest.fixture
def shelf() -> Iterator[Shelf]:
    found = Shelf()
    yield found
    found.close()


def names(shelf: Shelf, wanted: Wanted) -> list[str]:
    return [run.name for run in shelf.read(wanted).runs]


# -- labels ----------------------------------------------------------------------------------------------------------------


def test_a_label_is_kept_and_a_damaged_one_loses_no_run(tmp_path: Path, shelf: Shelf):
    folder, label = made(tmp_path, 3), Label("wider 卷积", "two\nlines", pinned=True)
    write_label(folder, label)
    listing = shelf.read(Wanted((tmp_path,)))
    assert listing.label(listing.runs[0]) == label
    for content in ("{ half", "[1]", '{"name": 7, "pinned": "yes"}', "[" * 100_000):
        (folder / FILE).write_text(content)
        assert read_label(folder) == NONE
        assert names(shelf, Wanted((tmp_path,))) == ["run-3"]


def test_another_label_does_not_have_the_run_read_again(tmp_path: Path, shelf: Shelf):
    folder = made(tmp_path, 3)
    first = shelf.read(Wanted((tmp_path,))).runs[0]
    write_label(folder, Label("best"))
    listing = shelf.read(Wanted((tmp_path,)))
    assert listing.runs[0] is first and listing.label(first).name == "best"


# -- deleting --------------------------------------------------------------------------------------------------------------


def test_deleting_a_run_leaves_what_is_not_its_own(tmp_path: Path):
    folder = made(tmp_path, 3)
    write_label(folder, Label("x"))
    (folder / "notes.txt").write_text("mine")
    delete_run(folder)
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]
    other = made(tmp_path, 4)
    delete_run(other)
    assert not other.exists()


def test_a_run_that_is_being_written_cannot_be_deleted(tmp_path: Path):
    path = made(tmp_path, 3)
    with RunFolder(path).held():
        assert is_in_use(path)
        with pytest.raises(ProjectError, match="being written"):
            delete_run(path)
        assert (path / "last.safetensors").is_file()
    assert not is_in_use(path)


def test_only_the_newest_runs_stay_and_those_that_somebody_wants(tmp_path: Path, shelf: Shelf):
    paths = {day: made(tmp_path / "own", day) for day in range(1, 9)}
    elsewhere = made(tmp_path / "other", 1)
    write_label(paths[1], Label(pinned=True))
    wanted = Wanted((tmp_path / "own",), (elsewhere,), keep=3, spared=frozenset({paths[2]}))
    assert names(shelf, replace(wanted, keep=0))[0] == "run-8"
    with RunFolder(paths[3]).held():  # by another studio, say
        listing = shelf.read(wanted)
    assert [run.name for run in listing.runs] == ["run-8", "run-7", "run-6", "run-3", "run-2", "run-1", "run-1"]
    assert listing.pruned == 2 and not paths[4].exists() and not paths[5].exists() and elsewhere.exists()
    assert shelf.read(replace(wanted, keep=0)).pruned == 0


def test_jobs_on_the_disk_are_told_with_what_kept_them(tmp_path: Path, shelf: Shelf):
    path = made(tmp_path, 3)

    def told() -> list[runshelf.Done]:
        end = time.monotonic() + 10
        while True:
            _, done = shelf.poll()
            if done:
                return done
            assert time.monotonic() < end
            time.sleep(0.005)

    with RunFolder(path).held():
        shelf.do(lambda: delete_run(path), "gone")
        (failed,) = told()
    assert failed.failed and "being written" in failed.words
    shelf.do(lambda: delete_run(path), "gone")
    assert told() == [runshelf.Done("gone")]
    shelf.do(lambda: [].pop(), "never")  # type: ignore[arg-type, return-value]
    (bug,) = told()
    assert bug.failed and "IndexError" in bug.words and not shelf.busy


# -- a project gets its first file -----------------------------------------------------------------------------------------


def test_runs_are_taken_over_once_nobody_writes_them(tmp_path: Path, shelf: Shelf):
    ended, running = made(tmp_path / "unsaved", 3), made(tmp_path / "unsaved", 4)
    own = tmp_path / "own"
    with RunFolder(running).held():
        adopt(own, [ended, running])
        assert names(shelf, Wanted((own,))) == ["run-4", "run-3"]
        assert (own / "run-3").is_dir() and running.is_dir() and not ended.exists()
    assert names(shelf, Wanted((own,))) == ["run-4", "run-3"]
    assert (own / "run-4").is_dir() and not running.exists()
    assert sorted(path.name for path in own.iterdir()) == ["run-3", "run-4"]
    (own / runshelf.ADOPTED).write_text("{ half")
    assert names(shelf, Wanted((own,))) == ["run-4", "run-3"]


def until(core: Core, past: Past, ready: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not ready():
        assert time.monotonic() < end, f"it did not happen; {core.message}"
        core.tick(time.monotonic())
        past.sync()
        time.sleep(0.002)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[tuple[Core, Past]]:
    core = Core(Preferences(device="cpu", runs_kept=2.0))
    core.autosave = Autosave(tmp_path / "autosave")
    core.trainer.runs_root = tmp_path / "runs"
    graph = project("xor")
    core.open(replace(graph, run=replace(graph.run, steps=20, evaluate_every=0, checkpoint_every=0)), None)
    past = Past(core)
    until(core, past, lambda: core.findings.version == core.document.version and not past.busy)
    yield core, past
    core.close()
    past.close()


def run_once(core: Core, past: Past) -> Path:
    trainer = core.trainer
    if trainer.has_session:
        trainer.reset()
    until(core, past, lambda: not trainer.busy and trainer.folder is None)
    trainer.run()
    until(core, past, lambda: trainer.record.step >= 20 and trainer.phase == messages.READY and not past.busy)
    assert trainer.folder is not None
    return trainer.folder


def test_a_project_that_is_saved_takes_its_runs_along(desk: tuple[Core, Past], tmp_path: Path):
    core, past = desk
    folder = run_once(core, past)
    past.lay_over(str(folder), True)
    assert folder.parent == runs.folder_of(None, core.document.graph.name, tmp_path / "runs")
    assert core.save(tmp_path / "mine.json")
    own = runs.folder_of(tmp_path / "mine.json", "", tmp_path / "runs")
    until(core, past, lambda: not past.busy and (own / runshelf.ADOPTED).is_file())
    assert [run.path for run in past.listing.runs] == [str(folder)] and past.overlaid == {str(folder)}
    core.trainer.close_session()  # nobody writes it any more
    until(core, past, lambda: not is_in_use(folder))
    assert core.open_file(tmp_path / "mine.json")
    until(core, past, lambda: not past.busy and [run.path for run in past.listing.runs] == [str(own / folder.name)])
    assert not folder.exists()


def test_a_run_that_begins_lets_the_oldest_go(desk: tuple[Core, Past], tmp_path: Path):
    core, past = desk
    parent = core.trainer.runs_folder
    old = [made(parent, day) for day in (1, 2, 3)]
    past.look()
    until(core, past, lambda: len(past.listing.runs) == 3)
    past.set_label(past.listing.runs[-1], Label("the first", pinned=True))
    until(core, past, lambda: past.listing.label(past.listing.runs[-1]).pinned)
    now = run_once(core, past)
    until(core, past, lambda: not past.busy)
    assert {run.path for run in past.listing.runs} == {str(now), str(old[2]), str(old[0])}
    assert any(line.words == text("runs.pruned", count=1) for line in core.log.lines)
    past.lay_last_over()
    assert list(past.earlier) == [past.title_of(past.listing.runs[1])]
    past.delete(past.listing.runs[0])
    assert core.message == text("runs.in_use") and now.is_dir()
    past.delete(past.listing.runs[1])
    until(core, past, lambda: not past.busy and len(past.listing.runs) == 2)
    assert not old[2].exists() and not past.overlaid
