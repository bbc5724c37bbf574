"""A device's limits: measured once, kept in a file, and what they say of a pass."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from munet import Session
from munet.engine import limits as module
from munet.engine.device import REFERENCE, DeviceInfo
from munet.engine.limits import Limits, known_limits
from tests.engine.running import DEVICES

LIMITS = Limits("toy", copy_gb_s=100.0, gflop_s=1000.0, pass_us=2.0)


def test_a_pass_is_judged_by_what_holds_it() -> None:
    assert LIMITS.share(10.0, 500_000, 1_000_000) == (0.5, "memory")
    share, by = LIMITS.share(10.0, 100_000, 8_000_000)
    assert by == "arithmetic" and share == pytest.approx(0.8)
    assert LIMITS.estimate_us(1_000_000, 0) == pytest.approx(12.0)
    assert LIMITS.estimate_us(0, 4_000_000) == pytest.approx(6.0)


@pytest.mark.parametrize("content", [b"{}", b"nonsense", b'{"device": "x", "copy_gb_s": 0, "gflop_s": 1, "pass_us": 1}'])
def test_a_file_of_another_kind_counts_as_none(content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUNET_CACHE_DIR", str(tmp_path))
    device = DeviceInfo(name="toy")
    module.cachefile.write(module._file(device), content)  # the file is what is tested
    assert known_limits(device) is None


def test_the_reference_has_none() -> None:
    with Session.open("xor", "cpu") as session:
        assert session.executor.info.name == REFERENCE.name
        assert session.limits() is None


@pytest.mark.device
@pytest.mark.skipif(len(DEVICES) < 2, reason="there is no Vulkan device")
def test_measured_once_and_training_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUNET_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(module, "MEASURE_S", 0.0)
    with Session.open("xor") as session:
        session.step(3)
        assert known_limits(session.executor.info) is None
        found = session.limits()
        assert found is not None and found == known_limits(session.executor.info)
        assert found.copy_gb_s > 0.05 and found.gflop_s > 0.05 and 0 < found.pass_us < 1e5
        assert known_limits(replace(session.executor.info, driver="another")) is None
        monkeypatch.setattr(module, "_measure", lambda executor: pytest.fail("it is known"))
        assert session.limits() == found
        session.step(1)
        assert session.step_count == 4
