"""A drawing takes another's place: states move on the device, bit for bit; what fails changes nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import munet
from munet.engine.compile import compile_program
from munet.engine.errors import CheckpointError, DeviceError, ProjectError
from munet.engine.events import Carried, Finished, Progress
from munet.engine.execute.base import Executor
from munet.engine.execute.choose import open_executor
from munet.engine.graph import Edge, Graph, Node
from tests.engine.running import DEVICES, finish, spiral, xor

pytestmark = pytest.mark.usefixtures("own_cache")
on_devices = pytest.mark.parametrize("device", DEVICES)


def deeper(graph: Graph) -> Graph:
    """With a layer "new" of 16 put between "bend" and "two", on its own wires."""
    nodes = {**graph.nodes, "new": Node("new", "Linear", {"out_features": 16}), "new bend": Node("new bend", "relu")}
    edges = [edge for edge in graph.edges if (edge.source, edge.target) != ("bend", "two")]
    edges += [Edge("bend", "y", "new", "x"), Edge("new", "y", "new bend", "x"), Edge("new bend", "y", "two", "x")]
    return replace(graph, nodes=nodes, edges=tuple(edges))


def with_params(graph: Graph, node: str, **params: object) -> Graph:
    changed = replace(graph.nodes[node], params={**graph.nodes[node].params, **params})
    return replace(graph, nodes={**graph.nodes, node: changed})


def same(one: dict[str, np.ndarray], other: dict[str, np.ndarray], names: tuple[str, ...]) -> None:
    for name in names:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)


@on_devices
def test_a_node_inserted_while_training(device: str):
    graph = spiral()
    with munet.Session.open(graph, device, poison=True) as session:
        finish(session, 9)
        before = session.states()
        counters = replace(session.executor.counters)
        carried = session.replace(deeper(graph))
        after = session.executor.counters
        new = [name for name in session.states() if name.startswith("new/")]
        drawn = sum(session.state(name).nbytes for name in new)
        moved = sum(before[name].nbytes for name in carried.kept)
        assert after.upload_bytes_other - counters.upload_bytes_other == drawn  # the new layer alone: no data, no state
        assert moved <= after.device_copy_bytes - counters.device_copy_bytes < moved + 100 * 256
        assert set(carried.kept) == set(before) and carried.dropped == ()
        assert {name.split("/")[0] for name in carried.started} == {"new", "learn"}
        assert {"new/weight", "new/bias", "learn/new/weight/m"} <= set(carried.started)
        states = session.states()
        same(states, before, carried.kept)
        assert not states["learn/new/weight/m"].any() and states["new/weight"].any()
        assert session.step_count == int(states["train/step"]) == 9
        finish(session, 20)
        assert not np.array_equal(session.state("new/weight"), states["new/weight"])
        assert session.evaluate()["accuracy"] > 0.3
        assert isinstance(session.predict({"arms": np.ones((2, 2))})["two.y"], np.ndarray)
        assert carried in session.events().events


@on_devices
def test_nothing_comes_to_the_host(device: str):
    graph = spiral()
    with munet.Session.open(graph, device) as session:
        finish(session, 3)
        counters = replace(session.executor.counters)
        session.replace(deeper(graph))
        assert session.executor.counters.readback_bytes == counters.readback_bytes


@on_devices
def test_the_same_drawing_goes_on_bit_for_bit(device: str):
    results = []
    for replacing in (False, True):
        with munet.Session.open(spiral(), device) as session:
            session.set("rate", "rate", 0.05)
            finish(session, 11)
            if replacing:
                session.evaluate()
                for _ in range(3):
                    assert session.replace(spiral()).started == ()
                assert session.live["rate.rate"] == 0.05
            finish(session, 11)
            results.append((session.states(), session.metrics, session.evaluate()))
    assert results[0][1:] == results[1][1:]
    same(results[0][0], results[1][0], tuple(results[0][0]))


@on_devices
def test_in_the_middle_of_a_loop_no_step_is_lost(device: str):
    with munet.Session.open(xor(), device) as session:
        rows = 0
        replaced = False
        for event in session.train(2000):
            if isinstance(event, Progress):
                rows += len(event.rows)
                if not replaced:
                    replaced = True
                    session.replace(with_params(xor(), "learn", lr=0.01))
                    assert session.live["learn.lr"] == 0.01
            if isinstance(event, Finished):
                assert event.step == 2000
        assert rows == session.step_count == int(session.state("train/step")) == 2000


@on_devices
def test_other_shapes_data_and_batches(device: str):
    with munet.Session.open(spiral(), device) as session:
        finish(session, 5)
        before = session.states()
        carried = session.replace(with_params(spiral(), "one", out_features=20))
        assert {"one/weight", "one/bias", "two/weight", "learn/two/weight/v"} <= set(carried.started)
        assert "two/bias" in carried.kept and {"one/weight", "two/weight"} <= set(carried.dropped)
        same(session.states(), before, carried.kept)
        session.replace(with_params(spiral(), "arms", points=50, batch=11))
        finish(session, 5)
        assert len(session.predict(nodes=["two"])["two.y"]) == 150
        session.replace(with_params(spiral(), "arms", points=50, batch=13))  # the same data: not sent again
        finish(session, 5)
        session.replace(with_params(spiral(), "learn", clip_norm=1.0))
        finish(session, 5)
        assert session.evaluate()["loss"] > 0 and session.step_count == 20


def test_memory_does_not_grow():
    with munet.Session.open(spiral(), DEVICES[-1]) as session:
        graphs = [deeper(spiral()), spiral()]
        sizes = []
        for turn in range(6):
            session.replace(graphs[turn % 2])
            session.evaluate()
            finish(session, 2)
            arenas = getattr(session.executor, "_arenas", None)  # staging apart: it grows with what was in flight at once
            buffers = arenas if arenas is not None else session.executor._buffers._named  # pyright: ignore[reportAttributeAccessIssue]
            sizes.append(sum(buffer.spec.size_bytes for buffer in buffers.values()))
        assert sizes[2:4] == sizes[4:6]


@pytest.mark.parametrize("fault", ["operator", "optimiser", "wire"])
def test_a_faulty_drawing_changes_nothing(fault: str):
    graph = xor()
    nodes = dict(graph.nodes)
    if fault == "operator":
        nodes["bend"] = Node("bend", "frobnicate")
    elif fault == "optimiser":
        del nodes["learn"]
        graph = replace(graph, edges=tuple(edge for edge in graph.edges if edge.target != "learn"))
    else:
        graph = replace(graph, edges=graph.edges[1:])
    with munet.Session.open(xor(), "cpu") as session:
        finish(session, 3)
        before = session.states()
        with pytest.raises(ProjectError):
            session.replace(replace(graph, nodes=nodes))
        same(session.states(), before, tuple(before))
        finish(session, 3)
        assert session.step_count == 6


def test_saving_and_loading_after_a_replacement(tmp_path: Path):
    with munet.Session.open(xor(), "cpu") as session:
        finish(session, 3)
        session.replace(deeper(xor()))
        finish(session, 3)
        session.save(tmp_path / "c")
        states = session.states()
    with munet.Session.open(deeper(xor()), "cpu") as session:
        session.load(tmp_path / "c")
        same(session.states(), states, tuple(states))


# Checkpoints of another drawing


def test_a_checkpoint_from_before_an_edit(tmp_path: Path):
    """What is unchanged keeps its moments; a message names what has none."""
    graph = spiral()
    with munet.Session.open(graph, "cpu") as session:
        finish(session, 8)
        session.save(tmp_path / "c")
        before = session.states()
    with munet.Session.open(deeper(graph), "cpu") as session:
        with pytest.raises(CheckpointError, match="new/weight is missing"):
            session.load(tmp_path / "c")
        session.load(tmp_path / "c", partial=True)
        (carried,) = (event for event in session.events().events if isinstance(event, Carried))
        assert set(carried.kept) == set(before) and "learn/new/weight/m" in carried.started
        assert "started anew: new/weight" in str(carried)
        same(session.states(), before, carried.kept)
        assert session.step_count == 8
        finish(session, 2)


def test_a_checkpoint_of_something_else_is_still_refused(tmp_path: Path):
    with munet.Session.open(xor(), "cpu") as session:
        session.save(tmp_path / "c")
    nodes = {f"{n.id} b": replace(n, id=f"{n.id} b") for n in spiral().nodes.values()}
    edges = tuple(replace(e, source=f"{e.source} b", target=f"{e.target} b") for e in spiral().edges)
    with munet.Session.open(replace(spiral(), nodes=nodes, edges=edges), "cpu") as session, pytest.raises(CheckpointError):
        session.load(tmp_path / "c", partial=True)


# Copies on the device


@pytest.fixture(params=DEVICES)
def executor(request: pytest.FixtureRequest):
    with open_executor(request.param) as found:  # pyright: ignore[reportGeneralTypeIssues]
        yield found


def test_copies(executor: Executor):
    program = compile_program(munet.lower(spiral()).module, executor.info)
    executor.load(program)
    source, target, content = "state/parameter", "state/learn.m", np.arange(48, dtype=np.uint32)
    executor.write(source, content)
    executor.copy(source, 16, target, 32, 64)
    executor.copy(target, 32, source, 128, 16)
    np.testing.assert_array_equal(np.frombuffer(executor.read(target, offset_bytes=32, size_bytes=64), np.uint32), content[4:20])
    np.testing.assert_array_equal(np.frombuffer(executor.read(source, offset_bytes=128, size_bytes=16), np.uint32), content[4:8])
    assert executor.counters.device_copy_bytes == 80
    overlap, too_long = (source, 0, source, 8, 16), (source, 0, target, 0, 1 << 30)
    before, nowhere = (source, -4, target, 0, 4), ("x", 0, target, 0, 4)
    for wrong in (overlap, too_long, before, nowhere):
        with pytest.raises(DeviceError):
            executor.copy(*wrong)
    executor.copy(source, 0, target, 0, 0)


# Drawings with subgraphs


def grouped() -> Graph:
    """The spiral network with "bend" and "two" inside a subgraph that gives out `out_features`."""
    inside = {
        "in": Node("in", "subgraph_input", {"socket": "x"}),
        "bend": Node("bend", "relu"),
        "two": Node("two", "Linear", {"out_features": 3}),
        "out": Node("out", "subgraph_output", {"socket": "y"}),
    }
    wires = (Edge("in", "y", "bend", "x"), Edge("bend", "y", "two", "x"), Edge("two", "y", "out", "x"))
    graph = spiral()
    nodes = {name: node for name, node in graph.nodes.items() if name not in ("bend", "two")}
    nodes["head"] = Node("head", "subgraph", {"graph": "head"})
    edges = [edge for edge in graph.edges if not {edge.source, edge.target} & {"bend", "two"}]
    edges += [Edge("one", "y", "head", "x"), Edge("head", "y", "error", "logits"), Edge("head", "y", "right", "logits")]
    return replace(graph, nodes=nodes, edges=tuple(edges), subgraphs={"head": Graph("head", inside, wires)})


def test_grouping_nodes_while_training(tmp_path: Path):
    with munet.Session.open(spiral(), "cpu") as session:
        finish(session, 4)
        carried = session.replace(grouped())
        assert {"one/weight", "learn/one/weight/m"} <= set(carried.kept)
        assert {"head/two/weight", "head/two/bias"} <= set(carried.started)
        finish(session, 4)
        x = np.ones((2, 2), np.float32)
        found = session.predict({"arms": x}, ["head", "head/two.y", "head/bend"])
        np.testing.assert_array_equal(found["head.y"], found["head/two.y"])
        assert list(session.predict({"arms": x})) == ["head/two.y"]
        assert np.asarray(session.tap("head", "y")).shape == (7, 3)
        assert session.loss is not None and session.profile(1).node("head/two").backward_us > 0
        nodes = {node.node: node for node in munet.inspect.costs(grouped()).nodes}
        assert nodes["head/two"].parameters == 51
        session.save(tmp_path / "c")
        session.load(tmp_path / "c")


def test_live_values_beside_a_subgraph():
    with munet.Session.open(grouped(), "cpu") as session:
        session.set("rate", "rate", 0.5)
        assert session.live["rate.rate"] == 0.5
        with pytest.raises(ProjectError, match="cannot change while"):
            session.set("head/two", "out_features", 4)


# Nodes with other paths


INTO_HEAD = {"bend": "head/bend", "two": "head/two"}


def as_before(states: dict[str, np.ndarray], renamed: dict[str, str]) -> dict[str, np.ndarray]:
    """States under the names they had."""
    found: dict[str, np.ndarray] = {}
    for name, array in states.items():
        for old, new in renamed.items():
            name = f"/{name}".replace(f"/{new}/", f"/{old}/", 1)[1:]
        found[name] = array
    return found


def named(graph: Graph, **renamed: str) -> Graph:
    nodes = {renamed.get(name, name): replace(node, id=renamed.get(name, name)) for name, node in graph.nodes.items()}
    wires = (replace(e, source=renamed.get(e.source, e.source), target=renamed.get(e.target, e.target)) for e in graph.edges)
    return replace(graph, nodes=nodes, edges=tuple(wires))


@on_devices
@pytest.mark.parametrize(
    ("graph", "renamed"),
    [
        (named(spiral(), one="dense", learn="adam", arms="points"), {"one": "dense", "learn": "adam", "arms": "points"}),
        (named(spiral(), one="two", two="one"), {"one": "two", "two": "one"}),
        (grouped(), INTO_HEAD),
    ],
    ids=["several", "swapped", "grouped"],
)
def test_renamed_nodes_keep_all_they_have(device: str, graph: Graph, renamed: dict[str, str], tmp_path: Path):
    with munet.Session.open(spiral(), device, poison=True) as session:
        session.set("rate", "rate", 0.07)
        finish(session, 7)
        before, live = session.states(), dict(session.live)
        session.save(tmp_path / "before")
        carried = session.replace(graph, renamed=renamed)
        assert (carried.started, carried.dropped) == ((), ())
        found = as_before(session.states(), renamed) if "two" not in renamed.values() else None
        if found is not None:
            assert set(found) == set(before)
            same(found, before, tuple(before))
        else:
            np.testing.assert_array_equal(session.state("learn/two/weight/m"), before["learn/one/weight/m"])
            np.testing.assert_array_equal(session.state("one/bias"), before["two/bias"])
        assert sorted(session.live.values()) == sorted(live.values())
        finish(session, 2)
        session.load(tmp_path / "before", renamed=renamed)
        assert session.step_count == 7 and sorted(session.live.values()) == sorted(live.values())
        if found is not None:
            same(as_before(session.states(), renamed), before, tuple(before))
        back = {new: old for old, new in renamed.items()}
        assert session.replace(spiral(), renamed=back).started == ()
        same(session.states(), before, tuple(before))


def test_a_renamed_subgraph_node_takes_all_inside_along():
    tower = named(grouped(), head="tower")
    with munet.Session.open(grouped(), "cpu") as session:
        finish(session, 3)
        weight = session.state("learn/head/two/weight/v")
        assert session.replace(tower, renamed={"head": "tower"}).started == ()
        np.testing.assert_array_equal(session.state("learn/tower/two/weight/v"), weight)
        assert session.replace(named(spiral(), two="last"), renamed={"tower/two": "last"}).started == ()
        np.testing.assert_array_equal(session.state("learn/last/weight/v"), weight)


def test_a_new_node_at_the_path_of_one_that_was_renamed_starts_anew(tmp_path: Path):
    graph = named(deeper(spiral()), one="dense", new="one")  # both have 16 outputs; "one" of now reads 16, not 2
    with munet.Session.open(spiral(), "cpu") as session:
        finish(session, 3)
        bias = session.state("one/bias")
        session.save(tmp_path / "before")
        carried = session.replace(graph, renamed={"one": "dense"})
        assert "one/bias" in carried.started and "dense/bias" in carried.kept and carried.dropped == ()
        np.testing.assert_array_equal(session.state("dense/bias"), bias)
        session.load(tmp_path / "before", partial=True, renamed={"one": "dense"})
        np.testing.assert_array_equal(session.state("dense/bias"), bias)
        with pytest.raises(CheckpointError, match="one/bias is missing"):
            session.load(tmp_path / "before", renamed={"one": "dense"})
        with pytest.raises(ValueError, match="same path"):
            session.replace(graph, renamed={"one": "dense", "two": "dense"})
