"""Views for tools: declarations, wires, passes, plan, costs; and that they say what is so."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import pytest

import munet
from munet import inspect
from munet.engine.compile import compile_program
from munet.engine.device import REFERENCE
from munet.engine.lower import lower
from munet.engine.operator import REGISTRY
from munet.engine.program import Program
from munet.engine.project import load_project
from tests.engine.drawings import PROJECTS, drawing
from tests.engine.running import spiral, xor


def program_of(graph: munet.Graph, off: tuple[str, ...] = ()) -> Program:
    return compile_program(lower(graph).module, REFERENCE, off=off)


def test_declarations():
    found = {view.name: view for view in inspect.registry()}
    assert found.keys() == REGISTRY.keys()
    silu = found["silu"]
    assert (silu.kind, silu.category, silu.kernel, silu.gradient) == ("operator", "Activations", "map", "")
    assert silu.formula == ("y = x · sigmoid(x)",) and silu.doc and not silu.outputs[0].computed
    assert silu.inputs[0].pattern == "*any" and silu.outputs[0].name == "y"
    adam = inspect.declaration("Adam")
    assert adam.states == ("m", "v") and {p.name for p in adam.params if p.live} >= {"lr", "beta1"}
    lr = next(p for p in adam.params if p.name == "lr")
    assert (lr.type, lr.default, lr.min, lr.max) == ("float", 1e-3, 0.0, None)
    types = {p.type for view in found.values() for p in view.params}
    assert types == {"bool", "int", "float", "text", "ints"}
    made_up = inspect.example("relu")
    assert found["reshape"].outputs[0].computed and made_up and made_up.lines == ("x [-1 0.5 2] → y [0 0.5 2]",)
    assert inspect.example("reroute") is None
    assert found["argmax"].gradient and found["cross_entropy"].role == "loss"
    with pytest.raises(dataclasses.FrozenInstanceError):
        adam.name = "other"  # pyright: ignore[reportAttributeAccessIssue]


def test_shapes_on_wires_also_of_a_faulty_drawing():
    shapes = inspect.wire_shapes(spiral())
    assert str(shapes["two", "y"]) == "f32 [7, 3]" and shapes["arms", "label"].dtype == "u8"
    broken = drawing(
        {"points": "xor", "one": ("Linear", {"out_features": 5}), "odd": "frobnicate", "after": "relu"},
        "points.x -> one.x", "one.y -> odd.x", "odd.y -> after.x",
    )  # fmt: skip
    assert inspect.wire_shapes(broken)["one", "y"].shape == (4, 5)
    assert ("after", "y") not in inspect.wire_shapes(broken)


def test_passes_and_what_was_generated():
    program = program_of(spiral())
    passes = inspect.passes_of(program)
    assert [p.index for p in passes] == list(range(program.pass_count))
    assert [p.level for p in passes] == sorted(p.level for p in passes)
    nodes = {node for p in passes for node in p.nodes}
    assert {"one", "bend", "two", "error", "learn"} <= nodes
    assert all(p.reason and math.prod(p.grid) > 0 and p.bytes_written > 0 for p in passes)
    glsl, text = inspect.glsl_of(program, "error"), inspect.ir_of(program, "error")
    assert glsl.keys() == text.keys() == {p.index for p in passes if "error" in p.nodes}
    assert all("#version 450" in shader for shader in glsl.values())
    assert any("# error" in part for part in text.values())
    assert len(inspect.glsl_of(program)) == program.pass_count and inspect.ir_of(program, "nobody") == {}


def test_a_pass_moves_what_it_uses_of_a_data_set_and_of_a_ring():
    """LeNet-5 by hand: a batch of 100 pictures of 28 x 28 bytes out of 9,000; one of 1,024 rows of their numbers; labels; a row
    of metrics. All else is used as a whole."""
    program = program_of(load_project(PROJECTS[0].parent / "digits_lenet.json"))
    moved: dict[str, set[tuple[int, int]]] = {}
    passes = [p for stage in program.pass_lists for p in stage]
    for binding in (b for p in passes for b in p.bindings):
        if binding.value is not None and binding.placement.buffer.startswith(("data/", "train/feed/", "train/records")):
            moved.setdefault(binding.placement.buffer, set()).add(binding.moved)
    ring = next(s for s in program.module.states if s.name.endswith("/records"))
    (written,) = {b.moved for p in passes for b in p.bindings if b.placement == program.placements[ring.value]}
    assert moved["data/digits/train/image"] == {(78_400, 0)}
    assert moved["data/digits/train/label"] <= {(100, 0), (200, 0)}  # 200: two parts of a pass look at them
    assert moved["train/feed/digits/order"] <= {(400, 0), (800, 0)}
    assert moved["train/feed/scalars"] == {(28, 0)}
    assert written == (0, 4 * len(program.module.records))
    conv = next(p for p in inspect.passes_of(program) if "conv 2" in p.nodes)
    assert conv.bytes_read == 4 * (100 * 6 * 14 * 14 + 16 * 6 * 5 * 5 + 16) and conv.bytes_written == 4 * 100 * 16 * 10 * 10
    assert conv.flops == 2 * 100 * 16 * 10 * 10 * 6 * 5 * 5 + 2 * 100 * 16 * 10 * 10  # then bias and relu


@pytest.mark.parametrize("path", PROJECTS, ids=lambda path: path.stem)
def test_the_plan_explains_every_shared_byte(path: Path):
    if path.stem == "fashion_convnet":
        pytest.skip("its data may not be here")
    program = program_of(load_project(path))
    plan = inspect.plan_of(program)
    places = {buffer.name: buffer.size_bytes for buffer in plan.buffers}
    for value in plan.values:
        assert -1 <= value.first <= value.last < program.level_count
        assert value.offset_bytes + value.size_bytes <= places[value.buffer]
        meets = {
            other.index
            for other in plan.values
            if other is not value
            and other.buffer == value.buffer
            and max(other.offset_bytes, value.offset_bytes)
            < min(other.offset_bytes + other.size_bytes, value.offset_bytes + value.size_bytes)
        }
        assert {sharing.value for sharing in value.shares} == meets
        assert all(sharing.reason and "part or a view" not in sharing.reason for sharing in value.shares)
    assert plan.memory == program.memory and plan.total_bytes == sum(places.values())
    for value in plan.values:
        assert value.kind == value.role if value.role != "temporary" else value.kind in ("activation", "gradient", "temporary")
    assert {"activation", "gradient"} <= {value.kind for value in plan.values if value.role == "temporary"}


def test_lifetimes_are_those_of_the_planner():
    module = lower(spiral()).module
    plan = inspect.plan_of(compile_program(module, REFERENCE, off=("alias",)))
    assert not any("part or a view" in s.reason for v in plan.values for s in v.shares)
    temporaries = [value for value in plan.values if value.role == "temporary"]
    assert temporaries and not any(value.shares for value in temporaries)


def test_costs():
    found = inspect.costs(xor())
    nodes = {node.node: node for node in found.nodes}
    assert (nodes["one"].parameters, nodes["two"].parameters, found.parameters) == (24, 9, 33)
    assert nodes["one"].flops >= 2 * 2 * 2 * 8 and nodes["learn"].flops == 0 and nodes["learn"].training_flops > 0
    assert nodes["bend"].output == "[2, 8]" and nodes["bend"].bytes == 64
    untrained = drawing({"points": "xor", "one": ("Linear", {"out_features": 5})}, "points.x -> one.x")
    assert inspect.costs(untrained).parameters == 15
    assert found.state_bytes >= 3 * 4 * 33 and found.data_bytes == 4 * 3 * 4
