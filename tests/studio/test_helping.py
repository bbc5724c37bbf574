"""Search, fitting sockets, advice, checks, keys, texts, and the exported script."""

from __future__ import annotations

import ast
import re
import string
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from munet import Edge, Frame, Graph, Node, Problem, dump_project, parse_project, validate
from munet.inspect import wire_shapes
from studio import checks, commands, helping, keys, texts
from studio.advice import cures, refusal
from studio.checks import Checker, Debounce, Findings, by_node, check, wires_of
from studio.document import Document, State
from studio.export_python import script
from studio.nodeviews import declaration_of, declarations
from studio.search import carried, entries, fits, rank_of, search, that_give, that_take
from studio.subgraph_commands import Collapse, Promote
from tests.studio.helpers import PROJECTS, project

ALL = entries(Graph())
NAMES = sorted(path.stem for path in PROJECTS.glob("*.json"))


def first(query: str) -> str:
    return search(query, ALL)[0].entry.name


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("relu", "relu"), ("lin", "Linear"), ("conv2", "Conv2d"), ("dense", "Linear"), ("mnist", "digits"),
        ("crossent", "cross_entropy"),
        ("adm", "Adam"), ("rleu", "relu"), ("maxpool", "max_pool2d"), ("batch norm", "BatchNorm"), ("+", "add"),
    ],
)  # fmt: skip
def test_nodes_are_found(query: str, expected: str):
    assert first(query) == expected


def test_search_edges():
    assert search("zzzzqqq", ALL) == []
    assert len(search("", ALL)) == len(ALL)
    assert search("", ALL, recent=["Adam"])[0].entry.name == "Adam"
    assert all(entry.category for entry in ALL)
    assert "subgraph_input" not in {entry.name for entry in ALL}
    inside = entries(Graph(subgraphs={"A": Graph(name="A"), "B": Graph(name="B")}), "A")
    assert {"subgraph_input", "B"} <= {entry.name for entry in inside}
    assert "A" not in {entry.name for entry in inside}


def test_what_fits_a_socket():
    label = declarations()["digits"].outputs[1]
    names = {found.entry.name: found.socket for found in that_take(carried(label), ALL, Graph())}
    assert names["cast"] == "x"
    assert names["one_hot"]
    assert names["cross_entropy"] == "label"
    assert "Linear" not in names
    assert "relu" not in names
    rate = next(s for s in declarations()["Adam"].inputs if s.name == "rate")
    assert {"cosine", "one_cycle"} <= {found.entry.name for found in that_give(rate, ALL, Graph())}
    x = declarations()["Conv2d"].inputs[0]
    givers = {found.entry.name for found in that_give(x, ALL, Graph())}
    assert "relu" in givers
    assert "argmax" not in givers
    assert rank_of("n c h w") == (4, 4)
    assert rank_of("*batch in") == (1, 99)


@pytest.mark.parametrize("name", NAMES)
def test_wires_of_real_projects_are_never_refused(name: str):
    graph = project(name)
    wires = wire_shapes(graph)
    for edge in graph.edges:
        state = State(replace(graph, edges=tuple(other for other in graph.edges if other != edge)))
        assert refusal(state, edge, wires) is None, edge


def lonely(*nodes: Node, edges: tuple[Edge, ...] = ()) -> State:
    return State(Graph(nodes={node.id: node for node in nodes}, edges=edges))


@pytest.mark.parametrize(
    ("state", "edge", "operator"),
    [
        (lonely(Node("d", "digits"), Node("r", "relu")), Edge("d", "image", "r", "x"), "Normalise"),
        (lonely(Node("d", "digits"), Node("l", "Linear")), Edge("d", "label", "l", "x"), "cast"),
        (lonely(Node("x", "xor"), Node("c", "Conv2d", {"kernel": (1, 1)})), Edge("x", "x", "c", "x"), "reshape"),
        (lonely(Node("d", "digits"), Node("m", "matmul")), Edge("d", "label", "m", "x"), "reshape"),
        (lonely(Node("x", "xor"), Node("a", "Adam")), Edge("x", "x", "a", "loss"), ""),
    ],
)
def test_what_would_make_a_wire_fit(state: State, edge: Edge, operator: str):
    wires = wire_shapes(state.graph)
    found = cures(state, edge)
    assert refusal(state, edge, wires) is not None or operator == ""
    if not operator:
        return
    assert operator in {adapter.operator for cure in found for adapter in cure.chain}
    document = Document(state.graph)
    for cure in found:
        document.do(cure.command(edge, (0.0, 0.0)))
        assert not [p for p in validate(document.graph) if p.code != "missing-input"]
        assert len(document.selection.nodes) == len(cure.chain)
        document.undo()


def test_reasons_name_both_ends():
    graph = lonely(Node("d", "digits"), Node("c", "Conv2d"), Node("x", "xor"))
    assert refusal(graph, Edge("x", "x", "c", "x"), wire_shapes(graph.graph)) is not None
    found = refusal(graph, Edge("x", "x", "c", "x"), wire_shapes(graph.graph))
    assert found is not None
    assert found.reason == "x.x has 2 axes, but c.x takes the axes n c h w."
    own = refusal(graph, Edge("c", "y", "c", "x"), {})
    assert own is not None
    assert own.code == "wire.self"


# -- help of a node -------------------------------------------------------------------------------------------------------


def help_of(name: str) -> dict[str, tuple[str, ...]]:
    return {section.title: section.lines for section in helping.sections(declarations()[name])}


def test_the_help_of_a_node():
    conv = help_of("Conv2d")
    assert list(conv) == ["", "Formula", "Shapes", "Example", "Used in these examples"]
    assert conv["Formula"][0].startswith("y[n, o, p, q] = bias[o] + Σ")
    assert conv["Shapes"][0] == "x  [n c h w]  float"
    assert conv["Shapes"][1].startswith("→ y  [n out_channels h_out w_out]: h_out = ⌊")
    assert conv["Example"][0] == "x f32[2 8 8 8] → y f32[2 16 6 6]" and "digits_lenet" in conv["Used in these examples"][0]
    assert help_of("Adam")["Shapes"] == (
        "loss  [*any]  number: the number to bring down",
        "rate  a single number: optional; a schedule for lr",
    )
    assert help_of("reshape")["Shapes"] == ("x  [*any]  any", "→ y: `shape`")
    assert help_of("concat")["Shapes"][0] == "x  [*any]  any: any number of wires"
    assert list(help_of("reroute")) == ["", "Shapes"]
    brief = helping.brief("One.\n\nTwo.", ("y = x",))
    assert [section.lines for section in brief] == [("One.", "Two."), ("y = x",)]
    assert helping.brief("One.", ())[-1].kind == helping.WORDS


def test_the_help_of_a_subgraph_is_its_note():
    document = Document(project())
    inner = frozenset(i for i, n in document.graph.nodes.items() if n.operator in ("Linear", "relu", "tanh"))
    document.do(Collapse(inner, "Net"))
    document.enter("Net")
    document.do(commands.SetProject(note="What it is for."))
    document.leave()
    declared = declaration_of(document.graph, document.graph.nodes["Net"])
    assert declared is not None
    assert next((s.title, s.lines) for s in helping.sections(declared)) == ("", ("What it is for.",))
    assert "Example" not in {s.title for s in helping.sections(declared)}


def test_help_is_ready_at_once_after_it_was_prepared():
    """A frame may not wait for it: 5 ms are its share."""
    helping.prepare()
    longest = 0.0
    for declared in declarations().values():
        started = time.thread_time()
        helping.sections(declared)
        longest = max(longest, time.thread_time() - started)
    assert longest < 0.005


# -- checks ----------------------------------------------------------------------------------------------------------------


def test_a_check_finds_problems_and_wires_by_node():
    document = Document(project())
    inner = frozenset(i for i, n in document.graph.nodes.items() if n.operator in ("Linear", "relu", "tanh"))
    document.do(Collapse(inner, "Net"))
    document.enter("Net")
    linear = next(i for i, n in document.part.nodes.items() if n.operator == "Linear")
    document.do(commands.SetParam((linear,), "out_features", 0))
    found = check(document.graph, 7)
    assert found.version == 7
    assert set(by_node(found.problems, document.state)) == {linear}
    document.leave()
    assert set(by_node(found.problems, document.state)) == {"Net"}
    document.undo()
    found = check(document.graph)
    assert found.problems == ()
    assert ("Net", "y") in wires_of(found, State(document.graph))
    assert (linear, "y") in wires_of(found, State(document.graph, ("Net",)))
    assert by_node((Problem("x", "y"),), document.state) == {"": [Problem("x", "y")]}


def test_a_check_looks_for_files_from_the_project_s_folder(tmp_path: Path):
    graph = project()
    graph = replace(graph, run=replace(graph.run, initial_weights="start.safetensors"))
    checker = Checker()
    checker.submit(1, graph, tmp_path)
    end = time.monotonic() + 10
    while (found := checker.poll()) is None:
        assert time.monotonic() < end
        time.sleep(0.01)
    checker.close()
    assert [problem.code for problem in found.problems] == ["run-settings"] and str(tmp_path) in found.problems[0].rule
    (tmp_path / "start.safetensors").touch()
    assert not check(graph, folder=tmp_path).problems
    assert not check(graph).problems  # a drawing that was never saved has no folder


def test_debounce_waits_until_editing_stops():
    debounce = Debounce(0.25)
    assert not debounce.due(1, 10.0)
    assert not debounce.due(2, 10.2)
    assert not debounce.due(2, 10.4)
    assert debounce.due(2, 10.5)
    assert not debounce.due(2, 11.0)
    assert not debounce.due(3, 11.0)
    assert debounce.due(3, 11.3)


def test_the_checker_skips_what_is_outdated_and_never_waits():
    seen: list[int] = []

    def slow(graph: Graph, version: int, folder: Path | None) -> Findings:
        seen.append(version)
        time.sleep(0.1)
        return Findings(version)

    checker = Checker(slow)
    started = time.perf_counter()
    for version in range(20):
        checker.submit(version, Graph())
    assert checker.poll() is None or time.perf_counter() - started < 0.1
    while seen[-1:] != [19]:
        time.sleep(0.01)
    time.sleep(0.2)
    newest = checker.poll()
    assert newest is not None
    assert newest.version == 19
    assert len(seen) <= 3
    checker.close()


def test_a_check_survives_anything():
    broken = Graph(nodes={"a": Node("a", "Linear", {"out_features": object()})}, edges=(Edge("q", "y", "a", "x"),))
    assert check(broken).problems
    assert not check(Graph()).problems and not check(Graph()).remarks, "who has drawn nothing has done nothing wrong"
    assert checks.DELAY_S < 1


# -- keys and texts --------------------------------------------------------------------------------------------------------


def test_shortcuts_are_unambiguous_and_every_action_has_its_text():
    used = [keys.normal(shortcut) for action in keys.ACTIONS for shortcut in action.shortcuts]
    assert len(used) == len(set(used))
    for action in keys.ACTIONS:
        assert f"action.{action.name}" in texts.ENGLISH
        assert f"group.{action.group}" in texts.ENGLISH
    assert {key for key in texts.ENGLISH if key.startswith("action.")} == {f"action.{a.name}" for a in keys.ACTIONS}


def test_keys_can_be_changed():
    usual = keys.keymap()
    assert keys.action_for("z", frozenset({"Ctrl"}), usual) == "undo"
    assert keys.action_for("z", frozenset({"Ctrl", "Shift"}), usual) == "redo"
    assert keys.action_for("Delete", frozenset(), usual, typing=True) == ""
    assert keys.action_for("S", frozenset({"Ctrl"}), usual, typing=True) == "save"
    assert keys.action_for("+", frozenset({"Ctrl"}), usual) == "zoom_in"
    assert keys.action_for("nonsense", frozenset(), usual) == ""
    changed = keys.keymap({"run": "Ctrl+Z", "nothing": "F3", "save": "bad key", "step": ""})
    assert changed["Ctrl+Z"] == "run"
    assert changed["Ctrl+S"] == "save"
    assert "step" not in changed.values()
    with pytest.raises(ValueError, match="no shortcut"):
        keys.normal("Hyper+X")


def test_texts_and_translations():
    for key, words in texts.ENGLISH.items():
        assert list(string.Formatter().parse(words)), key
    assert texts.text("no such key") == "no such key"
    try:
        texts.use({"paste": "粘贴"})
        assert commands.Paste("").label == "粘贴"
        assert texts.text("cut") == "Cut"
    finally:
        texts.use({})
    with pytest.raises(ValueError, match="nonsense"):
        texts.use({"nonsense": ""})


def test_texts_that_are_asked_for_exist_and_those_that_exist_are_asked_for():
    """By the syntax trees: a key may also be put together, as in f"view.{name}"."""
    asked, patterns, literals = set[str](), list[re.Pattern[str]](), set[str]()
    for path in sorted(Path(texts.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                literals.add(node.value)
            elif isinstance(node, ast.JoinedStr):
                parts = (re.escape(str(p.value)) if isinstance(p, ast.Constant) else ".+" for p in node.values)
                patterns.append(re.compile("".join(parts)))
            elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("text", "texts.text") and node.args:
                key = node.args[0]
                asked |= {key.value} if isinstance(key, ast.Constant) and isinstance(key.value, str) else set()
    assert asked - set(texts.ENGLISH) == set()
    built = [p for p in patterns if p.pattern.strip(".+\\")]
    unused = [key for key in texts.ENGLISH if key not in literals and not any(p.fullmatch(key) for p in built)]
    assert unused == []


# -- export ----------------------------------------------------------------------------------------------------------------


def built_by(code: str) -> Graph:
    """What the script's project() gives, built in a process of its own."""
    ask = "\nimport munet as m, sys; sys.stdout.write(m.dump_project(project()))"
    text = code.replace('if __name__ == "__main__":\n    main()\n', "") + ask
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return parse_project(done.stdout)


def test_the_script_builds_the_same_graph():
    document = Document(project())
    inner = frozenset(i for i, n in document.graph.nodes.items() if n.operator in ("Linear", "relu", "tanh"))
    document.do(Collapse(inner, "2 class"))
    document.enter("2 class")
    linear = next(i for i, n in document.part.nodes.items() if n.operator == "Linear")
    document.do(Promote(linear, "out_features", "width"))
    document.leave()
    document.do(commands.SetProject(note='It says """hello""" and \\n', name='卷积 "x"'))
    document.do(commands.AddFrame(Frame("f", (0.5, 1.0), (3.0, 4.0), "red")))
    adam = next(i for i, n in document.graph.nodes.items() if n.operator.startswith("Adam"))
    document.do(commands.SetParam((adam,), "eps", float("inf")))
    document.do(commands.SetField((adam,), "note", "it's"))
    document.do(commands.SetField((adam,), "muted", True))
    assert built_by(script(document.graph)) == document.graph


def test_the_script_of_a_project_trains():
    graph = replace(project("xor"), run=replace(project("xor").run, steps=3, evaluate_every=0))
    text = script(graph).replace("Session.open(graph)", 'Session.open(graph, "cpu")')
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "step 3" in done.stdout
    assert dump_project(built_by(script(Graph()))) == dump_project(Graph())


def test_fits_is_symmetric_with_itself():
    for declared in declarations().values():
        for socket in declared.outputs:
            assert fits(carried(socket), replace(declared.inputs[0], pattern="*any", dtype="T:any")) if declared.inputs else True
