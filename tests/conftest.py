"""Golden texts: what a stage of the compiler prints, kept in tests/golden and compared word for word.

`pytest --update-golden` writes them anew; the diff is then read like code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(scope="session", autouse=True)
def _no_own_shaders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests see the shipped shader variants alone, not those of whoever runs them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MUNET_SHADERS", str(tmp_path_factory.mktemp("shaders")))
        yield


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the texts in tests/golden anew")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """golden("xor.ir.txt", text) compares with the file of that name."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"{path} is missing; pytest --update-golden writes it"
        assert text == path.read_text(encoding="utf-8"), f"{path.name} differs; pytest --update-golden, then read the diff"

    return compare
