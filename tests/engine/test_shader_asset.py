"""Shader assets without a device: what is wrong with one is said with file and line, and how a variant is chosen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from munet.engine.codegen.asset_check import check_asset
from munet.engine.codegen.asset_choice import Known, choose, explain
from munet.engine.codegen.formula import FormulaError, condition, number_formula
from munet.engine.codegen.reflect import reflect
from munet.engine.codegen.shader_asset import (
    Asset,
    Configuration,
    Variant,
    asset_names,
    load_asset,
    read_asset,
)
from munet.engine.codegen.spirv import compile_glsl
from munet.engine.device import DeviceInfo
from munet.engine.errors import DeclarationError, ShaderError
from munet.engine.kernel_check import REFERENCES

pytestmark = pytest.mark.usefixtures("own_cache")

CONTRACT = """\
dimensions = ["rows", "cols"]
shapes = [[1, 7], [131, 257]]
[buffers]
x = "read"
y = "write"
[tolerance.f32]
rtol = 1e-6
scale_by = "cols"
"""
GENERIC = """\
#version 450
/*--- munet-shader
summary = "One invocation a row."
rank    = 0
grid    = ["ceil_div(rows, 64)", "1", "1"]
---*/
layout(local_size_x = 64) in;
layout(set = 0, binding = 0, std430) readonly buffer X { float x[]; };
layout(set = 0, binding = 1, std430) writeonly buffer Y { float y[]; };
layout(push_constant, std430) uniform Push { uint rows; uint cols; };
void main() {
    uint row = gl_GlobalInvocationID.x;
    if (row >= rows) return;
    float sum = 0.0;
    for (uint c = 0; c < cols; ++c) sum += x[row * cols + c];
    y[row] = sum / float(cols);
}
"""
SUBGROUP = """\
#version 450
/*--- munet-shader
summary  = "subgroupAdd first, shared memory only across subgroups."
rank     = 20
requires = { subgroup_ops = ["arithmetic"], subgroup_size = [16, 32, 64], workgroup_invocations = 256, shared_bytes = 1024 }
when     = "cols >= 256"
grid     = ["rows", "1", "1"]
[constants]
WORKGROUP_SIZE = { id = 0, choices = [128, 256] }
[tolerance.f32]
rtol = 2e-6
reason = "sums of a few lanes are longer"
---*/
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(constant_id = 0) const uint WORKGROUP_SIZE = 256;
layout(local_size_x_id = 0, local_size_y = 1, local_size_z = 1) in;
layout(set = 0, binding = 0, std430) readonly buffer X { float x[]; };
layout(set = 0, binding = 1, std430) writeonly buffer Y { float y[]; };
layout(push_constant, std430) uniform Push { uint rows; uint cols; };
shared float partial[WORKGROUP_SIZE];
void main() {
    uint row = gl_WorkGroupID.x;
    float sum = 0.0;
    for (uint c = gl_LocalInvocationID.x; c < cols; c += WORKGROUP_SIZE) sum += x[row * cols + c];
    sum = subgroupAdd(sum);
    if (subgroupElect()) partial[gl_SubgroupID] = sum;
    barrier();
    if (gl_LocalInvocationID.x == 0) {
        float all = 0.0;
        for (uint s = 0; s < gl_NumSubgroups; ++s) all += partial[s];
        y[row] = all / float(cols);
    }
}
"""
GPU = DeviceInfo(
    name="large GPU",
    kind="discrete",
    max_workgroup_invocations=1024,
    shared_bytes=49152,
    subgroup_size=32,
    subgroup_ops=("basic", "arithmetic"),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An asset of two variants that is as it should be."""
    made = tmp_path / "row_mean"
    made.mkdir()
    (made / "contract.toml").write_text(CONTRACT)
    (made / "generic.comp").write_text(GENERIC)
    (made / "subgroup.comp").write_text(SUBGROUP)
    return made


def edited(folder: Path, file: str, old: str, new: str) -> Path:
    text = (folder / file).read_text()
    assert text.count(old) == 1, f"{old!r} occurs {text.count(old)} times"
    (folder / file).write_text(text.replace(old, new))
    return folder


def message(folder: Path) -> str:
    """What reading the asset complains about, without the folder's path."""
    with pytest.raises(DeclarationError) as caught:
        read_asset(folder)
    return str(caught.value).replace(f"{folder}/", "").replace(str(folder), "row_mean")


# -- error texts -------------------------------------------------------------------------------------------------------

WRONG = [
    ("rank     = 20", "rank     = = 20", "subgroup.comp:4: wrong TOML: Invalid value."),
    ("rank     = 20\n", "", "subgroup.comp:2: rank is missing: a whole number."),
    ("rank     = 20", 'rank     = "high"', "subgroup.comp:4: rank is 'high', expected a whole number."),
    (
        "rank     = 20",
        "rank     = 20\nspeed = 3",
        "subgroup.comp:5: unknown entry 'speed'; known: summary, rank, requires, when, grid, work, constants, configurations, "
        "tolerance.",
    ),
    (
        "shared_bytes = 1024",
        "wavefront = 64",
        "subgroup.comp:5: unknown requirement 'wavefront'; known: workgroup_invocations, shared_bytes, subgroup_ops, "
        "subgroup_size, features, extensions, vendor.",
    ),
    ("{ id = 0,", "{ id = 1,", "subgroup.comp:9: WORKGROUP_SIZE has id 1 here, but the GLSL declares constant_id = 0."),
    (
        "WORKGROUP_SIZE = {",
        "TILE = {",
        "subgroup.comp:9: TILE is no specialization constant of the GLSL, which declares WORKGROUP_SIZE.",
    ),
    (
        "[128, 256]",
        '["large"]',
        "subgroup.comp:9: WORKGROUP_SIZE has choices ['large'], expected a list of whole numbers.",
    ),
    ("cols >= 256", "columns >= 256", "subgroup.comp:6: when names columns; the dimensions of row_mean are rows, cols."),
    (
        "cols >= 256",
        "cols + 256",
        "subgroup.comp:6: when: 'cols + 256' in 'cols + 256' is no comparison; comparisons are joined by `and` and `or`.",
    ),
    ("cols >= 256", "cols >=", "subgroup.comp:6: when: 'cols >=' is no formula."),
    ('["rows", "1", "1"]', '["rows"]', "subgroup.comp:7: grid has 1 entries, expected 3: the workgroups in x, y and z."),
    (
        '["rows", "1", "1"]',
        '["rows / 2", "1", "1"]',
        "subgroup.comp:7: grid: 'rows / 2' in 'rows / 2' is not made of names, whole numbers, + - * // % and ceil_div, min, max.",
    ),
    (
        'subgroup_ops = ["arithmetic"]',
        "subgroup_ops = []",
        'subgroup.comp:14: #extension GL_KHR_shader_subgroup_arithmetic needs subgroup_ops = ["arithmetic"] in requires.',
    ),
    (
        "#extension GL_KHR_shader_subgroup_arithmetic : require\n",
        "",
        'subgroup.comp:5: subgroup_ops = ["arithmetic"] is required, but no line says '
        "#extension GL_KHR_shader_subgroup_arithmetic.",
    ),
    (
        'subgroup_ops = ["arithmetic"]',
        'subgroup_ops = ["arithmetic", "telepathy"]',
        "subgroup.comp:5: subgroup_ops names 'telepathy', which is unknown.",
    ),
    (
        'reason = "sums of a few lanes are longer"',
        "",
        "subgroup.comp:10: the tolerance of f32 is looser than the contract's; say why in `reason`.",
    ),
    (
        "/*--- munet-shader",
        "/*",
        "subgroup.comp:1: the metadata is missing: a comment /*--- munet-shader ... ---*/ at the top.",
    ),
]


@pytest.mark.parametrize(("old", "new", "expected"), WRONG, ids=[text[2][:60] for text in WRONG])
def test_a_wrong_variant(folder: Path, old: str, new: str, expected: str):
    assert message(edited(folder, "subgroup.comp", old, new)) == expected


def test_a_wrong_contract(folder: Path):
    edited(folder, "contract.toml", 'scale_by = "cols"', 'scale_by = "depth"')
    assert message(folder) == "contract.toml:8: scale_by names depth; the dimensions are rows, cols."
    edited(folder, "contract.toml", 'scale_by = "depth"', 'scale_by = "cols"')
    edited(folder, "contract.toml", "[131, 257]", "[131]")
    assert message(folder) == "contract.toml:2: shape [131] does not give rows, cols."
    edited(folder, "contract.toml", "[131]", "[131, 257]")
    edited(folder, "contract.toml", '"write"', '"writes"')
    assert message(folder) == "contract.toml:5: buffer y is 'writes', expected read, write or read_write."


def test_generic_is_there_and_needs_nothing(folder: Path):
    text = (folder / "generic.comp").read_text()
    (folder / "generic.comp").unlink()
    assert message(folder) == "row_mean: generic.comp is missing. Every asset has one: it runs on any device."
    (folder / "generic.comp").write_text(text.replace("rank    = 0", 'rank    = 0\nwhen = "cols > 3"'))
    assert message(folder) == "generic.comp:5: generic.comp must run on every device and for every shape: when = 'cols > 3'."
    (folder / "generic.comp").write_text(text.replace("rank    = 0", "rank    = 0\nrequires = { shared_bytes = 20000 }"))
    assert message(folder) == (
        "generic.comp:5: generic.comp must run on every device and for every shape: "
        "needs 20,000 bytes of shared memory, the device has 16,384."
    )


def test_there_is_no_such_asset():
    with pytest.raises(ShaderError, match="there is no shader asset 'nothing'; there are contraction"):
        load_asset("nothing")


# -- what the SPIR-V says ----------------------------------------------------------------------------------------------


def checked(folder: Path) -> str:
    with pytest.raises(DeclarationError) as caught:
        check_asset(read_asset(folder))
    return str(caught.value).replace(f"{folder}/", "")


def test_a_right_asset_passes_the_checks(folder: Path):
    check_asset(read_asset(folder))
    for name in asset_names():
        asset = load_asset(name)
        check_asset(asset)
        assert name in REFERENCES
        assert {variant.name for variant in asset.variants} >= {"generic"}


def test_an_input_that_is_written(folder: Path):
    edited(folder, "generic.comp", "readonly buffer X", "buffer X")
    assert checked(folder) == "generic.comp:8: binding 0 (x) is only read by contract: declare it readonly."
    edited(folder, "generic.comp", "y[row] =", "x[row] = 0.0; y[row] =")
    assert checked(folder) == "generic.comp:8: binding 0 (x) is only read by contract, but the shader writes it."


def test_bindings_that_do_not_fit(folder: Path):
    edited(folder, "generic.comp", "binding = 1,", "binding = 2,")
    assert checked(folder) == (
        "generic.comp:1: binding 1 (y) of row_mean is missing.\n"
        "generic.comp:9: binding 2 of set 0 is not in the contract of row_mean."
    )


def test_push_constants_that_do_not_fit(folder: Path):
    edited(folder, "generic.comp", "uint rows; uint cols;", "uint cols; uint rows;")
    assert checked(folder) == "generic.comp:10: the push constants are cols, rows; the dimensions of row_mean are rows, cols."


def test_a_workgroup_larger_than_stated(folder: Path):
    edited(folder, "subgroup.comp", "workgroup_invocations = 256", "workgroup_invocations = 128")
    assert checked(folder) == (
        "subgroup.comp:16: a workgroup has 256 invocations (WORKGROUP_SIZE = 256), but requires states 128."
    )


@pytest.mark.parametrize("api_version", [(1, 2, 0), (1, 3, 0)])
def test_reflection(folder: Path, api_version: tuple[int, int, int]):
    """Vulkan 1.3 takes SPIR-V 1.6, which says the workgroup's size in another way."""
    found = reflect(compile_glsl(SUBGROUP, "subgroup", api_version=api_version))
    assert [(c.name, c.constant_id, c.default) for c in found.constants] == [("WORKGROUP_SIZE", 0, 256)]
    assert found.workgroup == (256, 1, 1)
    assert found.workgroup_ids == (0, None, None)
    assert [(b.name, b.binding, b.readonly, b.read, b.written) for b in found.buffers] == [
        ("X", 0, True, True, False),
        ("Y", 1, False, False, True),
    ]
    assert found.push_members == ("rows", "cols")
    assert found.push_bytes == 8
    with pytest.raises(ShaderError, match="no SPIR-V"):
        reflect(b"nothing like it at all!!")


# -- formulas ------------------------------------------------------------------------------------------------------------


def test_formulas():
    values = {"M": 7, "N": 64}
    assert number_formula("ceil_div(M * N, 128) + N % 5 - 1").number(values) == 7
    assert condition("1 <= M < 8 and (N == 3 or N >= 64)").holds(values)
    assert not condition("M > 7 or N < 64").holds(values)
    assert condition("M > 3 and N > 64").failing(values).text == "N > 64"
    assert condition("N > M and 3 < M").names == ("N", "M")
    for text in ("__import__('os')", "M.real", "M[0]", "lambda: 1", "M if N else 3", "max(M)", "1.5", "True", "-M"):
        with pytest.raises(FormulaError):
            number_formula(text)
    for text in ("M", "M and N > 3", "not M > 3", "M in N", "M is N"):
        with pytest.raises(FormulaError):
            condition(text)
    with pytest.raises(FormulaError, match="divides by zero"):
        number_formula("N // (M - 7)").number(values)


# -- choosing --------------------------------------------------------------------------------------------------------------


def why(asset: Asset, device: DeviceInfo, **dims: int) -> dict[str, str]:
    return dict(explain(asset, dims, device))


def test_why_a_variant_is_passed_over(folder: Path):
    asset = read_asset(folder)
    assert why(asset, GPU, rows=3, cols=512) == {
        "subgroup": "chosen: rank 20, WORKGROUP_SIZE = 128",
        "generic": "eligible, but subgroup has a higher rank (20)",
    }
    cases = [
        (GPU, 255, "cols >= 256 does not hold: cols = 255"),
        (replace(GPU, subgroup_size=8), 512, "subgroup size is 8, needs 16, 32 or 64"),
        (replace(GPU, subgroup_ops=("basic",)), 512, "subgroup operations missing: arithmetic"),
        (replace(GPU, shared_bytes=512), 512, "needs 1,024 bytes of shared memory, the device has 512"),
        (replace(GPU, max_workgroup_count=(2, 1, 1)), 512, "its grid has 3 workgroups in x, the device allows 2"),
    ]
    for device, cols, reason in cases:
        found = why(asset, device, rows=3, cols=cols)
        assert found["subgroup"] == f"passed over ({reason})"
        assert found["generic"].startswith("chosen: rank 0")


def test_verdicts_and_measured_times_come_before_rank(folder: Path):
    asset = read_asset(folder)
    dims = {"rows": 3, "cols": 512}

    def verified(variant: Variant, configuration: Configuration) -> str:
        return "failed" if configuration.constants.get("WORKGROUP_SIZE") == 128 else ""

    def all_but_generic(variant: Variant, configuration: Configuration) -> str:
        return "" if variant.name == "generic" else "failed"

    def times(variant: Variant, configuration: Configuration) -> float | None:
        return {128: 3.0, 256: 2.0}.get(configuration.constants.get("WORKGROUP_SIZE", 0))

    assert choose(asset, dims, GPU).configuration.constants == {"WORKGROUP_SIZE": 128}
    assert choose(asset, dims, GPU, Known(verified)).configuration.constants == {"WORKGROUP_SIZE": 256}
    assert choose(asset, dims, GPU, Known(all_but_generic)).variant.name == "generic"
    chosen = choose(asset, dims, GPU, Known(times=times))
    assert (chosen.configuration.constants, chosen.reason) == (
        {"WORKGROUP_SIZE": 256},
        "measured fastest, 2, WORKGROUP_SIZE = 256",
    )
    fast_generic = choose(asset, dims, GPU, Known(times=lambda variant, _: 1.0 if variant.name == "generic" else 2.0))
    assert fast_generic.variant.name == "generic"


def test_ties_go_by_name(folder: Path):
    (folder / "another.comp").write_text(SUBGROUP)
    assert choose(read_asset(folder), {"rows": 3, "cols": 512}, GPU).variant.name == "another"


def test_a_changed_file_is_read_anew(folder: Path):
    assert read_asset(folder).variant("subgroup").rank == 20
    edited(folder, "subgroup.comp", "rank     = 20", "rank     = 3000")
    assert read_asset(folder).variant("subgroup").rank == 3000
    with pytest.raises(ShaderError, match="has no variant 'fast'; it has subgroup, generic"):
        read_asset(folder).variant("fast")


def tile(m: int, n: int, k: int, batch: int = 1) -> tuple[int, int] | str:
    """Tile of the contraction asset on a large GPU, or the variant's name."""
    chosen = choose(load_asset("contraction"), {"BATCH": batch, "M": m, "N": n, "K": k}, GPU)
    constants = chosen.configuration.constants
    return (constants["TILE_M"], constants["TILE_N"]) if constants else chosen.variant.name


def test_the_size_decides_the_tile():
    assert tile(4096, 4096, 4096) == (64, 128)
    assert tile(65536, 64, 64) == (128, 64)  # no wider than the result
    assert tile(512, 512, 512) == (32, 64)  # smaller, so that every core has one
    assert tile(16, 65536, 150) == (16, 256)
    assert tile(65536, 16, 150) == (128, 16)
    assert tile(32, 32, 32) == "generic"
    assert tile(6, 589824, 25) == "generic"
