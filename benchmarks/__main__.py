"""`python -m benchmarks [TOPIC ...]`: correctness first, then times; a Markdown table, and all numbers as JSON.

    gpu        training steps against PyTorch on the same GPU; without one, on what there is
    processor  three MLPs on Vulkan's CPU driver
    cold       process start to the first trained step, with empty caches and with full ones
    host       the host's own time a step, with 100 steps a submit
    studio     what the window costs the training; needs no window

PyTorch's columns are left out where it is not installed. Compare only numbers of one run.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks import studio
from benchmarks.measure import measure, train
from benchmarks.workloads import GPU, PROCESSOR, Workload
from munet import Session, __version__
from munet.engine.execute.choose import open_executor
from munet.engine.pacing import Pace

TOPICS = ("gpu", "processor", "cold", "host", "studio")
ROOT = Path(__file__).resolve().parents[1]
CHECK_STEPS = 6
LOSS_TOLERANCE = 2e-3  # relative, of the losses of the first steps: sums are in other orders

FIRST_STEP = """
import sys, munet
with munet.Session.open(sys.argv[1], sys.argv[2]) as session:
    for _ in session.train(1):
        pass
    print(session.executor.counters.shader_compiles, session.executor.counters.pipelines)
"""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("topics", nargs="*", default=[], metavar="TOPIC", help=f"of {', '.join(TOPICS)}; none means all")
    parser.add_argument("--device", default="auto", help="as `munet run` takes it")
    parser.add_argument("--only", default="", help="workloads of a topic by key, separated by commas")
    parser.add_argument("--seconds", type=float, default=0.4, help="of one timed stretch; there are five")
    parser.add_argument("--modes", default="eager,compile,graph", help="PyTorch's, separated by commas")
    parser.add_argument("--pairs", type=int, default=7, help="studio: stretches of each side")
    parser.add_argument("--frame-ms", type=float, default=3.0, help="studio: own Python of a frame")
    parser.add_argument("--out", type=Path, help="folder for results.json and results.md")
    given = parser.parse_args(arguments)
    unknown = sorted(set(given.topics) - set(TOPICS))
    if unknown:
        parser.error(f"unknown topic {unknown[0]}; topics: {', '.join(TOPICS)}")
    results: dict[str, Any] = {"version": __version__, "date": time.strftime("%Y-%m-%d"), "machine": _machine(given.device)}
    lines = [f"MuNet Studio {__version__}, {results['date']}: {results['machine']}", ""]
    with tempfile.TemporaryDirectory() as folder:
        for topic in given.topics or TOPICS:
            results[topic], told = TOPIC_WORK[topic](given, Path(folder))
            lines += [*told, ""]
            print("\n".join(told), flush=True)
    if given.out:
        given.out.mkdir(parents=True, exist_ok=True)
        (given.out / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        (given.out / "results.md").write_text("\n".join(lines), encoding="utf-8")
    wrong = [row["key"] for rows in results.values() if isinstance(rows, list) for row in rows if row.get("agree") is False]
    if wrong:
        print(f"losses differ from PyTorch's: {', '.join(wrong)}", file=sys.stderr)
    return 1 if wrong else 0


def _machine(device: str) -> str:
    executor = open_executor(device)
    described = f"{executor.info.name}, {executor.info.driver}"
    executor.close()
    return f"{described}, {os.cpu_count()} processor cores"


def run_gpu(given: argparse.Namespace, folder: Path) -> tuple[list[dict[str, Any]], list[str]]:
    return _compare(GPU, given, folder)


def run_processor(given: argparse.Namespace, folder: Path) -> tuple[list[dict[str, Any]], list[str]]:
    return _compare(PROCESSOR, given, folder)


def _compare(works: Sequence[Workload], given: argparse.Namespace, folder: Path) -> tuple[list[dict[str, Any]], list[str]]:
    chosen = [work for work in works if not given.only or work.key in given.only.split(",")]
    rows = [_row(work, given, folder) for work in chosen]
    modes = [mode for mode in given.modes.split(",") if any(mode in row for row in rows)]
    head = ["step", *(f"PyTorch {mode}" for mode in modes), "MuNet", "on the device", "steps/s", "passes / levels"]
    head += ["MiB: PyTorch / MuNet", "losses"]
    table = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for row in rows:
        cells = [row["title"], *(_us(row.get(mode)) for mode in modes), _us(row["wall_us"]), _us(row["device_us"])]
        cells += [f"{1e6 / row['wall_us']:.4g}", f"{row['passes']} / {row['levels']}", _mib(row), row["losses"]]
        table.append(f"| {' | '.join(cells)} |")
    return rows, table


def _mib(row: dict[str, Any]) -> str:
    """The most that PyTorch held at once in its best mode, and what MuNet holds."""
    peaks = [row[name] for name in row if name.endswith("_peak_bytes") and row[name]]
    theirs = f"{min(peaks) / 2**20:.1f}" if peaks else "-"
    ours = f"{row['device_bytes'] / 2**20:.1f}" if row.get("device_bytes") else "-"
    return f"{theirs} / {ours}"


def _us(value: float | str | None) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return f"{value:,.3g} us" if value < 100 else f"{value:,.0f} us"


def _row(work: Workload, given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    done = measure(work, folder, device=given.device, check_steps=CHECK_STEPS, stretch_s=given.seconds)
    row: dict[str, Any] = {"key": work.key, "title": work.title, "wall_us": done.wall_us, "device_us": done.device_us}
    row |= {"passes": done.passes, "levels": done.levels, "arena_bytes": done.arena_bytes, "munet_losses": done.losses}
    row["device_bytes"] = done.device_bytes
    row["losses"] = f"{done.losses[0]:.5g} -> {done.losses[-1]:.5g}"
    print(f"  {work.key}: {done.wall_us:.1f} us, {row['losses']}", file=sys.stderr, flush=True)
    if importlib.util.find_spec("torch") is None:
        return row
    # Late, because PyTorch is optional and slow to import.
    import torch

    from benchmarks import peers

    device = "cuda" if torch.cuda.is_available() else "cpu"
    row["torch"] = torch.__version__
    row["torch_losses"] = peers.losses(work, done.parameters, device, CHECK_STEPS)
    far = max(abs(a - b) / max(abs(b), 1e-6) for a, b in zip(done.losses, row["torch_losses"], strict=True))
    row["agree"] = far < LOSS_TOLERANCE
    row["losses"] += f" ({'agree' if row['agree'] else 'DIFFER'}, {far:.0e})"
    for mode in given.modes.split(","):
        if mode in peers.MODES and (device == "cuda" or mode == "eager"):
            try:
                row[mode], row[f"{mode}_peak_bytes"] = peers.time_and_peak(work, done.parameters, device, mode, given.seconds)
            except Exception as problem:  # noqa: BLE001  # a compiler or driver of PyTorch's that fails must not end the run
                row[mode] = f"failed: {type(problem).__name__}"
            print(f"  {work.key}: PyTorch {mode} {row[mode]}", file=sys.stderr, flush=True)
    return row


def run_cold(given: argparse.Namespace, folder: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """A process of its own for each start; the driver's cache is MuNet's own folder's neighbour, so both start empty."""
    environment = os.environ | {"MUNET_CACHE_DIR": str(folder / "cache"), "MESA_SHADER_CACHE_DIR": str(folder / "mesa")}
    environment["__GL_SHADER_DISK_CACHE_PATH"] = str(folder)
    rows: list[dict[str, Any]] = []
    table = ["| start to first trained step of digits_lenet | seconds | shader compiles | pipelines |", "|---|---|---|---|"]
    for name in ("empty caches", "second process", "third process"):
        started = time.perf_counter()
        command = [sys.executable, "-c", FIRST_STEP, str(ROOT / "projects" / "digits_lenet.json"), given.device]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
        elapsed_s = time.perf_counter() - started
        compiles, pipelines = map(int, done.stdout.split()[-2:])
        rows.append({"key": name, "seconds": elapsed_s, "shader_compiles": compiles, "pipelines": pipelines})
        table.append(f"| {name} | {elapsed_s:.2f} | {compiles} | {pipelines} |")
    return rows, table


def run_host(given: argparse.Namespace, folder: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """Processor time of the thread that trains: feeds, submits, polls, results."""
    fixed = patch.object(Pace, "steps", lambda _: 100)
    with fixed, Session.open(ROOT / "projects" / "xor.json", given.device) as session:
        train(session, 2_000)
        found = []
        for _ in range(5):
            started = time.thread_time()
            train(session, 4_000)
            found.append(1e6 * (time.thread_time() - started) / 4_000)
    best, median = min(found), sorted(found)[len(found) // 2]
    row = {"key": "xor", "median_us": median, "best_us": best}
    return [row], [f"Host time a step, xor, 100 steps a submit: median {median:.2f} us, best {best:.2f} us"]


def run_studio(given: argparse.Namespace, folder: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """Stretches twenty times as long as those of other topics: each holds previews and a profile."""
    names = given.only.split(",") if given.only else ["digits_lenet", "spiral_mlp"]
    shared = {"seconds": max(0.2, 20 * given.seconds), "frame_ms": given.frame_ms}
    paths = [ROOT / "projects" / f"{name}.json" for name in names]
    found = [studio.pairs_of(path, given.device, pairs=given.pairs, **shared) for path in paths]
    return [pairs.row for pairs in found], studio.told(found, **shared)


TOPIC_WORK = {"gpu": run_gpu, "processor": run_processor, "cold": run_cold, "host": run_host, "studio": run_studio}

if __name__ == "__main__":
    sys.exit(main())
