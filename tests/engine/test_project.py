"""Project files: what is written is read back equal, and what is broken is refused with every fault named."""

from __future__ import annotations

import json
import math
import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from munet.engine import files
from munet.engine.errors import ProjectError
from munet.engine.extent import too_large
from munet.engine.graph import Edge, Frame, Graph, Node, Run
from munet.engine.project import MAX_BYTES, dump_project, load_project, migrate, parse_project, save_project, schema
from munet.engine.project_model import id_fault

HEAD = '{"munet": {"format": 1, "version": "0.1.0"}, '
TWO_NODES = '"nodes": [{"id": "a", "operator": "relu"}, {"id": "b", "operator": "relu"}]'

SMALL = Graph(
    name="small",
    nodes={
        "points": Node("points", "Xor", position=(0.0, 40.0)),
        "層 1": Node("層 1", "Linear", {"out_features": 8, "bias": True}, (200.5, 40.0), version=2, note="no . here"),
        "block": Node("block", "subgraph", {"graph": "twice", "scale": math.inf, "axes": (0, 1)}, (400.0, 40.0), muted=True),
    },
    edges=(Edge("points", "x", "層 1", "x"), Edge("層 1", "y", "block", "x")),
    subgraphs={"twice": Graph(name="twice", nodes={"r": Node("r", "relu")}, note="a note")},
    frames=(Frame("data", (-10.0, 0.0), (180.0, 90.0), "#336699"),),
    run=Run(steps=300, seed=7),
)

SMALL_TEXT = """\
{
  "munet": {"format": 1, "version": "0.1.0"},
  "name": "small",
  "run": {"steps": 300, "seed": 7, "evaluate_every": 0, "checkpoint_every": 0},
  "nodes": [
    {"id": "points", "operator": "Xor", "position": [0, 40]},
    {"id": "層 1", "operator": "Linear", "version": 2, "params": {"out_features": 8, "bias": true}, "position": [200.5, 40], \
"note": "no . here"},
    {"id": "block", "operator": "subgraph", "params": {"graph": "twice", "scale": {"float": "inf"}, "axes": [0, 1]}, \
"position": [400, 40], "muted": true}
  ],
  "edges": [
    "points.x -> 層 1.x",
    "層 1.y -> block.x"
  ],
  "frames": [
    {"title": "data", "position": [-10, 0], "size": [180, 90], "color": "#336699"}
  ],
  "subgraphs": {
    "twice": {
      "note": "a note",
      "nodes": [
        {"id": "r", "operator": "relu", "position": [0, 0]}
      ],
      "edges": []
    }
  }
}
"""


def problems_of(text: str) -> list[str]:
    with pytest.raises(ProjectError) as caught:
        parse_project(text, "p.json")
    return [str(problem) for problem in caught.value.problems]


def codes_of(text: str) -> list[str]:
    with pytest.raises(ProjectError) as caught:
        parse_project(text)
    return [problem.code for problem in caught.value.problems]


def test_text_form():
    assert dump_project(SMALL) == SMALL_TEXT
    assert parse_project(SMALL_TEXT) == SMALL


def test_defaults_and_byte_order_mark(tmp_path: Path):
    file = tmp_path / "計畫 1.json"
    file.write_bytes(b"\xef\xbb\xbf" + (HEAD + TWO_NODES + "}").encode())
    graph = load_project(file)
    assert (graph.name, graph.run, graph.edges) == ("", Run(), ())
    assert graph.nodes["b"] == Node("b", "relu")


def test_not_a_number_survives_and_the_file_stays_strict():
    graph = Graph(nodes={"a": Node("a", "op", {"lr": math.nan, "bounds": (-math.inf, 1e-3)})})
    text = dump_project(graph)

    def refuse(literal: str) -> None:
        raise AssertionError(literal)

    json.loads(text, parse_constant=refuse)
    params = parse_project(text).nodes["a"].params
    assert math.isnan(params["lr"])
    assert params["bounds"] == (-math.inf, 1e-3)


# What stands on each line is the whole text that a user reads.
NODE_KEYS = "Rule: a node has the keys id, operator, version, params, position, muted, note, frozen."
GOLDEN = {
    "": ["p.json: the file is empty.\n  Try: restore it from a backup or save it anew."],
    '{"munet": {"format": 1}, "nodes": [': [
        "p.json: the file ends in the middle (line 1, column 36: expecting value).\n"
        "  Try: the file seems cut short: restore it from a backup."
    ],
    '{"munet": {"format": 1},\n "nodes": [}': ["p.json: line 2, column 12: expecting value.\n  Rule: a project file is JSON."],
    "[1, 2]": [
        "p.json: this is JSON, but not a MuNet project.\n"
        '  Rule: a project is an object that starts with "munet": {"format": 1, "version": "..."}.'
    ],
    '{"munet": {"format": 7, "version": "3.2"}, "cells": []}': [
        "p.json: the file has format 7 (saved by munet-studio 3.2).\n"
        "  Rule: munet-studio 0.1.0 reads formats up to 1.  Try: update munet-studio."
    ],
    HEAD + '"nodes": [{"id": "a", "operator": "relu", "parms": {}}, {"id": "b"}, 3]}': [
        f'p.json, node "a": the key "parms" is not known.\n  {NODE_KEYS}  Try: write "params".',
        f'p.json, node "b": the key "operator" is missing.\n  {NODE_KEYS}',
        "p.json: nodes[2] is 3, but must be an object.",
    ],
    '{"munet": {"format": 1, "version": "0.9.0"}, "nodes": [], "weather": 1}': [
        'p.json: the key "weather" is not known.\n  Rule: a project has the keys note, nodes, edges, frames, munet, name, run, '
        "subgraphs.  Try: remove it, or use munet-studio 0.9.0, which wrote the file (this is 0.1.0)."
    ],
    HEAD + '"nodes": [{"id": "a", "operator": "relu", "position": ["left", 0], "params": {"lr": {"x": 1}}, "version": 0}]}': [
        'p.json, node "a": version is 0, but must be at least 1.',
        'p.json, node "a": params.lr is an object.\n'
        '  Rule: a parameter is null, true, false, a number, text, a list of these, or {"float": "nan"}, "inf" or "-inf".',
        'p.json, node "a": position[0] is "left", but must be a number.',
    ],
    HEAD + '"nodes": [{"id": "a", "operator": "relu"}, {"id": "a", "operator": "relu"}, {"id": "b.c", "operator": "relu"}]}': [
        'p.json, node "a": two nodes have this id.\n  Rule: ids are unique.  Try: give one of them another id.',
        'p.json, node "b.c": the id holds ".".\n  Rule: an id has 1 to 200 characters of any script, spaces between them '
        'included, but no "." and no " -> ", no control characters, and no space at either end.',
    ],
    HEAD + TWO_NODES + ', "edges": ["a.y -> b.x", "a.y -> b.x", "a.y > b.x", "a.y -> B.x"]}': [
        'p.json, node "b": the edge "a.y -> b.x" is listed twice.\n  Try: remove one.',
        'p.json: "a.y > b.x" is not an edge.\n'
        '  Rule: an edge is written "source id.socket -> target id.socket"; sockets are letters, digits and _.',
        'p.json: the edge "a.y -> B.x" names "B", but there is no such node.\n'
        "  Rule: edges join nodes of the same drawing.  Try: remove the edge.",
    ],
    HEAD
    + '"nodes": [{"id": "a", "id": "b", "operator": "f", "params": {"lr": NaN,\n "big": 1e999, "n": 99999999999999999999}}]}': [
        'p.json: the key "id" stands 2 times in one object of "b".\n  Rule: a key stands once.  Try: remove all but one.',
        *(
            f"p.json: {fault}.\n  Rule: numbers are finite and fit 64 bits; "
            'infinity is written {"float": "inf"}, not-a-number {"float": "nan"}.'
            for fault in (
                "line 1: NaN is not JSON",
                "line 2: 1e999 is larger than any 64-bit number",
                "line 2: 99999999999999999999 does not fit 64 bits",
            )
        ),
    ],
    HEAD
    + '"nodes": [{"id": "g", "operator": "subgraph", "params": {"graph": "C"}}], "subgraphs": {'
    + '"A": {"nodes": [{"id": "x", "operator": "subgraph", "params": {"graph": "B"}}]}, '
    + '"B": {"nodes": [{"id": "x", "operator": "subgraph", "params": {"graph": "A"}}], "edges": ["x.y -> z.x"]}}}': [
        'p.json: in the subgraph "B" the edge "x.y -> z.x" names "z", but there is no such node.\n'
        "  Rule: edges join nodes of the same drawing.  Try: remove the edge.",
        'p.json, node "g", graph: as its subgraph it names "C", which is not defined.\n'
        '  Rule: the parameter "graph" of a subgraph node is a key of "subgraphs".',
        'p.json: the subgraph "A" contains "B" contains "A".\n  Rule: a subgraph may not contain itself.',
    ],
}


@pytest.mark.parametrize("text", GOLDEN)
def test_error_texts(text: str):
    assert problems_of(text) == GOLDEN[text]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("[" * 100_000, "json-depth"),
        ('{"a":' * 65 + "1" + "}" * 65, "json-depth"),
        (HEAD + '"nodes": [' + "1," * 300_000 + "1]}", "json-size"),
        ('"' + '\\"' * 4_000_000, "json-truncated"),
        (HEAD + '"nodes": ' + "1" * 4_000_000 + "}", "json-number"),
        (HEAD + '"nodes": [' + ",".join(["1"] * 240_000) + "]}", "wrong-type"),
        (HEAD + '"nodes": [' + ",".join(['{"id": "a", "operator": "b"}'] * 40_000) + "]}", "duplicate-id"),
        (HEAD + TWO_NODES + ', "edges": [' + ",".join(f'"a{i}.y -> b.x"' for i in range(200_000)) + "]}", "edge-unknown-node"),
        (HEAD + '"nodes": [], ' + ",".join(f'"k{i}": 1' for i in range(120_000)) + "}", "unknown-key"),
        (HEAD + '"nodes": [{"id": "\\ud800", "operator": "relu"}]}', "not-unicode"),
        (HEAD + '"nodes": [{"id": "a", "operator": "relu", "params": {"p": ["\\uDFFF"]}}]}', "not-unicode"),
        (HEAD + '"nodes": [], "note": "\ud800"}', "not-unicode"),
        ('{"munet": {"format": true}, "nodes": []}', "not-a-project"),
        ('{"munet": {"format": -3}, "nodes": []}', "format-unknown"),
        ('{"munet": {"format": 99999999999999999999}, "nodes": []}', "json-number"),
    ],
    ids=range(15),
)
def test_hostile_text_is_refused_soon(text: str, code: str):
    start = time.process_time()
    with pytest.raises(ProjectError) as caught:
        parse_project(text)
    assert code in [problem.code for problem in caught.value.problems]
    assert len(caught.value.problems) <= 51
    assert len(str(caught.value)) < 20_000
    assert time.process_time() - start < 5  # about 0.5 s; of the process, since the machine may be busy


def test_what_a_file_cannot_hold_is_known_before_it_is_written():
    """Copies of a node with all that one can have: nearly the largest graph that may be is written, a larger one is not."""
    params = {"p": 1, "l": [1.0, [2.0, math.inf]], "e": [], "n": math.nan}
    full = Node("a", "relu", params, position=(0.5, 1.0), muted=True, note="n", frozen=True)

    def of(count: int) -> Graph:
        nodes = {f"a{i}": replace(full, id=f"a{i}") for i in range(count)}
        return Graph("g", nodes, tuple(Edge(f"a{i}", "y", f"a{i + 1}", "x") for i in range(count - 1)))

    assert not too_large(of(6900))
    dump_project(of(6900))
    with pytest.raises(ProjectError, match="values"):
        dump_project(of(7500))
    assert "values" in too_large(of(7500))
    assert "bytes" in too_large(replace(of(1), note="卷" * (MAX_BYTES // 3))) and not too_large(Graph())


def test_depth_inside_strings_does_not_count():
    assert parse_project(HEAD + '"nodes": [], "note": "' + "[" * 1000 + '\\"{"}').note.startswith("[[")


def test_long_chain_of_subgraphs_is_read():
    chain = {
        f"s{i}": {"nodes": [{"id": "n", "operator": "subgraph", "params": {"graph": f"s{min(i + 1, 3000)}"}}]}
        for i in range(3000)
    }
    text = HEAD + '"nodes": [], "subgraphs": ' + json.dumps({**chain, "s3000": {"nodes": []}}) + "}"
    assert len(parse_project(text).subgraphs) == 3001
    looped = text.replace(
        '"s3000": {"nodes": []}', '"s3000": {"nodes": [{"id": "n", "operator": "subgraph", "params": {"graph": "s0"}}]}'
    )
    assert codes_of(looped) == ["subgraph-recursion"]


def test_migration_steps_through_every_format():
    def rename_cells(document: dict[str, object]) -> dict[str, object]:
        return {"munet": document["munet"], "nodes": document["cells"]}

    def add_name(document: dict[str, object]) -> dict[str, object]:
        return {**document, "name": "migrated"}

    old = {"munet": {"format": 1}, "cells": []}
    new = migrate(old, target=3, migrations={1: rename_cells, 2: add_name})
    assert new == {"munet": {"format": 3}, "nodes": [], "name": "migrated"}
    with pytest.raises(ProjectError, match="there is no format 1"):
        migrate({"munet": {"format": 1}}, target=3, migrations={2: add_name})


def refused(path: Path | str) -> str:
    with pytest.raises(ProjectError) as caught:
        load_project(path)
    (problem,) = caught.value.problems
    return f"{problem.code}: {problem.found}"


def test_files_that_are_no_projects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    assert refused(tmp_path / "none.json") == "file-missing: there is no such file"
    assert refused(tmp_path) == "file-kind: this is a folder"
    assert refused("nul\0byte") == "file-read: the file cannot be read (embedded null byte)"
    (tmp_path / "latin.json").write_bytes(b'{"munet":\n "caf\xe9"}')
    assert refused(tmp_path / "latin.json") == "not-utf8: byte 15 (line 2) is 0xe9, which is not UTF-8"
    with (tmp_path / "big.json").open("wb") as stream:
        stream.truncate(100_000_000)  # sparse: takes no room
    assert refused(tmp_path / "big.json") == "file-size: the file has 100,000,000 bytes"
    assert MAX_BYTES < 100_000_000

    def deny(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(files.os, "open", deny)  # a test run as root may read everything
    assert refused(tmp_path / "latin.json") == "file-permission: the file may not be read by this user"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_pipes_and_devices_do_not_hang(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    assert refused(tmp_path / "pipe") == "file-kind: this is a pipe"
    assert refused("/dev/zero") == "file-kind: this is a device"
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert refused(tmp_path / "loop").startswith("file-read: the file cannot be read (")


def test_what_a_file_cannot_hold_is_not_written(tmp_path: Path):
    file = tmp_path / "p.json"
    save_project(SMALL, file)
    for bad in (
        Graph(nodes={"a.b": Node("a.b", "relu")}),
        Graph(nodes={"a": Node("b", "relu")}),
        Graph(nodes={"a": Node("a", "relu", {"p": {1, 2}})}),
        Graph(nodes={"a": Node("a", "relu", {"p": {"float": 1}})}),
        Graph(nodes={"a": Node("a", "relu", position=(math.nan, 0.0))}),
        Graph(nodes={"a": Node("a", "relu", note="\ud800")}),
        Graph(edges=(Edge("a", "y", "b", "x"),)),
        Graph(subgraphs={"s": Graph(name="other")}),
    ):
        with pytest.raises(ProjectError):
            save_project(bad, file)
    assert load_project(file) == SMALL
    assert list(tmp_path.iterdir()) == [file]


def test_saving_keeps_links_and_permissions(tmp_path: Path):
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "real.json").chmod(0o640)
    (tmp_path / "link.json").symlink_to("real.json")
    save_project(SMALL, tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert load_project(tmp_path / "real.json") == SMALL
    assert (tmp_path / "real.json").stat().st_mode & 0o777 == 0o640


def test_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "p.json"
    save_project(SMALL, file)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(ProjectError, match=r"cannot be written \(No space left on device\)"):
        save_project(Graph(name="new"), file)
    assert load_project(file) == SMALL
    assert list(tmp_path.iterdir()) == [file]
    with pytest.raises(ProjectError, match="cannot be written"):
        save_project(SMALL, tmp_path / "none" / "p.json")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_while_saving(tmp_path: Path):
    """Two projects saved in turns, the writer killed 100 times: each file is always one whole state of its own project."""
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    graphs = {file: [Graph(name=f"{file.stem} {i}", note="x" * 20_000 * (i + 1)) for i in range(2)] for file in (first, second)}
    for file, (graph, _) in graphs.items():
        save_project(graph, file)
    for round_ in range(100):
        child = os.fork()
        if child == 0:
            try:
                while True:
                    for file, versions in graphs.items():
                        for graph in versions:
                            save_project(graph, file)
            finally:
                os._exit(1)
        time.sleep(0.001 + 0.0001 * (round_ % 50))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        for file, versions in graphs.items():
            assert load_project(file) in versions


def test_schema_describes_the_file():
    described = schema()
    json.dumps(described)
    assert set(described["properties"]) == {"munet", "name", "note", "run", "nodes", "edges", "frames", "subgraphs"}
    assert set(described["required"]) == {"munet", "nodes"}
    assert described["additionalProperties"] is False


ids = st.text(st.sampled_from('aZ é層-> /"\\{<\u200d🙂'), min_size=1, max_size=12).filter(lambda text: not id_fault(text))
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
numbers = st.floats(allow_nan=False)
scalars = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | numbers | texts
params = st.dictionaries(
    texts, st.recursive(scalars, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=5), max_size=3
)
pairs = st.tuples(*[st.floats(allow_nan=False, allow_infinity=False)] * 2)
sockets = st.sampled_from(["x", "y", "出", "x_1"])


@st.composite
def drawings(draw: st.DrawFn, name: str | None = None, subgraphs: dict[str, Graph] | None = None) -> Graph:
    operators = st.just("relu") | st.text("ab 層.", min_size=1)
    nodes: dict[str, Node] = {}
    for id_ in draw(st.lists(ids, unique=True, max_size=4)):
        values = draw(params)
        operator = draw(operators)
        if subgraphs and draw(st.booleans()):
            operator, values = "subgraph", {**values, "graph": draw(st.sampled_from(sorted(subgraphs)))}
        nodes[id_] = Node(id_, operator, values, draw(pairs), draw(st.integers(1, 9)), draw(st.booleans()), draw(texts))
    known = st.sampled_from(sorted(nodes) or ["?"])
    edges = draw(st.lists(st.builds(Edge, known, sockets, known, sockets), unique=True, max_size=6)) if nodes else []
    frames = draw(st.lists(st.builds(Frame, texts, pairs, pairs, texts), max_size=2))
    return Graph(draw(texts) if name is None else name, nodes, tuple(edges), subgraphs or {}, tuple(frames), Run(), draw(texts))


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    subgraphs = {name: draw(drawings(name)) for name in draw(st.lists(ids, unique=True, max_size=2))}
    graph = draw(drawings(subgraphs=subgraphs))
    steps = st.integers(0, 2**63)
    run = draw(st.builds(Run, steps, steps, steps, steps))
    return Graph(graph.name, graph.nodes, graph.edges, graph.subgraphs, graph.frames, run, graph.note)


@settings(max_examples=150, deadline=None)
@given(graphs())
def test_what_is_written_is_read_back(graph: Graph):
    text = dump_project(graph)
    assert parse_project(text) == graph
    assert dump_project(parse_project(text)) == text
    assert text.count("\n    {") >= len(graph.nodes)  # one node a line


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_damaged_text_is_read_or_refused(data: st.DataObject):
    """Cuts and replacements anywhere: a graph or a ProjectError, never another exception."""
    start = data.draw(st.integers(0, len(SMALL_TEXT)))
    stop = data.draw(st.integers(start, min(len(SMALL_TEXT), start + 20)))
    new = data.draw(
        st.sampled_from(["", "null", '"', "{", "]", "-1", "1e5", "[[", "\x00", "\ud800", '{"float": 1}', ",", "true"])
    )
    try:
        parse_project(SMALL_TEXT[:start] + new + SMALL_TEXT[stop:])
    except ProjectError as error:
        assert error.problems
