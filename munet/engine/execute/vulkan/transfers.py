"""What a submit needs besides its steps: mapped staging memory, copies at its head and tail, the time it took.

A `Slot` serves one submit at a time and is taken again once that has finished, so nothing ever waits for staging:
with more submits in flight there are more slots. Big transfers go through the same slots in bounded chunks.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from munet.engine.execute.base import Counters
from munet.engine.execute.vulkan.commands import Commands, Region, Timestamps
from munet.engine.execute.vulkan.device import Device
from munet.engine.execute.vulkan.memory import Buffer, Bytes, Memory
from munet.engine.execute.vulkan.queue import Queue

CHUNK_BYTES = 16 << 20
_CHUNKS_IN_FLIGHT = 2  # one is filled by the host while the device copies the other
_SMALLEST_BYTES = 16 << 10


@dataclass(eq=False)
class Slot:
    """Staging and command buffers of one submit."""

    head: Any
    tail: Any
    times: Timestamps
    upload: Buffer | None = None
    readback: Buffer | None = None
    serial: int = 0  # the submit that uses it

    def capacity(self, kind: str) -> int:
        buffer = self.upload if kind == "upload" else self.readback
        return 0 if buffer is None else buffer.size_bytes

    @property
    def upload_bytes(self) -> Bytes:
        return _mapped(self.upload)

    @property
    def readback_bytes(self) -> Bytes:
        return _mapped(self.readback)


class Transfers:
    """The slots, and chunked copies between host arrays and device buffers."""

    def __init__(self, device: Device, memory: Memory, commands: Commands, queue: Queue, counters: Counters):
        self._device, self._memory, self._commands = device, memory, commands
        self._queue, self._counters = queue, counters
        self._slots: list[Slot] = []
        self._free: list[Slot] = []
        self._chunks: deque[Slot] = deque()

    def acquire(self, upload_bytes: int, readback_bytes: int) -> Slot:
        """A slot that nothing in flight uses, with staging of at least these sizes."""
        slot = self._best(upload_bytes, readback_bytes) or self._new()
        try:
            if slot.capacity("upload") < upload_bytes:
                self._memory.free(slot.upload)
                slot.upload = None
                slot.upload = self._memory.upload_buffer(_power_of_two(upload_bytes))
            if slot.capacity("readback") < readback_bytes:
                self._memory.free(slot.readback)
                slot.readback = None
                slot.readback = self._memory.readback_buffer(_power_of_two(readback_bytes))
        except BaseException:
            self._free.append(slot)
            raise
        return slot

    def release(self, slot: Slot) -> None:
        """Its submit has finished and what it read back has been taken."""
        self._free.append(slot)

    def write(self, target: Buffer, offset_bytes: int, data: Bytes, where: str) -> None:
        """Copies host bytes into a buffer, after all that was submitted before."""
        for start in range(0, data.size, CHUNK_BYTES):
            part = data[start : start + CHUNK_BYTES]
            self._recycle(_CHUNKS_IN_FLIGHT - 1, where)
            slot = self.acquire(part.size, 0)
            slot.upload_bytes[: part.size] = part
            self._copy(slot, _handle(slot.upload), target.handle, (0, offset_bytes + start, part.size), where)
            self._chunks.append(slot)
        self._counters.upload_bytes_other += data.size

    def read(self, source: Buffer, offset_bytes: int, size_bytes: int, where: str) -> bytes:
        """Copies bytes back; waits for them and for all that was submitted before."""
        parts: list[bytes] = []
        under_way: deque[tuple[Slot, int]] = deque()
        for start in range(0, size_bytes, CHUNK_BYTES):
            if len(under_way) == _CHUNKS_IN_FLIGHT:
                parts.append(self._take(*under_way.popleft(), where))
            count = min(CHUNK_BYTES, size_bytes - start)
            slot = self.acquire(0, count)
            self._copy(slot, source.handle, _handle(slot.readback), (offset_bytes + start, 0, count), where)
            under_way.append((slot, count))
        parts += [self._take(slot, count, where) for slot, count in under_way]
        self._counters.readback_bytes += size_bytes
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def move(self, source: Buffer, target: Buffer, region: Region, where: str) -> None:
        """Copies from buffer to buffer, after all that was submitted before; does not wait."""
        self._recycle(_CHUNKS_IN_FLIGHT - 1, where)
        slot = self.acquire(0, 0)
        self._copy(slot, source.handle, target.handle, region, where)
        self._chunks.append(slot)
        self._counters.device_copy_bytes += region[2]

    def zero(self, buffers: list[Buffer], where: str) -> None:
        """Fills new buffers with zeros."""
        if not buffers:
            return
        self._recycle(_CHUNKS_IN_FLIGHT - 1, where)
        slot = self.acquire(0, 0)
        self._commands.begin(slot.head)
        for buffer in buffers:
            self._commands.fill(slot.head, buffer.handle, 0, buffer.size_bytes, 0)
        self._commands.barrier(slot.head)
        self._commands.end(slot.head)
        slot.serial = self._queue.submit([slot.head], where)
        self._chunks.append(slot)

    def close(self) -> None:
        """Frees what is not memory: that is freed by its owner."""
        for slot in self._slots:
            slot.times.close()
        self._slots.clear()

    def _copy(self, slot: Slot, source: Any, destination: Any, region: Region, where: str) -> None:
        self._commands.begin(slot.head)
        self._commands.copy(slot.head, source, destination, [region])
        self._commands.barrier(slot.head, to_host=True)
        self._commands.end(slot.head)
        slot.serial = self._queue.submit([slot.head], where)

    def _take(self, slot: Slot, count: int, where: str) -> bytes:
        """Waits for a chunk that comes back."""
        self._counters.blocking_waits += self._queue.wait(slot.serial, where)
        self._device.functions.reach("readback", f"readback, {where}")
        part = slot.readback_bytes[:count].tobytes()
        self.release(slot)
        return part

    def _recycle(self, keep: int, where: str) -> None:
        """Takes back the chunks that have been copied; waits until at most `keep` are under way."""
        while self._chunks and (len(self._chunks) > keep or self._queue.finished(where) >= self._chunks[0].serial):
            self._counters.blocking_waits += self._queue.wait(self._chunks[0].serial, where)
            self.release(self._chunks.popleft())

    def _best(self, upload_bytes: int, readback_bytes: int) -> Slot | None:
        """The free slot that fits most tightly, else the one that needs to grow least."""
        if not self._free:
            return None

        def fit(slot: Slot) -> tuple[int, int]:
            spare = (slot.capacity("upload") - upload_bytes, slot.capacity("readback") - readback_bytes)
            return sum(-min(0, size) for size in spare), sum(max(0, size) for size in spare)

        best = min(self._free, key=fit)
        self._free.remove(best)
        return best

    def _new(self) -> Slot:
        head, tail = self._commands.allocate(2)
        slot = Slot(head, tail, Timestamps(self._device, 2))
        self._slots.append(slot)
        return slot


def host_bytes(data: np.ndarray[Any, Any]) -> Bytes:
    """The bytes of a host array, without a copy where it is contiguous."""
    return np.ascontiguousarray(data).reshape(-1).view(np.uint8)


def _power_of_two(size_bytes: int) -> int:
    return max(_SMALLEST_BYTES, 1 << (size_bytes - 1).bit_length())


def _mapped(buffer: Buffer | None) -> Bytes:
    if buffer is None or buffer.mapped is None:
        return np.empty(0, np.uint8)
    return buffer.mapped


def _handle(buffer: Buffer | None) -> Any:
    if buffer is None:
        raise ValueError("the slot has no such staging")
    return buffer.handle
