"""What a device can do at best, measured once: bytes copied and operations done a second, and what a dependent pass costs.

Three small programs are run on the executor that is there already, beside whatever it has loaded. The figures are kept in the
cache folder by device and driver. They are what can be reached by plain kernels like ours, not what a data sheet says: a pass
whose data lie in a cache may read faster than memory is copied, and be above the limit.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from munet.engine import cachefile, settings
from munet.engine.device import DeviceInfo
from munet.engine.execute.base import Executor
from munet.engine.ir.module import Module, Op
from munet.engine.passlist import Binding, ComputePass, Kernel, PassList, Placement
from munet.engine.program import BufferSpec, Program

_log = logging.getLogger(__name__)
MEASURE_S = 0.25  # each; idle GPUs run slower at first, and the best run counts
LOCAL = 128  # invocations a workgroup: what every device can do
COPIED = 8  # vec4 an invocation
TURNS = 64
CHAINS = 8
CHAIN_PASSES = 64


@dataclass(frozen=True)
class Limits:
    """`copy_gb_s` counts bytes read and bytes written; `pass_us`: a pass with nothing to do that waits for the one before."""

    device: str
    copy_gb_s: float
    gflop_s: float
    pass_us: float

    def estimate_us(self, bytes_moved: int, flops: int) -> float:
        """How long a pass takes at least that moves so many bytes and computes so much: the slower of the two, and its start."""
        return self.pass_us + max(bytes_moved / (1e3 * self.copy_gb_s), flops / (1e3 * self.gflop_s))

    def share(self, us: float, bytes_moved: int, flops: int) -> tuple[float, str]:
        """How near a pass of `us` came to the limit that holds it, 1 = reached; and which, "memory" or "arithmetic"."""
        if us <= 0:
            return 0.0, "memory"
        memory = bytes_moved / us / 1e3 / self.copy_gb_s
        arithmetic = flops / us / 1e3 / self.gflop_s
        return (memory, "memory") if memory >= arithmetic else (arithmetic, "arithmetic")


def known_limits(device: DeviceInfo) -> Limits | None:
    """The figures of the cache; None where the device was not measured yet."""
    content = cachefile.read(_file(device))
    if content is None:
        return None
    try:
        figures = json.loads(content)
        found = Limits(str(figures["device"]), *(float(figures[f.name]) for f in fields(Limits)[1:]))
    except (ValueError, KeyError, TypeError):
        _log.warning("%s is of another version; the device is measured again", _file(device))
        return None
    return found if found.copy_gb_s > 0 and found.gflop_s > 0 and found.pass_us > 0 else None


def measured_limits(executor: Executor, refresh: bool = False) -> Limits | None:
    """The figures of the cache, else measured now, in about a second, after everything submitted so far.

    None for a device without timestamps, and for the NumPy reference, whose passes are Python.
    """
    device = executor.info
    if not device.timestamp_period_ns or device.kind == "reference":
        return None
    found = None if refresh else known_limits(device)
    if found is None:
        found = _measure(executor)
        cachefile.write(_file(device), json.dumps(asdict(found)).encode())
    return found


def _measure(executor: Executor) -> Limits:
    device = executor.info
    room = min(device.max_storage_range, (device.budget_bytes or device.memory_bytes or 2**28) // 16)
    wanted = 2**25 if device.is_cpu else 2**28
    block = 16 * LOCAL * COPIED
    size = max(1, min(wanted, room) // block) * block
    copy_us = _best_us(executor, _copy(size))
    invocations = 2**13 if device.is_cpu else 2**20
    compute_us = _best_us(executor, _compute(invocations))
    chain_us = _best_us(executor, _chain())
    flops = 2 * CHAINS * CHAINS * TURNS * invocations
    return Limits(device.name, 2 * size / copy_us / 1e3, flops / compute_us / 1e3, chain_us / CHAIN_PASSES)


def _best_us(executor: Executor, program: Program) -> float:
    """Device time of the fastest of several runs."""
    executor.load(program)
    try:
        best, until = float("inf"), time.perf_counter() + MEASURE_S
        runs = 0
        while runs < 3 or time.perf_counter() < until:
            ticket = executor.submit(program, first_step=runs, steps=1, feeds={})
            executor.wait(ticket)
            ms = executor.gpu_ms(ticket)
            runs += 1
            if runs > 1 and ms:
                best = min(best, 1000 * ms)
        return best
    finally:
        executor.unload(program.name)


# -- the programs --------------------------------------------------------------------------------------------------------

_HEAD = f"#version 450\nlayout(local_size_x = {LOCAL}, local_size_y = 1, local_size_z = 1) in;\n"
_GROUP = "uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;\n"


def _copy(size_bytes: int) -> Program:
    """From one buffer to another."""
    glsl = (
        f"{_HEAD}layout(set = 0, binding = 0, std430) readonly buffer X {{ vec4 x[]; }};\n"
        "layout(set = 0, binding = 1, std430) writeonly buffer Y { vec4 y[]; };\n"
        f"void main() {{\n{_GROUP}uint first = group * {LOCAL * COPIED}u + gl_LocalInvocationID.x;\n"
        + "".join(f"y[first + {k * LOCAL}u] = x[first + {k * LOCAL}u];\n" for k in range(COPIED))
        + "}\n"
    )
    source, target = Placement("limits/source", 0, size_bytes), Placement("limits/target", 0, size_bytes)
    bindings = (Binding(source, "read"), Binding(target, "write"))
    return _program("limits/copy", glsl, bindings, _grid(size_bytes // (16 * LOCAL * COPIED)))


def _compute(invocations: int) -> Program:
    """Products and sums that depend on one another in several chains, so that no unit need wait."""
    names = [f"a{k}" for k in range(CHAINS)]
    # Factor and summand come from a buffer: the compiler cannot know them, and values stay small with zeros.
    glsl = (
        f"{_HEAD}layout(set = 0, binding = 0, std430) readonly buffer X {{ float x[]; }};\n"
        "layout(set = 0, binding = 1, std430) writeonly buffer Y { float y[]; };\n"
        f"void main() {{\n{_GROUP}float m = x[0] + 0.999, c = x[1] + 0.001, start = float(gl_LocalInvocationID.x);\n"
        + "".join(f"float {name} = start + {k}.0;\n" for k, name in enumerate(names))
        + f"for (int turn = 0; turn < {TURNS}; ++turn) {{\n"
        + "".join(f"{name} = {name} * m + c;\n" for name in names * CHAINS)
        + f"}}\ny[group * {LOCAL}u + gl_LocalInvocationID.x] = {' + '.join(names)};\n}}\n"
    )
    bindings = (
        Binding(Placement("limits/factors", 0, 16), "read"), Binding(Placement("limits/sums", 0, 4 * invocations), "write"),
    )  # fmt: skip
    return _program("limits/compute", glsl, bindings, _grid(invocations // LOCAL))


def _chain() -> Program:
    """Many passes, each after the one before."""
    glsl = (
        f"{_HEAD}layout(set = 0, binding = 0, std430) buffer X {{ float x[]; }};\n"
        "void main() { x[gl_LocalInvocationID.x] += 1.0; }\n"
    )
    bindings = (Binding(Placement("limits/counter", 0, 4 * LOCAL), "read_write"),)
    return _program("limits/chain", glsl, bindings, (1, 1, 1), CHAIN_PASSES)


def _grid(groups: int) -> tuple[int, int, int]:
    """VUID-vkCmdDispatch-groupCountX-00386: at most 65,535 along an axis on some devices. `groups` is a power of two or small."""
    rows = 1
    while groups // rows > 65535:
        rows *= 2
    return (groups // rows, rows, 1)


def _program(name: str, glsl: str, bindings: Sequence[Binding], grid: tuple[int, int, int], count: int = 1) -> Program:
    kernel = Kernel(name, glsl, len(bindings))
    passes = tuple(ComputePass(name, (Op("copy", (), ()),), kernel, tuple(bindings), grid, level) for level in range(count))
    buffers = tuple(BufferSpec(b.placement.buffer, b.placement.size_bytes, "temporary") for b in bindings)
    return Program(name, (PassList(passes),), buffers, {}, Module(name, (), ()))


def _file(device: DeviceInfo) -> Path:
    key = hashlib.sha256("\0".join((device.name, device.driver, device.uuid)).encode()).hexdigest()[:24]
    return settings.current().cache_dir / "limits" / f"{key}.json"
