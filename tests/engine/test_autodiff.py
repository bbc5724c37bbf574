"""Gradients by hand: several uses, broadcasting, ties, repeated rows, pieces that are not trained, errors.

What finite differences can judge, `tests/nodes/test_all_operators.py` does for every operator.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import munet.nodes  # noqa: F401  # fills the registry
from munet.engine.autodiff import depends, gradients
from munet.engine.builder import Builder
from munet.engine.dtypes import F32, I32
from munet.engine.errors import GraphError
from munet.engine.ir.evaluate import evaluate
from munet.engine.ir.module import Op, Source, Value
from munet.engine.ir.verify import verify
from munet.engine.operator import Array
from munet.nodes.activations import relu, softmax
from munet.nodes.arithmetic import cast, div, maximum, stop_gradient, where
from munet.nodes.convolution import convolution
from munet.nodes.indexing import one_hot, take_rows
from munet.nodes.pooling import max_pool2d
from munet.nodes.reductions import argmax, max_, mean, sum_
from munet.nodes.shape_ops import concat, transpose
from tests.nodes.cases import device_dtype


def run(function: Callable[..., Value], *arrays: Array, order: int = 1, trained: int | None = None) -> tuple[Array, list[Array]]:
    """function(*values), and the gradients of its sum in the first `trained` inputs; `order` 2 differentiates their sum again."""
    b = Builder("test")
    sources = {str(i): np.asarray(array) for i, array in enumerate(arrays)}
    with b.active():
        values = [b.source(Source(n, "data", Value(a.shape, device_dtype(a), n))) for n, a in sources.items()]
        b.outputs["y"] = y = function(*values)
        wrt = values[:trained]
        loss = sum_(y) if y.rank else y
        grads = gradients(b, loss, wrt)
        for _ in range(order - 1):
            grads = gradients(b, sum_(grads[0]), wrt)
        b.outputs |= {f"g{i}": g for i, g in enumerate(grads)}
        module = verify(b.finish())
    outputs, _ = evaluate(module, sources)
    return outputs["y"], [outputs[f"g{i}"] for i in range(len(wrt))]


X = np.array([-2.0, 0.5, 3.0])


def test_several_uses_add_up():
    _, (g,) = run(lambda x: x * x + x, X)
    np.testing.assert_array_equal(g, 2 * X + 1)


def test_gradients_of_gradients():
    _, (g,) = run(lambda x: x * x * x, X, order=2)
    np.testing.assert_allclose(g, 6 * X)
    _, (g,) = run(lambda x: x * x * x, X, order=3)
    np.testing.assert_allclose(g, np.full(3, 6.0))


def test_broadcast_inputs_get_sums():
    a, b, c = np.arange(3.0).reshape(3, 1), np.arange(4.0).reshape(1, 4) + 1, np.array(2.0)
    _, grads = run(lambda a, b, c: a * b * c, a, b, c)
    np.testing.assert_array_equal(grads[0], np.full((3, 1), 20.0))
    np.testing.assert_array_equal(grads[1], np.full((1, 4), 6.0))
    np.testing.assert_array_equal(grads[2], np.array(30.0))


def test_what_the_loss_does_not_depend_on_gets_zeros():
    _, (a, b) = run(lambda a, b: a * 2.0, X, np.ones((2, 5)))
    np.testing.assert_array_equal(a, np.full(3, 2.0))
    np.testing.assert_array_equal(b, np.zeros((2, 5)))


def test_concatenation_with_a_piece_that_is_not_trained():
    b = Builder("test")
    with b.active():
        x, c, d = (b.source(Source(n, "data", Value((size,), device_dtype(X), n))) for n, size in (("x", 2), ("c", 1), ("d", 2)))
        weights = b.source(Source("w", "data", Value((5,), device_dtype(X), "w")))
        loss = sum_(concat(x, c, d, axis=0) * weights)
        b.outputs["x"], b.outputs["d"] = gradients(b, loss, [x, d])
        outputs, _ = evaluate(b.finish(), {"x": X[:2], "c": X[:1], "d": X[1:], "w": np.arange(1.0, 6.0)})
    np.testing.assert_array_equal(outputs["x"], [1, 2])
    np.testing.assert_array_equal(outputs["d"], [4, 5])


def test_rows_taken_twice_add_up():
    _, (g,) = run(lambda x, rows: take_rows(x, rows), np.ones((3, 2)), np.array([1, 1, 2], np.int32), trained=1)
    np.testing.assert_array_equal(g, [[0, 0], [2, 2], [1, 1]])


def test_seventy_thousand_equal_maxima_share_the_gradient():
    _, (g,) = run(lambda x: max_(x), np.full(70_000, 3.0, np.float32))
    np.testing.assert_allclose(g, np.full(70_000, 1 / 70_000), rtol=1e-6)


def test_max_pooling_keeps_not_a_number():
    x = np.array([np.nan, np.nan, 1.0]).reshape(1, 1, 1, 3)
    y, _ = run(lambda x: max_pool2d.function(None, x, (1, 2), (1, 1), (0, 0)), x)
    assert np.isnan(y).all()


def test_the_first_of_equal_pixels_gets_the_pool_s_gradient():
    _, (g,) = run(lambda x: max_pool2d.function(None, x, (2, 2), (2, 2), (0, 0)), np.ones((1, 1, 2, 5)))
    np.testing.assert_array_equal(g[0, 0], [[1, 0, 1, 0, 0], [0, 0, 0, 0, 0]])


def test_convolution_with_a_stride_that_leaves_pixels_over():
    x, weight = np.arange(12.0).reshape(1, 1, 1, 3, 4), np.ones((1, 1, 1, 2, 2))
    y, (dx, dw) = run(lambda x, w: convolution(x, w, stride=(2, 2)), x, weight)
    np.testing.assert_array_equal(y.ravel(), [10, 18])
    np.testing.assert_array_equal(dw[0, 0, 0], [[2, 4], [10, 12]])
    np.testing.assert_array_equal(dx[0, 0, 0], [[1, 1, 1, 1], [1, 1, 1, 1], [0, 0, 0, 0]])


def test_transposed_inputs():
    a, b = np.arange(6.0).reshape(2, 3), np.full((2, 3), 2.0)
    y, (da, db) = run(lambda a, b: 1.0 + div(transpose(a), transpose(b)), a, b)
    np.testing.assert_array_equal(y, [[1, 2.5], [1.5, 3], [2, 3.5]])
    np.testing.assert_array_equal(da, np.full((2, 3), 0.5))
    np.testing.assert_array_equal(db, -a / 4)


@pytest.mark.parametrize(
    ("rectify", "at_zero"),
    [(relu, 0.0), (lambda x: where(x > 0.0, x, 0.0), 0.0), (lambda x: maximum(x, 0.0), 0.5)],
    ids=["relu", "where", "maximum"],
)
def test_three_ways_to_rectify_differ_only_at_zero(rectify: Callable[[Value], Value], at_zero: float):
    y, (g,) = run(rectify, np.array([-1.0, 0.0, 2.0]))
    np.testing.assert_array_equal(y, [0, 0, 2])
    np.testing.assert_array_equal(g, [0, at_zero, 1])


def test_stop_gradient_stops_one_of_two_ways():
    _, (g,) = run(lambda x: x * stop_gradient(x), X)
    np.testing.assert_array_equal(g, X)


def test_no_gradient_flows_through_whole_numbers():
    """one_hot has no gradient, but none is asked of it: what leads into it are whole numbers."""
    x = np.array([[1.0, 3.0, 2.0]])
    _, (g,) = run(lambda x: x * one_hot(argmax(x), count=3), x)
    np.testing.assert_array_equal(g, [[0, 1, 0]])


def test_depends_tells_what_a_derivative_can_see():
    b = Builder("test")
    with b.active():
        x, rows = b.source(Source("x", "data", Value((5,), device_dtype(X)))), b.source(Source("r", "data", Value((2,), I32)))
        assert depends(b, mean(take_rows(x, rows)), [x])
        assert not depends(b, mean(cast(argmax(x), dtype="f32")), [x])
        assert not depends(b, mean(x), [])


@pytest.mark.parametrize("shape", [(2,), (1, 2)])
def test_a_loss_is_one_number(shape: tuple[int, ...]):
    b = Builder("test")
    with b.active():
        x = b.source(Source("x", "data", Value(shape, device_dtype(X))))
        with pytest.raises(GraphError) as raised:
            gradients(b, x, [x])
    assert str(raised.value) == (
        f"the loss has shape {list(shape)} and dtype f32.\n  Rule: a loss is a single float.  Try: a mean or sum before it."
    )


def test_an_operator_without_gradient_names_its_node():
    b = Builder("test")
    with b.active():
        ring = b.source(Source("ring", "data", Value((4, 2), device_dtype(X))))
        with b.at("the node"):
            row = b._op("take_row", {"x": [ring], "step": [b.step]})  # plumbing has no public door
        with pytest.raises(GraphError) as raised:
            gradients(b, sum_(row), [ring])
    assert str(raised.value) == (
        'node "the node": take_row has no gradient: it only brings numbers from the host.\n'
        "  Try: a stop_gradient before it, or another operator."
    )


def test_gradient_ops_are_filed_under_the_op_they_belong_to():
    b = Builder("test")
    with b.active():
        x = b.source(Source("x", "data", Value((5,), device_dtype(X))))
        with b.at("square"):
            y = x * x
        with b.at("total"):
            loss = sum_(y)
        before = len(b.ops)
        gradients(b, loss, [x])
    added: list[Op] = b.ops[before:]
    assert {op.origin for op in added if op.operator != "constant"} == {("square", "gradient"), ("total", "gradient")}


def test_the_gradient_of_softmax_has_a_gradient() -> None:
    """It is written by hand in terms of its result; against central differences of the formula, in double precision."""

    def slope(x: Array, w: Array) -> Array:
        powers = np.exp(x - x.max(-1, keepdims=True))
        y = powers / powers.sum(-1, keepdims=True)
        return y * (w - (w * y).sum(-1, keepdims=True))

    b = Builder("twice")
    with b.active():
        x, w, v = (b.source(Source(name, "data", Value((3, 5), F32, name))) for name in "xwv")
        (once,) = gradients(b, sum_(softmax(x) * w), [x])
        (twice,) = gradients(b, sum_(once * v), [x])
        b.outputs.update(once=once, twice=twice)
        module = b.finish()
    rng = np.random.default_rng(0)
    arrays = {name: rng.normal(size=(3, 5)) for name in "xwv"}
    found = evaluate(module, arrays)[0]
    np.testing.assert_allclose(found["once"], slope(arrays["x"], arrays["w"]), rtol=1e-10, atol=1e-12)
    expected, step = np.zeros((3, 5)), 1e-6
    for place in np.ndindex(3, 5):
        more, less = arrays["x"].copy(), arrays["x"].copy()
        more[place] += step
        less[place] -= step
        expected[place] = ((slope(more, arrays["w"]) - slope(less, arrays["w"])) * arrays["v"]).sum() / (2 * step)
    np.testing.assert_allclose(found["twice"], expected, atol=1e-8)
