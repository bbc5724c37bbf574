"""Parts of the training panels without a window: live values, devices, the log."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest

from munet import Graph
from munet.inspect import DeviceInfo, LiveParameter, live_parameters
from studio.devicelist import DeviceList, Found, choices, facts_of, kind_of, name_of, probe, warning_of
from studio.document import Document, selected
from studio.edits import EditRefused
from studio.liveparams import SetLive, in_range, order, place_of
from studio.messagelog import MAX_LINES, MessageLog
from studio.subgraph_commands import Collapse, Promote
from tests.studio.helpers import opened

GPU = DeviceInfo("Fast", "discrete", 0, "V", "drv 1", memory_bytes=8_000_000_000, features=frozenset({"shader_f16"}))
CPU = DeviceInfo("llvmpipe", "cpu", 1)
REFERENCE = DeviceInfo("NumPy reference", "reference")


def live_of(graph: Graph) -> dict[str, float]:
    return {param.key: param.value for param in live_parameters(graph)}


# -- live values -----------------------------------------------------------------------------------------------------------


def test_a_live_value_is_set_undone_and_merged_while_it_is_dragged():
    document = opened("xor")
    before = live_of(document.graph)["adam.lr"]
    for value in (0.002, 0.003):
        assert document.do(SetLive("adam", "lr", value, "live adam.lr"))
    assert live_of(document.graph)["adam.lr"] == 0.003
    assert len(document.undo_labels) == 1
    document.undo()
    assert live_of(document.graph)["adam.lr"] == before


def _boxed() -> Document:
    """xor with its Adam in a subgraph."""
    document = opened("xor")
    document.do(Collapse(frozenset({"adam"}), "block"))
    return document


def test_a_live_value_inside_a_subgraph_is_set_from_outside():
    document = _boxed()
    (key,) = [key for key in live_of(document.graph) if key.endswith("adam.lr")]
    path = key.removesuffix(".lr")
    assert "/" in path and document.state.inside == ()
    assert document.do(SetLive(path, "lr", 0.002))
    assert live_of(document.graph)[key] == 0.002
    assert document.state.inside == ()


def test_a_live_value_that_is_given_out_is_set_at_the_instance():
    document = _boxed()
    (key,) = [key for key in live_of(document.graph) if key.endswith("adam.lr")]
    path = key.removesuffix(".lr")
    block = path.split("/")[0]
    document.enter(block)
    document.do(Promote("adam", "lr", "rate"))
    document.leave()
    assert place_of(document.graph, path, "lr") == ((), block, "rate")
    document.do(SetLive(path, "lr", 0.005))
    assert document.graph.nodes[block].params["rate"] == 0.005
    assert live_of(document.graph)[key] == 0.005


def test_selection_and_place_stay_when_a_live_value_elsewhere_is_set():
    document = opened("xor")
    document.select(selected(["linear 1"]))
    document.do(SetLive("adam", "lr", 0.004))
    assert document.selection.nodes == {"linear 1"}
    with pytest.raises(EditRefused):
        document.do(SetLive("nobody", "lr", 0.004))


def test_values_are_brought_into_range_and_rates_come_first():
    lr, count = LiveParameter("adam", "lr", 0.1, 0.0, 1.0), LiveParameter("a", "count", 3.0, 1.0, None, whole=True)
    assert in_range(lr, 2.0) == 1.0 and in_range(lr, -1.0) == 0.0 and in_range(lr, 0.0010000000474) == 0.001
    assert in_range(count, 2.6) == 3 and in_range(count, -4.0) == 1
    assert order([count, lr]) == [lr, count]


# -- devices ---------------------------------------------------------------------------------------------------------------


def test_devices_are_called_as_the_preferences_call_them():
    found = Found((GPU, CPU, REFERENCE))
    assert [name_of(info) for info in found.devices] == ["vulkan:0", "vulkan:1", "cpu"]
    assert list(choices(found, "auto")) == ["auto", "vulkan:0", "vulkan:1", "cpu"]
    assert list(choices(None, "vulkan:7")) == ["auto", "cpu", "vulkan:7"]
    assert kind_of(GPU) == "discrete GPU" and kind_of(CPU) == "CPU driver"


def test_facts_name_memory_and_what_a_device_can_and_cannot_do():
    facts = dict(facts_of(GPU))
    assert facts["memory"] == "8.00 GB" and facts["driver"] == "drv 1"
    assert facts["supported"] == "16-bit floats" and "8-bit storage" in facts["not supported"]
    assert "free" in dict(facts_of(replace(GPU, budget_bytes=10**9)))["memory"]
    assert len(facts_of(REFERENCE)) == 1


def test_a_cpu_driver_is_explained():
    assert warning_of(Found((GPU, CPU, REFERENCE)), "Fast") == ""
    assert "Fast" in warning_of(Found((GPU, CPU, REFERENCE)), "llvmpipe")
    assert "CPU driver" in warning_of(Found((CPU, REFERENCE)))
    broken = replace(GPU, notes={"unusable": "no timeline semaphores"})
    assert "no timeline semaphores" in warning_of(Found((broken, CPU)))
    assert warning_of(Found((REFERENCE,), "no Vulkan loader")) == "no Vulkan loader"


def _wait(devices: DeviceList) -> None:
    end = time.monotonic() + 20
    while devices.busy:
        assert time.monotonic() < end
        devices.poll()
        time.sleep(0.005)


def test_looking_for_devices_does_not_wait_and_a_fault_is_told():
    go, calls = threading.Event(), list[int]()

    def slow() -> Found:
        calls.append(1)
        assert go.wait(20)
        raise OSError("driver fell over")

    devices = DeviceList(slow)
    devices.look()
    devices.look()  # while the first look goes on
    devices.poll()
    assert devices.busy and devices.found is None
    go.set()
    _wait(devices)
    assert devices.found is not None and "driver fell over" in devices.found.missing
    assert len(calls) == 1 and devices.version == 1


def test_this_machine_has_the_reference_at_least():
    assert "reference" in [info.kind for info in probe().devices]


# -- log -------------------------------------------------------------------------------------------------------------------


def test_the_log_is_bounded_and_tells_the_time():
    log = MessageLog()
    for number in range(MAX_LINES + 10):
        log.add(f"line {number}", error=number % 2 == 1)
    log.add("")
    assert len(log.lines) == MAX_LINES and log.version == MAX_LINES + 10
    assert log.lines[-1].words == f"line {MAX_LINES + 9}" and log.lines[-1].error
    first = log.text.splitlines()[0]
    assert first.endswith("  line 10") and first[2] == first[5] == ":"
    log.clear()
    assert not log.lines and log.text == ""
