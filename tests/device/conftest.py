"""Fixtures for tests that run on a Vulkan device; they skip where there is none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from munet.engine.execute.vulkan.executor import VulkanExecutor


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    """One cache for all tests of a run, apart from the user's; no switches set."""
    monkeypatch.setenv("MUNET_CACHE_DIR", str(cache))
    for name in ("MUNET_VALIDATION", "MUNET_DISABLE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def executor(environment: None) -> Iterator[VulkanExecutor]:
    with VulkanExecutor() as made:
        yield made
