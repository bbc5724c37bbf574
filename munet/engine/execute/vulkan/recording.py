"""A program recorded for replay: its descriptor sets, and blocks of 1, 8 and 64 steps that any submit is put together from.

What is recorded does not depend on the step number (kernels read a counter on the device), so blocks are replayed
unchanged. Passes of one level have no barrier between them; one stands between levels and after each step.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from munet.engine.device import DeviceInfo
from munet.engine.errors import DeviceError
from munet.engine.execute.base import PassTime, guessed_ms
from munet.engine.execute.vulkan.api import array, ffi, struct, vk
from munet.engine.execute.vulkan.commands import Commands, Timestamps
from munet.engine.execute.vulkan.device import Device
from munet.engine.execute.vulkan.memory import Buffer, rounded
from munet.engine.execute.vulkan.pipeline import Pipeline, Pipelines
from munet.engine.passlist import ComputePass, PassList, Placement
from munet.engine.program import Program

BLOCK_STEPS = (64, 8, 1)
_PASS_WEIGHT = 3e6  # beside operations and bytes: 3 us where a microsecond is a million of them
_BLOCK_PASSES = 8192  # a longer block would take long to record and save little
NAN_WORD = 0x7FC00000


@dataclass(frozen=True)
class _Prepared:
    """A pass with all its Vulkan handles."""

    name: str
    level: tuple[int, int]  # stage, level in it
    pipeline: Pipeline
    sets: Any  # array of one descriptor set, or NULL
    push: Any
    push_bytes: int
    grid: tuple[int, int, int]
    poison: tuple[tuple[Any, int, int], ...]  # buffer handle, offset, bytes
    weight: float  # a guess of its time, in no particular unit


class Recording:
    """A loaded program. Whoever closes it answers for it that nothing submitted still runs it."""

    def __init__(
        self,
        device: Device,
        commands: Commands,
        pipelines: Pipelines,
        program: Program,
        buffers: Mapping[str, Buffer],
        poison: bool,
    ):
        self.program, self.poisoned = program, poison
        self._device, self._commands = device, commands
        self._blocks: dict[int, Any] = {}
        self._pieces: dict[int, list[Any]] = {}
        self.step_ms = guessed_ms(program, device.info)  # the executor says what was measured
        self._profiles: dict[bool, tuple[Any, Timestamps]] = {}
        self._sets = _DescriptorSets(device, buffers)
        try:
            self._passes = self._prepare(pipelines, buffers)
            self._block(1)
        except DeviceError:
            self.close()
            raise

    def parts(self, steps: int, part_ms: float) -> list[list[Any]]:
        """Command buffers that together run `steps` steps, in parts to be submitted one by one: a single part unless a step
        takes more than twice `part_ms`, else parts of a step of about that length."""
        if self.step_ms <= 2 * part_ms:
            return [self.blocks(steps)]
        # Powers of two: what was measured varies a little, and each count is recorded anew.
        return [[piece] for piece in self.pieces(1 << math.ceil(math.log2(self.step_ms / part_ms)))] * steps

    def pieces(self, count: int) -> list[Any]:
        """One step as up to `count` command buffers of about equal weight. Levels stay whole: a barrier ends each piece."""
        if count not in self._pieces:
            levels = [list(passes) for _, passes in groupby(self._passes, key=lambda p: p.level)]
            total = sum(p.weight for p in self._passes)
            pieces: list[list[_Prepared]] = []
            done = 0.0
            for passes in levels:
                if len(pieces) <= done / total * count:
                    pieces.append([])
                pieces[-1] += passes
                done += sum(p.weight for p in passes)
            self._pieces[count] = [self._recorded([piece]) for piece in pieces]
        return self._pieces[count]

    def blocks(self, steps: int) -> list[Any]:
        """Command buffers that together run `steps` steps."""
        found = []
        for size in BLOCK_STEPS:
            if size > 1 and size * len(self._passes) > _BLOCK_PASSES:
                continue
            count, steps = divmod(steps, size)
            if count:
                found += [self._block(size)] * count
        return found

    def profile(self, levels: bool) -> Any:
        """A command buffer of one step with timestamps: around each pass, which then runs alone, or around each level."""
        if levels not in self._profiles:
            by_level = (list(run) for _, run in groupby(self._passes, key=lambda p: p.level))
            runs = list(by_level) if levels else [[p] for p in self._passes]
            times = Timestamps(self._device, len(runs) + 1)
            (buffer,) = self._commands.allocate()
            self._record_profile(buffer, times, runs)
            self._profiles[levels] = (buffer, times)
        return self._profiles[levels][0]

    def pass_times(self, levels: bool) -> list[PassTime]:
        """What the finished profile run measured."""
        times = self._profiles[levels][1].intervals_us() if levels in self._profiles else None
        if times is None:
            raise DeviceError(f"{self._device.info.name} has no timestamps, so passes cannot be timed")
        if levels:
            return [PassTime(level, f"level {level}", level, us) for level, us in enumerate(times)]
        passes = [compute_pass for stage in self.program.pass_lists for compute_pass in stage]
        return [PassTime(index, p.name, p.level, us) for index, (p, us) in enumerate(zip(passes, times, strict=True))]

    def close(self) -> None:
        pieces = [piece for pieces in self._pieces.values() for piece in pieces]
        self._commands.free([*self._blocks.values(), *pieces, *(buffer for buffer, _ in self._profiles.values())])
        self._blocks.clear()
        self._pieces.clear()
        for _, times in self._profiles.values():
            times.close()
        self._profiles.clear()
        self._sets.close()

    def _block(self, steps: int) -> Any:
        if steps not in self._blocks:
            self._blocks[steps] = self._recorded([self._passes] * steps)
        return self._blocks[steps]

    def _recorded(self, runs: Sequence[Sequence[_Prepared]]) -> Any:
        """A command buffer of these stretches of passes, one after the other."""
        (buffer,) = self._commands.allocate()
        self._commands.begin(buffer, replayed=True)
        for passes in runs:
            self._record_run(buffer, passes)
        self._commands.end(buffer)
        return buffer

    def _record_run(self, buffer: Any, passes: Sequence[_Prepared]) -> None:
        level = passes[0].level if passes else None
        bound = None
        for prepared in passes:
            if prepared.level != level or prepared.poison:
                self._commands.barrier(buffer)
                level = prepared.level
            self._record_poison(buffer, prepared)
            self._record_pass(buffer, prepared, bound)
            bound = prepared.pipeline.handle
        self._commands.barrier(buffer)

    def _record_pass(self, buffer: Any, prepared: _Prepared, bound: Any = None) -> None:
        call, layout = self._commands.functions, prepared.pipeline.layout.handle
        self._commands.begin_label(buffer, prepared.name)
        if prepared.pipeline.handle != bound:
            call.vkCmdBindPipeline(buffer, 1, prepared.pipeline.handle)  # 1 = VK_PIPELINE_BIND_POINT_COMPUTE
        if prepared.sets != ffi.NULL:
            call.vkCmdBindDescriptorSets(buffer, 1, layout, 0, 1, prepared.sets, 0, ffi.NULL)
        if prepared.push_bytes:
            # 0x20 is the shader stage; with the pipeline stage's bit drivers silently read zeros.
            call.vkCmdPushConstants(buffer, layout, 0x20, 0, prepared.push_bytes, prepared.push)
        call.vkCmdDispatch(buffer, *prepared.grid)
        self._commands.end_label(buffer)

    def _record_poison(self, buffer: Any, prepared: _Prepared) -> None:
        for handle, offset, size in prepared.poison:
            self._commands.fill(buffer, handle, offset, size, NAN_WORD)
        if prepared.poison:
            self._commands.barrier(buffer)

    def _record_profile(self, buffer: Any, times: Timestamps, runs: Sequence[Sequence[_Prepared]]) -> None:
        """Each run of passes side by side, a barrier and a timestamp behind it."""
        self._commands.begin(buffer, replayed=True)
        times.reset(buffer)
        self._commands.barrier(buffer)
        times.write(buffer, 0)
        for index, passes in enumerate(runs):
            for prepared in passes:
                self._record_pass(buffer, prepared)
            self._commands.barrier(buffer)
            times.write(buffer, index + 1)
        self._commands.end(buffer)

    def _prepare(self, pipelines: Pipelines, buffers: Mapping[str, Buffer]) -> list[_Prepared]:
        wanted = [(stage, p, pipelines.get(p.kernel)) for stage, p in numbered_passes(self.program)]
        made = self._sets.make([(pipeline, p) for _, p, pipeline in wanted])
        dead = self.program.dead_ranges if self.poisoned else ()
        return [
            _Prepared(
                name=p.name,
                level=(stage, p.level),
                pipeline=pipeline,
                sets=made[index],
                push=ffi.from_buffer(p.push) if p.push else ffi.NULL,
                push_bytes=len(p.push),
                grid=p.grid,
                poison=tuple(_words(buffers, dead[index])) if index < len(dead) else (),
                weight=_PASS_WEIGHT + p.flops + p.bytes_read + p.bytes_written,
            )
            for index, (stage, p, pipeline) in enumerate(wanted)
        ]


class _DescriptorSets:
    """Descriptor sets of one program, in a pool of exactly their size; passes that bind the same share one."""

    def __init__(self, device: Device, buffers: Mapping[str, Buffer]):
        self._device, self._buffers = device, buffers
        self._pool: Any = None

    def make(self, passes: list[tuple[Pipeline, ComputePass]]) -> list[Any]:
        keys = [(pipeline.layout, tuple(self._range(b.placement) for b in p.bindings)) for pipeline, p in passes]
        distinct = {key: ffi.NULL for key in keys if key[1]}
        if not distinct:
            return [ffi.NULL] * len(keys)
        self._create_pool(len(distinct), sum(len(bound) for _, bound in distinct))
        for layout, bound in distinct:
            distinct[layout, bound] = self._write(layout.set_layout, bound)
        return [distinct.get(key, ffi.NULL) for key in keys]

    def close(self) -> None:
        if self._pool is not None:
            self._device.functions.vkDestroyDescriptorPool(self._device.handle, self._pool, ffi.NULL)
            self._pool = None

    def _range(self, placement: Placement) -> tuple[Any, int, int]:
        return self._buffers[placement.buffer].handle, placement.offset_bytes, rounded(placement.size_bytes)

    def _create_pool(self, sets: int, descriptors: int) -> None:
        size = struct("VkDescriptorPoolSize", type=vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, descriptorCount=descriptors)
        info = struct("VkDescriptorPoolCreateInfo", maxSets=sets, poolSizeCount=1, pPoolSizes=size)
        self._pool = self._device.functions.create("vkCreateDescriptorPool", "VkDescriptorPool", info)

    def _write(self, set_layout: Any, bound: tuple[tuple[Any, int, int], ...]) -> Any:
        functions, layouts = self._device.functions, array("VkDescriptorSetLayout", [set_layout])
        info = struct("VkDescriptorSetAllocateInfo", descriptorPool=self._pool, descriptorSetCount=1, pSetLayouts=layouts)
        out = ffi.new("VkDescriptorSet[]", 1)
        functions.checked("vkAllocateDescriptorSets", self._device.handle, info, out)
        ranges = [struct("VkDescriptorBufferInfo", buffer=handle, offset=offset, range=size) for handle, offset, size in bound]
        write = struct(
            "VkWriteDescriptorSet",
            dstSet=out[0],
            dstBinding=0,  # consecutive bindings follow of themselves
            descriptorCount=len(bound),
            descriptorType=vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            pBufferInfo=array("VkDescriptorBufferInfo", ranges),
        )
        functions.vkUpdateDescriptorSets(self._device.handle, 1, write, 0, ffi.NULL)
        return out


def numbered_passes(program: Program) -> Iterator[tuple[int, ComputePass]]:
    """All passes in order, each with the number of its stage. Raises DeviceError for stages that cannot be recorded."""
    for number, stage in enumerate(program.stages):
        if not isinstance(stage, PassList):
            raise DeviceError(
                f"program {program.name}: stage {number}, {stage.name}, runs on the host; that is not supported yet"
            )
        for compute_pass in stage:
            yield number, compute_pass


def check_passes(program: Program, info: DeviceInfo) -> None:
    """Raises DeviceError naming the first pass that the device's limits do not allow: planning went wrong then."""
    sizes = {spec.name: spec.size_bytes for spec in program.buffers}
    for _, p in numbered_passes(program):
        for fault in (*_faults(p, info), *_misplaced(p, info, sizes)):
            raise DeviceError(f"program {program.name}, pass {p.name}: {fault}; planned for another device?")


def _faults(p: ComputePass, info: DeviceInfo) -> Iterator[str]:
    if len(p.bindings) != p.kernel.binding_count:
        yield f"it binds {len(p.bindings)} buffers, its kernel has {p.kernel.binding_count}"
    if len(p.bindings) > info.max_storage_buffers:
        yield f"it binds {len(p.bindings)} buffers, {info.name} allows {info.max_storage_buffers}"
    if len(p.push) != p.kernel.push_bytes or len(p.push) > info.push_bytes:
        yield f"it has {len(p.push)} push bytes, its kernel {p.kernel.push_bytes}, {info.name} allows {info.push_bytes}"
    if any(size > limit for size, limit in zip(p.grid, info.max_workgroup_count, strict=True)):
        yield f"its grid is {p.grid}, {info.name} allows {info.max_workgroup_count}"


def _misplaced(p: ComputePass, info: DeviceInfo, sizes: Mapping[str, int]) -> Iterator[str]:
    for index, binding in enumerate(p.bindings):
        place = binding.placement
        if place.end_bytes > sizes.get(place.buffer, -1):
            size = sizes.get(place.buffer, "no")
            yield f"binding {index} ends at byte {place.end_bytes} of {place.buffer}, which has {size} bytes"
        if place.offset_bytes % info.storage_alignment:
            yield f"binding {index} starts at byte {place.offset_bytes}, not at a multiple of {info.storage_alignment}"
        if place.size_bytes > info.max_storage_range:
            yield f"binding {index} has {place.size_bytes} bytes, {info.name} allows {info.max_storage_range}"


def _words(buffers: Mapping[str, Buffer], ranges: tuple[Placement, ...]) -> Iterator[tuple[Any, int, int]]:
    """The whole words inside each range: that is what can be filled."""
    for dead in ranges:
        start, end = -(-dead.offset_bytes // 4) * 4, dead.end_bytes // 4 * 4
        if end > start:
            yield buffers[dead.buffer].handle, start, end - start
