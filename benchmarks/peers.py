"""PyTorch's side: the same models from the same parameters, eager, compiled, and as one CUDA graph of a whole step."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from benchmarks.measure import STRETCHES, WARM_S
from benchmarks.workloads import Workload

MODES = ("eager", "compile", "graph")


class Lenet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.ModuleList([nn.Conv2d(1, 6, 5), nn.Conv2d(6, 16, 5)])
        self.linear = nn.ModuleList([nn.Linear(256, 120), nn.Linear(120, 84), nn.Linear(84, 10)])

    def forward(self, x: Any) -> Any:
        for conv in self.conv:
            x = functional.max_pool2d(functional.relu(conv(x)), 2)
        x = x.flatten(1)
        for linear in self.linear[:-1]:
            x = functional.relu(linear(x))
        return self.linear[-1](x)


class Mlp(nn.Module):
    def __init__(self, *widths: int) -> None:
        super().__init__()
        self.linear = nn.ModuleList([nn.Linear(a, b) for a, b in pairwise(widths)])

    def forward(self, x: Any) -> Any:
        for linear in self.linear[:-1]:
            x = functional.relu(linear(x))
        return self.linear[-1](x)


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads)  # holds the parameters; the kernel is called below
        self.linear_1, self.linear_2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.heads = heads

    def forward(self, x: Any) -> Any:
        n, t, width = x.shape
        own = self.attention
        projected = functional.linear(self.norm_1(x), own.in_proj_weight, own.in_proj_bias)
        q, k, v = projected.view(n, t, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(n, t, width)
        x = x + own.out_proj(y)
        return x + self.linear_2(functional.gelu(self.linear_1(self.norm_2(x))))


class Gpt(nn.Module):
    def __init__(self, count: int = 96, width: int = 256, length: int = 128, layers: int = 4) -> None:
        super().__init__()
        self.letters, self.positions = nn.Embedding(count, width), nn.Embedding(length, width)
        self.block = nn.ModuleList([Block(width, 4) for _ in range(layers)])
        self.norm, self.next = nn.LayerNorm(width), nn.Linear(width, count)

    def forward(self, x: Any) -> Any:
        x = self.letters(x) + self.positions.weight
        for block in self.block:
            x = block(x)
        return self.next(self.norm(x))


MODELS: dict[str, Callable[[], nn.Module]] = {
    "mlp16": lambda: Mlp(4, 16, 2),
    "mlp64": lambda: Mlp(64, 64, 64, 64, 64),
    "lenet": Lenet,
    "gpt": Gpt,
    "cpu16": lambda: Mlp(4, 16, 2),
    "cpu128": lambda: Mlp(4, 128, 2),
    "cpu512": lambda: Mlp(4, 512, 2),
}


def state_name(name: str) -> str:
    """MuNet's name of a parameter: block.0.norm_1.weight is "block 0/norm 1/weight" there."""
    for word in ("block", "linear", "conv"):
        name = name.replace(f"{word}.", f"{word} ")
    name = name.replace("norm_", "norm ").replace("linear_", "linear ").replace("out_proj.", "out_proj:")
    return name.replace(".", "/").replace(":", ".")


class Peer:
    """A model with MuNet's parameters, its data on the device, and one training step."""

    def __init__(self, work: Workload, parameters: Mapping[str, np.ndarray[Any, Any]], device: str):
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        self.model = MODELS[work.peer]().to(device)
        with torch.no_grad():
            for name, parameter in self.model.named_parameters():
                parameter.copy_(torch.from_numpy(parameters[state_name(name)].copy()))
        x, y = work.arrays()
        self.x = torch.from_numpy(x).to(device)
        self.y = torch.from_numpy(y).to(device)
        if work.classes:
            self.y = self.y.long()
        if work.tokens:
            self.x = self.x.long()
        given = self.model.parameters()
        gpu = device == "cuda"
        if work.optimiser == "SGD":
            self.optimiser: Any = torch.optim.SGD(given, work.rate, fused=gpu)
        else:
            self.optimiser = torch.optim.Adam(given, work.rate, fused=gpu, capturable=gpu)
        self.is_classes = bool(work.classes)

    def loss(self) -> Any:
        y = self.model(self.x)
        if self.is_classes:
            return functional.cross_entropy(y.reshape(-1, y.shape[-1]), self.y.reshape(-1))
        return functional.mse_loss(y, self.y)

    def step(self) -> Any:
        self.optimiser.zero_grad(set_to_none=True)
        loss = self.loss()
        loss.backward()
        self.optimiser.step()
        return loss

    def graph(self) -> Callable[[], object]:
        """The whole step as one CUDA graph."""
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(5):
                self.step()
        torch.cuda.current_stream().wait_stream(side)
        recorded = torch.cuda.CUDAGraph()
        self.optimiser.zero_grad(set_to_none=True)
        with torch.cuda.graph(recorded):
            self.loss().backward()
            self.optimiser.step()
            self.optimiser.zero_grad(set_to_none=False)
        return recorded.replay


def losses(work: Workload, parameters: Mapping[str, np.ndarray[Any, Any]], device: str, steps: int) -> list[float]:
    peer = Peer(work, parameters, device)
    return [float(peer.step().detach()) for _ in range(steps)]


def time_and_peak(
    work: Workload, parameters: Mapping[str, np.ndarray[Any, Any]], device: str, mode: str, stretch_s: float
) -> tuple[float, int]:
    """Median microseconds of a step, and the most bytes of the GPU that tensors took at once (0 without a GPU)."""
    on_gpu, before = device == "cuda", 0
    if on_gpu:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
    us = _time_us(work, parameters, device, mode, stretch_s)
    return us, torch.cuda.max_memory_allocated() - before if on_gpu else 0


def _time_us(work: Workload, parameters: Mapping[str, np.ndarray[Any, Any]], device: str, mode: str, stretch_s: float) -> float:
    peer = Peer(work, parameters, device)
    step: Callable[[], object] = peer.step
    if mode == "compile":
        step = torch.compile(peer.step)
    elif mode == "graph":
        step = peer.graph()
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    for _ in range(3):
        step()
    wait()
    step_us, warm_until = _stretch_us(step, wait, 3), time.perf_counter() + WARM_S / 2
    while time.perf_counter() < warm_until:
        step_us = _stretch_us(step, wait, max(1, int(1e5 / step_us)))
    count = max(2, int(1e6 * stretch_s / step_us))
    return statistics.median(_stretch_us(step, wait, count) for _ in range(STRETCHES))


def _stretch_us(step: Callable[[], object], wait: Callable[[], object], count: int) -> float:
    started = time.perf_counter()
    for _ in range(count):
        step()
    wait()
    return 1e6 * (time.perf_counter() - started) / count
