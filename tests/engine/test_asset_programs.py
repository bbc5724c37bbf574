"""Shader variants inside programs, compiled for a GPU that is not there."""

from __future__ import annotations

import pytest

from munet.engine.codegen.spirv import compile_glsl
from munet.engine.compile import compile_program
from munet.engine.device import DeviceInfo
from munet.engine.lower import lower
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
