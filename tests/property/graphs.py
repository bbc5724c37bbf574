"""Random small modules, and running a module's program once on an executor."""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Mapping

import numpy as np

from munet.engine.autodiff import gradients
from munet.engine.builder import Builder
from munet.engine.compile import compile_program
from munet.engine.dtypes import F32
from munet.engine.execute.base import Array, Executor
from munet.engine.ir.module import Initial, Module, Source, Value
from munet.nodes.activations import relu, sigmoid, tanh
from munet.nodes.arithmetic import exp, greater, maximum, sqrt, where
from munet.nodes.indexing import pick, take_rows
from munet.nodes.linear import matmul
from munet.nodes.reductions import argmax, max_, mean, sum_
from munet.nodes.shape_ops import concat, expand, pad, reshape, slice_, transpose

DIMS = (1, 2, 3, 5, 7)
LARGE = 2000  # elements; nothing grows beyond


def random_module(seed: int, size: int) -> Module:
    """A module of about `size` random ops on two inputs and two parameters, with gradients and an update of both parameters."""
    rng = random.Random(seed)
    b = Builder("random")
    with b.active():
        shape = (rng.choice(DIMS), rng.choice(DIMS), rng.choice(DIMS))
        pool = [b.source(Source(f"x{i}", "data", Value(shape, F32, f"x{i}"))) for i in range(2)]
        parameters = [b.parameter(f"w{i}", shape, Initial("uniform", (-1.0, 1.0))) for i in range(2)]
        pool += parameters
        for _ in range(size):
            with b.at(f"node {len(pool)}"):
                pool.append(_random_op(rng, pool))
        loss = sum_(tanh(pool[-1])) + mean(pool[-1] * 0.1)
        for value in rng.sample(pool, min(3, len(pool))):
            loss = loss + mean(value * value) * 0.01
        with b.at("optimiser"):
            for parameter, g in zip(parameters, gradients(b, loss, parameters), strict=True):
                b.set_result(parameter, parameter - 0.1 * g)
        b.outputs["loss"] = loss
        b.outputs["last"] = pool[-1]
        return b.finish()


def _random_op(rng: random.Random, pool: list[Value]) -> Value:
    x = rng.choice(pool[-6:])
    kinds = [_unary, _binary, _binary, _reduce, _move, _select]
    if x.rank >= 2:
        kinds += [_product, _softmax, _normal]
    return rng.choice(kinds)(rng, x, pool)


def _unary(rng: random.Random, x: Value, pool: list[Value]) -> Value:
    return rng.choice([tanh, relu, sigmoid, lambda v: exp(tanh(v)), lambda v: sqrt(v * v + 0.5), lambda v: v * 0.5 + 1.0])(x)


def _binary(rng: random.Random, x: Value, pool: list[Value]) -> Value:
    y = rng.choice([v for v in pool if _broadcasts(v, x)] or [x])
    combine = [
        lambda a, c: a + c,
        lambda a, c: a - c,
        lambda a, c: a * tanh(c),
        maximum,
        lambda a, c: a / (c * c + 1.0),
        lambda a, c: where(greater(a, c), a, c * 0.5),
    ]
    return rng.choice(combine)(x, y)


def _broadcasts(x: Value, y: Value) -> bool:
    try:
        return math.prod(np.broadcast_shapes(x.shape, y.shape)) < LARGE
    except ValueError:
        return False


def _reduce(rng: random.Random, x: Value, pool: list[Value]) -> Value:
    axes = tuple(sorted(rng.sample(range(x.rank), rng.randint(0, x.rank)))) if x.rank else ()
    reduced = rng.choice([sum_, mean, max_])(x, axes=axes, keepdims=rng.random() < 0.5)
    return x - reduced if rng.random() < 0.5 and _broadcasts(reduced, x) else reduced


def _move(rng: random.Random, x: Value, pool: list[Value]) -> Value:
    if not x.rank:
        return expand(x, shape=(3,))
    axis = rng.randrange(x.rank)
    size = x.shape[axis]
    order = list(range(x.rank))
    rng.shuffle(order)
    moves = [
        lambda: transpose(x, axes=tuple(order)),
        lambda: reshape(x, shape=(-1,)),
        lambda: reshape(x, shape=(x.element_count // x.shape[0], x.shape[0])),
        lambda: pad(x, axis=axis, before=1, after=2),
        lambda: slice_(x, axis=axis, start=size // 2, length=size - size // 2),
        lambda: concat(x, x * 0.5, axis=axis),
    ]
    return rng.choice(moves if x.element_count < LARGE else moves[:3])()


def _select(rng: random.Random, x: Value, pool: list[Value]) -> Value:
    if x.rank < 2:
        return tanh(x)
    if x.rank > 2:
        return pick(x, argmax(x))  # rows of rows of rows would grow beyond measure
    return rng.choice([lambda: pick(x, argmax(x)), lambda: take_rows(x, argmax(x, axis=0))])()


def _product(rng: random.Random, x: Value, pool: list[Value]) -> Value:
    other = transpose(x, axes=(*range(x.rank - 2), x.rank - 1, x.rank - 2))
    return matmul(x * 0.3, tanh(other))


def _softmax(rng: random.Random, x: Value, pool: list[Value]) -> Value:
    e = exp(x - max_(x, axes=(-1,), keepdims=True))
    return e / sum_(e, axes=(-1,), keepdims=True)


def _normal(rng: random.Random, x: Value, pool: list[Value]) -> Value:
    centred = x - mean(x, axes=(-1,), keepdims=True)
    return centred / sqrt(mean(centred * centred, axes=(-1,), keepdims=True) + 0.1)


def inputs_of(module: Module, seed: int = 0) -> dict[str, Array]:
    """Seeded arrays for all sources of a module without feeds."""
    rng = np.random.default_rng(seed)
    return {s.name: rng.normal(size=s.value.shape).astype(s.value.dtype.host) for s in module.sources}


def run_once(
    executor: Executor, module: Module, inputs: Mapping[str, Array], *, off: Collection[str] = (), poison: bool = False
) -> dict[str, Array]:
    """Outputs and states after one step, by name."""
    program = compile_program(module, executor.info, off=off, check=True)
    executor.load(program, poison=poison)
    for source in program.module.sources:
        placement = program.placements[source.value]
        executor.write(placement.buffer, np.ascontiguousarray(inputs[source.name]), offset_bytes=placement.offset_bytes)
    executor.wait(executor.submit(program, first_step=0, steps=1, feeds={}))
    wanted = {**program.module.outputs, **{s.name: s.value for s in program.module.states}}
    results: dict[str, Array] = {}
    for name, value in wanted.items():
        placement = program.placements[value]
        content = executor.read(placement.buffer, offset_bytes=placement.offset_bytes, size_bytes=placement.size_bytes)
        results[name] = np.frombuffer(content, value.dtype.host).reshape(value.shape)
    return results
