"""The queue: submits in order, each with the next value of one timeline semaphore, and waits on that value.

Nothing here blocks but `wait`. A submit is finished when the semaphore has reached its serial.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from munet.engine.errors import DeviceTimeout
from munet.engine.execute.vulkan.api import array, ffi, struct, vk
from munet.engine.execute.vulkan.device import Device

_SLICE_S = 0.25  # the host wakes this often while it waits, so that Ctrl-C works


class Queue:
    """Submits to the device's queue; serials count from 1."""

    def __init__(self, device: Device):
        self._functions = device.functions
        self._device, self._queue = device.handle, device.queue
        kind = struct("VkSemaphoreTypeCreateInfo", semaphoreType=vk.VK_SEMAPHORE_TYPE_TIMELINE, initialValue=0)
        self._semaphore = self._functions.create("vkCreateSemaphore", "VkSemaphore", struct("VkSemaphoreCreateInfo", pNext=kind))
        self.submitted = 0
        self._finished = 0
        self._value = ffi.new("uint64_t *")
        # Built once: a submit only changes the value and the command buffers.
        self._signal_value = ffi.new("uint64_t *")
        timeline = struct("VkTimelineSemaphoreSubmitInfo", signalSemaphoreValueCount=1, pSignalSemaphoreValues=self._signal_value)
        semaphores = array("VkSemaphore", [self._semaphore])
        self._submit_info = struct("VkSubmitInfo", pNext=timeline, signalSemaphoreCount=1, pSignalSemaphores=semaphores)
        self._wait_value = ffi.new("uint64_t *")
        self._wait_info = struct("VkSemaphoreWaitInfo", semaphoreCount=1, pSemaphores=semaphores, pValues=self._wait_value)

    def submit(self, commands: Sequence[Any], where: str) -> int:
        """Hands recorded command buffers to the device; gives the submit's serial."""
        self._functions.reach("submit", f"vkQueueSubmit, {where}")
        self._signal_value[0] = self.submitted + 1
        self._hand_over(self._submit_info, commands, where)
        self.submitted += 1
        return self.submitted

    def submit_part(self, commands: Sequence[Any], where: str) -> None:
        """As `submit`, for all but the last part of a submit: it has no serial of its own."""
        self._functions.reach("submit", f"vkQueueSubmit, {where}")
        self._hand_over(struct("VkSubmitInfo"), commands, where)

    def _hand_over(self, info: Any, commands: Sequence[Any], where: str) -> None:
        buffers = ffi.new("VkCommandBuffer[]", commands)
        info.commandBufferCount = len(commands)
        info.pCommandBuffers = buffers
        self._functions.checked("vkQueueSubmit", self._queue, 1, info, ffi.NULL, where=where)

    def finished(self, where: str = "") -> int:
        """The serial up to which all submits have finished; never blocks."""
        if self._finished < self.submitted:
            self._functions.reach("poll", f"vkGetSemaphoreCounterValue, {where}")
            self._functions.checked("vkGetSemaphoreCounterValue", self._device, self._semaphore, self._value, where=where)
            self._finished = self._value[0]
        else:
            self._functions.ensure_alive()
        return self._finished

    def wait(self, serial: int, where: str, timeout_s: float | None = None) -> bool:
        """Blocks until the submit has finished; False if it had already. Raises DeviceTimeout, DeviceLost."""
        if self.finished(where) >= serial:
            return False
        self._functions.reach("wait", f"vkWaitSemaphores, {where}")
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            remaining = _SLICE_S if deadline is None else min(_SLICE_S, max(0.0, deadline - time.monotonic()))
            self._wait_value[0] = serial
            try:
                self._functions.checked("vkWaitSemaphores", self._device, self._wait_info, int(remaining * 1e9), where=where)
                break
            except DeviceTimeout:
                if deadline is not None and time.monotonic() >= deadline:
                    raise
        self._finished = max(self._finished, serial)
        return True

    def close(self) -> None:
        """Waits for the device and frees the semaphore; a lost device is not waited for."""
        # Unchecked: nothing can be done about an error here, and a lost device must still be freed.
        self._functions.vkDeviceWaitIdle(self._device)
        self._functions.vkDestroySemaphore(self._device, self._semaphore, ffi.NULL)
