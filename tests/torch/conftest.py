"""Fixtures of the comparison with PyTorch."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def _cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def torch_cache(monkeypatch: pytest.MonkeyPatch, _cache_folder: Path) -> None:
    """One cache for all tests of a run, apart from the user's."""
    monkeypatch.setenv("MUNET_CACHE_DIR", str(_cache_folder))
