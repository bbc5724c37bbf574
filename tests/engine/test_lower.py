"""Graph to module: the text of small modules, names of states, feeds and records, modes, muting, initial values."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import munet.nodes  # noqa: F401  # fills the registry
from munet.engine.builder import FAILED, STAMP
from munet.engine.errors import ProjectError
from munet.engine.hostscalar import StepContext
from munet.engine.initial import draw
from munet.engine.ir.text import print_module
from munet.engine.ir.verify import verify
from munet.engine.lower import Lowered, lower
from munet.engine.project import load_project
from tests.engine.drawings import PROJECTS, drawing
from tests.engine.reference_run import ReferenceRun

XOR, SPIRAL, DIGITS = (next(p for p in PROJECTS if p.stem == name) for name in ("xor", "spiral_mlp", "digits_lenet"))
NODES = {"p": "xor", "l": ("Linear", {"out_features": 1}), "loss": "mse_loss", "a": ("SGD", {"momentum": 0.9})}
WIRES = "p.x -> l.x", "l.y -> loss.prediction", "p.y -> loss.target", "loss.loss -> a.loss"


@pytest.mark.parametrize("mode", ["train", "evaluate"])
def test_the_text_of_xor(golden: Callable[[str, str], None], mode: str):
    golden(f"xor.{mode}.ir.txt", print_module(verify(lower(load_project(XOR), mode).module)))


@pytest.mark.parametrize("project", PROJECTS, ids=lambda path: path.stem)
@pytest.mark.parametrize("mode", ["train", "evaluate"])
def test_projects_keep_the_law_of_the_ir(project: object, mode: str):
    graph = load_project(str(project))
    module = verify(lower(graph, mode).module)
    assert {op.origin[0] for op in module.ops if op.origin} <= set(graph.nodes)
    assert print_module(module) == print_module(lower(graph, mode).module), "lowering gives the same text each time"


def test_states_are_named_by_node_and_grouped_for_arenas():
    module = lower(drawing(NODES, *WIRES)).module
    states = {state.name: (state.group, state.value.shape) for state in module.states}
    assert states == {
        "train/step": ("control", ()),
        "l/weight": ("parameter", (1, 2)),
        "l/bias": ("parameter", (1,)),
        "a/l/weight/momentum": ("a.momentum", (1, 2)),
        "a/l/bias/momentum": ("a.momentum", (1,)),
        "train/failed": ("control", ()),
        "train/records": ("records", (1024, 3)),
    }
    assert all(state.result is not None for state in module.states)


def test_evaluation_reads_the_held_out_split_and_changes_no_parameter():
    lowered = lower(load_project(DIGITS), "evaluate", batch=1000)
    roles = {source.name: (source.role, source.value.shape, source.value.dtype.name) for source in lowered.module.sources}
    assert roles["digits/test/image"] == ("data", (1000, 1, 28, 28), "u8")
    assert roles["digits/order"] == ("feed", (1024, 1000), "i32")
    assert [s.name for s in lowered.module.states if s.result is not None] == ["evaluate/step", "evaluate/records"]
    assert lowered.module.records == ("loss", "accuracy")
    assert [(feeding.node, feeding.batch, feeding.feed) for feeding in lowered.sources] == [("digits", 1000, "digits/order")]


@pytest.mark.parametrize(("asked", "got"), [(0, 60), (7, 7), (10_000, 600)])
def test_a_batch_is_never_larger_than_the_data(asked: int, got: int):
    assert lower(load_project(SPIRAL), "train", batch=asked).sources[0].batch == got


def test_records_are_named_by_socket_or_by_node_where_that_is_not_enough():
    nodes = {**NODES, "second": "mse_loss", "third": "bce_with_logits"}
    wires = ["l.y -> second.prediction", "p.y -> second.target", "l.y -> third.logits", "p.y -> third.target"]
    assert lower(drawing(NODES, *WIRES)).module.records == ("loss", STAMP, FAILED)
    assert lower(drawing(nodes, *WIRES, *wires)).module.records == ("loss", "second", "third", STAMP, FAILED)


def test_a_muted_node_hands_its_input_on():
    nodes = {**NODES, "t": ("tanh", {}, {"muted": True})}
    rewired = ["p.x -> t.x", "t.y -> l.x", *WIRES[1:]]
    assert print_module(lower(drawing(nodes, *rewired)).module) == print_module(lower(drawing(NODES, *WIRES)).module)


def test_a_muted_optimiser_trains_nothing():
    nodes = {**NODES, "a": ("SGD", {}, {"muted": True})}
    with pytest.raises(ProjectError, match="there is no optimiser"):
        lower(drawing(nodes, *WIRES))


def scalars(lowered: Lowered, step: int, **live: float) -> dict[str, float]:
    context = StepContext(step, {**lowered.live, **live})
    return {scalar.text: scalar.value(context) for scalar in lowered.scalars}


def test_what_depends_on_the_step_alone_is_worked_out_on_the_host():
    lowered = lower(load_project(XOR))
    assert lowered.live.items() >= {"adam.lr": 0.05, "adam.beta1": 0.9, "adam.beta2": 0.999, "adam.eps": 1e-8}.items()
    found = scalars(lowered, 9)
    corrected = next(value for text, value in found.items() if "adam.lr" in text and "**" in text)
    assert corrected == pytest.approx(0.05 / (1 - 0.9**10), rel=1e-15)
    root = next(value for text, value in found.items() if text.startswith("sqrt"))
    assert root == pytest.approx(math.sqrt(1 - 0.999**10), rel=1e-15)


def test_a_schedule_moves_the_rate_and_live_values_move_it_at_once():
    lowered = lower(load_project(SPIRAL))
    assert "learning rate.rate" in lowered.live
    texts = [text for text in scalars(lowered, 0) if "learning rate.rate" in text]
    assert len(texts) == 1
    first, middle, last = (scalars(lowered, step)[texts[0]] * (1 - 0.9 ** (step + 1)) for step in (0, 750, 1500))
    assert (first, middle, last) == pytest.approx((0.01, 0.005, 0.0), abs=1e-9)
    faster = StepContext(0, {**lowered.live, "learning rate.rate": 0.02})
    scalar = next(scalar for scalar in lowered.scalars if scalar.text == texts[0])
    assert scalar.value(faster) == pytest.approx(0.02 / (1 - 0.9))


def test_the_start_of_a_state_depends_on_seed_and_name_alone():
    small = lower(drawing(NODES, *WIRES)).module
    large = lower(drawing({"extra": ("Linear", {"out_features": 3}), **NODES}, "p.x -> extra.x", *WIRES)).module
    first, second = small.source("l/weight"), large.source("l/weight")
    np.testing.assert_array_equal(draw(first, 5), draw(second, 5))
    assert not np.array_equal(draw(first, 5), draw(first, 6))
    assert not np.array_equal(draw(large.source("extra/weight"), 5)[:1], draw(second, 5))
    assert np.abs(draw(large.source("extra/weight"), 5)).max() <= 1 / math.sqrt(2)


# -- the projects learn: op by op in NumPy, so that nothing but lowering and the operators can be at fault -----------------------


@pytest.mark.parametrize("seed", [1, 2])
def test_xor_is_solved(seed: int):
    graph = load_project(XOR)
    run = ReferenceRun(graph, seed)
    losses = [run.step()["loss"] for _ in range(graph.run.steps)]
    assert losses[0] > 0.1
    assert losses[-1] < 0.01
    assert run.held_out()["loss"] < 0.01


@pytest.mark.slow
def test_the_spirals_are_told_apart():
    graph = load_project(SPIRAL)
    run = ReferenceRun(graph, graph.run.seed)
    for _ in range(graph.run.steps):
        run.step()
    assert run.held_out()["accuracy"] > 0.95
