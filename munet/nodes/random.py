"""Random numbers, and layers that use them while training. Each node draws from a stream of its own.

Philox4x32-10: the key belongs to (seed, node) and is a state, so that a resumed run goes on with its stream; the counter is
(step, element). Words and uniforms, and with them all masks, are equal bit for bit on every device.
"""

from __future__ import annotations

import numpy as np

from munet.engine import philox
from munet.engine.builder import Builder
from munet.engine.declaring import layer, not_differentiable, operator
from munet.engine.dtypes import F32, I32, U32
from munet.engine.index import Index, flatten, within
from munet.engine.ir.module import Initial, Shape, Value
from munet.engine.kernels import Indices, Site, View, number_to_index
from munet.engine.operator import Array, Choice, Grads, Input, Output, Param, Sample
from munet.engine.scalar import Divides, Expr, InRange, Literal, Position, apply, guarded
from munet.nodes.arithmetic import cast, less, where
from munet.nodes.functions import mod
from munet.nodes.samples import normal as numbers
from munet.nodes.samples import whole

CATEGORY = "Random"
DRAWN = {"shape": Param((), doc="sizes of the result")}
KEY, STEP = np.array([0x243F6A88, 0x85A308D3], np.uint32), np.array(5, np.int32)


def _random(site: Site, index: Indices) -> Expr:
    shape = site.op.output.shape
    key = [site.load("key", (word,)) for word in (0, 1)]
    element = apply("u32", Position(flatten(index, shape)))
    return apply(f"random_{site.params['kind']}", *key, apply("u32", site.load("step", ())), element)


@operator(
    "random",
    category="",
    inputs={"key": Input("2", "u32"), "step": Input("", "i32")},
    params={"shape": Param(()), "kind": Choice("uniform", "normal", "bits")},
    outputs={
        "y": Output(lambda shapes, params: params["shape"], lambda dtypes, params: U32 if params["kind"] == "bits" else F32)
    },
    kernel=View(_random),
    samples=[
        Sample({"key": KEY, "step": STEP}, {"shape": (7, 11)}),
        Sample({"key": KEY, "step": STEP}, {"shape": (3, 5, 2), "kind": "normal"}),
        Sample({"key": KEY, "step": STEP}, {"shape": (13,), "kind": "bits"}),
        Sample({"key": KEY, "step": STEP}, {"shape": ()}),
    ],
    gradient=not_differentiable("it is made of whole numbers"),
)
def random(key: Array, step: Array, shape: Shape, kind: str) -> Array:
    """One number an element of the stream `key` at `step`: uniform in [0, 1), standard normal, or a 32-bit word."""
    words = philox.random_words((int(key[0]), int(key[1])), int(step), int(np.prod(shape, dtype=np.int64)))
    numbers = {
        "uniform": lambda: philox.to_uniform(words[:, 0]),
        "normal": lambda: philox.to_normal(words),
        "bits": lambda: words[:, 0],
    }
    return numbers[kind]().reshape(shape)


def draw(b: Builder, shape: Shape, kind: str = "uniform") -> Value:
    """Fresh numbers in every step, from the stream of the current origin: one such stream for each origin."""
    key = b.state("key", (2,), initial=Initial("stream_key"), group="random", dtype=U32)
    return random(key, b.step, shape=shape, kind=kind)


@layer(
    "uniform",
    category=CATEGORY,
    inputs={},
    params={**DRAWN, "low": Param(0.0), "high": Param(1.0)},
    example=Sample({}, {"shape": (2, 3)}),
    outputs={"y": Output("*shape", "f32")},
)
def uniform(b: Builder, shape: Shape, low: float, high: float) -> Value:
    """Numbers spread evenly from `low` to `high`, new ones in every step.

    Formula: y ~ U(low, high)
    """
    numbers = draw(b, shape)
    return numbers if (low, high) == (0.0, 1.0) else numbers * (high - low) + low


@layer(
    "normal",
    category=CATEGORY,
    inputs={},
    params={**DRAWN, "mean": Param(0.0), "deviation": Param(1.0, min=0.0)},
    example=Sample({}, {"shape": (2, 3)}),
    outputs={"y": Output("*shape", "f32")},
)
def normal(b: Builder, shape: Shape, mean: float, deviation: float) -> Value:
    """Normally distributed numbers, new ones in every step.

    Formula: y ~ N(mean, deviation²)
    """
    numbers = draw(b, shape, "normal")
    return numbers if (mean, deviation) == (0.0, 1.0) else numbers * deviation + mean


@layer(
    "bernoulli",
    category=CATEGORY,
    inputs={"x": Input("*any", "T:float", doc="the probability of each element")},
    outputs={"y": Output("*any", "f32")},
)
def bernoulli(b: Builder, x: Value) -> Value:
    """1 with the probability that x gives, else 0; no gradient flows to x.

    Formula: P(y = 1) = x, P(y = 0) = 1 − x
    """
    return cast(less(draw(b, x.shape), x), dtype="f32")


def dropped(b: Builder, x: Value, p: float) -> Value:
    """x with elements set to 0 with probability p and the others scaled by 1 / (1 - p); x as it is outside of training."""
    if p == 0 or not b.training:
        return x
    if p == 1:
        return x * 0.0
    keep = less(draw(b, x.shape), 1.0 - p)
    return where(keep, x * (1 / (1 - p)), 0.0)


@layer(
    "Dropout",
    category=CATEGORY,
    inputs={"x": Input("*any", "T:float")},
    params={"p": Param(0.5, min=0.0, max=1.0, doc="share of elements that are set to 0")},
)
def dropout(b: Builder, x: Value, p: float) -> Value:
    """While training, sets elements to 0 at random and scales the others up; otherwise x as it is (Srivastava et al. 2014).

    Formula: y = x · m / (1 − p), where m is 0 with probability p, else 1
    """
    return dropped(b, x, p)


@layer(
    "GaussianNoise",
    category=CATEGORY,
    inputs={"x": Input("*any", "T:float")},
    params={"deviation": Param(0.1, min=0.0, doc="standard deviation of what is added")},
)
def gaussian_noise(b: Builder, x: Value, deviation: float) -> Value:
    """While training, x plus normally distributed noise; otherwise x as it is.

    Formula: y = x + deviation · e, e ~ N(0, 1)
    """
    return x + draw(b, x.shape, "normal") * deviation if b.training and deviation else x


def _shifted(site: Site, index: Indices) -> Expr:
    n, c, *place = index
    reach, sizes = site.params["reach"], site.shape("x")[2:]
    tests: list[InRange | Divides] = []
    moved: list[Index] = []
    for axis, (i, size) in enumerate(zip(place, sizes, strict=True)):
        offset = apply("+", site.load("offset", (n, axis)), Literal(reach, I32))
        limited = apply("clamp", offset, Literal(0, I32), Literal(2 * reach, I32))
        there = i + number_to_index(limited, 2 * reach + 1) - reach
        tests.append(InRange(there, 0, size))
        moved.append(within(there, size))
    return guarded(tests, site.load("x", (n, c, *moved)))


@operator(
    "shift_pixels",
    category="",
    inputs={"x": Input("n c h w", "T:float"), "offset": Input("n 2", "i32")},
    params={"reach": Param(1, min=0)},
    outputs={"y": Output("n c h w")},
    kernel=View(_shifted),
    samples=[
        Sample({"x": numbers(3, 2, 5, 7), "offset": whole(3, 2, high=5) - np.int32(2)}, {"reach": 2}),
        Sample({"x": numbers(2, 1, 3, 3), "offset": whole(2, 2, high=1)}, {"reach": 0}),
    ],
)
def shift_pixels(x: Array, offset: Array, reach: int) -> Array:
    """y[n, :, i, j] = x[n, :, i + offset[n, 0], j + offset[n, 1]], zero outside; offsets are at most `reach`."""
    h, w = x.shape[2:]
    padded = np.pad(x, [(0, 0), (0, 0), (reach, reach), (reach, reach)])
    starts = np.clip(offset, -reach, reach) + reach
    pieces = [image[:, top : top + h, left : left + w] for image, (top, left) in zip(padded, starts, strict=True)]
    return np.stack(pieces) if pieces else x


@shift_pixels.gradient
def shift_gradient(g: Value, offset: Value, reach: int) -> Grads:
    return {"x": shift_pixels(g, -offset, reach=reach), "offset": None}


@layer(
    "RandomShift",
    category=CATEGORY,
    inputs={"x": Input("n c h w", "T:float")},
    params={"reach": Param(2, min=0, max=1024, doc="largest shift in pixels, in each direction")},
    outputs={"y": Output("n c h w")},
)
def random_shift(b: Builder, x: Value, reach: int) -> Value:
    """While training, shifts each image by whole pixels, up to `reach` down and across; what comes in is zero.

    Formula: y[n, c, i, j] = x[n, c, i + a, j + b], a and b at random from −reach to reach
    """
    if not b.training or not reach:
        return x
    words = draw(b, (x.shape[0], 2), "bits")
    return shift_pixels(x, cast(mod(words, 2 * reach + 1), dtype="i32") - reach, reach=reach)
