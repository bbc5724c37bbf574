"""Buffers: allocation against what is really free, mapped staging memory, and the numbers when it does not fit.

One memory object a buffer: a program has few buffers, its arenas. Sizes are rounded up to 16 bytes, at least 16, so
that a 16-byte access at the end of a value stays inside and an empty value can be bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from munet.engine.errors import DeviceError, OutOfDeviceMemory
from munet.engine.execute.vulkan.api import ffi, struct, vk
from munet.engine.execute.vulkan.describe import memory_budget
from munet.engine.execute.vulkan.device import Device

GRAIN_BYTES = 16
Bytes = np.ndarray[Any, np.dtype[np.uint8]]


@dataclass(eq=False)
class Buffer:
    """Device memory with a buffer over all of it. `mapped` is its content for the host, if the host can see it."""

    handle: Any
    memory: Any
    size_bytes: int
    allocated_bytes: int
    mapped: Bytes | None = None


def rounded(size_bytes: int) -> int:
    """The bytes that a buffer or binding of `size_bytes` really gets."""
    return max(GRAIN_BYTES, -(-size_bytes // GRAIN_BYTES) * GRAIN_BYTES)


class Memory:
    """All buffers of a device."""

    def __init__(self, device: Device):
        self._device = device
        self._functions = device.functions
        self._buffers: set[Buffer] = set()
        self._has_budget = "VK_EXT_memory_budget" in device.info.extensions
        self._types = struct("VkPhysicalDeviceMemoryProperties")
        device.instance.functions.vkGetPhysicalDeviceMemoryProperties(device.physical, self._types)

    @property
    def allocated_bytes(self) -> int:
        return sum(buffer.allocated_bytes for buffer in self._buffers)

    def require(self, size_bytes: int, purpose: str) -> None:
        """Raises OutOfDeviceMemory, before anything is allocated, if the device's heap has not that much left."""
        self._require(size_bytes, self._heap(self._type((vk.VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,))), purpose)

    def device_buffer(self, size_bytes: int, purpose: str) -> Buffer:
        """A buffer for kernels; its content is whatever the memory held."""
        return self._allocate(size_bytes, (vk.VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0), purpose, mapped=False)

    def upload_buffer(self, size_bytes: int) -> Buffer:
        """A mapped buffer that the host writes."""
        coherent = vk.VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | vk.VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
        return self._allocate(size_bytes, (coherent,), "staging for uploads", mapped=True)

    def readback_buffer(self, size_bytes: int) -> Buffer:
        """A mapped buffer that the host reads: cached where that exists, uncached reads are slow."""
        coherent = vk.VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | vk.VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
        cached = coherent | vk.VK_MEMORY_PROPERTY_HOST_CACHED_BIT
        return self._allocate(size_bytes, (cached, coherent), "staging for readback", mapped=True)

    def free(self, buffer: Buffer | None) -> None:
        """The caller answers for it that nothing submitted still uses the buffer."""
        if buffer is None or buffer not in self._buffers:
            return
        self._buffers.remove(buffer)
        buffer.mapped = None
        self._functions.vkDestroyBuffer(self._device.handle, buffer.handle, ffi.NULL)
        self._functions.vkFreeMemory(self._device.handle, buffer.memory, ffi.NULL)

    def close(self) -> None:
        for buffer in list(self._buffers):
            self.free(buffer)

    def _allocate(self, size_bytes: int, wishes: tuple[int, ...], purpose: str, *, mapped: bool) -> Buffer:
        size = rounded(size_bytes)
        copied = vk.VK_BUFFER_USAGE_TRANSFER_SRC_BIT | vk.VK_BUFFER_USAGE_TRANSFER_DST_BIT
        described = struct("VkBufferCreateInfo", size=size, usage=vk.VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | copied)
        handle = self._functions.create("vkCreateBuffer", "VkBuffer", described, purpose)
        memory: Any = ffi.NULL
        try:
            needed = struct("VkMemoryRequirements")
            self._functions.vkGetBufferMemoryRequirements(self._device.handle, handle, needed)
            memory_type = self._type(wishes, needed.memoryTypeBits)
            self._require(needed.size, self._heap(memory_type), purpose)
            info = struct("VkMemoryAllocateInfo", allocationSize=needed.size, memoryTypeIndex=memory_type)
            memory = self._functions.create("vkAllocateMemory", "VkDeviceMemory", info, f"{purpose}, {_amount(needed.size)}")
            self._functions.checked("vkBindBufferMemory", self._device.handle, handle, memory, 0)
            buffer = Buffer(handle, memory, size, needed.size, self._map(memory, size) if mapped else None)
        except DeviceError:
            self._functions.vkDestroyBuffer(self._device.handle, handle, ffi.NULL)
            self._functions.vkFreeMemory(self._device.handle, memory, ffi.NULL)
            raise
        self._buffers.add(buffer)
        return buffer

    def _map(self, memory: Any, size_bytes: int) -> Bytes:
        # Mapped once and for good: freeing the memory unmaps it.
        pointer = ffi.new("void **")
        self._functions.checked("vkMapMemory", self._device.handle, memory, 0, size_bytes, 0, pointer)
        return np.frombuffer(ffi.buffer(pointer[0], size_bytes), dtype=np.uint8)

    def _require(self, size_bytes: int, heap: int, purpose: str) -> None:
        total = self._types.memoryHeaps[heap].size
        if self._has_budget:
            available = memory_budget(self._device.instance, self._device.physical, heap)
        else:
            available = max(0, total - self.allocated_bytes)
        if size_bytes > available:
            raise OutOfDeviceMemory(
                f"{purpose} needs {_amount(size_bytes)}, but {self._device.info.name} has {_amount(available)} left "
                f"of {_amount(total)}. Make the batch or the network smaller, or close what else uses the device"
            )

    def _type(self, wishes: tuple[int, ...], bits: int = 0xFFFFFFFF) -> int:
        """The first memory type among `bits` that has all properties of a wish; earlier wishes are better."""
        for wish in wishes:
            for index in range(self._types.memoryTypeCount):
                if bits >> index & 1 and self._types.memoryTypes[index].propertyFlags & wish == wish:
                    return index
        raise DeviceError(f"{self._device.info.name} has no memory of the kind that is needed")

    def _heap(self, memory_type: int) -> int:
        return self._types.memoryTypes[memory_type].heapIndex


def _amount(size_bytes: int) -> str:
    return f"{size_bytes:,} bytes" if size_bytes < 1 << 20 else f"{size_bytes:,} bytes ({size_bytes / (1 << 20):,.1f} MiB)"
