from __future__ import annotations

import pytest

from translators import Through


@pytest.fixture(scope="session")
def through(tmp_path_factory: pytest.TempPathFactory) -> Through:
    return Through(tmp_path_factory.mktemp("documents"))
