"""Attention, composed of matrix products and softmax, and the pieces of a transformer round it."""

from __future__ import annotations

import math

from munet.engine.builder import Builder
from munet.engine.declaring import layer
from munet.engine.dtypes import BOOL
from munet.engine.errors import ShapeError
from munet.engine.ir.module import Initial, Value
from munet.engine.operator import Input, Output, Param
from munet.nodes.activations import gelu, softmax
from munet.nodes.arithmetic import where
from munet.nodes.indexing import take_rows
from munet.nodes.layers import linear, uniform
from munet.nodes.linear import matmul, swapped
from munet.nodes.normalisation import layer_norm
from munet.nodes.random import dropped
from munet.nodes.shape_ops import reshape, slice_, transpose, triangle

CATEGORY = "Attention"
MASKED = -1e30  # exp of it is 0, and unlike -inf it stays a number where a whole row is masked
MASK = Input("*any", "M:any", optional=True, doc="truth values, false where nothing may be read; or numbers added to the scores")


def attention(
    b: Builder, q: Value, k: Value, v: Value, mask: Value | None, *, causal: bool, scale: float = 0.0, dropout: float = 0.0
) -> Value:
    """softmax(q kᵀ · scale + mask) v over q [*batch, t, d], k [*batch, s, d], v [*batch, s, e]; scale 0 means 1 / √d."""
    scores = matmul(q, swapped(k)) * (scale or 1 / math.sqrt(max(q.shape[-1], 1)))
    if causal:
        scores = where(triangle(rows=q.shape[-2], columns=k.shape[-2]), scores, MASKED)
    if mask is None:
        weights = softmax(scores)
    elif mask.dtype is BOOL:
        weights = where(mask, softmax(where(mask, scores, MASKED)), 0.0)  # a row that is masked throughout gives 0
    else:
        weights = softmax(scores + mask)
    return matmul(dropped(b, weights, dropout), v)


@layer(
    "scaled_dot_product_attention",
    category=CATEGORY,
    inputs={
        "q": Input("*any t d", "T:float"),
        "k": Input("*any s d", "T:float"),
        "v": Input("*any s e", "T:float"),
        "mask": MASK,
    },
    params={
        "causal": Param(False, doc="each position reads itself and earlier ones only"),
        "scale": Param(0.0, min=0.0, doc="of the scores; 0 means 1 / √d"),
        "dropout": Param(0.0, min=0.0, max=1.0, doc="of the weights, while training"),
    },
    outputs={"y": Output("*any t e")},
)
def scaled_dot_product_attention(
    b: Builder, q: Value, k: Value, v: Value, mask: Value | None, causal: bool, scale: float, dropout: float
) -> Value:
    """Each query's mean of the values, weighted by how well the keys match it (Vaswani et al. 2017, arXiv 1706.03762).

    Formula: y = softmax(q kᵀ / √d + mask) v
    """
    return attention(b, q, k, v, mask, causal=causal, scale=scale, dropout=dropout)


def _heads(x: Value, heads: int) -> Value:
    """[*batch, t, e] as [*batch, heads, t, e / heads]."""
    *batch, length, width = x.shape
    split = reshape(x, shape=(*batch, length, heads, width // heads))
    lead = len(batch)
    return transpose(split, axes=(*range(lead), lead + 1, lead, lead + 2))


def _joined(x: Value) -> Value:
    """The reverse of `_heads`."""
    *batch, heads, length, width = x.shape
    lead = len(batch)
    moved = transpose(x, axes=(*range(lead), lead + 1, lead, lead + 2))
    return reshape(moved, shape=(*batch, length, heads * width))


@layer(
    "MultiHeadAttention",
    category=CATEGORY,
    inputs={
        "x": Input("*batch t e", "T:float"),
        "context": Input("*batch s e", "T:float", optional=True, doc="what is read; x itself if nothing is wired here"),
        "mask": MASK,
    },
    params={
        "heads": Param(4, min=1, doc="a divisor of x's width"),
        "causal": Param(False, doc="each position reads itself and earlier ones only"),
        "bias": Param(True),
        "dropout": Param(0.0, min=0.0, max=1.0, doc="of the weights, while training"),
    },
    outputs={"y": Output("*batch t e")},
)
def multi_head_attention(
    b: Builder, x: Value, context: Value | None, mask: Value | None, heads: int, causal: bool, bias: bool, dropout: float
) -> Value:
    """Attention by several heads side by side, with the four projections of torch.nn.MultiheadAttention, as they start there.

    x [*batch, t, e]; e is a multiple of `heads`. in_proj_weight [3 e, e] makes queries, keys and values.

    Formula:
        [q k v] = x in_proj_weightᵀ + in_proj_bias
        headᵢ = softmax(qᵢ kᵢᵀ / √(e / heads) + mask) vᵢ
        y = [head₁ head₂ …] out_proj.weightᵀ + out_proj.bias
    """
    width = x.shape[-1]
    if width % heads:
        raise ShapeError(
            f"x has width {width}",
            rule=f"the width is a multiple of heads = {heads}",
            cure="another number of heads",
            socket="heads",
        )
    weight = b.parameter("in_proj_weight", (3 * width, width), uniform(math.sqrt(6 / (4 * width))))
    offset = b.parameter("in_proj_bias", (3 * width,), Initial("zeros")) if bias else None

    def project(y: Value, first: int, count: int) -> Value:
        """`count` of queries, keys and values, from the first on, in one product."""
        start, length = first * width, count * width
        z = matmul(y, transpose(slice_(weight, axis=0, start=start, length=length)))
        return z if offset is None else z + slice_(offset, axis=0, start=start, length=length)

    if context is None:
        projected = project(x, 0, 3)
        q, k, v = (slice_(projected, axis=-1, start=i * width, length=width) for i in range(3))
    else:
        q, both = project(x, 0, 1), project(context, 1, 2)
        k, v = (slice_(both, axis=-1, start=i * width, length=width) for i in range(2))
    y = _joined(attention(b, _heads(q, heads), _heads(k, heads), _heads(v, heads), mask, causal=causal, dropout=dropout))
    bound = 1 / math.sqrt(width)
    y = matmul(y, transpose(b.parameter("out_proj.weight", (width, width), uniform(bound))))
    return y + b.parameter("out_proj.bias", (width,), Initial("zeros")) if bias else y


@layer(
    "Embedding",
    category=CATEGORY,
    inputs={"x": Input("*any", "I:integer")},
    params={
        "count": Param(256, min=1, doc="how many different numbers there are, from 0"),
        "width": Param(64, min=1, doc="of a row"),
        "deviation": Param(1.0, min=0.0, doc="of the normal distribution in which rows start"),
    },
    outputs={"y": Output("*any width", "f32")},
)
def embedding(b: Builder, x: Value, count: int, width: int, deviation: float) -> Value:
    """A learned row of numbers for each whole number: x [*any] gives [*any, width].

    Formula: y[…, j] = weight[x[…], j]
    """
    return take_rows(b.parameter("weight", (count, width), Initial("normal", (0.0, deviation))), x)


@layer(
    "PositionalEmbedding",
    category=CATEGORY,
    inputs={"x": Input("*batch t e", "T:float")},
    params={
        "length": Param(0, min=0, doc="longest sequence; 0 means x's own length"),
        "deviation": Param(0.02, min=0.0, doc="of the normal distribution in which rows start"),
    },
    outputs={"y": Output("*batch t e")},
)
def positional_embedding(b: Builder, x: Value, length: int, deviation: float) -> Value:
    """x plus a learned row for each position.

    Formula: y[…, t, j] = x[…, t, j] + weight[t, j]
    """
    found, width = x.shape[-2:]
    if length and found > length:
        raise ShapeError(
            f"x has {found} positions", rule=f"there are at most length = {length}", cure=f"length = {found}", socket="length"
        )
    rows = b.parameter("weight", (length or found, width), Initial("normal", (0.0, deviation)))
    return x + (slice_(rows, axis=0, start=0, length=found) if length > found else rows)


@layer(
    "TransformerBlock",
    category=CATEGORY,
    inputs={"x": Input("*batch t e", "T:float"), "mask": MASK},
    params={
        "heads": Param(4, min=1, doc="a divisor of x's width"),
        "hidden": Param(0, min=0, doc="width of the layer between; 0 means four times x's"),
        "causal": Param(True, doc="each position reads itself and earlier ones only"),
        "bias": Param(True),
        "dropout": Param(0.0, min=0.0, max=1.0),
    },
    outputs={"y": Output("*batch t e")},
)
def transformer_block(
    b: Builder, x: Value, mask: Value | None, heads: int, hidden: int, causal: bool, bias: bool, dropout: float
) -> Value:
    """A block of GPT-2: attention, then two linear layers, each behind a norm and beside a connection that skips it.

    Formula:
        h = x + attention(norm(x))
        y = h + linear(gelu(linear(norm(h))))
    """
    width = x.shape[-1]

    def norm(y: Value) -> Value:
        return layer_norm.function(b, y, dims=1, eps=1e-5, affine=True, bias=bias)

    with b.at("norm 1"):
        y = norm(x)
    with b.at("attention"):
        y = multi_head_attention.function(b, y, None, mask, heads=heads, causal=causal, bias=bias, dropout=dropout)
    with b.at("dropout 1"):
        x = x + dropped(b, y, dropout)
    with b.at("norm 2"):
        y = norm(x)
    with b.at("linear 1"):
        y = gelu(linear.function(b, y, out_features=hidden or 4 * width, bias=bias))
    with b.at("linear 2"):
        y = linear.function(b, y, out_features=width, bias=bias)
    with b.at("dropout 2"):
        return x + dropped(b, y, dropout)
