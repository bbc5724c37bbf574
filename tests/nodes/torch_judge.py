"""Values and gradients of operators and layers beside PyTorch's, both in double precision on the host."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from munet.engine.autodiff import gradients
from munet.engine.builder import Builder
from munet.engine.ir.evaluate import evaluate
from munet.engine.ir.module import Source, Value
from munet.engine.operator import REGISTRY, Array, Layer, Operator
from munet.nodes.reductions import sum_
from tests.nodes.cases import device_dtype

Theirs = Callable[[Any, Any], Tensor]  # (inputs, states by name) -> result


@dataclass(frozen=True)
class Ours:
    """A node's result, its gradients by name (inputs "0", "1", ... and parameters), and all states before and after the step."""

    result: Array
    grads: Mapping[str, Array]
    states: Mapping[str, Array]
    after: Mapping[str, Array]
    weight: Array


def run_node(
    name: str,
    arrays: Sequence[Array | None],
    params: Mapping[str, Any],
    *,
    training: bool = True,
    output: str = "",
    seed: int = 3,
) -> Ours:
    """The node alone, with random states, before a loss that weighs each element of its result at random."""
    declared, rng = REGISTRY[name], np.random.default_rng(seed)
    b = Builder("node", training=training)
    sources: dict[str, Array] = {}

    def data(key: str, array: Array) -> Value:
        sources[key] = array
        return b.source(Source(key, "data", Value(array.shape, device_dtype(array), key)))

    with b.active():
        inputs = [None if array is None else data(str(i), array) for i, array in enumerate(arrays)]
        if isinstance(declared, Operator):
            result = declared(*inputs, **params)
        else:
            assert isinstance(declared, Layer)
            given: list[Any] = [*inputs, *(None for _ in range(len(declared.inputs) - len(inputs)))]
            if any(socket.variadic for socket in declared.inputs.values()):
                given = [tuple(inputs)]
            result = declared.function(b, *given, **declared.checked_params(params))
        if isinstance(result, dict):
            result = result[output]
        weight = rng.normal(size=result.shape)
        loss = sum_(result * data("weighting", weight)) if result.dtype.is_float else None
        wrt = {key: s.value for key, s in b.sources.items() if s.value.dtype.is_float and key != "weighting"}
        wrt = {key: value for key, value in wrt.items() if b.sources[key].group in ("", "parameter")}
        grads = gradients(b, loss, list(wrt.values())) if loss is not None else []
        b.outputs |= {"result": result} | {f"d {key}": g for key, g in zip(wrt, grads, strict=bool(grads))}
        module = b.finish()
    states = {s.name: _start(rng, s) for s in module.states}
    outputs, after = evaluate(module, sources | states)
    found = {key: outputs[f"d {key}"] for key in wrt} if grads else {}
    return Ours(outputs["result"], found, states, after, weight)


def _start(rng: np.random.Generator, source: Source) -> Array:
    if source.value.dtype.is_float:
        return rng.uniform(0.2, 1.5, size=source.value.shape)
    return np.zeros(source.value.shape, source.value.dtype.host)


def agree(
    name: str,
    theirs: Theirs,
    arrays: Sequence[Array | None],
    *,
    training: bool = True,
    output: str = "",
    rtol: float = 3e-7,  # constants of the IR are f32
    **params: Any,
) -> Ours:
    """Our node and PyTorch's give the same result and the same gradients of all inputs and parameters."""
    ours = run_node(name, arrays, params, training=training, output=output)
    inputs = [torch.from_numpy(array.copy()) for array in arrays if array is not None]
    for tensor in inputs:
        tensor.requires_grad_(tensor.dtype.is_floating_point)
    states = {key: torch.from_numpy(array.copy()) for key, array in ours.states.items()}
    for key, tensor in states.items():
        tensor.requires_grad_(key in ours.grads)
    result = theirs(inputs, states)
    np.testing.assert_allclose(ours.result, result.detach().numpy(), rtol=rtol, atol=rtol, err_msg=name)
    if ours.grads:
        (result * torch.from_numpy(ours.weight)).sum().backward()
        leaves = {str(i): tensor for i, tensor in enumerate(inputs)} | states
        for key, grad in ours.grads.items():
            judge = leaves[key].grad
            expected = np.zeros(grad.shape) if judge is None else judge.numpy()
            np.testing.assert_allclose(grad, expected, rtol=rtol, atol=rtol, err_msg=f"{name}: gradient of {key}")
    return ours
