"""Optimisers, schedules, limits of gradients and the running average beside PyTorch's, over several steps in double precision."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from munet.engine.graph import Edge, Graph, Node
from munet.engine.hostscalar import StepContext
from munet.engine.initial import draw
from munet.engine.ir.evaluate import evaluate
from munet.engine.lower import Lowered, lower
from munet.engine.operator import REGISTRY, Array

STEPS = 7
Make = Callable[[Iterable[Tensor]], torch.optim.Optimizer]


def network(optimiser: str, **params: Any) -> Graph:
    nodes = [
        Node("data", "spiral", {"points": 20, "batch": 30}),
        Node("hidden", "Linear", {"out_features": 7}),
        Node("tanh", "tanh"),
        Node("out", "Linear", {"out_features": 3}),
        Node("loss", "cross_entropy"),
        Node("optimiser", optimiser, params),
    ]
    wires = [
        ("data", "x", "hidden", "x"),
        ("hidden", "y", "tanh", "x"),
        ("tanh", "y", "out", "x"),
        ("out", "y", "loss", "logits"),
        ("data", "label", "loss", "label"),
        ("loss", "loss", "optimiser", "loss"),
    ]
    return Graph("test", {node.id: node for node in nodes}, tuple(Edge(*wire) for wire in wires))


def first_sources(lowered: Lowered) -> dict[str, Array]:
    """The same batch in every step, states as drawn."""
    sources: dict[str, Array] = {}
    (feeding,) = lowered.sources
    for source in lowered.module.sources:
        if source.role == "state":
            array = draw(source, 5)
            sources[source.name] = array.astype(np.float64) if source.value.dtype.is_float else array
        elif source.role == "data":
            sources[source.name] = feeding.dataset.train[source.name.rpartition("/")[2]].astype(
                np.float64 if "x" in source.name else None
            )
        elif source.name != "scalars":
            sources[source.name] = np.broadcast_to(np.arange(30, dtype=np.int32), source.value.shape)
    return sources


def ours(graph: Graph) -> list[dict[str, Array]]:
    """All states after each step."""
    lowered = lower(graph)
    sources = first_sources(lowered)
    found: list[dict[str, Array]] = []
    for step in range(STEPS):
        context = StepContext(step, dict(lowered.live))
        row = np.array([scalar.value(context) for scalar in lowered.scalars])
        if lowered.scalars:
            sources["scalars"] = np.broadcast_to(row, (1024, len(row)))
        _, states = evaluate(lowered.module, sources)
        sources |= states
        found.append(dict(states))
    return found


def theirs(make: Make, limit: Callable[[list[Tensor]], Any] | None = None) -> list[dict[str, Array]]:
    """The parameters after each step of PyTorch's optimiser on the same network."""
    lowered = lower(network("SGD"))
    sources = first_sources(lowered)
    weights = {name: torch.from_numpy(sources[name]).requires_grad_() for name in sources if name.startswith(("hidden/", "out/"))}
    (x,) = (torch.from_numpy(array[:30]) for name, array in sources.items() if name.endswith("/x"))
    (label,) = (torch.from_numpy(array[:30].astype(np.int64)) for name, array in sources.items() if name.endswith("/label"))
    optimiser = make(weights.values())
    found: list[dict[str, Array]] = []
    for _ in range(STEPS):
        optimiser.zero_grad()
        hidden = torch.tanh(torch.nn.functional.linear(x, weights["hidden/weight"], weights["hidden/bias"]))
        logits = torch.nn.functional.linear(hidden, weights["out/weight"], weights["out/bias"])
        torch.nn.functional.cross_entropy(logits, label).backward()
        if limit:
            limit(list(weights.values()))
        optimiser.step()
        found.append({name: tensor.detach().numpy().copy() for name, tensor in weights.items()})
    return found


CASES: list[tuple[str, dict[str, Any], Make]] = [
    ("SGD", {"lr": 0.3}, lambda w: torch.optim.SGD(w, lr=0.3)),
    (
        "SGD",
        {"lr": 0.3, "momentum": 0.8, "nesterov": True, "weight_decay": 0.02},
        lambda w: torch.optim.SGD(w, lr=0.3, momentum=0.8, nesterov=True, weight_decay=0.02),
    ),
    ("Adam", {"lr": 0.05}, lambda w: torch.optim.Adam(w, lr=0.05)),
    ("Adam", {"lr": 0.05, "weight_decay": 0.1}, lambda w: torch.optim.Adam(w, lr=0.05, weight_decay=0.1)),
    ("AdamW", {"lr": 0.05}, lambda w: torch.optim.AdamW(w, lr=0.05)),
    (
        "AdamW",
        {"lr": 0.05, "weight_decay": 0.5, "beta1": 0.7},
        lambda w: torch.optim.AdamW(w, lr=0.05, weight_decay=0.5, betas=(0.7, 0.999)),
    ),
    ("RMSprop", {"lr": 0.01}, lambda w: torch.optim.RMSprop(w, lr=0.01)),
    (
        "RMSprop",
        {"momentum": 0.6, "centered": True, "weight_decay": 0.1},
        lambda w: torch.optim.RMSprop(w, lr=0.01, momentum=0.6, centered=True, weight_decay=0.1),
    ),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.2}, lambda w: torch.optim.Adagrad(w, lr=0.1, lr_decay=0.2)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "params", "make"), CASES, ids=[f"{i}-{case[0]}" for i, case in enumerate(CASES)])
def test_optimisers_step_as_pytorch_does(name: str, params: dict[str, Any], make: Make):
    for step, (found, expected) in enumerate(zip(ours(network(name, **params)), theirs(make), strict=True)):
        for key, array in expected.items():
            np.testing.assert_allclose(found[key], array, rtol=1e-6, atol=1e-7, err_msg=f"{name}, {key}, step {step}")


@pytest.mark.parametrize("limit", [0.01, 0.3, 100.0])
def test_gradients_are_limited(limit: float):
    clip = torch.nn.utils.clip_grad_norm_
    expected = theirs(lambda w: torch.optim.SGD(w, lr=0.3), lambda weights: clip(weights, limit))
    found = ours(network("SGD", lr=0.3, clip_norm=limit))
    for key, array in expected[-1].items():
        np.testing.assert_allclose(found[-1][key], array, rtol=1e-6, atol=1e-7)
    value = limit / 30
    expected = theirs(lambda w: torch.optim.SGD(w, lr=0.3), lambda weights: torch.nn.utils.clip_grad_value_(weights, value))
    found = ours(network("SGD", lr=0.3, clip_value=value))
    for key, array in expected[-1].items():
        np.testing.assert_allclose(found[-1][key], array, rtol=1e-6, atol=1e-7)


def test_the_running_average():
    found = ours(network("Adam", lr=0.05, ema=0.75))
    average: dict[str, Array] = {}
    for states in found:
        for key in ("hidden/weight", "out/bias"):
            now = states[key]
            average[key] = 0.75 * average[key] + 0.25 * now if key in average else now
            np.testing.assert_allclose(states[f"optimiser/{key}/ema"], average[key], rtol=1e-6)


def test_lion_by_its_definition():
    found = ours(network("Lion", lr=0.01, weight_decay=0.1))
    start = first_sources(lower(network("Lion", lr=0.01, weight_decay=0.1)))
    moved = found[0]["hidden/weight"] - start["hidden/weight"] * (1 - 0.01 * 0.1)
    np.testing.assert_allclose(np.abs(moved), 0.01, rtol=1e-5)


def test_biases_may_be_spared_from_decay():
    for spared in (True, False):
        found = ours(network("AdamW", lr=0.0, weight_decay=0.5, decay_vectors=not spared))
        start = first_sources(lower(network("AdamW")))
        assert (found[0]["out/bias"] == start["out/bias"]).all()  # lr 0: nothing moves at all
    spared, all_decay = (ours(network("AdamW", lr=0.05, weight_decay=0.5, decay_vectors=which))[0] for which in (False, True))
    assert (spared["out/weight"] == all_decay["out/weight"]).all()
    assert (spared["out/bias"] != all_decay["out/bias"]).all()


# -- schedules -----------------------------------------------------------------------------------------------------------------


def rates(make: Callable[[torch.optim.Optimizer], Any], steps: int, lr: float = 0.4) -> list[float]:
    optimiser = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=lr)
    schedule = make(optimiser)
    found: list[float] = []
    for _ in range(steps):
        found.append(optimiser.param_groups[0]["lr"])
        optimiser.step()
        schedule.step()
    return found


def test_schedules_as_pytorch():
    lr = torch.optim.lr_scheduler

    def own(name: str, count: int, **params: float) -> list[float]:
        declared = REGISTRY[name]
        return [declared.function(step, **declared.checked_params({"rate": 0.4} | params)) for step in range(count)]

    assert own("step_decay", 20, every=6, factor=0.3) == pytest.approx(rates(lambda o: lr.StepLR(o, 6, 0.3), 20))
    assert own("exponential", 20, factor=0.9) == pytest.approx(rates(lambda o: lr.ExponentialLR(o, 0.9), 20))
    cycle = rates(lambda o: lr.OneCycleLR(o, 0.4, total_steps=30), 30)
    assert own("one_cycle", 30, steps=30) == pytest.approx(cycle)
    assert own("one_cycle", 40, steps=30)[-1] == pytest.approx(cycle[-1])
    warm = own("linear_warmup", 20, warmup=8)
    assert warm[:8] == pytest.approx([0.4 * (i + 1) / 8 for i in range(8)])
    assert warm[8:] == [0.4] * 12
