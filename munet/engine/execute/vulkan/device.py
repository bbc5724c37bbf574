"""Choosing and opening a device: `list_devices()` to look, `open_device(index)` to use."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from munet.engine.device import DeviceInfo
from munet.engine.errors import DeviceError, DeviceUnavailable
from munet.engine.execute.vulkan.api import DeviceFunctions, array, ffi, struct
from munet.engine.execute.vulkan.describe import QueueFamily, describe, feature_chain, queue_family
from munet.engine.execute.vulkan.instance import Instance

_PREFERENCE = ("discrete", "integrated", "virtual", "other", "cpu")


@dataclass
class Device:
    """An open device with its only queue. Whoever opens it closes it."""

    info: DeviceInfo
    instance: Instance
    physical: Any
    functions: DeviceFunctions
    family: QueueFamily
    queue: Any

    @property
    def handle(self) -> Any:
        return self.functions.handle

    def close(self) -> None:
        """Frees device and instance; all that was made from them must be gone. Works on a lost device too."""
        if self.functions.handle is not None:
            self.functions.vkDestroyDevice(self.functions.handle, ffi.NULL)
            self.functions.handle = None
        self.instance.close()


def list_devices() -> list[DeviceInfo]:
    """The machine's Vulkan devices, best first; their order gives the N of "vulkan:N". Empty without loader or driver."""
    try:
        instance = Instance()
    except DeviceUnavailable:
        return []
    try:
        return [info for _, info in _found(instance)]
    finally:
        instance.close()


def why_no_devices() -> str:
    """What is missing when `list_devices()` is empty: the loader, a driver, or a device; "" if there is one."""
    try:
        instance = Instance()
    except DeviceUnavailable as missing:
        return str(missing)
    try:
        return "" if instance.physical_devices() else "the Vulkan driver finds no device"
    finally:
        instance.close()


def open_device(index: int | None = None) -> Device:
    """Opens device `index` of `list_devices()`, or the best usable one. Raises DeviceUnavailable with the reason."""
    instance = Instance()
    try:
        physical, info = _chosen(_found(instance), index)
        return _opened(instance, physical, info)
    except DeviceError:
        instance.close()
        raise


def _found(instance: Instance) -> list[tuple[Any, DeviceInfo]]:
    devices = [(physical, describe(instance, physical)) for physical in instance.physical_devices()]
    devices.sort(key=lambda device: _PREFERENCE.index(device[1].kind))
    return [(physical, replace(info, index=index)) for index, (physical, info) in enumerate(devices)]


def _chosen(devices: list[tuple[Any, DeviceInfo]], index: int | None) -> tuple[Any, DeviceInfo]:
    if not devices:
        raise DeviceUnavailable("the Vulkan driver finds no device")
    if index is not None and not 0 <= index < len(devices):
        there = "vulkan:0" if len(devices) == 1 else f"vulkan:0 to vulkan:{len(devices) - 1}"
        raise DeviceUnavailable(f"there is no device vulkan:{index}; this machine has {there}")
    usable = [device for device in devices if "unusable" not in device[1].notes]
    if index is None and not usable:
        reasons = "; ".join(f"{info.name}: {info.notes['unusable']}" for _, info in devices)
        raise DeviceUnavailable(f"no Vulkan device of this machine can be used ({reasons})")
    physical, info = usable[0] if index is None else devices[index]
    if "unusable" in info.notes:
        raise DeviceUnavailable(f"vulkan:{index} ({info.name}) cannot be used: {info.notes['unusable']}")
    if info.kind != "cpu":
        return physical, info
    gpus = [other.name for _, other in usable if other.kind != "cpu"]
    reason = f"it was asked for, although there is {', '.join(gpus)}" if gpus else "no usable GPU with a Vulkan driver was found"
    note = f"programs run on the processor, through a CPU driver: {reason}. Expect it to be slow"
    return physical, replace(info, notes={**info.notes, "cpu": note})


def _opened(instance: Instance, physical: Any, info: DeviceInfo) -> Device:
    family = queue_family(instance, physical)
    if family is None:
        raise DeviceUnavailable(f"{info.name} has no queue for compute")
    priorities = array("float", [1.0])
    queues = struct("VkDeviceQueueCreateInfo", queueFamilyIndex=family.index, queueCount=1, pQueuePriorities=priorities)
    names = array("char *", [ffi.new("char[]", name.encode()) for name in sorted(info.extensions)])
    features = feature_chain(info.api_version, info.extensions, info.features)
    chosen = struct(
        "VkDeviceCreateInfo",
        pNext=next(iter(features.values())),
        queueCreateInfoCount=1,
        pQueueCreateInfos=queues,
        enabledExtensionCount=len(info.extensions),
        ppEnabledExtensionNames=names,
    )
    out = ffi.new("VkDevice *")
    instance.functions.checked("vkCreateDevice", physical, chosen, ffi.NULL, out, where=info.name)
    functions = DeviceFunctions(out[0])
    queue = ffi.new("VkQueue *")
    functions.vkGetDeviceQueue(out[0], family.index, 0, queue)
    return Device(info, instance, physical, functions, family, queue[0])
