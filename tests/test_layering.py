"""Who may import whom. Data flows down `ORDER`; a file of the engine imports only what stands above it.

A new file is placed in `ORDER` on purpose: the test fails for one that is not listed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# Files below munet/engine, in the order in which data flows. "folder/" stands for all of its files that are not listed
# themselves: those may import each other, but never in a circle.
ORDER = """
    __init__ version settings errors assets cachefile stages
    dtypes shapes ir/__init__ ir/module ir/text
    graph device
    index scalar kernels formulas operator declaring coordinates ir/verify ir/evaluate
    hostscalar philox builder initial
    files strict_json project_model project extent
    autodiff subgraphs structure optimising lower validate
    transforms/ codegen/ passlist program plan/ emit compile
    execute/
    example inspect costs profiling limits unfused livevalues
    events feeding pacing checkpoint runfolder pastruns states renaming restoring evaluation diagnose
    training prediction looking backward replacing recipe reporting session
    compare dump kernel_check tuning asset_views
""".split()

ONLY_IN = {  # package -> the one place that may import it
    "vulkan": "munet/engine/execute/vulkan/api.py",
    "onnx": "munet/interop/",
    "dearpygui": "studio/view/",
    "torch": "munet/interop/",
}

SOURCES = sorted(path for folder in ("munet", "studio") for path in (ROOT / folder).rglob("*.py"))


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imports(tree: ast.AST, package: str) -> Iterator[str]:
    """Dotted names that are imported when the code runs: those under `if TYPE_CHECKING` are left out."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.rsplit(".", node.level - 1)[0] if node.level else ""
            origin = ".".join(part for part in (base, node.module) if part)
            yield from (f"{origin}.{alias.name}" for alias in node.names)
        else:
            yield from imports(node, package)


def imports_of(path: Path) -> list[str]:
    package = ".".join(path.relative_to(ROOT).parent.parts)
    return list(imports(ast.parse(path.read_text(encoding="utf-8")), package))


def engine_file(imported: str, known: Mapping[str, list[str]]) -> str | None:
    """The file of the engine that a dotted name leads into; `a.b.c` may be the file a/b/c, a name in a/b, or in a/b/__init__."""
    parts = imported.split(".")[2:]
    for length in range(len(parts), -1, -1):
        stem = "/".join(parts[:length])
        for candidate in (stem, f"{stem}/__init__".lstrip("/")):
            if candidate in known:
                return candidate
    return None


def rank(file: str) -> int:
    """Place of a file in ORDER; -1 if it has none."""
    if file in ORDER:
        return ORDER.index(file)
    folders = [i for i, entry in enumerate(ORDER) if entry.endswith("/") and file.startswith(entry)]
    return folders[0] if folders else -1


def faults(known: Mapping[str, list[str]]) -> list[str]:
    """What breaks the order: files by their imports, given as file -> dotted names."""
    found = [f"{file}: not listed in ORDER" for file in known if rank(file) < 0]
    siblings: dict[str, list[str]] = {}
    for file, names in known.items():
        for imported in names:
            target = engine_file(imported, known) if imported.startswith("munet.engine") else None
            if target is None or target == file:
                continue
            if rank(target) > rank(file):
                found.append(f"{file} imports {target}, which stands below it")
            elif rank(target) == rank(file):
                siblings.setdefault(file, []).append(target)
    return found + [f"{file} imports itself through {', '.join(path)}" for file, path in circles(siblings)]


def circles(siblings: Mapping[str, list[str]]) -> Iterator[tuple[str, list[str]]]:
    for start in siblings:
        waiting = [(start, [start])]
        seen: set[str] = set()
        while waiting:
            file, path = waiting.pop()
            for target in siblings.get(file, []):
                if target == start:
                    yield start, path
                elif target not in seen:
                    seen.add(target)
                    waiting.append((target, [*path, target]))


def test_the_engine_keeps_its_order():
    engine = ROOT / "munet" / "engine"
    known = {path.relative_to(engine).with_suffix("").as_posix(): imports_of(path) for path in sorted(engine.rglob("*.py"))}
    assert faults(known) == []


def test_the_check_itself():
    known = {
        "errors": [],
        "graph": ["munet.engine.errors.Problem"],
        "project": ["munet.engine.graph.Graph", "munet.engine.lower"],
        "lower": ["munet.engine.errors"],
        "plan/arena": ["munet.engine.plan.levels.x"],
        "plan/levels": ["munet.engine.plan.arena"],
        "stranger": [],
    }
    assert faults(known) == [
        "stranger: not listed in ORDER",
        "project imports lower, which stands below it",
        "plan/arena imports itself through plan/arena, plan/levels",
        "plan/levels imports itself through plan/levels, plan/arena",
    ]
    code = "if TYPE_CHECKING:\n    import a\ndef f():\n    from . import b\nfrom ..c import d\nimport e.f"
    assert list(imports(ast.parse(code), "munet.engine.plan")) == ["munet.engine.plan.b", "munet.engine.c.d", "e.f"]


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_outer_borders(path: Path):
    name = name_of(path)
    for imported in imports_of(path):
        package = imported.split(".")[0]
        within = ".".join(imported.split(".")[:2])
        place = ONLY_IN.get(package, "")
        assert name.startswith(place), f"{name} imports {package}; only {place} may"
        if name.startswith("munet/engine/"):
            assert package != "munet" or within == "munet.engine", f"{name} imports {imported}; the engine knows only itself"
        if name.startswith("studio/"):
            assert within not in ("munet.engine", "munet.nodes"), f"{name} imports {imported}; the studio uses the public API"
        if name != "munet/cli.py" and not name.startswith("studio/"):
            assert package != "studio", f"{name} imports the studio"


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_only_settings_reads_the_environment(path: Path):
    if name_of(path) == "munet/engine/settings.py":
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        used = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        line = getattr(node, "lineno", 0)
        assert used not in ("environ", "getenv", "environb"), (
            f"{name_of(path)}:{line} reads the environment; settings.py does that"
        )


WRITES = {  # who may open a file for writing, and why: all else goes through files.write_file, which writes whole files or none
    "munet/engine/files.py": "write_file itself",
    "munet/engine/codegen/glslang.py": "a temporary folder of its own",
    "munet/engine/runfolder.py": "a lock, and lines that are appended",
    "studio/runshelf.py": "a lock",
    "studio/storage.py": "a lock",
}


def writes(tree: ast.AST) -> Iterator[str]:
    """Calls that open a file for writing, or make a library do it."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name)):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
        modes = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        opened = name in ("open", "fdopen") and any(set(mode) <= set("rwxabt+") and set(mode) & set("wxa+") for mode in modes)
        if opened or name in ("write_text", "write_bytes", "tofile", "savetxt", "save_file"):
            yield f"{name} in line {node.lineno}"


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_files_are_written_whole(path: Path) -> None:
    found = list(writes(ast.parse(path.read_text(encoding="utf-8"))))
    assert bool(found) == (name_of(path) in WRITES), found
