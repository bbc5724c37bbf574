"""The command: what it prints, its exit codes, and what it makes of hostile files and of Ctrl-C."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from munet.engine.checkpoint import read_checkpoint
from munet.engine.dump import STAGES
from munet.engine.graph import Run
from munet.engine.project import dump_project, save_project
from munet.engine.version import VERSION
from tests.engine.running import DEVICES, ROOT, command, last_json, peak_kib, spiral, xor

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    save_project(xor(), tmp_path / "small.json")
    return tmp_path / "small.json"


@pytest.mark.parametrize("device", DEVICES)
def test_run_ends_with_a_line_of_json(project: Path, device: str):
    done = command("run", project, "--device", device, "--json")
    assert done.returncode == 0, done.stderr
    report = last_json(done)
    assert report["steps"] == 40
    assert 0 < report["loss"] < 1
    assert report["metrics"]["loss"] == report["loss"]
    assert "running on" in done.stderr
    if "llvmpipe" in report["device"]:
        assert "CPU driver" in done.stderr


def test_shipped_projects_are_found_by_name(tmp_path: Path):
    for name in ("xor", "xor.json", "projects/xor.json"):
        done = command("run", name, "--device", "cpu", "--steps", "3", "--json", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert last_json(done)["steps"] == 3


def test_run_folder_resume_and_settings(project: Path, tmp_path: Path):
    folder = tmp_path / "out"
    common = ("run", project, "--device", "cpu", "--out", folder)
    assert command(*common, "--steps", "10").returncode == 0
    refused = command(*common)
    assert refused.returncode == 2 and "holds a run already" in refused.stderr
    assert command(*common, "--resume", "--steps", "10").returncode == 0
    done = command(*common, "--more", "5", "--set", "learn.lr=0.5", "--json")
    assert last_json(done)["steps"] == 15
    header = read_checkpoint(folder / "last.safetensors")[1]
    assert (header.step, header.live["learn.lr"]) == (15, 0.5)
    facts = json.loads((folder / "run.json").read_text())
    assert facts["munet"] == VERSION and facts["seed"] == 3
    assert facts["set"] == ["learn.lr=0.5"]
    assert (folder / "project.json").read_text() == dump_project(xor(lr=0.5))
    assert command(*common, "--more", "1").returncode == 0  # goes on with what was set before
    assert json.loads((folder / "run.json").read_text())["set"] == ["learn.lr=0.5"]
    assert (folder / "project.json").read_text() == dump_project(xor(lr=0.5))


def test_set_changes_what_is_compiled_too(project: Path):
    wide = last_json(command("run", project, "--device", "cpu", "--steps", "1", "--set", "one.out_features=64", "--json"))
    small = last_json(command("run", project, "--device", "cpu", "--steps", "1", "--json"))
    assert wide["arena_bytes"] > small["arena_bytes"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--steps", "1", "--more", "2"), "exclude each other"),
        (("--resume",), "--resume needs --out"),
        (("--more", "2"), "--more needs --out"),
        (("--device", "vulkan:99"), "vulkan"),
        (("--device", "abacus"), "abacus"),
        (("--set", "learn.lr"), "NODE.PARAM=VALUE"),
        (("--set", "nobody.lr=1"), "nobody"),
        (("--steps", "-1"), "--steps"),
        (("--wrong",), "--wrong"),
    ],
)
def test_wrong_usage_is_exit_2(project: Path, arguments: tuple[str, ...], text: str):
    done = command("run", project, *arguments)
    assert done.returncode == 2
    assert text in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("change", ["learn.lr=-1", "learn.nothing=1", "one.out_features=none", "learn.lr=high"])
def test_wrong_values_are_exit_1(project: Path, change: str):
    done = command("run", project, "--device", "cpu", "--set", change)
    assert done.returncode == 1
    assert change.split(".")[0] in done.stderr and "Traceback" not in done.stderr


def test_check(project: Path, tmp_path: Path):
    done = command("check", project, "--json")
    assert done.returncode == 0 and last_json(done)["ok"]
    graph = xor()
    text = dump_project(graph).replace('"bend.y -> two.x"', '"bend.z -> two.x"').replace('"tanh"', '"tanhh"')
    (tmp_path / "bad.json").write_text(text)
    done = command("check", tmp_path / "bad.json", "--json")
    report = last_json(done)
    assert done.returncode == 1 and not report["ok"]
    assert report["problems"][0]["node"] == "bend"
    assert set(report["problems"][0]) == {"code", "found", "rule", "cure", "node", "socket", "file"}
    assert "bad.json" in done.stderr


def test_devices():
    done = command("devices")
    assert done.returncode == 0
    assert "NumPy reference" in done.stdout and "MUNET_CACHE_DIR" in done.stdout


@pytest.mark.parametrize("stage", STAGES)
def test_dump(project: Path, stage: str):
    done = command("dump", project, "--stage", stage)
    assert done.returncode == 0, done.stderr
    assert done.stdout == command("dump", project, "--stage", stage).stdout
    expected = {
        "graph": '"operator": "Linear"',
        "ir": "matmul(",
        "fused": "fused(",
        "schedule": "level 0",
        "glsl": "#version 450",
    }
    expected |= {"memory": "offset", "passes": "grid"}
    assert expected[stage] in done.stdout


def test_compare(project: Path):
    done = command("compare", project, "--device", DEVICES[-1], "--against", "cpu", "--steps", "2", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    report = last_json(done)
    assert report["ok"] and report["differences"] == [] and report["largest"] < 1


def test_version_and_help():
    assert command("--version").stdout.strip() == f"munet-studio {VERSION}"
    assert "compare" in command("--help").stdout


# Ctrl-C


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("device", DEVICES)
def test_interrupt_saves_and_exits(device: str, number: signal.Signals, tmp_path: Path):
    save_project(spiral(run=Run(steps=10**7, seed=1)), tmp_path / "long.json")
    line = [sys.executable, "-m", "munet.cli", "run", tmp_path / "long.json", "--device", device, "--out", tmp_path / "out"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(line, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        while not process.stderr.readline().startswith("step "):
            assert process.poll() is None
        process.send_signal(number)
        rest = process.communicate(timeout=60)[1]
    assert process.returncode == 128 + number, rest
    assert "Traceback" not in rest
    if number != signal.SIGHUP:  # then nobody reads it
        assert "stopping after the steps under way; once more ends at once without saving" in rest
        assert "stopped at step" in rest and rest.count("saved") == 1
    assert 0 < read_checkpoint(tmp_path / "out" / "last.safetensors")[1].step < 10**7


@pytest.mark.parametrize("after_s", [0.2, 0.5, 1.0])
@pytest.mark.parametrize("module", ["munet_command", "munet", "munet.cli"])
def test_interrupt_while_starting_is_quiet(project: Path, after_s: float, module: str):
    line = [sys.executable, "-m", module, "run", project, "--device", "cpu", "--steps", "10000000"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True, env=environment) as process:
        time.sleep(after_s)
        process.send_signal(signal.SIGINT)
        text = process.communicate(timeout=60)[1]
    assert process.returncode == 130 and "Traceback" not in text, text


# Hostile project files


def deep() -> str:
    return '{"munet": {"format": 1, "version": "0"}, "nodes": ' + "[" * 200_000


HOSTILE: dict[str, bytes] = {
    "empty": b"",
    "truncated": dump_project(xor()).encode()[:300],
    "other json": b"[1, 2, 3]",
    "wrong version": dump_project(xor()).replace('"format": 1', '"format": 99').encode(),
    "unknown operator": dump_project(xor()).replace('"tanh"', '"frobnicate"').encode(),
    "cycle": dump_project(xor()).replace('"points.x -> one.x"', '"two.y -> one.x"').encode(),
    "duplicate ids": dump_project(xor()).replace('"id": "two"', '"id": "one"').encode(),
    "nan": dump_project(xor()).replace('"lr": 0.05', '"lr": NaN').encode(),
    "infinite size": dump_project(xor()).replace('"out_features": 8', '"out_features": 2000000000').encode(),
    "bad utf-8": b'{"munet": "\xff\xfe"}',
    "deep": deep().encode(),
    "huge number": b'{"munet": {"format": ' + b"9" * 100_000 + b"}}",
    "binary": bytes(range(256)) * 100,
}


@pytest.mark.parametrize("kind", [*HOSTILE, "100 MB", "folder", "missing", "pipe"])
@pytest.mark.parametrize("verb", ["run", "check"])
def test_hostile_files(kind: str, verb: str, tmp_path: Path):
    path = tmp_path / "hostile.json"
    if kind in HOSTILE:
        path.write_bytes(HOSTILE[kind])
    elif kind == "100 MB":
        path.write_bytes(b"[" + b"1," * 50_000_000 + b"1]")
    elif kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    if (kind, verb) == ("infinite size", "check"):
        pytest.skip("what is too large is for the device to say")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    options = ("--device", "cpu") if verb == "run" else ()
    done = command(verb, path, *options, timeout=60, measured=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Processor time, so that a busy machine does not decide.
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 5
    assert done.returncode in (1, 2), done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert 0 < len(done.stderr) < 20_000
    assert peak_kib(done) < 500 * 1024


# Commands that look at a project


@pytest.fixture
def trained(project: Path, tmp_path: Path) -> Path:
    done = command("run", project, "--device", "cpu", "--out", tmp_path / "run", "--steps", "30")
    assert done.returncode == 0, done.stderr
    return tmp_path / "run" / "last.safetensors"


@pytest.mark.parametrize("device", DEVICES)
def test_predict(project: Path, trained: Path, device: str, tmp_path: Path):
    np.save(tmp_path / "x.npy", np.array([[0, 0], [0, 1], [1, 1]]))
    common = ("predict", project, "--checkpoint", trained, "--device", device)
    done = command(*common, "--input", f"points={tmp_path / 'x.npy'}", "--out", tmp_path / "y.npz", "--json")
    assert done.returncode == 0, done.stderr
    assert last_json(done) == {"two.y": {"dtype": "float32", "shape": [3, 1]}}
    found = np.load(tmp_path / "y.npz")["two.y"]
    weights = read_checkpoint(trained)[0]
    hidden = np.tanh(np.load(tmp_path / "x.npy") @ weights["one/weight"].T + weights["one/bias"])
    np.testing.assert_allclose(found, hidden @ weights["two/weight"].T + weights["two/bias"], rtol=1e-4, atol=1e-5)
    done = command(*common, "--node", "two", "--json")
    assert last_json(done)["two.y"]["shape"] == [4, 1]  # all held-out points


@pytest.mark.parametrize(
    ("arguments", "text", "code"),
    [
        (("--input", "points"), "NODE=FILE.npy", 2),
        (("--input", "points=nothing.npy"), "no NumPy array", 2),
        (("--input", "points={project}"), "no NumPy array", 2),
        (("--node", "nobody"), "nobody", 1),
        (("--checkpoint", "{project}"), "safetensors", 1),
    ],
)
def test_what_predict_refuses(project: Path, arguments: tuple[str, ...], text: str, code: int):
    done = command("predict", project, "--device", "cpu", *(a.replace("{project}", str(project)) for a in arguments))
    assert done.returncode == code, done.stderr
    assert text in done.stderr and "Traceback" not in done.stderr


def test_predict_wants_all_weights(trained: Path, tmp_path: Path):
    save_project(spiral(), tmp_path / "other.json")
    done = command("predict", tmp_path / "other.json", "--checkpoint", trained, "--device", "cpu")
    assert done.returncode == 1 and "does not fit this project" in done.stderr


def test_info(project: Path):
    done = command("info", project, "--json")
    assert done.returncode == 0, done.stderr
    report = last_json(done)
    assert report["parameters"] == 33
    assert [node["node"] for node in report["nodes"]] == list(xor().nodes)
    assert "[2, 8]" in done.stdout and "states" in done.stdout
    assert command("info", "digits_lenet").stdout.count("61,706") == 1


@pytest.mark.parametrize("device", DEVICES)
def test_profile(project: Path, device: str, tmp_path: Path):
    done = command("profile", project, "--device", device, "--steps", "2", "--trace", tmp_path / "t.json", "--json")
    assert done.returncode == 0, done.stderr
    report = last_json(done)
    assert report["steps"] == 2 and sum(p["us"] for p in report["passes"]) == pytest.approx(report["serialised_us"])
    assert {"one", "learn"} <= {node["node"] for node in report["nodes"]}
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"]


def test_schema():
    schema = json.loads(command("schema").stdout)
    assert schema["title"] == "MuNet Studio project" and "accumulate" in json.dumps(schema)


def test_new(tmp_path: Path):
    assert "digits_lenet" in command("new").stdout
    done = command("new", "xor", tmp_path / "mine.json")
    assert done.returncode == 0 and (tmp_path / "mine.json").read_bytes() == (ROOT / "projects" / "xor.json").read_bytes()
    assert command("new", "xor", tmp_path / "mine.json").returncode == 2  # it is there already
    done = command("new", "nothing", tmp_path / "other.json")
    assert done.returncode == 2 and "spiral_mlp" in done.stderr
    assert command("new", "xor", cwd=tmp_path).returncode == 0 and (tmp_path / "xor.json").is_file()


def test_export_weights(project: Path, trained: Path, tmp_path: Path):
    done = command("export-weights", project, "--checkpoint", trained, "--out", tmp_path / "w.safetensors")
    assert done.returncode == 0 and "4 arrays, 33 numbers" in done.stdout
    save_project(xor(run=Run(steps=3, initial_weights="w.safetensors")), tmp_path / "again.json")
    done = command(
        "run", tmp_path / "again.json", "--device", "cpu", "--steps", "1", "--set", "learn.lr=0", "--out", tmp_path / "again"
    )
    assert done.returncode == 0, done.stderr
    arrays, saved = read_checkpoint(tmp_path / "again" / "last.safetensors")[0], read_checkpoint(trained)[0]
    np.testing.assert_array_equal(arrays["one/weight"], saved["one/weight"])


def test_resuming_an_edited_project_says_what_is_new(project: Path, trained: Path, tmp_path: Path):
    edited = dump_project(xor()).replace('"tanh"', '"relu"').replace(
        '"bend.y -> two.x"', '"bend.y -> extra.x",\n    "extra.y -> two.x"'
    )  # fmt: skip
    edited = edited.replace('"nodes": [', '"nodes": [\n    {"id": "extra", "operator": "Linear", "params": {"out_features": 8}},')
    project.write_text(edited)
    done = command("run", project, "--device", "cpu", "--out", trained.parent, "--resume", "--steps", "35", "--json")
    assert done.returncode == 0, done.stderr
    assert "the project has changed since the checkpoint" in done.stderr and "extra/weight" in done.stderr
    assert "kept as" in done.stderr
    assert read_checkpoint(trained.parent / "before-30.safetensors")[1].step == 30
    assert last_json(done)["steps"] == 35
