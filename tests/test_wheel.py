"""The wheel alone, without the checkout: installed into an empty environment, it trains from another folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

pytestmark = pytest.mark.slow


def run(*command: str | Path, cwd: Path) -> str:
    """The standard output; fails with everything that was printed. The checkout is not on the child's path."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
    done = subprocess.run(
        [*map(str, command)], cwd=cwd, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    # Without isolation: the build backend belongs to the extra `dev`, so no network is needed.
    run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-q", "-w", folder, ROOT, cwd=folder)
    (file,) = folder.glob("*.whl")
    return file


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment that holds the wheel alone; the packages it depends on are lent by the one that runs the tests."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder.parent)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "-q", wheel, cwd=folder.parent)
    packages = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip())
    # Paths that a .pth file adds come last, and .pth files found there are not read: an editable munet stays unseen.
    (packages / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n" + sysconfig.get_path("platlib") + "\n")
    return folder


def test_what_the_wheel_holds(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    for needed in (
        "munet/_assets/shaders/include/math.glsl",
        "munet/_assets/projects/xor.json",
        "munet/data/digits.npz",
        "munet/data/DIGITS_LICENSE.md",
        "munet/engine/execute/vulkan/api.py",
        "munet_command.py",
        "studio/__init__.py",
        "studio/_assets/fonts/studio-ui.ttf",
        "studio/_assets/fonts/studio-mono.ttf",
        "studio/_assets/fonts/OFL.txt",
    ):
        assert needed in names
    entries = {name.split("/")[0] for name in names}
    assert {entry for entry in entries if not entry.endswith(".dist-info")} == {"munet", "munet_command.py", "studio"}
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    assert not any("__pycache__" in name or "/runs/" in name for name in names)


def test_the_wheel_trains_from_another_folder(environment: Path, tmp_path: Path):
    scripts = environment / ("Scripts" if os.name == "nt" else "bin")
    where = run(scripts / "python", "-c", "import munet; print(munet.__file__)", cwd=tmp_path).strip()
    package = Path(where).parent
    assert package.is_relative_to(environment)
    project = package / "_assets" / "projects" / "xor.json"
    output = run(scripts / "munet", "run", project, "--steps", "20", "--out", tmp_path / "out", "--json", cwd=tmp_path)
    result = json.loads(output.strip().splitlines()[-1])
    assert result["steps"] == 20
    assert 0 < result["loss"] < 10
