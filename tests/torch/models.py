"""The three projects by hand in PyTorch, from our initial states and our batches: the outside judge of a whole training run.

A network takes its weights by our names, "<node>/weight" and "<node>/bias", and a batch by column name, and gives the loss.
Nothing of ours is used but the numbers; the dtype of the weights decides in what precision PyTorch computes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812  # PyTorch's own convention

Array = np.ndarray[Any, Any]
Weights = Mapping[str, Tensor]
Batch = Mapping[str, Tensor]


def _layer(w: Weights, node: str, x: Tensor) -> Tensor:
    return F.linear(x, w[f"{node}/weight"], w[f"{node}/bias"])


def xor_loss(w: Weights, batch: Batch) -> Tensor:
    hidden = torch.tanh(_layer(w, "linear 1", batch["x"]))
    return F.mse_loss(_layer(w, "linear 2", hidden), batch["y"])


def spiral_loss(w: Weights, batch: Batch) -> Tensor:
    hidden = torch.relu(_layer(w, "linear 1", batch["x"]))
    hidden = torch.relu(_layer(w, "linear 2", hidden))
    return F.cross_entropy(_layer(w, "linear 3", hidden), batch["label"])


def lenet_logits(w: Weights, image: Tensor) -> Tensor:
    x = image * (1 / 255)
    x = F.max_pool2d(torch.relu(F.conv2d(x, w["conv 1/weight"], w["conv 1/bias"], padding=2)), 2)
    x = F.max_pool2d(torch.relu(F.conv2d(x, w["conv 2/weight"], w["conv 2/bias"])), 2)
    x = torch.relu(_layer(w, "linear 1", x.flatten(1)))
    x = torch.relu(_layer(w, "linear 2", x))
    return _layer(w, "linear 3", x)


def lenet_loss(w: Weights, batch: Batch) -> Tensor:
    return F.cross_entropy(lenet_logits(w, batch["image"]), batch["label"])


def cosine(rate: float, steps: int) -> Callable[[int], float]:
    return lambda step: rate * 0.5 * (1 + math.cos(math.pi * min(step / steps, 1)))


@dataclass(frozen=True)
class Recipe:
    """A project's loss, its source node, and the learning rate of its Adam at each step, from 0."""

    loss: Callable[[Weights, Batch], Tensor]
    source: str
    rate: Callable[[int], float]


RECIPES = {
    "xor": Recipe(xor_loss, "points", lambda step: 0.05),
    "spiral_mlp": Recipe(spiral_loss, "spirals", cosine(0.01, 1500)),
    "digits_lenet": Recipe(lenet_loss, "digits", cosine(0.004, 900)),
}


class TorchRun:
    """One training run in PyTorch; `step` takes a batch of host arrays and gives the loss before the step."""

    def __init__(self, recipe: Recipe, start: Mapping[str, Array], dtype: torch.dtype):
        self.recipe, self.dtype, self.steps = recipe, dtype, 0
        self.weights = {name: torch.tensor(array).to(dtype).requires_grad_() for name, array in start.items()}
        self.optimiser = torch.optim.Adam(list(self.weights.values()), lr=1.0)

    def step(self, batch: Mapping[str, Array]) -> float:
        for group in self.optimiser.param_groups:
            group["lr"] = self.recipe.rate(self.steps)
        self.optimiser.zero_grad()
        loss = self.recipe.loss(self.weights, {name: self._tensor(name, array) for name, array in batch.items()})
        loss.backward()
        self.optimiser.step()
        self.steps += 1
        return float(loss.detach())

    def _tensor(self, name: str, array: Array) -> Tensor:
        return torch.tensor(array).to(torch.int64 if name == "label" else self.dtype)

    def parameters(self) -> dict[str, Array]:
        return {name: weight.detach().numpy().astype(np.float64) for name, weight in self.weights.items()}
