"""Shader variants inside programs, compiled for a GPU that is not there."""

from __future__ import annotations

import pytest

from munet.engine.builder import Builder
from munet.engine.codegen.spirv import compile_glsl
from munet.engine.compile import compile_program
from munet.engine.device import DeviceInfo
from munet.engine.dtypes import F32
from munet.engine.ir.module import Source, Value
from munet.engine.lower import lower
from munet.engine.operator import Operator, find
from tests.engine.drawings import drawing

pytestmark = pytest.mark.usefixtures("own_cache")

GPU = DeviceInfo(
    name="large GPU",
    kind="discrete",
    max_workgroup_invocations=1024,
    shared_bytes=49152,
    max_storage_buffers=32,
    features=frozenset({"storage_8bit"}),
)


def test_a_variant_looks_for_what_is_not_finite_as_generated_kernels_do():
    """The weight gradient of the wide layer is a tiled product: it raises the flag itself."""
    graph = drawing(
        {
            "data": ("digits", {"batch": 512}),
            "scaled": "Normalise",
            "flat": "flatten",
            "wide": ("Linear", {"out_features": 512}),
            "out": ("Linear", {"out_features": 10}),
            "loss": "cross_entropy",
            "sgd": ("SGD", {"lr": 0.05}),
        },
        "data.image -> scaled.x",
        "scaled.y -> flat.x",
        "flat.y -> wide.x",
        "wide.y -> out.x",
        "out.y -> loss.logits",
        "data.label -> loss.label",
        "loss.loss -> sgd.loss",
    )
    program = compile_program(lower(graph, "train").module, GPU)
    tiled = [p.kernel.glsl for p in program.pass_lists[0] if p.kernel.variant == "tiled"]
    assert [glsl.count("if (!mu_isfinite(") for glsl in tiled] == [0, 1]
    for glsl in tiled:
        compile_glsl(glsl, "tiled")


def op(name: str, *inputs: Value, **params: object) -> Value:
    declared = find(name)
    assert isinstance(declared, Operator)
    return declared(*inputs, **params)


def columns(x: Value, start: int, end: int) -> Value:
    return op("slice", x, axis=1, start=start, length=end - start)


HEADS = (4, 128, 64)


@pytest.mark.parametrize(
    ("make", "shapes", "by_4"),
    [
        (lambda x, y: op("matmul", x, y), [(256, 128), (128, 256)], (True, True, True)),
        (lambda x, y: op("matmul", x, y), [(256, 127), (127, 256)], (False, True, True)),
        (lambda x, y: op("matmul", x, y), [(256, 128), (128, 257)], (True, False, False)),
        (lambda x, y: op("matmul", columns(x, 4, 132), y), [(256, 140), (128, 256)], (True, True, True)),
        (lambda x, y: op("matmul", columns(x, 2, 130), y), [(256, 140), (128, 256)], (False, True, True)),  # not aligned
        (lambda x, y: op("matmul", columns(x, 4, 132), y), [(256, 142), (128, 256)], (False, True, True)),  # rows are not
        (lambda x, y: op("matmul", op("exp", x), y), [(256, 128), (128, 256)], (False, True, True)),  # it is computed
        # Heads put back side by side: the sum goes through them, 64 neighbours at a time.
        (
            lambda x, y: op("matmul", op("reshape", op("transpose", x, axes=(1, 0, 2)), shape=(128, 256)), y),
            [HEADS, (256, 512)],
            (True, True, True),
        ),
    ],
)
def test_four_neighbours_are_moved_at_once(make, shapes, by_4):
    """Only where they surely lie together, at a multiple of four."""
    b = Builder("product")
    with b.active():
        x, y = (b.source(Source(name, "data", Value(shape, F32, name))) for name, shape in zip("xy", shapes, strict=True))
        b.outputs["z"] = make(x, y)
        module = b.finish()
    (glsl,) = [p.kernel.glsl for p in compile_program(module, GPU).pass_lists[0] if p.kernel.variant == "tiled"]
    found = tuple(f"const bool {name}_BY_4 = true;" in glsl for name in ("A", "B", "STORE"))
    assert found == by_4
    compile_glsl(glsl, "tiled")


def test_a_transposed_product_is_written_where_it_is_wanted():
    """No pass that only turns a matrix round, and no scattered writes behind a split sum."""
    b = Builder("weight")
    with b.active():
        x, g = (b.source(Source(name, "data", Value((4096, 64), F32, name))) for name in "xg")
        b.outputs["w"] = op("transpose", op("matmul", op("transpose", x, axes=(1, 0)), g), axes=(1, 0))
        module = b.finish()
    listed = [p for passes in compile_program(module, GPU).pass_lists for p in passes]
    assert [p.name for p in listed] == ["matmul", "sum"]
    assert "b1[row]" in listed[1].kernel.glsl
