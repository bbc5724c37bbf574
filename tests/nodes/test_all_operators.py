"""Every operator of the registry against its own declaration: shapes and dtypes, kernel, gradient, gradient of the gradient.

The NumPy reference is the judge, in double precision. A new operator is tested here without being named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from munet.engine.autodiff import gradients
from munet.engine.builder import Builder
from munet.engine.dtypes import F32
from munet.engine.errors import GraphError
from munet.engine.ir.evaluate import evaluate, run_op
from munet.engine.ir.module import Module, Source, Value
from munet.engine.ir.verify import verify
from munet.engine.operator import Array, NotDifferentiable, Operator
from munet.nodes.arithmetic import cast
from munet.nodes.reductions import sum_
from tests.nodes.cases import CASES, KERNEL_CASES, OPERATORS, Case
from tests.nodes.interpret import run_kernel

STEP = 1e-5  # of central differences: their error is about STEP² times the third derivative, plus 1e-16 / STEP
TOLERANCE = 1e-6


def reference(case: Case, arrays: Sequence[Array]) -> list[Array]:
    b = Builder("reference")
    with b.active():
        op = case.add(b)
    return run_op(op, arrays)


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_it_has_samples_and_says_what_its_gradient_is(operator: Operator):
    assert operator.samples, "the tests have nothing to go by"
    assert operator.gradient_rule is not None, "declare a gradient, or not_differentiable with its reason"
    assert operator.kernel is not None


@pytest.mark.parametrize("case", CASES, ids=str)
def test_shapes_and_dtypes_are_those_of_the_reference(case: Case):
    b = Builder("shapes")
    with b.active():
        op = case.add(b)
        verify(b.finish())
    arrays = [array.astype(value.dtype.host) for (_, array), value in zip(case.inputs(), op.inputs, strict=True)]
    with np.errstate(all="ignore"):
        result = case.operator.reference(*_arguments(case, arrays), **op.params)
    found = result if isinstance(result, tuple) else (result,)
    assert [(array.shape, array.dtype) for array in map(np.asarray, found)] == [(v.shape, v.dtype.host) for v in op.outputs]


@pytest.mark.parametrize("case", KERNEL_CASES, ids=str)
def test_the_kernel_computes_what_the_reference_means(case: Case):
    b = Builder("kernel")
    with b.active():
        op = case.add(b)
    arrays = [array for _, array in case.inputs()]
    with np.errstate(all="ignore"):
        found = run_kernel(op, dict(zip(op.inputs, arrays, strict=True)))
    for value, got, expected in zip(op.outputs, found, run_op(op, arrays), strict=True):
        assert got.shape == value.shape
        np.testing.assert_allclose(got.astype(float), expected.astype(float), rtol=1e-12, atol=1e-12)


def _arguments(case: Case, arrays: Sequence[Array]) -> list[Array | None]:
    """Arrays as the reference takes them: one for each input, None for an absent one, a variadic one spread at the end."""
    by_socket: dict[str, list[Array]] = {}
    for (socket, _), array in zip(case.inputs(), arrays, strict=True):
        by_socket.setdefault(socket, []).append(array)
    arguments: list[Array | None] = []
    for socket, declared in case.operator.inputs.items():
        arguments += by_socket.get(socket, []) if declared.variadic else [by_socket.get(socket, [None])[0]]
    return arguments


# -- gradients -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Derived:
    """A module whose outputs are a loss, its gradients, the number `through` made of these, and that one's gradients."""

    module: Module
    sources: Mapping[str, Array]
    wrt: tuple[str, ...]  # names of the float sources

    def at(self, sources: Mapping[str, Array]) -> Mapping[str, Array]:
        return evaluate(self.module, sources)[0]


def derive(case: Case) -> Derived | None:
    """The operator between a random weighting of its float results and all its float inputs; None without either."""
    rng = np.random.default_rng(11)
    b = Builder("derived")
    sources = {str(i): array for i, (_, array) in enumerate(case.inputs())}

    def weighted(value: Value, name: str) -> Value:
        sources[name] = rng.normal(size=value.shape)
        return sum_(value * b.source(Source(name, "data", Value(value.shape, F32, name))))

    with b.active():
        op = case.add(b)
        inputs = [value for value in op.inputs if value.dtype.is_float]
        results = [value for value in op.outputs if value.dtype.is_float]
        if not inputs or not results:
            return None
        loss = _total([weighted(value, f"weight {i}") for i, value in enumerate(results)])
        wrt = {name: source.value for name, source in b.sources.items() if source.value.dtype.is_float}
        first = gradients(b, loss, list(wrt.values()))
        through = _total([weighted(g, f"second weight {name}") for name, g in zip(wrt, first, strict=True)])
        second = gradients(b, through, list(wrt.values()))
        b.outputs |= {"loss": loss, "through": through}
        b.outputs |= {f"first {name}": g for name, g in zip(wrt, first, strict=True)}
        b.outputs |= {f"second {name}": g for name, g in zip(wrt, second, strict=True)}
        return Derived(verify(b.finish()), sources, tuple(wrt))


def _total(values: Sequence[Value]) -> Value:
    total = values[0]
    for value in values[1:]:
        total = total + value
    return total


DIFFERENTIABLE = [
    case for case in CASES if case.sample.gradient and not isinstance(case.operator.gradient_rule, NotDifferentiable)
]


@pytest.mark.parametrize("case", DIFFERENTIABLE, ids=str)
def test_gradients_agree_with_finite_differences(case: Case):
    derived = derive(case)
    if derived is None:
        pytest.skip("no float goes in or none comes out")
    rng = np.random.default_rng(13)
    direction = {name: rng.normal(size=derived.sources[name].shape) for name in derived.wrt}
    ahead, here, behind = (
        derived.at({**derived.sources, **{name: derived.sources[name] + step * direction[name] for name in derived.wrt}})
        for step in (STEP, 0.0, -STEP)
    )
    for number, order in (("loss", "first"), ("through", "second")):
        measured = float(ahead[number] - behind[number]) / (2 * STEP)
        computed = sum(float((here[f"{order} {name}"] * direction[name]).sum()) for name in derived.wrt)
        # The scale is that of the terms, not of their sum, which may cancel.
        scale = 1 + sum(float(np.abs(here[f"{order} {name}"] * direction[name]).sum()) for name in derived.wrt)
        assert measured == pytest.approx(computed, abs=TOLERANCE * scale), f"{order} gradient"


@pytest.mark.parametrize(
    "operator", [o for o in OPERATORS if isinstance(o.gradient_rule, NotDifferentiable)], ids=lambda operator: operator.name
)
def test_what_has_no_gradient_says_why_or_passes_nothing_on(operator: Operator):
    case = Case(operator, 0)
    b = Builder("no gradient")
    with b.active():
        op = case.add(b)
        inputs = [value for value in op.inputs if value.dtype.is_float]
        if not inputs:
            pytest.skip("nothing that could have a gradient goes in")
        if op.output.dtype.is_float:
            with pytest.raises(GraphError) as raised:
                gradients(b, sum_(op.output), inputs)
            rule = operator.gradient_rule
            assert isinstance(rule, NotDifferentiable)
            assert raised.value.problem.found == f"{operator.name} has no gradient: {rule.reason}"
            return
        loss = sum_(inputs[0]) + sum_(cast(op.output, dtype="f32"))
        b.outputs = {"g": gradients(b, loss, inputs[:1])[0]}
        outputs, _ = evaluate(b.finish(), {str(i): array for i, (_, array) in enumerate(case.inputs())})
    assert (outputs["g"] == 1).all()
