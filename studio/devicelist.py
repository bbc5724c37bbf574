"""The machine's devices, looked for on a thread of its own: what each is and can do, and why a CPU driver is what is used."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from munet.inspect import DeviceInfo, devices, why_no_devices
from studio.figures import bytes_text
from studio.texts import text

FEATURES = (
    "shader_f16", "storage_16bit", "storage_8bit", "shader_int8", "shader_int64", "cooperative_matrix", "atomic_float_add",
    "integer_dot_product", "subgroup_size_control", "memory_model",
)  # fmt: skip  # those that matter to training, in the order in which they are told
KINDS = ("discrete", "integrated", "virtual")  # of GPUs


@dataclass(frozen=True)
class Found:
    """`missing`: why there is no Vulkan device; "" if there is one."""

    devices: tuple[DeviceInfo, ...] = ()
    missing: str = ""


def probe() -> Found:
    """Ask the drivers; may take a second."""
    return Found(tuple(devices()), why_no_devices())


class DeviceList:
    """`look` starts a thread that asks, `poll` takes what it found; neither waits. `found` is None until it is known."""

    def __init__(self, ask: Callable[[], Found] = probe):
        self._ask = ask
        self._answers: queue.SimpleQueue[Found] = queue.SimpleQueue()
        self._waiting = 0
        self.found: Found | None = None
        self.version = 0

    @property
    def busy(self) -> bool:
        return self._waiting > 0

    def look(self) -> None:
        if not self._waiting:
            self._waiting += 1
            threading.Thread(target=self._work, name="devices", daemon=True).start()

    def _work(self) -> None:
        try:
            found = self._ask()
        except Exception as error:  # noqa: BLE001  # a driver's fault must reach the panel, which else waits for ever
            found = Found((), text("job.unexpected", error=f"{type(error).__name__}: {error}"))
        self._answers.put(found)

    def poll(self) -> None:
        while not self._answers.empty():
            self.found = self._answers.get()
            self._waiting -= 1
            self.version += 1


def name_of(info: DeviceInfo) -> str:
    """As `Session.open` and the preferences call it."""
    return f"vulkan:{info.index}" if info.index >= 0 else "cpu"


def kind_of(info: DeviceInfo) -> str:
    if info.kind == "reference":
        return text("devices.reference")
    if info.kind == "cpu":
        return text("devices.cpu_driver")
    return text(f"devices.{info.kind}" if info.kind in KINDS else "devices.other")


def title_of(info: DeviceInfo) -> str:
    """For lists to choose from: "vulkan:0   AMD ..., discrete GPU"."""
    return f"{name_of(info)}   {info.name}" if info.kind == "reference" else f"{name_of(info)}   {info.name}, {kind_of(info)}"


def choices(found: Found | None, chosen: str) -> dict[str, str]:
    """What can be chosen, by how the preferences call it; what was chosen is among it even if it is not there now."""
    known = {"auto": f"auto   {text('devices.auto')}"}
    known |= {name_of(info): title_of(info) for info in (found.devices if found is not None else ())}
    known.setdefault("cpu", "cpu")
    known.setdefault(chosen, chosen)
    return known


def facts_of(info: DeviceInfo) -> list[tuple[str, str]]:
    """Rows of name and value."""
    if info.kind == "reference":
        return [("", text("devices.reference_doc"))]
    memory = bytes_text(info.memory_bytes)
    if info.budget_bytes:
        memory = text("devices.memory_of", free=bytes_text(info.budget_bytes), all=memory)
    low, high = info.subgroup_sizes
    ops = ", ".join(info.subgroup_ops)
    can = [text(f"feature.{name}") for name in FEATURES if name in info.features]
    cannot = [text(f"feature.{name}") for name in FEATURES if name not in info.features]
    rows = [
        ("driver", info.driver), ("vulkan", ".".join(map(str, info.api_version))), ("memory", memory),
        ("subgroup", text("devices.subgroup_of", size=info.subgroup_size, low=low, high=high, ops=ops)),
        ("shared", bytes_text(info.shared_bytes)),
        ("workgroup", text("devices.workgroup_of", count=info.max_workgroup_invocations,
                           size=" × ".join(map(str, info.max_workgroup_size)))),
        ("binding", text("devices.binding_of", size=bytes_text(info.max_storage_range), count=info.max_storage_buffers)),
        ("timestamps", text("devices.yes" if info.timestamp_period_ns else "devices.no")),
        ("can", ", ".join(can)), ("cannot", ", ".join(cannot)),
    ]  # fmt: skip
    return [(text(f"devices.{name}"), value) for name, value in rows if value]


def warning_of(found: Found, used: str = "") -> str:
    """Why training runs on the processor although one would want a GPU; "" where it does not. `used`: the device's name."""
    if found.missing:
        return found.missing
    gpus = [info for info in found.devices if info.kind in KINDS]
    usable = [info for info in gpus if "unusable" not in info.notes]
    if not usable:
        reasons = "; ".join(f"{info.name}: {info.notes['unusable']}" for info in gpus)
        return f"{text('devices.cpu_only')} {reasons}".strip()
    if any(info.name == used and info.is_cpu for info in found.devices):
        return text("devices.cpu_chosen", names=_names(usable))
    return ""


def _names(infos: Sequence[DeviceInfo]) -> str:
    return ", ".join(info.name for info in infos)
