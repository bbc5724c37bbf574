"""Shader assets on the device: each variant against NumPy, and fused programs with assets against those without.

On a CPU driver programs keep their generated kernels, so the compiler is told here that it compiles for a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from munet.engine.builder import Builder
from munet.engine.codegen.shader_asset import Asset, load_asset, read_asset
from munet.engine.compile import compile_program
from munet.engine.dtypes import F32, I32, U8
from munet.engine.execute.vulkan.executor import VulkanExecutor
from munet.engine.ir.evaluate import evaluate
from munet.engine.ir.module import Module, Source, Value
from munet.engine.kernel_check import REFERENCES, verify
from munet.engine.operator import REGISTRY, Array, Operator
from munet.engine.passlist import ComputePass
from tests.device.test_operators_vulkan import run

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


GENERIC = (load_asset("contraction").variant("generic")).source
FAULTS = [
    ("k = 0;", "k = 1;", r"largest difference .* at \[.*\], allowed "),
    ("if (i >= BATCH * M * N) return;", "", "wrote outside of c, at word"),
    ("load_b(batch, k, n)", "load_b(batch, k, n + 1)", "largest difference"),
]


@pytest.mark.parametrize(("right", "wrong", "problem"), FAULTS, ids=["a term missing", "no border", "wrong column"])
def test_a_wrong_variant_is_found(executor: VulkanExecutor, tmp_path: Path, right: str, wrong: str, problem: str):
    folder = tmp_path / "contraction"
    folder.mkdir()
    contract = Path(load_asset("contraction").contract.title)
    (folder / "contract.toml").write_text((Path(__file__).parents[2] / contract).read_text())
    assert right in GENERIC
    (folder / "generic.comp").write_text(GENERIC.replace(right, wrong))
    verdicts = [v for v in verify(read_asset(folder), executor, seed=3) if not v.fine]
    assert verdicts
    assert any(pytest.importorskip("re").search(problem, verdict.problem) for verdict in verdicts)
    assert all(verdict.problem.startswith("contraction/generic.comp, f32 [") for verdict in verdicts)
    assert all(verdict.problem.endswith("Repeat: munet shaders verify contraction --seed 3") for verdict in verdicts)


def test_the_reference_of_contractions():
    arrays = {"a": np.ones((2, 3, 5)), "b": np.full((2, 5, 7), 2.0)}
    assert REFERENCES["contraction"].result(arrays)["c"].tolist() == np.full((2, 3, 7), 10.0).tolist()


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


def two_results(x: Value, w: Value) -> Value:
    """A product that is wanted itself and after an activation: both are written by one pass."""
    y = op("matmul", x, w)
    return op("mul", op("sigmoid", y), y)


CASES: dict[str, tuple[Callable[..., Value], list[Array]]] = {
    "linear": (linear_relu, [normal(257, 131), normal(127, 131), normal(127)]),
    "gathered": (
        gathered_bytes,
        [RNG.integers(0, 256, (300, 113)).astype(np.uint8), RNG.integers(0, 300, 311).astype(np.int32), normal(113, 131)],
    ),
    "masked": (masked, [normal(139, 257), normal(257, 131), normal(139, 131)]),
    "batches": (op_matmul := (lambda x, y: op("matmul", x, y)), [normal(3, 1, 67, 129), normal(5, 129, 71)]),
    "long sum": (op_matmul, [normal(65, 2048), normal(2048, 67)]),
    "convolution": (convolved, [normal(7, 1, 19, 23, 29), normal(1, 31, 19, 3, 5), normal(31, 1, 1)]),
    "groups": (convolved, [normal(7, 2, 19, 23, 29), normal(2, 17, 19, 3, 5), normal(17, 1, 1)]),
    "convolution input": (convolution_input, [normal(13, 1, 37, 13, 11), normal(1, 37, 17, 3, 3)]),
    "convolution weight": (convolution_weight, [normal(11, 1, 67, 13, 11), normal(11, 1, 29, 13, 11)]),
    "attention": (scores, [normal(131, 3, 37), normal(113, 3, 37)]),
    "two results": (two_results, [normal(131, 137), normal(137, 259)]),
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
    CASES["small"] = (op_matmul, [normal(5, 7), normal(7, 3)])
    listed, _ = passes(built("small", *CASES["small"]), executor)
    assert listed[0].kernel.variant == "generated"
    assert "tiled.comp passed over (M >= 16 does not hold: M = 5)" in listed[0].kernel.reason


def test_equal_contractions_share_a_pipeline(executor: VulkanExecutor):
    b = Builder("twice")
    with b.active():
        x, w, v = (b.source(Source(n, "data", Value((193, 193), F32, n))) for n in "xwv")
        b.outputs["y"] = op("matmul", op("matmul", x, w), v)
        module = b.finish()
    program = compile_program(module, replace(executor.info, kind="discrete"))
    kernels = [p.kernel for p in program.pass_lists[0] if p.kernel.variant == "tiled"]
    assert len(kernels) == 2
    assert kernels[0] == kernels[1]
