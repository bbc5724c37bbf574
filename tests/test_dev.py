"""dev.py, as far as it can be tried without installing anything."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import dev

ROOT = Path(__file__).resolve().parents[1]


def test_an_old_python_can_still_read_it():
    ast.parse((ROOT / "dev.py").read_text(encoding="utf-8"), feature_version=(3, 7))


@pytest.mark.parametrize("arguments", [[], ["run"], ["tset"]])
def test_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]):
    assert dev.main(arguments) == 2
    assert capsys.readouterr().out.startswith("usage: python3 dev.py run PROJECT")


def test_too_old_python_says_what_to_do(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(dev.sys, "version_info", (3, 9, 1))
    monkeypatch.setattr(dev.shutil, "which", lambda _: None)
    assert dev.main(["test"]) == 1
    assert "this is Python 3.9, but MuNet Studio needs 3.11, 3.12 or 3.13." in capsys.readouterr().err


def test_failed_install_is_told_in_a_few_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    output = "WARNING: noise\nLooking in links: x\nERROR: No matching distribution found for numpy"
    monkeypatch.setattr(dev, "STAMP", tmp_path / "stamp.json")
    monkeypatch.setattr(dev, "make_venv", lambda: None)
    monkeypatch.setattr(dev, "torch_index", list)
    monkeypatch.setattr(dev, "quiet", lambda *_, **__: (1, output))
    assert dev.main(["check"]) == 1
    printed = capsys.readouterr().err
    assert "  ERROR: No matching distribution found for numpy\nTry: " in printed
    assert "noise" not in printed


def test_no_vulkan_and_no_apt_goes_on(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(dev, "vulkan_device_count", lambda: 0)
    monkeypatch.setattr(dev.shutil, "which", lambda name: "/usr/bin/dnf" if name == "dnf" else None)
    monkeypatch.setattr(dev.sys, "platform", "linux")
    assert dev.set_up_vulkan(with_validation=False) is False
    printed = capsys.readouterr().err
    assert "no Vulkan device was found.\nTry: sudo dnf install vulkan-loader mesa-vulkan-drivers" in printed
    assert "going on without Vulkan, with the CPU reference" in printed


def test_the_probe_is_a_program_of_its_own():
    compile(dev.PROBE, "probe", "exec")
    done = subprocess.run([sys.executable, "-c", dev.PROBE], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.strip().isdigit() or "no loader" in done.stderr


def test_what_the_window_needs_is_asked_of_apt_or_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(dev.sys, "platform", "linux")
    found = "\n".join(name for name in dev.DISPLAY_NEEDS.values() if name.startswith("libX"))
    monkeypatch.setattr(dev, "quiet", lambda *_, **__: (0, found))
    monkeypatch.setattr(dev.shutil, "which", lambda name: "/usr/bin/xdotool" if name == "xdotool" else None)
    assert dev.missing_for_display() == ["xvfb", "libgl1", "libgl1-mesa-dri"]
    asked: list[list[str]] = []
    monkeypatch.setattr(dev, "install_debian", lambda packages, why: asked.append(packages))
    dev.set_up_display()
    assert asked == [["xvfb", "libgl1", "libgl1-mesa-dri"]] and not capsys.readouterr().err
    monkeypatch.undo()
    monkeypatch.setattr(dev, "missing_for_display", lambda: ["xvfb", "libxi6"])
    monkeypatch.setattr(dev.shutil, "which", lambda _: None)
    dev.set_up_display()
    printed = capsys.readouterr().err
    assert "need a display without a screen.\nTry: install Xvfb, libXi.so.6 with your system's package tool" in printed
    assert "going on without the tests of the window" in printed


def test_elsewhere_than_on_linux_no_display_is_set_up(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(dev.sys, "platform", "darwin")
    assert dev.missing_for_display() == []
