"""Verifying, timing and tuning of shader variants on a device, and what programs make of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from munet import Session, cli_shaders, shaders

pytestmark = pytest.mark.device


@pytest.fixture(autouse=True)
def own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MUNET_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("MUNET_SHADERS", str(tmp_path / "own"))


@pytest.fixture
def bench(own: None) -> Iterator[shaders.Bench]:
    with shaders.Bench() as made:
        yield made


def variants(session: Session) -> set[str]:
    return {view.variant for view in session.passes}


def view(name: str) -> shaders.VariantView:
    (asset,) = shaders.assets()
    found = asset.variant(name)
    assert found is not None
    return found


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1
    shaders.save_variant(path, text.replace(old, new))


def test_a_variant_of_ones_own_is_verified_and_trains_as_before(bench: shaders.Bench):
    path = shaders.new_variant("contraction", "generic", "mine")
    edit(path, "local_size_x = 128", "local_size_x = 64")
    grid = 'ceil_div(BATCH * M * N, {0}), 65535)", "ceil_div(ceil_div(BATCH * M * N, {0})'
    edit(path, grid.format(128), grid.format(64))
    shaders.set_used("contraction", "mine", True)
    with Session.open("xor") as session:
        assert "mine" not in variants(session)  # nobody has verified it
        session.step(20)
        expected = session.states()
    seen: list[tuple[int, int]] = []
    found = bench.verify("contraction", "mine", progress=lambda done, count: seen.append((done, count)))
    assert (found.verdict, found.runs, found.problem) == (shaders.OK, 10, "")
    assert seen == [(done, 10) for done in range(1, 11)]
    assert 0 < found.error <= 1
    assert (view("mine").verdict, view("mine").us, view("mine").error) == (shaders.OK, found.us, found.error)
    with Session.open("xor") as session:
        assert "mine" in variants(session)
        session.step(20)
        for name, state in session.states().items():
            np.testing.assert_allclose(state, expected[name], rtol=1e-4, atol=1e-6, err_msg=name)


def test_wrong_and_broken_ones_are_told_and_not_used(bench: shaders.Bench):
    path = shaders.new_variant("contraction", "generic", "mine")
    shaders.set_used("contraction", "mine", True)
    edit(path, "k = 0;", "k = 1;")
    found = bench.verify("contraction", "mine")
    assert (found.verdict, view("mine").verdict) == (shaders.WRONG, shaders.WRONG)
    assert found.error > 1
    assert "largest difference" in found.problem
    with Session.open("xor") as session:
        assert "mine" not in variants(session)
    edit(path, "k = 1;", "k = ;")
    found = bench.verify("contraction", "mine")
    assert (found.verdict, found.marks[0].line) == (shaders.BROKEN, 1 + path.read_text().split("k = ;")[0].count("\n"))
    edit(path, "k = ;", "k = 0;")
    assert bench.verify("contraction", "mine").verdict == shaders.OK
    text = path.read_text()
    shaders.save_variant(path, text.replace("rank    = 0", "rank    = 0\nrequires = { shared_bytes = 900000000 }"))
    found = bench.verify("contraction", "mine")
    assert (found.verdict, view("mine").verdict) == (shaders.REFUSED, shaders.REFUSED)
    assert view("mine").problem.startswith("needs 900,000,000 bytes of shared memory, the device has ")


def test_the_command_fills_the_same_store(bench: shaders.Bench):
    shaders.new_variant("contraction", "generic", "mine")
    assert view("mine").verdict == shaders.UNVERIFIED
    bench.verify("contraction", "generic")
    assert view("mine").verdict == shaders.OK  # the same text is the same variant
    shaders.forget("contraction", "mine")
    assert view("mine").verdict == shaders.UNVERIFIED
    listed = CliRunner().invoke(cli_shaders.app, ["list"]).output
    assert "mine         rank   0  One invocation a result" in listed
    assert "; your own" in listed


def test_tuned_times_decide(bench: shaders.Bench):
    with Session.open("xor") as session:
        sizes = shaders.contraction_sizes(session.program)
    assert {"BATCH": 1, "M": 4, "N": 8, "K": 2} in sizes
    found = bench.tune("contraction", sizes)
    assert [(f.done, f.count) for f in found] == [(i + 1, 2 * len(sizes)) for i in range(2 * len(sizes))]
    assert {f.variant for f in found} == {shaders.GENERATED, "generic"}
    assert all(f.us > 0 for f in found)
    best = {tuple(f.dims.values()): {} for f in found}
    for f in found:
        best[tuple(f.dims.values())][f.variant] = f.us
    worth = any(times["generic"] <= 0.9 * times[shaders.GENERATED] for times in best.values())
    with Session.open("xor") as session:
        assert ("generic" in variants(session)) == worth
        assert sum("µs" in view.reason or "measured" in view.reason for view in session.passes) > 0
