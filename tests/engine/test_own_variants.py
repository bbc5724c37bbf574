"""A person's own shader variants, and what is remembered of variants on a device: no device is needed for either."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from munet import shaders
from munet.engine import settings
from munet.engine.asset_views import asset_views
from munet.engine.codegen.asset_choice import choose
from munet.engine.codegen.own_variants import faults, set_used, used, whole_asset
from munet.engine.codegen.shader_asset import GENERIC, load_asset
from munet.engine.codegen.verdicts import Judged, generated_us, keep_judged, keep_times, known_of, record_of
from munet.engine.device import DeviceInfo
from munet.engine.errors import ShaderError

GPU = DeviceInfo(
    name="large GPU", kind="discrete", driver="1.0", max_workgroup_invocations=1024, shared_bytes=49152, subgroup_size=32
)
LARGE = {"BATCH": 1, "M": 512, "N": 512, "K": 512}
FINE = Judged(10, 0.5, "", 12.5)
WRONG = Judged(10, 7.0, "largest difference 1 at [0, 0, 0], allowed 0.1")


@pytest.fixture(autouse=True)
def own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A cache and a folder of own variants for this test alone."""
    monkeypatch.setenv("MUNET_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("MUNET_SHADERS", str(tmp_path / "own"))
    return tmp_path / "own"


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1
    shaders.save_variant(path, text.replace(old, new))


def view(name: str) -> shaders.VariantView:
    (asset,) = shaders.assets(GPU)
    found = asset.variant(name)
    assert found is not None
    return found


# -- own files ---------------------------------------------------------------------------------------------------------


def test_a_copy_is_an_own_file_beside_the_shipped_ones(own: Path):
    path = shaders.new_variant("contraction", "tiled", "mine")
    assert path == own / "contraction" / "mine.comp"
    edit(path, "rank     = 10", "rank     = 30")
    assert [v.name for v in whole_asset("contraction").variants] == ["mine", "tiled", "generic"]
    assert [v.name for v in load_asset("contraction").variants] == ["tiled", "generic"]
    assert (view("mine").own, view("tiled").own, view("mine").verdict) == (True, False, shaders.UNVERIFIED)
    assert view("mine").needs[0].text == "invocations a workgroup: WORKGROUP_SIZE"
    for name in ("tiled", "mine", "../mine", "Mine", ""):
        with pytest.raises(ShaderError, match=r"already|is no name of a variant"):
            shaders.new_variant("contraction", "tiled", name)
    shaders.delete_variant(path)
    assert [v.name for v in whole_asset("contraction").variants] == ["tiled", "generic"]


def test_shipped_files_are_never_written():
    shipped = load_asset("contraction").variant("tiled").path
    before = shipped.read_bytes()
    for call in (lambda: shaders.save_variant(shipped, "nothing"), lambda: shaders.delete_variant(shipped)):
        with pytest.raises(ShaderError, match="is no file of your own; copy the variant first"):
            call()
    assert shipped.read_bytes() == before


def test_a_broken_file_is_told_with_its_line_and_the_last_good_one_stays(own: Path, caplog: pytest.LogCaptureFixture):
    path = shaders.new_variant("contraction", "generic", "mine")
    good = whole_asset("contraction").variant("mine")
    edit(path, "float sum = 0.0;", "float sum = nothing;")
    line = 1 + path.read_text().split("nothing")[0].count("\n")
    assert whole_asset("contraction").variant("mine") is good
    (fault,) = shaders.faults("contraction")
    assert (fault.kept, fault.marks[0].line) == (True, line)
    assert "nothing" in fault.marks[0].message
    broken = view("mine")
    assert (broken.verdict, broken.kept, broken.marks, broken.source) == (shaders.BROKEN, True, fault.marks, path.read_text())
    assert caplog.text.count("its last good version stays in use") == 1  # however often it was read
    edit(path, "nothing", "0.0")
    assert shaders.faults("contraction") == ()
    assert whole_asset("contraction").variant("mine") is not good


def test_what_was_never_right_is_left_out(own: Path):
    folder = own / "contraction"
    folder.mkdir(parents=True)
    source = load_asset("contraction").variant(GENERIC).source
    (folder / "tiled.comp").write_text(source)
    (folder / "Odd.comp").write_text(source)
    (folder / "bare.comp").write_text("void main() {}")
    (folder / "bytes.comp").write_bytes(b"\xff\xfe")
    more = "layout(set = 0, binding = 3) buffer D { float d[]; };\nvoid main() { d[0] = 1.0;"
    (folder / "writes.comp").write_text(source.replace("void main() {", more))
    assert [v.name for v in whole_asset("contraction").variants] == ["tiled", "generic"]
    told = {fault.path.name: fault.marks[0].message for fault in shaders.faults("contraction")}
    assert told["tiled.comp"] == "contraction is shipped with a variant 'tiled'; give this file another name"
    assert told["Odd.comp"].startswith("'Odd' is no name of a variant")
    assert told["bare.comp"].startswith("the metadata is missing")
    assert told["bytes.comp"] == "is no UTF-8 text: byte 0xff."
    assert told["writes.comp"] == "binding 3 of set 0 is not in the contract of contraction."
    assert not any(fault.kept for fault in shaders.faults("contraction"))


# -- what is remembered ------------------------------------------------------------------------------------------------


def chosen(device: DeviceInfo = GPU) -> str:
    asset = whole_asset("contraction")
    return choose(asset, LARGE, device, known_of(asset, LARGE, device)).variant.name


def test_a_wrong_variant_is_never_chosen_on_that_device():
    asset = load_asset("contraction")
    tiled = asset.variant("tiled")
    assert chosen() == "tiled"
    for configuration in tiled.configurations:
        keep_judged(asset, tiled, configuration, GPU, WRONG)
    assert chosen() == "generic"
    assert (view("tiled").verdict, view("tiled").problem) == (shaders.WRONG, WRONG.problem)
    for other in (replace(GPU, driver="1.1"), replace(GPU, name="another GPU")):
        assert chosen(other) == "tiled"
    shaders.forget("contraction", "tiled", GPU)
    assert chosen() == "tiled"


def test_an_own_variant_must_be_verified_and_another_text_is_another_variant():
    path = shaders.new_variant("contraction", "tiled", "mine")
    edit(path, "rank     = 10", "rank     = 30")
    assert chosen() == "tiled"
    asset = whole_asset("contraction")
    for configuration in asset.variant("mine").configurations:
        keep_judged(asset, asset.variant("mine"), configuration, GPU, FINE)
    assert (chosen(), view("mine").verdict, view("mine").us) == ("mine", shaders.OK, 12.5)
    edit(path, "rank     = 30", "rank     = 31")
    assert (chosen(), view("mine").verdict) == ("tiled", shaders.UNVERIFIED)


def test_used_variants_come_first_where_they_can_run():
    set_used("contraction", "generic", True)
    assert (chosen(), view("generic").used) == ("generic", True)
    set_used("contraction", "generic", False)
    assert (chosen(), view("generic").used) == ("tiled", False)
    (shaders.own_folder() / "used.json").write_text("[" * 100_000)
    assert chosen() == "tiled"
    (shaders.own_folder() / "used.json").write_text("no JSON")
    assert chosen() == "tiled"


def test_measured_times_decide():
    asset = load_asset("contraction")
    keep_times(asset, None, LARGE, GPU, {"": 30.0})
    keep_times(asset, asset.variant("generic"), LARGE, GPU, {"": 5.0})
    assert generated_us(asset, LARGE, GPU) == 30.0
    keep_times(asset, asset.variant("tiled"), LARGE, GPU, {str(asset.variant("tiled").configurations[2]): 9.0})
    assert chosen() == "generic"
    assert view("tiled").times == {"1x512x512x512": 9.0}
    assert generated_us(asset, {**LARGE, "K": 513}, GPU) is None


def test_damaged_records_count_as_nothing():
    asset = load_asset("contraction")
    tiled = asset.variant("tiled")
    for configuration in tiled.configurations:
        keep_judged(asset, tiled, configuration, GPU, WRONG)
    (file,) = (settings.current().cache_dir / "shaders").iterdir()
    content = file.read_bytes()
    for damaged in (content[:40], content.replace(b"runs", b"walk"), b"", b"\0" * 5000):
        file.write_bytes(damaged)
        assert record_of(asset, tiled, GPU).judged == {}
        assert chosen() == "tiled"
    keep_judged(asset, tiled, tiled.configurations[0], GPU, FINE)
    assert len(record_of(asset, tiled, GPU).judged) == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
@pytest.mark.parametrize("kind", ["pipe", "deep", "folder"])
def test_a_strange_list_of_used_variants_is_passed_over(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MUNET_SHADERS", str(tmp_path))
    path = tmp_path / "used.json"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "deep":
        path.write_text("[" * 100_000)
    else:
        path.mkdir()
    assert used("contraction") == ()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_a_pipe_in_place_of_a_variant_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MUNET_SHADERS", str(tmp_path))
    (tmp_path / "contraction").mkdir()
    os.mkfifo(tmp_path / "contraction" / "mine.comp")
    found = faults("contraction")
    assert [mark.message for fault in found for mark in fault.marks if "this is a pipe" in mark.message]
    views = {view.name: view for asset in asset_views(GPU) for view in asset.variants}  # and nobody waits for the pipe
    assert (views["mine"].source, views["mine"].readable) == ("", False)
