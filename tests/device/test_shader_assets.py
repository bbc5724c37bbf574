"""Shader assets on the device: each variant against NumPy, and fused programs with assets against those without.

On a CPU driver programs keep their generated kernels, so the compiler is told here that it compiles for a GPU.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from munet import cli_shaders
from munet.engine import emit
from munet.engine.assets import shaders_root
from munet.engine.builder import Builder
from munet.engine.codegen import contraction_asset
from munet.engine.codegen.shader_asset import Asset, Configuration, load_asset, read_asset
from munet.engine.compile import compile_program
from munet.engine.dtypes import F32, I32, U8
from munet.engine.execute.vulkan.executor import VulkanExecutor
from munet.engine.graph import Graph
from munet.engine.ir.evaluate import evaluate
from munet.engine.ir.module import Module, Source, Value
from munet.engine.kernel_check import REFERENCES, verify
from munet.engine.operator import REGISTRY, Array, Operator
from munet.engine.passlist import ComputePass
from munet.engine.session import Session
from tests.device.test_operators_vulkan import run
from tests.engine.drawings import drawing

pytestmark = pytest.mark.device
DTYPES = {"float32": F32, "int32": I32, "uint8": U8}
OF_LARGEST = 1e-5  # of the largest element: a few hundred terms, added in another order


@pytest.fixture(scope="module")
def executor(cache: Path) -> Iterator[VulkanExecutor]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MUNET_CACHE_DIR", str(cache))
        with VulkanExecutor() as made:
            yield made


# -- variants alone --------------------------------------------------------------------------------------------------------


def smaller(asset: Asset, device_is_cpu: bool) -> Asset:
    """On a CPU driver a large tile takes a second to compile: some configurations stand for all."""
    if not device_is_cpu:
        return asset
    variants = tuple(replace(v, configurations=v.configurations[-5::2] or v.configurations) for v in asset.variants)
    return replace(asset, variants=variants)


def test_every_variant_is_right(executor: VulkanExecutor):
    verdicts = list(verify(smaller(load_asset("contraction"), executor.info.is_cpu), executor, seed=41))
    assert {verdict.variant for verdict in verdicts} == {"generic", "tiled"}
    assert [verdict.problem for verdict in verdicts if not verdict.fine] == []


GENERIC = load_asset("contraction").variant("generic").source
FAULTS = [
    ("k = 0;", "k = 1;", r"largest difference .* at \[.*\], allowed "),
    ("if (i >= BATCH * M * N) return;", "", "wrote outside of c, 0 words behind it"),
    ("load_b(batch, k, n)", "load_b(batch, k, n + 1)", "largest difference"),
]


@pytest.mark.parametrize(("right", "wrong", "problem"), FAULTS, ids=["a term missing", "no border", "wrong column"])
def test_a_wrong_variant_is_found(executor: VulkanExecutor, tmp_path: Path, right: str, wrong: str, problem: str):
    folder = tmp_path / "contraction"
    folder.mkdir()
    (folder / "contract.toml").write_text((shaders_root() / "contraction" / "contract.toml").read_text())
    assert right in GENERIC
    (folder / "generic.comp").write_text(GENERIC.replace(right, wrong))
    verdicts = [v for v in verify(read_asset(folder), executor, seed=3) if not v.fine]
    assert verdicts
    assert any(re.search(problem, verdict.problem) for verdict in verdicts)
    assert all(verdict.problem.startswith("contraction/generic.comp, f32 [") for verdict in verdicts)
    assert all(verdict.problem.endswith("Repeat: munet shaders verify contraction --seed 3") for verdict in verdicts)


def test_the_reference_of_contractions():
    arrays = {"a": np.ones((2, 3, 5)), "b": np.full((2, 5, 7), 2.0)}
    assert REFERENCES["contraction"].result(arrays)["c"].tolist() == np.full((2, 3, 7), 10.0).tolist()


@pytest.mark.usefixtures("environment")
def test_the_command():
    def munet(*arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(cli_shaders.app, list(arguments))
        return done.exit_code, done.output

    assert munet("list")[1].startswith("contraction (BATCH, M, N, K)\n  tiled        rank  10  ")
    code, text = munet("explain", "matmul", "7", "512", "512")
    assert (code, text.count("tiled.comp passed over (M >= 16 does not hold: M = 7)")) == (0, 1)
    assert munet("explain", "relu", "7", "512", "512")[0] == 1
    assert munet("verify", "nothing")[0] == 1
    assert munet("verify", "contraction", "--device", "vulkan:99")[0] == 2


# -- fused into programs -----------------------------------------------------------------------------------------------------


def op(name: str, *values: Value, **params: object) -> Value:
    operator = REGISTRY[name]
    assert isinstance(operator, Operator)
    made = operator(*values, **params)
    assert isinstance(made, Value)
    return made


def swapped(x: Value) -> Value:
    return op("transpose", x, axes=(*range(x.rank - 2), x.rank - 1, x.rank - 2))


RNG = np.random.default_rng(17)


def normal(*shape: int) -> Array:
    return RNG.normal(size=shape).astype(np.float32)


def product(x: Value, y: Value) -> Value:
    return op("matmul", x, y)


def linear_relu(x: Value, w: Value, b: Value) -> Value:
    """A layer with its bias and activation behind the product."""
    return op("relu", op("add", op("matmul", x, swapped(w)), b))


def gathered_bytes(images: Value, order: Value, w: Value) -> Value:
    """Rows of bytes, picked, decoded and scaled in front of the product."""
    rows = op("take_rows", images, order)
    return op("matmul", op("mul", op("cast", rows, dtype="f32"), op("constant", value=1 / 255)), w)


def masked(g: Value, w: Value, y: Value) -> Value:
    """The backward pass of a layer: the mask of relu behind the product."""
    zero = op("constant", value=0.0)
    return op("where", op("greater", y, zero), op("matmul", g, w), zero)


def convolved(x: Value, w: Value, b: Value) -> Value:
    y = op("convolution", x, w, stride=(2, 1), padding=(1, 2), dilation=(1, 1))
    return op("relu", op("add", y, b))


def convolution_input(dy: Value, w: Value) -> Value:
    return op("convolution_input", dy, w, stride=(1, 1), padding=(1, 1), dilation=(1, 1), size=(13, 11))


def convolution_weight(dy: Value, x: Value) -> Value:
    return op("convolution_weight", dy, x, stride=(1, 1), padding=(1, 1), dilation=(1, 1), size=(3, 3))


def scores(q: Value, k: Value) -> Value:
    """One head's scores: batched, both factors views of [tokens, heads, width], scaled and exponentiated."""
    heads = [op("transpose", value, axes=(1, 0, 2)) for value in (q, k)]
    return op("exp", op("mul", op("matmul", heads[0], swapped(heads[1])), op("constant", value=0.05)))


def weight_gradient(x: Value, g: Value) -> Value:
    """Both factors lie along the result, not along the sum."""
    return op("matmul", swapped(x), g)


def two_results(x: Value, w: Value) -> Value:
    """A product that is wanted itself and after an activation: both are written by one pass."""
    y = op("matmul", x, w)
    return op("mul", op("sigmoid", y), y)


CASES: dict[str, tuple[Callable[..., Value], list[Array]]] = {
    "linear": (linear_relu, [normal(521, 131), normal(127, 131), normal(127)]),
    "gathered": (
        gathered_bytes,
        [RNG.integers(0, 256, (300, 113)).astype(np.uint8), RNG.integers(0, 300, 613).astype(np.int32), normal(113, 131)],
    ),
    "masked": (masked, [normal(263, 257), normal(257, 131), normal(263, 131)]),
    "batches": (product, [normal(3, 1, 67, 129), normal(5, 129, 71)]),
    "long sum": (product, [normal(65, 2048), normal(2048, 67)]),
    "convolution": (convolved, [normal(7, 1, 19, 23, 29), normal(1, 31, 19, 3, 5), normal(31, 1, 1)]),
    "groups": (convolved, [normal(7, 2, 19, 23, 29), normal(2, 17, 19, 3, 5), normal(17, 1, 1)]),
    "convolution input": (convolution_input, [normal(13, 1, 37, 13, 11), normal(1, 37, 17, 3, 3)]),
    "convolution weight": (convolution_weight, [normal(11, 1, 67, 13, 11), normal(11, 1, 29, 13, 11)]),
    "attention": (scores, [normal(131, 3, 211), normal(113, 3, 211)]),
    "two results": (two_results, [normal(257, 137), normal(137, 259)]),
    # By four: both factors along the sum, one, none.
    "linear by four": (linear_relu, [normal(516, 132), normal(124, 132), normal(124)]),
    "product by four": (product, [normal(516, 132), normal(132, 124)]),
    "weight by four": (weight_gradient, [normal(520, 136), normal(520, 124)]),
    "attention by four": (scores, [normal(132, 4, 212), normal(116, 4, 212)]),
    "two results by four": (two_results, [normal(260, 136), normal(136, 260)]),
}


def built(name: str, make: Callable[..., Value], arrays: list[Array]) -> Module:
    b = Builder(name)
    with b.active():
        inputs = [b.source(Source(str(i), "data", Value(a.shape, DTYPES[a.dtype.name], str(i)))) for i, a in enumerate(arrays)]
        b.outputs["y"] = make(*inputs)
        return b.finish()


def passes(module: Module, executor: VulkanExecutor, off: tuple[str, ...] = ()) -> tuple[list[ComputePass], Array]:
    arrays = {source.name: CASES[module.name][1][int(source.name)] for source in module.sources}
    program = compile_program(module, replace(executor.info, kind="discrete"), check=True, off=off)
    listed = [compute_pass for passes in program.pass_lists for compute_pass in passes]
    return listed, run(executor, program, arrays)["y"]


@pytest.mark.parametrize("name", CASES)
def test_fused_with_an_asset_equals_without(executor: VulkanExecutor, name: str):
    make, arrays = CASES[name]
    module = built(name, make, arrays)
    with_asset, found = passes(module, executor)
    tiled = [p for p in with_asset if p.kernel.variant == "tiled"]
    assert len(tiled) == 1
    assert tiled[0].kernel.name == "contraction/tiled"
    assert tiled[0].kernel.reason.startswith("asset contraction, tiled.comp, rank 10, WORKGROUP_SIZE = ")
    without, generated = passes(module, executor, off=("assets",))
    assert all(p.kernel.variant == "generated" for p in without)
    assert len(with_asset) == len(without)  # nothing that was fused has come apart
    expected = evaluate(module, {str(i): a.astype(np.float64) if a.dtype.kind == "f" else a for i, a in enumerate(arrays)})
    reference = expected[0]["y"]
    scale = np.abs(reference).max()
    np.testing.assert_allclose(found, reference, rtol=0, atol=OF_LARGEST * scale)
    np.testing.assert_allclose(found, generated, rtol=0, atol=OF_LARGEST * scale)


def test_a_small_contraction_keeps_its_generated_kernel(executor: VulkanExecutor):
    program = compile_program(built("small", product, [normal(5, 7), normal(7, 3)]), replace(executor.info, kind="discrete"))
    (only,) = program.pass_lists[0]
    assert only.kernel.variant == "generated"
    assert "tiled.comp passed over (M >= 16 does not hold: M = 5)" in only.kernel.reason


def test_equal_contractions_share_a_pipeline(executor: VulkanExecutor):
    b = Builder("twice")
    with b.active():
        x, w, v = (b.source(Source(n, "data", Value((211, 211), F32, n))) for n in "xwv")
        b.outputs["y"] = op("matmul", op("matmul", x, w), v)
        module = b.finish()
    program = compile_program(module, replace(executor.info, kind="discrete"))
    kernels = [p.kernel for p in program.pass_lists[0] if p.kernel.variant == "tiled"]
    assert len(kernels) == 2
    assert kernels[0] == kernels[1]


# -- whole training steps ----------------------------------------------------------------------------------------------------

LENET = drawing(
    {
        "data": ("digits", {"batch": 6}),
        "scaled": "Normalise",
        "c1": ("Conv2d", {"out_channels": 5, "kernel": [5, 5]}),
        "r1": "relu",
        "p1": "max_pool2d",
        "c2": ("Conv2d", {"out_channels": 7, "kernel": [3, 3]}),
        "r2": "relu",
        "flat": "flatten",
        "f1": ("Linear", {"out_features": 33}),
        "r3": "relu",
        "f2": ("Linear", {"out_features": 10}),
        "loss": "cross_entropy",
        "sgd": ("SGD", {"lr": 0.05}),
    },
    *"""data.image -> scaled.x; scaled.y -> c1.x; c1.y -> r1.x; r1.y -> p1.x; p1.y -> c2.x; c2.y -> r2.x; r2.y -> flat.x;
    flat.y -> f1.x; f1.y -> r3.x; r3.y -> f2.x; f2.y -> loss.logits; data.label -> loss.label; loss.loss -> sgd.loss""".replace(
        "\n    ", " "
    ).split("; "),
)
TRANSFORMER = drawing(
    {
        "data": ("digits", {"batch": 3}),
        "scaled": "Normalise",
        "rows": ("reshape", {"shape": [3, 28, 28]}),
        "wide": ("Linear", {"out_features": 24}),
        "block": ("TransformerBlock", {"heads": 3}),
        "flat": "flatten",
        "head": ("Linear", {"out_features": 10}),
        "loss": "cross_entropy",
        "sgd": ("SGD", {"lr": 0.05}),
    },
    *"""data.image -> scaled.x; scaled.y -> rows.x; rows.y -> wide.x; wide.y -> block.x; block.y -> flat.x; flat.y -> head.x;
    head.y -> loss.logits; data.label -> loss.label; loss.loss -> sgd.loss""".replace("\n    ", " ").split("; "),
)


@pytest.fixture
def assets_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """All contractions take the tiled variant, however small, on a CPU driver too."""
    asset = load_asset("contraction")
    tiled, generic = asset.variants
    sizes = {"WORKGROUP_SIZE": 16, "TILE_M": 16, "TILE_N": 16, "TILE_K": 4, "BLOCK_M": 4, "BLOCK_N": 4, "STAGES": 1}
    small = Configuration(sizes)  # drivers compile it quickly
    eager = replace(asset, variants=(replace(tiled, when=None, configurations=(small,)), generic))
    plan = emit.plan_contraction
    monkeypatch.setattr(contraction_asset, "whole_asset", lambda _: eager)
    monkeypatch.setattr(emit, "plan_contraction", lambda form, device: plan(form, replace(device, kind="discrete")))


def trained(graph: Graph, off: tuple[str, ...]) -> tuple[list[str], dict[str, Array]]:
    """Kernels of the step, and all states after three of them."""
    with Session.open(graph, "vulkan", seed=3, off=off) as session:
        for _ in session.train(3):
            pass
        return [p.kernel.variant for p in session.program.pass_lists[0]], session.states()


@pytest.mark.usefixtures("environment", "assets_everywhere")
@pytest.mark.parametrize("graph", [LENET, TRANSFORMER], ids=["lenet", "transformer"])
def test_training_with_assets_equals_training_without(graph: Graph):
    variants, found = trained(graph, ())
    assert variants.count("tiled") >= 10
    without, expected = trained(graph, ("assets",))
    assert "tiled" not in without
    assert found.keys() == expected.keys()
    for name, state in expected.items():
        np.testing.assert_allclose(found[name], state, rtol=1e-4, atol=1e-5 * np.abs(state).max(initial=1e-6), err_msg=name)
