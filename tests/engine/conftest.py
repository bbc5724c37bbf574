"""Fixtures of the engine's tests."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def engine_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def own_cache(monkeypatch: pytest.MonkeyPatch, engine_cache: Path) -> None:
    """One cache for all tests of a run, apart from the user's; no switches set."""
    monkeypatch.setenv("MUNET_CACHE_DIR", str(engine_cache))
    for name in ("MUNET_VALIDATION", "MUNET_DISABLE"):
        monkeypatch.delenv(name, raising=False)
