"""What is comfortable and needs no window: the palette of commands, shortcuts, files, languages, cards, exports, pictures."""

from __future__ import annotations

import json
import math
import os
import runpy
from dataclasses import MISSING, Field, fields, replace
from pathlib import Path

import pytest
from fontTools.ttLib import TTFont

from munet import (
    Frame,
    Graph,
    MunetError,
    Node,
    Progress,
    Run,
    Session,
    bundled_projects,
    load_project,
    save_project,
)  # fmt: skip
from munet.cli import app
from munet.inspect import wire_shapes
from studio import (
    blocks,
    commander,
    export_python,
    files,
    fonts,
    keys,
    languages,
    picture,
    preferences,
    runs,
    start,
    texts,
)  # fmt: skip
from studio.document import Document
from studio.nodeviews import declaration_of
from studio.preferences import Preferences
from studio.subgraph_commands import Collapse
from studio.values import shared
from tests.engine import drawings
from tests.studio.helpers import PROJECTS, chain, opened, project

# -- the palette of commands -----------------------------------------------------------------------------------------------


def offered(graph: Graph | None = None) -> tuple[commander.Choice, ...]:
    names = {action.name for action in keys.ACTIONS}
    panels = [("passes", "Passes"), ("problems", "Problems")]
    return commander.choices(graph or project(), names, keys.shortcuts(), panels, ["/tmp/mine.json"], ["xor"])


@pytest.mark.parametrize(("query", "first"), [
    ("undo", ("action", "undo")), ("sel all", ("action", "select_all")), ("passes", ("panel", "passes")),
    ("ctrl+d", ("action", "duplicate")), ("@linear 2", ("node", "linear 2")), ("mine", ("recent", "/tmp/mine.json")),
    ("example xor", ("example", "xor")), ("> save", ("action", "save")), ("zmin", ("action", "zoom_in")),
])  # fmt: skip
def test_what_a_text_finds_first(query: str, first: tuple[str, str]):
    found = commander.find(query, offered())
    assert (found[0].kind, found[0].name) == first


def test_marks_before_a_text_look_for_one_kind_only():
    assert {choice.kind for choice in commander.find("@", offered())} == {"node"}
    assert {choice.kind for choice in commander.find(">", offered())} == {"action"}
    assert commander.find("qqqq", offered()) == []


def test_what_was_chosen_before_comes_first():
    usual = commander.find("align", offered())
    assert usual[0].name != "align_bottom"
    assert commander.find("align", offered(), ["action align_bottom"])[0].name == "align_bottom"
    assert commander.find("", offered(), ["action redo"])[0].name == "redo"


def test_nodes_inside_subgraphs_are_found_by_their_paths():
    document = opened()
    document.do(Collapse(frozenset({"linear 1", "relu 1"}), "block"))
    (block,) = [node.id for node in document.part.nodes.values() if node.operator == "subgraph"]
    (found,) = [c for c in commander.find("@relu 1", offered(document.graph)) if c.title == "relu 1"]
    assert found.name == f"{block}/relu 1"
    assert document.go_to(found.name) == "relu 1" and document.state.inside == (block,)


# -- shortcuts -------------------------------------------------------------------------------------------------------------


def test_shortcuts_by_action_and_what_is_taken():
    assert keys.shortcuts()["redo"] == ("Ctrl+Y", "Ctrl+Shift+Z")
    assert keys.shortcuts({"redo": "Q"})["redo"] == ("Q",)
    assert "redo" not in keys.shortcuts({"redo": ""})
    assert keys.conflict("mute", "ctrl+d") == "duplicate"
    assert keys.conflict("duplicate", "Ctrl+D") == "" and keys.conflict("mute", "Q") == ""
    assert keys.conflict("mute", "Ctrl+D", {"duplicate": "Q"}) == ""
    with pytest.raises(ValueError, match="no shortcut"):
        keys.conflict("mute", "Ctrl+Nothing")


# -- files -----------------------------------------------------------------------------------------------------------------


def test_a_folder_is_listed_by_the_wanted_endings(tmp_path: Path):
    (tmp_path / "Zoo").mkdir()
    for name in ("b.json", "A.JSON", "c.txt", ".hidden.json"):
        (tmp_path / name).write_text("12345")
    (tmp_path / "nowhere.json").symlink_to(tmp_path / "gone")
    assert [(item.name, item.is_folder) for item in files.listed(tmp_path, (".json",))] == [
        ("Zoo", True), ("A.JSON", False), ("b.json", False)
    ]  # fmt: skip
    assert len(files.listed(tmp_path)) == 4
    assert files.listed(tmp_path)[1].size_bytes == 5
    with pytest.raises(OSError, match="gone"):
        files.listed(tmp_path / "gone")


def test_what_a_typed_name_means(tmp_path: Path):
    (tmp_path / "there.json").touch()
    (tmp_path / "inner").mkdir()

    def meant(typed: str, saving: bool) -> tuple[str, str]:
        what, path = files.meaning(tmp_path, typed, (".json",), saving=saving)
        return what, path.name

    assert meant("there", False) == meant("there.json", False) == (files.TAKE, "there.json")
    assert meant("gone", False) == (files.MISSING, "gone.json")
    assert meant("inner", False) == meant("inner", True) == (files.GO, "inner")
    assert meant("  ", True)[0] == files.NOTHING
    assert meant("new", True) == (files.TAKE, "new.json") and meant("net.v2", True) == (files.TAKE, "net.v2.json")
    assert meant("there", True) == (files.OVERWRITE, "there.json")
    assert meant("nowhere/new", True) == (files.MISSING, "nowhere")
    assert files.meaning(tmp_path / "inner", str(tmp_path / "there.json"), (".json",), saving=False)[0] == files.TAKE
    for odd in ("~nosuchuser", "~nosuchuser/x", "x" * 300, "a\0b", os.fsdecode(b"caf\xe9"), "\ud800", "there.json/x"):
        assert meant(odd, False)[0] == files.MISSING
        assert meant(odd, True)[0] in (files.MISSING, files.TAKE)
    assert files.typed_path("~", tmp_path) == Path.home() and files.typed_path(" /a ", tmp_path) == Path("/a")
    assert blocks.folder_of(Preferences(blocks_folder="~nosuchuser/b")) == Path("~nosuchuser/b")


def test_names_of_files_and_labels_are_shown_whole(tmp_path: Path):
    odd = os.fsdecode(b"caf\xe9##b")
    assert texts.text("view.opened", name=odd) == "caf\ufffd##b opened"
    assert texts.label(odd) == "caf\ufffd#\u200b#b" and texts.label("a####") == "a#\u200b#\u200b#\u200b#"
    assert texts.label("a#b") == "a#b"
    with TTFont(fonts.bundled(fonts.UI)) as font:
        between = (font.getBestCmap() or {})[0x200B]
        assert font["hmtx"][between][0] == 0  # it takes no room
    (tmp_path / f"{odd}.json").touch()
    assert [item.name for item in files.listed(tmp_path)] == [f"{odd}.json"]  # as it is, to be opened
    assert Document(path=tmp_path / f"{odd}.json").name == "caf\ufffd##b"
    assert runs.folder_of(tmp_path / f"{odd}.json", "").name.startswith("caf-b-")
    (tmp_path / "plain.json").touch()
    assert languages.available(tmp_path) == ("en", "plain")


def test_sizes_and_times_as_people_read_them():
    sizes = [files.size_text(size_bytes) for size_bytes in (0, 1023, 1024, 150 * 1024, 3 * 2**20)]
    assert sizes == ["0 B", "1023 B", "1.0 KiB", "150 KiB", "3.0 MiB"]
    assert files.time_text(1_700_000_000, 1_700_000_050) == files.time_text(1_700_000_000, 1_700_000_000)
    assert files.time_text(1_600_000_000, 1_700_000_000).endswith("2020")


@pytest.mark.parametrize(("name", "slug"), [
    ("Digits, LeNet-5", "digits-lenet-5"), ("xor", "xor"), ("../a\\b:c", "a-b-c"), ("数字 1", "数字-1"), (" ... ", ""), ("", ""),
    ("a" * 300, "a" * 60),
])  # fmt: skip
def test_a_name_as_a_file_is_called(name: str, slug: str):
    assert files.slug(name) == slug


# -- languages -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path):
    yield tmp_path
    texts.use({})


def test_a_translation_is_one_file(folder: Path):
    (folder / "de.json").write_text(json.dumps({"action.undo": "Rückgängig", "view.opened": "{name} geöffnet"}))
    assert languages.available(folder) == ("en", "de") and languages.available(folder / "none") == ("en",)
    assert languages.use("de", folder) == languages.Outcome()
    assert texts.text("action.undo") == "Rückgängig" and texts.text("view.opened", name="x") == "x geöffnet"
    assert texts.text("action.redo") == "Redo"
    assert languages.use("en", folder) == languages.Outcome() and texts.text("action.undo") == "Undo"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("{", "line 1"),
        ("[1]", "not an object"),
        ("[" * 100_000, "nest more than"),
        ('{"action.undo": "\\ud800"}', "surrogate"),
    ],
)
def test_a_translation_that_cannot_be_read_is_refused(folder: Path, content: str, why: str):
    (folder / "de.json").write_text(content)
    for name, expected in (("de", why), ("nl", "nl.json")):
        outcome = languages.use(name, folder)
        assert expected in outcome.refused and f"{name}.json" in outcome.refused and not outcome.remarks
        assert texts.text("action.undo") == "Undo"


@pytest.mark.parametrize(("key", "words", "why"), [
    ("no.such", "x", "no.such"), ("action.undo", 1, "not a string"), ("action.undo", "\U00010330", "\U00010330"),
    ("view.opened", "{name", "expected '}'"), ("view.opened", "{file} da", "{file}"),
    ("view.opened", "{name.x}", "{name.x}"), ("view.opened", "{name:d}", "{name}"), ("view.opened", "{name!x}", "{name}"),
    ("view.opened", "{}", "{}"), ("disconnect", "{count:Draht|{count}}", "{count}"), ("preview.sample", "Probe %s", "%d"),
    ("preview.sample", "Probe %d %n", "%d"), ("preview.temperature", "Temperatur", "%.2f"),
    ("action.undo", "a\0b", "zero character"),
])  # fmt: skip
def test_a_text_that_cannot_be_used_stays_english_and_the_others_do_not(folder: Path, key: str, words: object, why: str):
    (folder / "de.json").write_text(json.dumps({"action.redo": "Wiederholen", key: words}))
    outcome = languages.use("de", folder)
    assert not outcome.refused and len(outcome.remarks) == 1
    assert key in outcome.remarks[0] and why in outcome.remarks[0]
    assert texts.text("action.redo") == "Wiederholen"
    assert texts.text(key) == texts.ENGLISH.get(key, key)


def test_one_and_many(folder: Path):
    assert [texts.text("disconnect", count=count) for count in (0, 1, 2, "1")] == [
        "Remove 0 wires", "Remove 1 wire", "Remove 2 wires", "Remove 1 wire",
    ]  # fmt: skip
    (folder / "de.json").write_text(json.dumps({"disconnect": "{count:Einen Draht|Drähte} entfernen", "view.found": "{count}"}))
    assert languages.use("de", folder) == languages.Outcome()
    assert [texts.text("disconnect", count=count) for count in (1, 2)] == ["Einen Draht entfernen", "Drähte entfernen"]
    assert texts.text("view.found", count=3) == "3"


# -- start page and preferences --------------------------------------------------------------------------------------------


def test_the_start_page_knows_what_is_gone_and_describes_examples(tmp_path: Path):
    there = tmp_path / "there.json"
    there.touch()
    found = start.look([str(there), str(tmp_path / "gone.json")])
    assert [recent.there for recent in found.recent] == [True, False]
    assert [card.name for card in found.cards] == bundled_projects()
    for card in found.cards:
        assert card.line and card.nodes == len(card.boxes) >= 5 and card.lines
        assert all(0 <= value <= 1 for box in card.boxes for point in box[:2] for value in point)


def test_a_nodes_help_names_examples_that_use_it():
    assert "digits_lenet" in start.examples_of()["Conv2d"] and "xor" in start.examples_of()["Linear"]
    assert "no such" not in start.examples_of()


def test_the_window_and_folders_are_remembered(tmp_path: Path):
    path = tmp_path / "studio.json"
    known = replace(Preferences(), window=(10, 20, 1000, 700), folders={"project": "/tmp"}, keys={"mute": "J"})
    preferences.save(known, path)
    assert preferences.load(path) == known
    path.write_text(json.dumps({"window": [1, 2, "x", 4], "folders": 3}))
    assert preferences.load(path) == Preferences()


# -- exports ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", bundled_projects())
def test_the_script_of_each_example_builds_the_same_graph(name: str):
    graph = load_project(PROJECTS / f"{name}.json")
    space: dict[str, object] = {"__name__": "written"}
    exec(compile(export_python.script(graph), name, "exec"), space)  # noqa: S102  # the script that was just written
    made = space["project"]
    assert callable(made) and made() == graph


def test_a_script_leaves_nothing_out():
    """Every field of every part of a drawing, at another value than its usual one."""
    graph = project("xor")
    first = next(iter(graph.nodes.values()))
    marked = replace(first, position=(-3.5, 7.0), muted=True, note='two\nlines "quoted"', frozen=True)
    part = Graph("inner", {"in": Node("in", "subgraph_input", {"limit": math.inf})}, note="of the part")
    run = Run(3, 5, 7, 11, 2, "accuracy", True, 4, "w.safetensors")
    frames = (Frame("a \\ title", (1.0, 2.0), (3.0, 4.0), "red", "note of the frame"),)
    drawn = Graph("Näme", {**graph.nodes, first.id: marked}, graph.edges, {"my part": part}, frames, run, 'note\n"""')
    for kind in (Graph, Run, Frame):
        assert all(getattr(found, field.name) != default_of(field) for found in (drawn, run, frames[0]) if type(found) is kind
                   for field in fields(kind))  # fmt: skip
    space: dict[str, object] = {"__name__": "written"}
    exec(compile(export_python.script(drawn), "drawn", "exec"), space)  # noqa: S102  # the script that was just written
    made = space["project"]
    assert callable(made) and made() == drawn


def default_of(field: Field[object]) -> object:
    return field.default if field.default is not MISSING else object()


@pytest.mark.slow
@pytest.mark.parametrize("path", drawings.PROJECTS, ids=lambda path: path.stem)
def test_the_script_of_each_example_trains_as_the_command_does(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Two steps on the device that is taken by itself: the same numbers, digit for digit."""
    graph = load_project(path)
    short = replace(graph, run=replace(graph.run, steps=2, evaluate_every=0))
    save_project(short, tmp_path / "short.json")
    (tmp_path / "short.py").write_text(export_python.script(short))
    runpy.run_path(str(tmp_path / "short.py"), run_name="__main__")
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("step 2:")]
    if path.stem == "char_gpt":  # which the command would evaluate for a quarter of a minute, as the script has done
        with Session.open(tmp_path / "short.json") as session:
            (metrics,) = [event.metrics for event in session.train(2) if isinstance(event, Progress) and event.step == 2]
    else:
        with pytest.raises(SystemExit) as ended:
            app(["run", str(tmp_path / "short.json"), "--json"])
        assert ended.value.code in (0, None)
        (told,) = [json.loads(found) for found in capsys.readouterr().out.splitlines() if found.startswith("{")]
        metrics = told["metrics"]
    assert line == "step 2: " + ", ".join(f"{name} {value:.5g}" for name, value in metrics.items())


def test_a_script_finds_the_weights_beside_the_project(tmp_path: Path):
    graph = replace(project("xor"), run=Run(steps=1, initial_weights="there.safetensors"))
    (tmp_path / "project").mkdir()
    with Session.open(project("xor"), "cpu") as session:
        session.export_weights(tmp_path / "project" / "there.safetensors")
    (tmp_path / "net.py").write_text(export_python.script(graph, tmp_path / "project"))
    runpy.run_path(str(tmp_path / "net.py"), run_name="__main__")  # which fails where there are no such weights
    (tmp_path / "project" / "there.safetensors").unlink()
    with pytest.raises(MunetError):
        runpy.run_path(str(tmp_path / "net.py"), run_name="__main__")


def test_the_picture_shows_the_whole_drawing_in_the_colours_of_the_canvas():
    graph = project()
    image = picture.of(graph, graph, wire_shapes(graph))
    found = image.getcolors(image.width * image.height)
    assert found is not None
    counts = {color: count for count, color in found}
    for color in ((59, 110, 180), (46, 125, 90), (96, 165, 250), (41, 45, 54)):  # layer, source, f32 wire, body
        assert counts.get(color, 0) > 300
    plain = picture.of(graph, graph)
    assert plain.size == image.size and plain.tobytes() != image.tobytes()  # shapes are written on wires


def test_a_large_drawing_becomes_a_smaller_picture(monkeypatch: pytest.MonkeyPatch):
    graph = project()
    whole = picture.of(graph, graph)
    monkeypatch.setattr(picture, "MAX_PIXELS", 400_000)
    small = picture.of(graph, graph)
    assert small.width * small.height <= 402_000 < whole.width * whole.height
    assert abs(small.width / small.height - whole.width / whole.height) < 0.05
    assert picture.of(Graph(), Graph()).size[0] > 0


# -- the inspector ---------------------------------------------------------------------------------------------------------


def test_parameters_that_several_nodes_share():
    graph = chain("relu")
    nodes = [Node("a", "Linear"), Node("b", "Conv2d"), Node("c", "Linear"), Node("d", "relu"), Node("e", "no such")]
    declared = [declaration_of(graph, node) for node in nodes]
    assert [param.name for param in shared([declared[0], declared[2]])] == ["out_features", "bias"]
    assert [param.name for param in shared(declared[:2])] == ["bias"]
    assert shared([declared[0], declared[3]]) == shared([declared[0], declared[4]]) == shared([declared[4], declared[0]]) == []
