"""The shader panel's words, and the thread behind it with a bench that stands in for a device."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import pytest

from munet import MunetError, shaders
from munet.shaders import Mark, Need, Tuned, VariantView, Verified
from studio import shaderdesk
from studio.shaderdesk import (
    Check,
    Checked,
    Conflict,
    Create,
    Created,
    Delete,
    Desk,
    Forget,
    Look,
    News,
    Note,
    Ready,
    Save,
    Saved,
    Seen,
    Tune,
    Use,
    Verify,
    Working,
)
from studio.shaders import Line, details, find, free_name, rows, time_text, tuned_text

MINE = ("contraction", "mine")
T = TypeVar("T")


@pytest.fixture(autouse=True)
def own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("MUNET_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("MUNET_SHADERS", str(tmp_path / "own"))
    return tmp_path / "own"


# -- words -------------------------------------------------------------------------------------------------------------


def test_rows_name_each_variant_below_its_asset():
    assets = shaders.assets("cpu")
    shown = rows(assets, {"tiled"})
    assert [(row.key, row.verdict, row.chosen) for row in shown] == [
        (("contraction", ""), "", False),
        (("contraction", "tiled"), shaders.UNVERIFIED, True),
        (("contraction", "generic"), shaders.UNVERIFIED, False),
    ]
    assert shown[0].label == "contraction (BATCH, M, N, K)"


def test_details_say_what_fails_and_why():
    (asset,) = shaders.assets("cpu")
    view = asset.variant("tiled")
    assert view is not None
    refused = replace(
        view,
        needs=(Need("features: shader_f16", "features missing: shader_f16"), Need("vendor nvidia")),
        configurations=tuple(replace(c, refused="features missing: shader_f16") for c in view.configurations),
    )
    lines = details(asset, refused)
    assert Line("this device cannot run it", "bad") in lines
    assert Line("  features missing: shader_f16", "bad") in lines
    assert Line("  vendor nvidia", "good") in lines
    assert any(line.text.startswith("Used when M >= 16") for line in lines)
    broken = replace(view, marks=(Mark(3, "wrong"),), kept=True)
    assert Line("The last good version stays in use.", "dim") in details(asset, broken)


def test_names_and_times():
    (asset,) = shaders.assets("cpu")
    assert free_name(asset, "tiled") == "tiled_2"
    view = asset.variant("tiled")
    assert view is not None
    more = replace(asset, variants=(*asset.variants, replace(view, name="tiled_2")))
    assert free_name(more, "tiled") == free_name(more, "tiled_2") == "tiled_3"
    assert (time_text(12.345), time_text(12345.6)) == ("12.3 µs", "12.3 ms")
    found = [
        Tuned("generated", "", {"M": 4}, 9.0, 1, 4), Tuned("generic", "", {"M": 4}, 5.0, 2, 4),
        Tuned("generated", "", {"M": 8}, 1.0, 3, 4), Tuned("generic", "", {"M": 8}, 5.0, 4, 4),
    ]  # fmt: skip
    assert tuned_text(found) == "Fastest for 2 sizes: generic 1, generated 1"


# -- the thread --------------------------------------------------------------------------------------------------------


class FakeBench:
    """Says of a variant what `verdicts` has for it; right unless told otherwise."""

    verdicts: ClassVar[dict[str, str]] = {}
    opened: ClassVar[list[str]] = []
    lose = False
    held = False  # a verification goes on and on

    def __init__(self, device: str):
        self.opened.append(device)

    def verify(self, asset: str, variant: str, *, progress: Callable[[int, int], Any]) -> Verified:
        if FakeBench.lose:
            raise MunetError("the device was lost")
        for done in range(3):
            progress(done + 1, 3)
        while FakeBench.held:
            progress(3, 3)
            time.sleep(0.005)
        verdict = self.verdicts.get(variant, shaders.OK)
        return Verified(asset, variant, verdict, "" if verdict == shaders.OK else "largest difference 3", runs=3)

    def tune(self, asset: str, sizes: list[dict[str, int]], progress: Callable[[Tuned], Any]) -> list[Tuned]:
        while True:
            progress(Tuned("generic", "", sizes[0], 1.0, 1, 2))
            time.sleep(0.01)

    def close(self) -> None:
        self.opened.append("closed")


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    monkeypatch.setattr(shaderdesk, "Bench", FakeBench)
    monkeypatch.setattr(shaderdesk, "WATCH_EVERY_S", 0.02)
    monkeypatch.setattr(FakeBench, "verdicts", {})
    monkeypatch.setattr(FakeBench, "opened", [])
    monkeypatch.setattr(FakeBench, "lose", False)
    monkeypatch.setattr(FakeBench, "held", False)
    made = Desk()
    yield made
    made.close()


def heard(desk: Desk, done: Callable[[list[News]], bool]) -> list[News]:
    """News until there are those that are waited for."""
    found: list[News] = []
    end = time.monotonic() + 20
    while not done(found):
        assert time.monotonic() < end, found
        found += desk.poll()
        time.sleep(0.005)
    return found


def finished(desk: Desk) -> list[News]:
    return heard(desk, lambda _: not desk.busy)


def of(kind: type[T], news: list[News]) -> list[T]:
    return [item for item in news if isinstance(item, kind)]


def mine(news: list[News]) -> VariantView:
    view = find(of(Seen, news)[-1].assets, MINE)
    assert view is not None
    return view


def made_mine(desk: Desk) -> Path:
    desk.submit(Look("cpu"))
    desk.submit(Create(("contraction", "generic"), "mine"))
    news = finished(desk)
    assert of(Created, news) == [Created(MINE)]
    return mine(news).path


def test_a_copy_is_made_used_and_deleted(desk: Desk, own: Path):
    path = made_mine(desk)
    assert path == own / "contraction" / "mine.comp"
    desk.submit(Use(MINE, True))
    news = finished(desk)
    assert (mine(news).used, of(Ready, news)) == (True, [Ready(MINE)])
    assert FakeBench.opened == ["cpu"]  # what is to be used is verified
    desk.submit(Forget(MINE))
    desk.submit(Delete(path))
    news = finished(desk)
    assert find(of(Seen, news)[-1].assets, MINE) is None
    assert not path.exists()
    desk.submit(Create(("contraction", "generic"), "tiled"))
    assert "has a variant 'tiled' already" in of(Note, finished(desk))[0].message


def test_what_is_saved_is_checked_and_taken_up_if_it_is_right(desk: Desk):
    path = made_mine(desk)
    good = path.read_text()
    desk.submit(Save(path, good + "// more\n"))
    news = finished(desk)
    assert of(Saved, news) == [Saved(path, good + "// more\n")]
    assert of(Ready, news) == [Ready(MINE)]
    desk.submit(Save(path, good.replace("float sum", "flat sum")))
    news = finished(desk)
    assert of(Ready, news) == []
    assert mine(news).marks[0].line == 1 + good[: good.index("float sum")].count("\n")
    assert mine(news).kept
    assert any(note.error and note.message.startswith("mine.comp:") for note in of(Note, news))
    FakeBench.verdicts = {"mine": shaders.WRONG}
    desk.submit(Save(path, good + "// again\n"))
    news = finished(desk)
    assert of(Ready, news) == []  # it compiles, but is wrong: what runs goes on as it is
    assert of(Note, news)[-1] == Note("contraction/mine: largest difference 3", error=True)


def test_a_file_is_watched_only_while_that_is_wanted(desk: Desk):
    path = made_mine(desk)
    path.write_text(path.read_text() + "// from elsewhere\n")
    time.sleep(0.1)
    assert of(Ready, desk.poll()) == []
    desk.watch(True)
    assert of(Ready, heard(desk, lambda news: bool(of(Ready, news)))) == [Ready(MINE)]
    assert not desk.busy


def test_all_are_verified_and_a_lost_device_is_opened_anew(desk: Desk):
    desk.submit(Look("vulkan:7"))
    desk.submit(Verify())
    news = finished(desk)
    assert [ready.key for ready in of(Ready, news)] == [("contraction", "tiled"), ("contraction", "generic")]
    assert Working("Verifying contraction/tiled", 2, 3) in news
    assert news[-1] == Working("") or of(Working, news)[-1] == Working("")
    FakeBench.lose = True
    desk.submit(Verify((("contraction", "generic"),)))
    assert Note("the device was lost", error=True) in finished(desk)
    FakeBench.lose = False
    desk.submit(Verify((("contraction", "generic"),)))
    finished(desk)
    assert FakeBench.opened == ["vulkan:7", "closed", "vulkan:7"]


def test_tuning_can_be_ended(desk: Desk):
    desk.submit(Look("auto"))
    desk.submit(Tune("contraction", ({"M": 1},)))
    heard(desk, lambda news: Working("Timing variants", 1, 2) in news)
    desk.cancel()
    assert Note("Cancelled.") in finished(desk)


def test_a_file_that_somebody_else_has_changed_is_not_written(desk: Desk):
    path = made_mine(desk)
    good = path.read_text()
    path.write_text(good + "// theirs\n")
    desk.submit(Save(path, good + "// mine\n", base=good))
    news = finished(desk)
    assert of(Conflict, news) == [Conflict(path)] and of(Saved, news) == []
    assert path.read_text() == good + "// theirs\n"
    desk.submit(Save(path, good + "// mine\n"))
    assert of(Saved, finished(desk)) == [Saved(path, good + "// mine\n")]
    assert path.read_text() == good + "// mine\n"


def test_a_text_is_checked_and_a_file_that_goes_is_told_once(desk: Desk):
    path = made_mine(desk)
    bad = path.read_text().replace("float sum", "flat sum")
    desk.submit(Check(path, "contraction", bad))
    (news,) = finished(desk)[:1]
    assert isinstance(news, Checked) and (news.path, news.content) == (path, bad) and news.marks[0].line > 1
    path.unlink()
    desk.watch(True)
    heard(desk, lambda news: any(note.error and note.message.startswith("mine.comp was deleted") for note in of(Note, news)))


def test_a_text_is_saved_amid_a_verification(desk: Desk):
    path = made_mine(desk)
    good = path.read_text()
    FakeBench.held = True
    desk.submit(Verify((("contraction", "generic"),)))
    heard(desk, lambda news: Working("Verifying contraction/generic", 3, 3) in news)
    desk.submit(Save(path, good + "// amid\n"))
    assert of(Saved, heard(desk, lambda news: bool(of(Saved, news)))) == [Saved(path, good + "// amid\n")]
    FakeBench.held = False
    assert of(Ready, finished(desk))[-1] == Ready(MINE)  # what was saved is verified afterwards
