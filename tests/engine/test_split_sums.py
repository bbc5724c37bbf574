"""Long folds with few results are split over a large GPU, whatever the fold; what they mean stays the same."""

from __future__ import annotations

import numpy as np
import pytest

from munet.engine.builder import Builder
from munet.engine.device import DeviceInfo
from munet.engine.dtypes import F32
from munet.engine.ir.evaluate import evaluate
from munet.engine.ir.module import Module, Source, Value
from munet.engine.operator import Operator, find
from munet.engine.transforms.split_sums import split_sums

GPU = DeviceInfo(name="large GPU", kind="discrete")


def folding(fold: str, shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> Module:
    declared = find(fold)
    assert isinstance(declared, Operator)
    b = Builder("folding")
    with b.active(), b.at("fold"):
        b.outputs["y"] = declared(b.source(Source("x", "data", Value(shape, F32, "x"))), axes=axes, keepdims=keepdims)
    return b.finish()


@pytest.mark.parametrize("fold", ["sum", "mean", "max", "min"])
@pytest.mark.parametrize(("axes", "keepdims"), [((), False), ((0,), True), ((0,), False), ((1,), False)])
def test_a_long_fold_is_split(fold: str, axes: tuple[int, ...], keepdims: bool) -> None:
    shape = (6, 4096) if axes == (1,) else (4096, 6)
    module = folding(fold, shape, axes, keepdims)
    made = split_sums(module, GPU)
    folds = [op for op in made.ops if op.operator == fold]
    assert len(folds) == 2, "parts, then their fold"
    assert folds[0].output.element_count > folds[1].output.element_count
    array = np.random.default_rng(0).normal(size=shape)
    wanted, found = evaluate(module, {"x": array})[0]["y"], evaluate(made, {"x": array})[0]["y"]
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_a_short_fold_stays_whole() -> None:
    module = folding("mean", (64, 6), (), False)
    assert [op.operator for op in split_sums(module, GPU).ops] == ["mean"]
