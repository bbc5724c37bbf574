"""The three projects' networks by hand in PyTorch, from our states and batches: the outside judge of a whole training run.

A network takes its weights by our names, "<node>/weight" and "<node>/bias", and a batch by column name; it returns the
loss. Weights and batches may be f32 or f64, the dtype decides in what precision PyTorch computes.
"""

from __future__ import annotations

from collections.abc import Mapping
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


def xor_output(w: Weights, batch: Batch) -> Tensor:
    return _layer(w, "linear 2", torch.tanh(_layer(w, "linear 1", batch["x"])))


def xor_loss(w: Weights, batch: Batch) -> Tensor:
    return F.mse_loss(xor_output(w, batch), batch["y"])


def spiral_output(w: Weights, batch: Batch) -> Tensor:
    hidden = torch.relu(_layer(w, "linear 1", batch["x"]))
    hidden = torch.relu(_layer(w, "linear 2", hidden))
    return _layer(w, "linear 3", hidden)


def spiral_loss(w: Weights, batch: Batch) -> Tensor:
    return F.cross_entropy(spiral_output(w, batch), batch["label"])


def lenet_output(w: Weights, batch: Batch) -> Tensor:
    x = batch["image"] * (1 / 255)
    x = F.max_pool2d(torch.relu(F.conv2d(x, w["conv 1/weight"], w["conv 1/bias"], padding=2)), 2)
    x = F.max_pool2d(torch.relu(F.conv2d(x, w["conv 2/weight"], w["conv 2/bias"])), 2)
    x = torch.relu(_layer(w, "linear 1", x.flatten(1)))
    x = torch.relu(_layer(w, "linear 2", x))
    return _layer(w, "linear 3", x)


def lenet_loss(w: Weights, batch: Batch) -> Tensor:
    return F.cross_entropy(lenet_output(w, batch), batch["label"])
