"""What becomes one kernel: chains of element-wise ops and views, whole normalisations and losses with their gradients."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import munet.nodes  # noqa: F401  # fills the registry
from munet.engine.autodiff import gradients
from munet.engine.builder import Builder
from munet.engine.compile import compile_program
from munet.engine.device import REFERENCE
from munet.engine.dtypes import F32, I32, DType
from munet.engine.ir.module import Initial, Source, Value
from munet.engine.operator import REGISTRY
from munet.engine.program import Program
from munet.nodes.activations import relu, sigmoid, tanh
from munet.nodes.arithmetic import exp, log, maximum, rsqrt, stop_gradient
from munet.nodes.indexing import one_hot
from munet.nodes.losses import cross_entropy
from munet.nodes.normalisation import batch_norm, layer_norm
from munet.nodes.reductions import max_, mean, sum_
from munet.nodes.shape_ops import reshape, transpose

Outputs = dict[str, Value]


def compiled(build: Callable[[Builder], Outputs], name: str = "fusion") -> Program:
    b = Builder(name)
    with b.active():
        b.outputs.update(build(b))
        module = b.finish()
    return compile_program(module, REFERENCE, check=True, off=("join",))


def data(b: Builder, name: str, *shape: int, dtype: DType = F32) -> Value:
    return b.source(Source(name, "data", Value(shape, dtype, name)))


def with_gradient(b: Builder, y: Value, x: Value) -> Outputs:
    """The result, and the gradient of a sum of it weighted by given numbers."""
    return {"y": y, "dx": gradients(b, sum_(y * data(b, "cotangent", *y.shape)), [x])[0]}


def kinds(program: Program) -> list[str]:
    return [p.kernel.name for passes in program.pass_lists for p in passes]


def test_thirty_ops_are_one_pass_with_several_results() -> None:
    def build(b: Builder) -> Outputs:
        x, y = data(b, "x", 7, 11), data(b, "y", 11)
        for i in range(10):
            x = maximum(tanh(x * 0.5 + y), sigmoid(x)) if i % 2 else relu(x - y)
        return {"x": x, "twice": x + x, "squared": x * x}

    assert kinds(compiled(build)) == ["map"]


def test_views_between_are_no_passes() -> None:
    def build(b: Builder) -> Outputs:
        x = data(b, "x", 6, 10)
        return {"y": tanh(transpose(reshape(tanh(transpose(x)), shape=(4, 15)))) + 1.0}

    assert kinds(compiled(build)) == ["map"]


def drawn_softmax(x: Value) -> Value:
    e = exp(x - stop_gradient(max_(x, axes=(-1,), keepdims=True)))
    return e / sum_(e, axes=(-1,), keepdims=True)


@pytest.mark.parametrize("ready", [True, False], ids=["node", "primitives"])
def test_softmax_and_its_gradient_are_one_pass(ready: bool) -> None:
    def build(b: Builder) -> Outputs:
        x = data(b, "x", 8, 16)
        return with_gradient(b, REGISTRY["softmax"].function(b, x, axis=-1) if ready else drawn_softmax(x), x)

    assert kinds(compiled(build)) == ["reduction"]


def drawn_layer_norm(x: Value) -> Value:
    centred = x - mean(x, axes=(-1,), keepdims=True)
    return centred * rsqrt(mean(centred * centred, axes=(-1,), keepdims=True) + 1e-5)


@pytest.mark.parametrize("ready", [True, False], ids=["node", "primitives"])
def test_layer_norm_and_its_gradient_are_one_pass(ready: bool) -> None:
    def build(b: Builder) -> Outputs:
        x = data(b, "x", 8, 16)
        y = layer_norm.function(b, x, dims=1, eps=1e-5, affine=False, bias=False) if ready else drawn_layer_norm(x)
        return with_gradient(b, y, x)

    assert kinds(compiled(build)) == ["reduction"]


def test_batch_norm_and_its_gradient_are_one_pass() -> None:
    def build(b: Builder) -> Outputs:
        x = data(b, "x", 8, 4, 6, 6)
        return with_gradient(b, batch_norm.function(b, x, eps=1e-5, momentum=0.1, affine=False), x)

    passes = kinds(compiled(build))
    assert passes[0] == "reduction" and passes[1:] == ["map"] * (len(passes) - 1)  # the running averages are small maps


def drawn_cross_entropy(x: Value, label: Value) -> Value:
    shifted = x - stop_gradient(max_(x, axes=(-1,), keepdims=True))
    logs = shifted - log(sum_(exp(shifted), axes=(-1,), keepdims=True))
    return -mean(sum_(logs * one_hot(label, count=x.shape[-1]), axes=(-1,)))


@pytest.mark.parametrize("ready", [True, False], ids=["node", "primitives"])
def test_cross_entropy_and_its_gradient_are_one_pass_over_rows(ready: bool) -> None:
    def build(b: Builder) -> Outputs:
        x, label = data(b, "x", 8, 16), data(b, "label", 8, dtype=I32)
        loss = cross_entropy.function(b, x, label, **{n: p.default for n, p in cross_entropy.params.items()}) if ready else None
        loss = drawn_cross_entropy(x, label) if loss is None else loss
        return {"loss": loss, "dx": gradients(b, loss, [x])[0]}

    rows = [
        p
        for passes in compiled(build).pass_lists
        for p in passes
        if p.kernel.name == "reduction" and p.ops[0].params["space"] == (8, 16)
    ]
    # The mean over the batch is one more, smaller pass.
    assert len(rows) == 1


def test_states_that_read_each_other_do_not_wait_in_a_circle() -> None:
    """Each new value reads the other's old one in a kernel of its own: only one of them can be written in place."""

    def build(b: Builder) -> Outputs:
        x, y = (b.parameter(name, (4, 4), Initial("ones")) for name in "xy")
        b.set_result(x, tanh(transpose(x) + y))
        b.set_result(y, tanh(transpose(y) + x))
        return {"sum": sum_(x)}

    assert kinds(compiled(build))
