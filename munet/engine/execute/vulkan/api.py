"""The only file that imports `vulkan`: its cffi library, structs that stay alive, checked calls, typed errors.

The package's own wrappers are passed over: they cost eight times the raw call, and they let structs die that another
struct still points to. It is loaded at first use (60 ms, and the only step that needs a Vulkan loader).

    info = struct("VkBufferCreateInfo", size=64, usage=vk.VK_BUFFER_USAGE_STORAGE_BUFFER_BIT)
    calls.checked("vkCreateBuffer", calls.handle, info, ffi.NULL, out)     raises DeviceError and its kinds
    calls.vkCmdDispatch(commands, 1, 1, 1)                                 raw: for what has no result, where it is hot
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from munet.engine import settings
from munet.engine.errors import DeviceError, DeviceLost, DeviceTimeout, DeviceUnavailable, OutOfDeviceMemory


@functools.cache
def _load() -> Any:
    library = settings.current().vulkan_library
    try:
        if library:
            # Under its own name the package then finds the library that is loaded already.
            ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
        return importlib.import_module("vulkan._vulkan")
    except (ImportError, OSError) as problem:
        raise DeviceUnavailable(
            f"the Vulkan loader cannot be loaded ({problem}). Install a graphics driver with Vulkan, "
            "or Mesa's CPU driver (Debian and Ubuntu: apt install mesa-vulkan-drivers libvulkan1)"
        ) from problem


class _Lazy:
    """Stands for a part of the `vulkan` package until it is needed."""

    def __init__(self, pick: Callable[[Any], Any]):
        self._pick = pick

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._pick(_load()), name)
        setattr(self, name, value)
        return value


ffi: Any = _Lazy(lambda package: package.ffi)
lib: Any = _Lazy(lambda package: package.lib)
vk: Any = _Lazy(lambda package: package)  # for the constants


_pointed_to: weakref.WeakKeyDictionary[Any, tuple[Any, ...]] = weakref.WeakKeyDictionary()


def struct(type_name: str, **fields: Any) -> Any:
    """A new struct, by pointer, with its sType set; what the fields point to lives as long as it does.

    A field that is a struct by value takes the pointer that `struct` gave for it.
    """
    by_value, structure_type = _layout(type_name)
    made = ffi.new(f"{type_name} *")
    if structure_type is not None:
        made.sType = structure_type
    for name, value in fields.items():
        setattr(made, name, value[0] if name in by_value else value)
    _pointed_to[made] = tuple(fields.values())
    return made


@functools.cache
def _layout(type_name: str) -> tuple[frozenset[str], int | None]:
    """The fields that are structs by value, and the sType if there is one."""
    fields = dict(ffi.typeof(type_name).fields)
    structs = frozenset(name for name, field in fields.items() if field.type.kind in ("struct", "union"))
    return structs, getattr(vk, type_name).__defaults__[0] if "sType" in fields else None


def array(type_name: str, items: Sequence[Any]) -> Any:
    """A C array; structs are given by pointer and copied in, and what they point to lives as long as the array."""
    by_value = ffi.typeof(type_name).kind == "struct"
    made = ffi.new(f"{type_name}[]", [item[0] for item in items] if by_value else list(items))
    _pointed_to[made] = tuple(items)
    return made


def text(pointer: Any) -> str:
    """A C string as `str`."""
    return ffi.string(pointer).decode(errors="replace")


def listed(type_name: str, call: Callable[..., Any], *args: Any) -> list[Any]:
    """What an enumerating function lists (called once for the count, once for the items)."""
    count = ffi.new("uint32_t *")
    check(call(*args, count, ffi.NULL), "enumeration")
    items = ffi.new(f"{type_name}[]", count[0])
    check(call(*args, count, items), "enumeration")
    return [items[index] for index in range(count[0])]


@functools.cache
def _result_names() -> dict[int, str]:
    names: dict[int, str] = {}
    for name, value in vars(vk._pick(_load())).items():
        if isinstance(value, int) and (name.startswith("VK_ERROR_") or name in ("VK_TIMEOUT", "VK_NOT_READY", "VK_INCOMPLETE")):
            names.setdefault(value, name)
    return names


def check(result: int, where: str) -> None:
    """Raises the typed error of a failed call; `where` names the call, and the pass or program if there is one."""
    if result == 0:
        return
    name = _result_names().get(result, f"VkResult {result}")
    if result == vk.VK_ERROR_DEVICE_LOST:
        raise DeviceLost("the device was lost; its buffers are gone", where=where, result=name)
    if result in (vk.VK_ERROR_OUT_OF_DEVICE_MEMORY, vk.VK_ERROR_OUT_OF_HOST_MEMORY, vk.VK_ERROR_OUT_OF_POOL_MEMORY):
        raise OutOfDeviceMemory("the driver ran out of memory", where=where, result=name)
    if result == vk.VK_TIMEOUT:
        raise DeviceTimeout("the device did not finish in time", where=where, result=name)
    if result in (vk.VK_ERROR_INCOMPATIBLE_DRIVER, vk.VK_ERROR_INITIALIZATION_FAILED):
        raise DeviceUnavailable("the Vulkan driver cannot be used", where=where, result=name)
    raise DeviceError("the device refused a call", where=where, result=name)


class Functions:
    """The functions of an instance or a device as attributes, looked up once each; calling one checks nothing."""

    def __init__(self, handle: Any, resolve: Callable[[Any, bytes], Any]):
        self.handle = handle
        self._resolve = resolve

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("vk"):
            raise AttributeError(name)
        pointer = self._resolve(self.handle, name.encode())
        if pointer == ffi.NULL:
            raise DeviceUnavailable(f"the Vulkan driver lacks {name}; a newer driver is needed")
        function = ffi.cast(f"PFN_{name}", pointer)
        setattr(self, name, function)
        return function

    def checked(self, name: str, *args: Any, where: str = "") -> None:
        """Call `name` and raise what its result says; `where` is added to the call's name in the error."""
        result = getattr(self, name)(*args)
        if result:
            check(result, f"{name}, {where}" if where else name)

    def create(self, name: str, type_name: str, info: Any, where: str = "") -> Any:
        """What `name(handle, info, allocator, out)` creates."""
        out = ffi.new(f"{type_name} *")
        self.checked(name, self.handle, info, ffi.NULL, out, where=where)
        return out[0]


class DeviceFunctions(Functions):
    """A device's functions. Once it is lost, every checked call says so; tests can make it lost at a chosen place."""

    def __init__(self, handle: Any):
        super().__init__(handle, lib.vkGetDeviceProcAddr)
        self.lost_where = ""
        self._injected: dict[str, int] = {}

    def checked(self, name: str, *args: Any, where: str = "") -> None:
        self.ensure_alive()
        result = getattr(self, name)(*args)
        if result:
            place = f"{name}, {where}" if where else name
            if result == vk.VK_ERROR_DEVICE_LOST:
                self.lost_where = place
            check(result, place)

    def ensure_alive(self) -> None:
        """Raises DeviceLost if the device is gone."""
        if self.lost_where:
            raise DeviceLost(f"the device was lost earlier, in {self.lost_where}; open it anew", result="VK_ERROR_DEVICE_LOST")

    def inject_loss(self, place: str, nth: int = 1) -> None:
        """For tests: the `nth` coming "submit", "wait", "poll" or "readback" ends as if the driver had reported a loss."""
        self._injected[place] = nth

    def reach(self, place: str, where: str) -> None:
        """Marks a place where a loss can be injected."""
        if place not in self._injected:
            return
        self._injected[place] -= 1
        if self._injected[place] == 0:
            del self._injected[place]
            self.lost_where = where
            check(vk.VK_ERROR_DEVICE_LOST, where)
