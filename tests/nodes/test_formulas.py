"""Formulas of the help say what nodes compute: they are read back, and compared with the reference, the schedule, the example."""

from __future__ import annotations

import inspect as source_code
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import munet.nodes  # noqa: F401  # fills the registry
from munet.declare import Elementwise
from munet.engine.example import example_of
from munet.engine.formulas import MARK, of_docstring, of_kernel, written
from munet.engine.kernels import Contraction, Reduction, parse
from munet.engine.operator import REGISTRY, Operator, Optimiser, Schedule
from tests.nodes.mathematics import evaluate

ALL = [*REGISTRY.values()]
POINTWISE = [d for d in ALL if isinstance(d, Operator) and isinstance(d.kernel, Elementwise)]
NOT_READ_BACK = {"erf"}  # an integral


@pytest.mark.parametrize("declared", [d for d in POINTWISE if d.name not in NOT_READ_BACK], ids=lambda declared: declared.name)
def test_formulas_of_elementwise_operators_are_what_the_reference_computes(declared: Operator):
    (socket,) = declared.outputs
    for sample in declared.samples:
        arrays = {name: np.asarray(value) for name, value in sample.inputs.items()}
        if any(np.abs(array).max() > 50 for array in arrays.values()):
            continue  # formulas are mathematics; in both tails, kernels are careful where these overflow
        params = declared.checked_params(sample.params)
        with np.errstate(all="ignore"):
            expected = declared.reference(*arrays.values(), **params)
        found = evaluate(declared.formula, {**arrays, **params})[socket]
        np.testing.assert_allclose(np.asarray(found, float), np.asarray(expected, float), rtol=5e-6, atol=1e-9)


@pytest.mark.parametrize("name", ["constant_rate", "cosine", "linear_warmup", "step_decay", "exponential", "one_cycle"])
@pytest.mark.parametrize("given", [{}, {"warmup": 7}, {"steps": 50}], ids=str)
def test_formulas_of_schedules_are_the_schedules(name: str, given: Mapping[str, Any]):
    declared = REGISTRY[name]
    assert isinstance(declared, Schedule)
    params = declared.checked_params({key: value for key, value in given.items() if key in declared.params})
    for step in (0, 1, 6, 7, 19, 99, 300, 1000, 5000):
        found = evaluate(declared.formula, {name: np.float64(value) for name, value in {**params, "t": step}.items()})["rate"]
        assert found == pytest.approx(declared.function(step, **params), rel=1e-9, abs=1e-18)


OPTIMISERS = [d for d in ALL if isinstance(d, Optimiser)]


@pytest.mark.parametrize("declared", OPTIMISERS, ids=lambda declared: declared.name)
def test_formulas_of_optimisers_are_the_updates(declared: Optimiser):
    """From the lines themselves: three updates, with the slots in the letters of the formula."""
    lines = tuple(line for line in declared.formula if ":" not in line)  # those behind a word are for a switch
    example = example_of(declared)
    assert example is not None and len(lines) >= 3
    state: dict[str, Any] = dict.fromkeys("mvbs", 0.0) | {"w": 1.0}
    for step, expected in enumerate(example.outputs[0].numbers, start=1):
        state = evaluate(lines, {**declared.checked_params({}), **state, "g": 0.5, "t": step})
        assert state["w"] == pytest.approx(expected, rel=1e-6)


def test_optimisers_examples_are_their_first_steps():
    def numbers(name: str) -> Any:
        example = example_of(REGISTRY[name])
        assert example is not None
        return example.outputs[0].numbers

    assert numbers("SGD") == pytest.approx([0.95, 0.9, 0.85])
    assert numbers("Adam") == pytest.approx([0.999, 0.998, 0.997], abs=1e-7)  # its first steps are as long as the rate


READ_BACK = {  # layers whose formula is an expression, with the output that it is of
    "mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss", "bce_loss", "kl_div_loss", "bce_with_logits",
    "mean_absolute_error", "psnr", "softmax", "log_softmax", "norm", "logsumexp", "Normalise",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(READ_BACK))
def test_formulas_of_layers_give_their_example(name: str):
    declared = REGISTRY[name]
    example = example_of(declared)
    assert example is not None
    inputs = {tensor.name: np.asarray(tensor.numbers) for tensor in example.inputs}
    (output,) = example.outputs
    found = evaluate(declared.formula, {**declared.checked_params({}), **inputs})[output.name]
    np.testing.assert_allclose(found, output.numbers, rtol=1e-6)


def test_formulas_are_written_as_mathematics_is():
    def said(text: str) -> str:
        return written(parse(text))

    assert said("x * x * x - (a - (b + c))") == "x³ − (a − (b + c))"
    assert said("a / (b * c) * -(d + 1.0)") == "a / (b · c) · −(d + 1)"
    assert said("sqrt(x + 1.0) * abs(sqrt(x)) / 0.5") == "√(x + 1) · |√x| / 0.5"
    assert said("x if x > 0.0 and not t else (y if t else z) * 2.0") == "x if x > 0 and not t, else (y if t, else z) · 2"
    assert said("pow(x, y + 1.0) + floordiv(a, b) - rsqrt(v)") == "x ^ (y + 1) + ⌊a / b⌋ − 1 / √v"
    assert of_kernel(Elementwise("x == y"), ["z"]) == ("z = (x = y)",)
    assert of_kernel(Reduction("add", finish="acc / count"), ["y"]) == ("y = (Σ x) / count",)
    assert of_kernel(Contraction("z[*b,m,n] += x[*b,m,k] * y[*b,k,n]"), ["z"]) == ("z[…, m, n] = Σ_k x[…, m, k] · y[…, k, n]",)


def test_a_docstring_may_have_a_formula():
    def one() -> None:
        """Words
        of two lines.

        Formula: y = x
        """

    def several() -> None:
        """Words.

        Formula:
            a = x
            y = a

        More words.
        """

    def none() -> None:
        pass

    assert of_docstring(one) == ("Words of two lines.", ("y = x",))
    assert of_docstring(several) == ("Words.\n\nMore words.", ("a = x", "y = a"))
    assert of_docstring(none) == ("", ())


def test_docstrings_keep_their_formulas_when_they_are_formatted():
    """A formula stands behind its mark: indentation alone would be taken away by the formatter."""
    for declared in ALL:
        text = source_code.cleandoc(declared.function.__doc__ or "")
        assert not any(line.startswith("    ") for line in text.splitlines() if MARK not in text)
