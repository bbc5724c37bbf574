"""Device names and what they open: "auto" (the best Vulkan device), "vulkan:N", "cpu" (the NumPy reference)."""

from __future__ import annotations

from munet.engine.device import REFERENCE, DeviceInfo
from munet.engine.errors import DeviceUnavailable
from munet.engine.execute.base import Executor
from munet.engine.execute.cpu import ReferenceExecutor
from munet.engine.execute.vulkan.device import list_devices, why_no_devices
from munet.engine.execute.vulkan.executor import VulkanExecutor

CPU = "cpu"


def open_executor(device: str = "auto") -> Executor:
    """An executor on `device`. No device is ever taken in place of another.

    Raises DeviceUnavailable with the reason.
    """
    if device == CPU:
        return ReferenceExecutor()
    index = device_index(device)
    try:
        return VulkanExecutor(index)
    except DeviceUnavailable as missing:
        raise DeviceUnavailable(f'{missing}. The NumPy reference runs anywhere, slowly: it is the device "cpu"') from None


def devices() -> list[DeviceInfo]:
    """The machine's Vulkan devices, best first, then the reference: all that can be asked for, as "vulkan:N" and "cpu"."""
    return [*list_devices(), REFERENCE]


def device_info(device: str = "auto") -> DeviceInfo:
    """What is known of `device`, without opening it. Raises DeviceUnavailable."""
    if device == CPU:
        return REFERENCE
    index, devices = device_index(device), list_devices()
    usable = [info for info in devices if "unusable" not in info.notes]
    if index is None and usable:
        return usable[0]
    if index is not None and index < len(devices):
        return devices[index]
    raise DeviceUnavailable(why_no_devices() or f"there is no usable device {device}; `munet devices` lists them")


def device_index(device: str) -> int | None:
    """The N of "vulkan:N"; None leaves the choice open. Raises DeviceUnavailable for a name of another form."""
    kind, _, number = str(device).partition(":")
    if device in ("auto", "vulkan"):
        return None
    if kind == "vulkan" and number.isascii() and number.isdecimal() and len(number) < 6:
        return int(number)
    raise DeviceUnavailable(f'there is no device "{str(device)[:40]}"; say auto, vulkan:N or cpu')
