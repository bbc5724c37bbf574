"""Command buffers: allocation, and recording through raw calls (3.7 us a pass instead of 29 us).

One kind of barrier is used everywhere: compute and transfer writes before it are seen by compute and transfer after
it. Narrower ones were measured to cost the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from munet.engine.execute.vulkan.api import ffi, struct, vk
from munet.engine.execute.vulkan.device import Device

Region = tuple[int, int, int]  # source offset, destination offset, bytes


class Commands:
    """Allocates command buffers and records into them."""

    def __init__(self, device: Device):
        self.functions = functions = device.functions
        self._device = device
        self._labels = device.instance.validating
        resettable = vk.VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT
        info = struct("VkCommandPoolCreateInfo", flags=resettable, queueFamilyIndex=device.family.index)
        self._pool = functions.create("vkCreateCommandPool", "VkCommandPool", info)
        work = vk.VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | vk.VK_PIPELINE_STAGE_TRANSFER_BIT
        written = vk.VK_ACCESS_SHADER_WRITE_BIT | vk.VK_ACCESS_TRANSFER_WRITE_BIT
        used = written | vk.VK_ACCESS_SHADER_READ_BIT | vk.VK_ACCESS_TRANSFER_READ_BIT
        barrier = struct("VkMemoryBarrier", srcAccessMask=written, dstAccessMask=used)
        to_host = struct("VkMemoryBarrier", srcAccessMask=written, dstAccessMask=used | vk.VK_ACCESS_HOST_READ_BIT)
        # The arguments of vkCmdPipelineBarrier after the command buffer.
        self.barrier_arguments = (work, work, 0, 1, barrier, 0, ffi.NULL, 0, ffi.NULL)
        self._host_arguments = (work, work | vk.VK_PIPELINE_STAGE_HOST_BIT, 0, 1, to_host, 0, ffi.NULL, 0, ffi.NULL)
        self._once = struct("VkCommandBufferBeginInfo", flags=vk.VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT)
        self._again = struct("VkCommandBufferBeginInfo", flags=vk.VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT)

    def allocate(self, count: int = 1) -> list[Any]:
        info = struct("VkCommandBufferAllocateInfo", commandPool=self._pool, level=0, commandBufferCount=count)
        out = ffi.new("VkCommandBuffer[]", count)
        self.functions.checked("vkAllocateCommandBuffers", self._device.handle, info, out)
        return [out[index] for index in range(count)]

    def free(self, buffers: Sequence[Any]) -> None:
        if buffers:
            handles = ffi.new("VkCommandBuffer[]", list(buffers))
            self.functions.vkFreeCommandBuffers(self._device.handle, self._pool, len(buffers), handles)

    def begin(self, buffer: Any, *, replayed: bool = False) -> None:
        """Starts recording anew. `replayed`: it may be submitted again while an earlier submit of it still runs."""
        self.functions.checked("vkBeginCommandBuffer", buffer, self._again if replayed else self._once)

    def end(self, buffer: Any) -> None:
        self.functions.checked("vkEndCommandBuffer", buffer)

    def barrier(self, buffer: Any, *, to_host: bool = False) -> None:
        self.functions.vkCmdPipelineBarrier(buffer, *(self._host_arguments if to_host else self.barrier_arguments))

    def copy(self, buffer: Any, source: Any, destination: Any, regions: Sequence[Region]) -> None:
        """Copies between the buffers of two handles; empty regions are left out (Vulkan refuses them)."""
        filled = [region for region in regions if region[2]]
        if filled:
            self.functions.vkCmdCopyBuffer(buffer, source, destination, len(filled), ffi.new("VkBufferCopy[]", filled))

    def fill(self, buffer: Any, target: Any, offset_bytes: int, size_bytes: int, word: int) -> None:
        """Writes `word` over a range of whole words."""
        self.functions.vkCmdFillBuffer(buffer, target, offset_bytes, size_bytes, word)

    def begin_label(self, buffer: Any, name: str) -> None:
        """Names what follows for debuggers (RenderDoc, Nsight); only where debugging is on."""
        if self._labels:
            label = struct("VkDebugUtilsLabelEXT", pLabelName=ffi.new("char[]", name.encode()))
            self._device.instance.functions.vkCmdBeginDebugUtilsLabelEXT(buffer, label)

    def end_label(self, buffer: Any) -> None:
        if self._labels:
            self._device.instance.functions.vkCmdEndDebugUtilsLabelEXT(buffer)

    def close(self) -> None:
        """Frees the pool and every command buffer of it."""
        self.functions.vkDestroyCommandPool(self._device.handle, self._pool, ffi.NULL)


class Timestamps:
    """A pool of GPU timestamps; on a device without them it records nothing and knows nothing."""

    def __init__(self, device: Device, count: int):
        self._device, self._functions, self._count = device, device.functions, count
        self._period_ns = device.info.timestamp_period_ns
        self._mask = (1 << device.family.timestamp_bits) - 1
        self._values = ffi.new("uint64_t[]", count)
        self._pool: Any = None
        if self._period_ns:
            info = struct("VkQueryPoolCreateInfo", queryType=vk.VK_QUERY_TYPE_TIMESTAMP, queryCount=count)
            self._pool = self._functions.create("vkCreateQueryPool", "VkQueryPool", info)
        self._end = vk.VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT
        self._flags = vk.VK_QUERY_RESULT_64_BIT

    def reset(self, commands: Any) -> None:
        if self._pool is not None:
            self._functions.vkCmdResetQueryPool(commands, self._pool, 0, self._count)

    def write(self, commands: Any, index: int) -> None:
        """Takes the time when all that was recorded before has finished."""
        if self._pool is not None:
            self._functions.vkCmdWriteTimestamp(commands, self._end, self._pool, index)

    def intervals_us(self) -> list[float] | None:
        """Microseconds between neighbouring timestamps of a finished submit; None where the device has none."""
        if self._pool is None:
            return None
        wanted = (0, self._count, 8 * self._count, self._values, 8, self._flags)
        self._functions.checked("vkGetQueryPoolResults", self._device.handle, self._pool, *wanted)
        times = [self._values[index] for index in range(self._count)]
        return [((after - before) & self._mask) * self._period_ns / 1e3 for before, after in itertools.pairwise(times)]

    def close(self) -> None:
        if self._pool is not None:
            self._functions.vkDestroyQueryPool(self._device.handle, self._pool, ffi.NULL)
            self._pool = None
