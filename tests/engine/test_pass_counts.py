"""How many passes a training step takes, and how near its temporaries come to the least any plan could reach.

The number without fusion stands beside it: what a drawing would cost if each op were a pass.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from munet.engine.compile import compile_program
from munet.engine.device import REFERENCE, DeviceInfo
from munet.engine.graph import Edge, Graph, Node
from munet.engine.lower import lower
from munet.engine.project import load_project
from tests.engine.drawings import PROJECTS

# A large GPU: long sums are split there, contractions may take shader assets.
LARGE_GPU = DeviceInfo(
    name="large GPU",
    kind="discrete",
    max_workgroup_invocations=1024,
    max_storage_buffers=1024,
    storage_alignment=16,
    shared_bytes=49152,
    features=frozenset({"storage_8bit"}),
)
UNFUSED = ("fuse", "pack_updates", "join", "assets")


def chain(*nodes: Node, wires: str) -> Graph:
    edges = [line.split(" -> ") for line in wires.strip().splitlines()]
    parts = [(*source.strip().split("."), *target.strip().split(".")) for source, target in edges]
    return Graph("counted", {node.id: node for node in nodes}, tuple(Edge(*part) for part in parts))


MLP = chain(
    Node("data", "spiral"),
    Node("one", "Linear"),
    Node("relu 1", "relu"),
    Node("two", "Linear"),
    Node("relu 2", "relu"),
    Node("three", "Linear", {"out_features": 3}),
    Node("loss", "cross_entropy"),
    Node("adam", "Adam"),
    wires="""data.x -> one.x
             one.y -> relu 1.x
             relu 1.y -> two.x
             two.y -> relu 2.x
             relu 2.y -> three.x
             three.y -> loss.logits
             data.label -> loss.label
             loss.loss -> adam.loss""",
)
GPT_BLOCK = chain(
    Node("digits", "digits", {"batch": 8}),
    Node("scaled", "Normalise"),
    Node("rows", "reshape", {"shape": [8, 28, 28]}),
    Node("wide", "Linear", {"out_features": 32}),
    Node("block", "TransformerBlock", {"heads": 4}),
    Node("flat", "flatten"),
    Node("head", "Linear", {"out_features": 10}),
    Node("loss", "cross_entropy"),
    Node("adam", "Adam"),
    wires="""digits.image -> scaled.x
             scaled.y -> rows.x
             rows.y -> wide.x
             wide.y -> block.x
             block.y -> flat.x
             flat.y -> head.x
             head.y -> loss.logits
             digits.label -> loss.label
             loss.loss -> adam.loss""",
)
LENET = load_project(next(path for path in PROJECTS if path.stem == "digits_lenet"))


@pytest.mark.parametrize("device", [REFERENCE, LARGE_GPU], ids=lambda device: device.kind)
@pytest.mark.parametrize(
    ("graph", "most", "unfused"), [(MLP, 10, 100), (LENET, 20, 150), (GPT_BLOCK, 42, 300)], ids=["mlp", "lenet", "gpt block"]
)
def test_passes_of_a_training_step(graph: Graph, most: int, unfused: int, device: DeviceInfo) -> None:
    module = lower(graph).module
    assert compile_program(module, device).pass_count <= most
    assert compile_program(module, device, off=UNFUSED).pass_count > unfused  # what fusion saves


@pytest.mark.parametrize("path", PROJECTS, ids=lambda path: path.stem)
@pytest.mark.parametrize("device", [REFERENCE, LARGE_GPU], ids=lambda device: device.kind)
def test_temporaries_are_within_a_tenth_of_the_least_possible(path: Path, device: DeviceInfo) -> None:
    memory = compile_program(lower(load_project(path)).module, device).memory
    # A few values of some bytes each are rounded up to the alignment of a binding: that is not the plan's doing.
    assert memory.arena_bytes <= 1.10 * memory.arena_lower_bound + 64 * device.storage_alignment
