"""The benchmarks measure the same thing on both sides. Nothing here looks at how long anything takes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.workloads import GPU, PROCESSOR, Workload
from munet.engine.execute.vulkan.device import why_no_devices
from munet.engine.lower import lower

WORKLOADS = [*GPU, *PROCESSOR]


@pytest.mark.parametrize("work", WORKLOADS, ids=lambda work: work.key)
def test_both_sides_have_the_same_parameters(work: Workload, tmp_path: Path) -> None:
    peers = pytest.importorskip("benchmarks.peers", reason="PyTorch is not installed", exc_type=ImportError)
    module = lower(work.project(tmp_path)).module
    drawn = {state.name: state.value.shape for state in module.states if state.group == "parameter"}
    model = peers.MODELS[work.peer]()
    assert {peers.state_name(name): tuple(p.shape) for name, p in model.named_parameters()} == drawn


@pytest.mark.device
def test_one_command_gives_table_and_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = why_no_devices()
    if missing:
        pytest.skip(missing)
    assert main(["processor", "--only", "cpu16", "--seconds", "0.01", "--out", str(tmp_path)]) == 0
    assert "| MLP 4-16-2, batch 32, SGD |" in capsys.readouterr().out
    (row,) = json.loads((tmp_path / "results.json").read_text())["processor"]
    assert row["munet_losses"][0] > row["munet_losses"][-1]
    assert row.get("agree", True)
    assert "MLP 4-16-2" in (tmp_path / "results.md").read_text()


def test_the_studio_s_cost_is_told_in_pairs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["studio", "--only", "xor", "--device", "cpu", "--pairs", "2", "--seconds", "0.06", "--out", str(tmp_path)]
    assert main(arguments) == 0
    assert "| xor |" in capsys.readouterr().out
    (row,) = json.loads((tmp_path / "results.json").read_text())["studio"]
    assert len(row["slowdown_percent"]) == 2 and row["previews"] >= 2 and row["profiles"] >= 2
    assert min(row["plain_steps_per_s"] + row["studio_steps_per_s"]) > 0


def test_unknown_topics_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["speed"])
    assert "unknown topic speed; topics: gpu, processor, cold, host, studio" in capsys.readouterr().err
