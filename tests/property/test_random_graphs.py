"""Whatever is drawn: fused equals unfused, planned equals unplanned, Vulkan equals the reference equals op-by-op evaluation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from property.graphs import inputs_of, random_module, run_once

from munet.engine.execute.base import Array
from munet.engine.execute.cpu import ReferenceExecutor
from munet.engine.execute.vulkan.executor import VulkanExecutor
from munet.engine.ir.evaluate import evaluate
from munet.engine.ir.module import Module

EVERYTHING = ("canonicalise", "merge_equal_ops", "split_sums", "fuse", "pack_updates", "alias", "join")


def exact(module: Module, inputs: dict[str, Array]) -> dict[str, Array]:
    """The judge: op by op in double precision."""
    outputs, states = evaluate(module, {name: array.astype(np.float64) for name, array in inputs.items()})
    return {**outputs, **states}


def assert_close(found: dict[str, Array], expected: dict[str, Array], tolerance: float) -> None:
    for name, array in found.items():
        scale = max(1.0, float(np.abs(expected[name]).max(initial=0.0)))
        np.testing.assert_allclose(array, expected[name], rtol=0, atol=tolerance * scale, err_msg=name)


@settings(max_examples=120, deadline=None)
@example(seed=10, size=2)  # an update that is wider than what it reads
@example(seed=14651, size=2)  # an output that is a parameter as it was before the step
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 14))
def test_every_transform_keeps_the_meaning(seed: int, size: int) -> None:
    module = random_module(seed, size)
    inputs = inputs_of(module, seed)
    expected = exact(module, inputs)
    for off in ((), ("fuse",), ("alias", "join"), EVERYTHING):
        with ReferenceExecutor() as executor:
            assert_close(run_once(executor, module, inputs, off=off, poison=True), expected, 2e-4)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 12))
def test_vulkan_equals_the_judge(seed: int, size: int) -> None:
    module = random_module(seed, size)
    inputs = inputs_of(module, seed)
    expected = exact(module, inputs)
    with VulkanExecutor() as executor:
        assert_close(run_once(executor, module, inputs, poison=True), expected, 2e-4)


@pytest.mark.parametrize("seed", range(4))
def test_vulkan_without_transforms_equals_the_judge(seed: int) -> None:
    module = random_module(seed, 8)
    inputs = inputs_of(module, seed)
    with VulkanExecutor() as executor:
        assert_close(run_once(executor, module, inputs, off=EVERYTHING), exact(module, inputs), 2e-4)
