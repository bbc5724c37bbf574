"""What nodes are coloured by, what is told about them, blocks, parameters given out, values that are typed."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from munet import Edge, Frame, Graph, Node, ProjectError, dump_project, interface, parse_project
from munet.inspect import NodeCost, NodeTime, Timings, declaration
from studio import blocks, coloring, hovertext
from studio.commands import SetParam
from studio.document import Document, State, selected
from studio.edits import EditRefused
from studio.facts import Facts
from studio.grouping import given_out, name_for
from studio.nodeviews import node_view
from studio.search import entries, search
from studio.subgraph_commands import AddSubgraph, Collapse, Promote, TakeBack
from studio.values import parsed, typed
from tests.studio.helpers import Mouse, opened, project


def nested() -> Document:
    document = opened()
    document.do(Collapse(frozenset({"linear 1", "relu 1"}), "block"))
    return document


def test_what_lies_in_a_subgraph_counts_for_its_instance():
    state = nested().state
    times = (NodeTime("block/linear 1", 1.0, 2.0, 3.0), NodeTime("block/relu 1", 0.5), NodeTime("adam", 4.0), NodeTime("", 9.0))
    found = coloring.times_of(Timings("device", 1, (), times), state)
    assert found["block"] == NodeTime("block", 1.5, 2.0, 3.0)
    assert found.keys() == {"block", "adam"}
    costs = {f"block/{id_}": NodeCost(f"block/{id_}", "x", "", 10, 1, 2, 100) for id_ in ("linear 1", "relu 1")}
    assert coloring.memory_of(coloring.costs_of(costs, state)["block"]) == 200 + 4 * 20
    assert coloring.norms_of({"block/linear 1": 3.0, "block/relu 1": 4.0}, state) == {"block": 5.0}
    inside = State(state.graph, ("block",))
    assert coloring.norms_of({"block/linear 1": 3.0, "adam": 4.0}, inside) == {"linear 1": 3.0}


def test_scales():
    colors, low, high = coloring.scaled({"a": 0.0, "b": 5.0, "c": 10.0}, logarithmic=False)
    assert (low, high) == (0.0, 10.0)
    assert colors["a"] == coloring.RAMP[0]
    assert colors["c"] == coloring.RAMP[-1]
    colors, low, high = coloring.scaled({"a": 1e-6, "b": 1e-3, "c": 1.0, "d": float("nan"), "e": 0.0}, logarithmic=True)
    assert (low, high) == (1e-6, 1.0)
    assert colors["b"] == coloring.heat(0.5)
    assert colors["d"] == coloring.RAMP[-1]
    assert colors["e"] == coloring.RAMP[0]
    assert coloring.scaled({}, logarithmic=True) == ({}, 0.0, 0.0)
    # White titles have a contrast of at least 3 on every colour of the ramp.
    for step in range(21):
        red, green, blue = (c / 255 for c in coloring.heat(step / 20))
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (red, green, blue)]
        luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
        assert 1.05 / (luminance + 0.05) > 3.0


def test_words_for_numbers():
    assert [coloring.us_text(us) for us in (0.64, 42.4, 1500.0)] == ["0.6 µs", "42 µs", "1.50 ms"]
    assert [coloring.bytes_text(n) for n in (12, 2048, 300 * 1024, 5 * 2**20)] == ["12 B", "2.0 KiB", "300 KiB", "5.0 MiB"]


def test_facts_come_from_a_thread():
    facts = Facts()
    graph = project()
    facts.want(3, graph)
    assert facts.busy
    end = time.monotonic() + 20
    while facts.busy and time.monotonic() < end:
        facts.poll()
    assert facts.version == 3
    assert facts.costs["linear 1"].parameters == 192
    facts.close()


def test_a_node_is_told_about():
    graph = project()
    node = graph.nodes["linear 1"]
    view = node_view(graph, node)
    cost = NodeCost("linear 1", "Linear", "", 4160, 1, 2, 2048)
    told = hovertext.of_node(view, node, {}, (), NodeTime("linear 1", 12.0, 20.0, 0.0), cost, 0.25)
    assert told.splitlines() == [
        "linear 1  (Linear)", "4 160 parameters, 16.2 KiB", "results 2.0 KiB", "32 µs per step",
        "    forward 12 µs, backward 20 µs", "gradient norm 2.500e-01",
    ]  # fmt: skip


def test_a_parameter_is_given_out_and_taken_back():
    document = nested()
    document.enter("block")
    document.do(Promote("linear 1", "out_features", name_for(document.part, "linear 1", "out_features")))
    assert given_out(document.part, "linear 1") == {"out_features": "out_features"}
    assert name_for(document.part, "relu 1", "out_features") == "relu_1_out_features"
    assert [p.name for p in interface(document.part).params] == ["out_features"]
    document.leave()
    document.do(SetParam(("block",), "out_features", 12))
    document.enter("block")
    document.do(TakeBack("linear 1", "out_features"))
    assert given_out(document.part, "linear 1") == {}
    assert "out_features" not in document.graph.nodes["block"].params
    with pytest.raises(EditRefused):
        document.do(TakeBack("linear 1", "out_features"))
    document.undo()
    assert document.graph.nodes["block"].params["out_features"] == 12


def test_blocks_are_kept_found_and_placed(tmp_path: Path):
    graph = nested().graph
    path = blocks.save(graph, "block", tmp_path / "new")
    assert path.name == "block.json"
    (tmp_path / "new" / "broken.json").write_text("{")
    (tmp_path / "new" / "whole.json").write_text(dump_project(project()))
    (tmp_path / "new" / "notes.txt").write_text("no block")
    found, faults = blocks.read_all(tmp_path / "new")
    assert [block.name for block in found] == ["block"]
    assert [fault.split(":")[0] for fault in faults] == ["broken.json", "whole.json"]
    assert blocks.read_all(tmp_path / "nowhere") == ((), ())
    entry = search("block", entries(Graph(), "", found))[0].entry
    assert entry.block is not None
    document = Document()
    document.do(AddSubgraph(entry.block, entry.graph, (5.0, 7.0)))
    assert document.graph.subgraphs["block"] == graph.subgraphs["block"]
    assert document.graph.nodes["block"].position == (5.0, 7.0)
    (tmp_path / "file").write_text("")
    with pytest.raises(ProjectError):
        blocks.save(graph, "block", tmp_path / "file" / "folder")


@pytest.mark.parametrize("name", ["a/b", "..", "ü 卷积", "x" * 200])
def test_files_of_blocks_stay_in_their_folder(name: str):
    path = blocks.file_of(name, Path("/blocks"))
    assert path.parent == Path("/blocks")
    assert len(path.name) < 100
    assert path.suffix == ".json"


def test_values_that_are_typed():
    linear = {param.name: param for param in declaration("Linear").params}
    assert parsed(linear["out_features"], " 12 ") == 12
    assert parsed(linear["bias"], "No") is False
    assert typed(True) == "yes"
    assert typed((2, 3)) == "2, 3"
    for name, words in (("out_features", "many"), ("out_features", "0"), ("bias", "perhaps")):
        with pytest.raises(ValueError, match=words):
            parsed(linear[name], words)


# -- the mouse -------------------------------------------------------------------------------------------------------------


def pair() -> Mouse:
    nodes = {"a": Node("a", "relu"), "b": Node("b", "relu", {}, (400.0, 0.0))}
    return Mouse(Document(Graph(nodes=nodes, edges=(Edge("a", "y", "b", "x"),))))


def test_a_drag_after_a_click_is_no_double_click():
    mouse = pair()
    at = mouse.head("a")
    mouse.click(at)
    mouse.press(at)
    mouse.tool.double_click(mouse.pointer(at))
    mouse.move((at[0], at[1] + 50))
    mouse.release((at[0], at[1] + 50))
    assert mouse.asked == []
    assert mouse.document.graph.nodes["a"].position == (0.0, 50.0)
    # Nor is a press after a drag that ended where it began.
    at = mouse.head("a")
    mouse.press(at)
    mouse.move((at[0] + 30, at[1]))
    mouse.release(at)
    mouse.press(at)
    mouse.tool.double_click(mouse.pointer(at))
    mouse.release(at)
    assert mouse.asked == []
    mouse.double_click(mouse.head("a"))
    assert len(mouse.asked) == 1


def test_alt_bends_a_wire_by_click_and_by_drag():
    mouse = pair()
    middle = mouse.scene.wires[Edge("a", "y", "b", "x")].points[10]
    mouse.click(middle, held="Alt")
    assert mouse.document.part.nodes["reroute"].position == (middle[0] - 8, middle[1] - 8)
    mouse.document.undo()
    mouse.sync()
    mouse.drag(middle, (middle[0], middle[1] + 90), held="Alt")
    assert mouse.document.part.nodes["reroute"].position == (middle[0] - 8, middle[1] + 82)
    assert len(mouse.document.undo_labels) == 1
    mouse.document.undo()
    assert "reroute" not in mouse.document.part.nodes


def test_a_frame_takes_frames_inside_along_and_its_note_is_kept():
    inner = Frame("inner", (50.0, 60.0), (100.0, 80.0), "#112233", "a note")
    graph = Graph(nodes={}, frames=(Frame("outer", (0.0, 0.0), (400.0, 300.0)), inner))
    assert parse_project(dump_project(graph)).frames == graph.frames
    mouse = Mouse(Document(graph))
    mouse.document.select(selected())
    mouse.drag((200.0, 10.0), (230.0, 30.0))
    assert [frame.position for frame in mouse.document.part.frames] == [(30.0, 20.0), (80.0, 80.0)]
