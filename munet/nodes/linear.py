"""Matrix products."""

from __future__ import annotations

import math

from munet.engine.declaring import operator
from munet.engine.ir.module import Value
from munet.engine.kernels import Contraction
from munet.engine.operator import Array, Grads, Input, Output, Sample
from munet.nodes.samples import normal
from munet.nodes.shape_ops import reshape, transpose


@operator(
    "matmul",
    category="Linear algebra",
    inputs={"x": Input("*batch m k", "T:float"), "y": Input("*batch k n", "T:float")},
    outputs={"z": Output("*batch m n")},
    kernel=Contraction("z[*batch,m,n] += x[*batch,m,k] * y[*batch,k,n]"),
    samples=[
        Sample({"x": normal(7, 11), "y": normal(11, 5)}),
        Sample({"x": normal(3, 1, 7, 2), "y": normal(4, 2, 5)}),
        Sample({"x": normal(1, 1), "y": normal(1, 1)}),
        Sample({"x": normal(33, 130), "y": normal(130, 65)}),
    ],
)
def matmul(x: Array, y: Array) -> Array:
    """Matrix product of the last two dimensions; leading ones broadcast."""
    return x @ y


def swapped(x: Value) -> Value:
    """x with its last two dimensions exchanged."""
    return transpose(x, axes=(*range(x.rank - 2), x.rank - 1, x.rank - 2))


@matmul.gradient
def matmul_gradient(g: Value, x: Value, y: Value) -> Grads:
    if y.rank == 2 < x.rank:  # one matrix for all batches: its gradient is one sum over all of their rows
        rows_x, rows_g = (reshape(value, shape=(math.prod(value.shape[:-1]), value.shape[-1])) for value in (x, g))
        return {"x": matmul(g, swapped(y)), "y": matmul(swapped(rows_x), rows_g)}
    return {"x": matmul(g, swapped(y)), "y": matmul(swapped(x), g)}
