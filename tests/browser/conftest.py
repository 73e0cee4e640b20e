"""A real browser and a real server."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from exploring import explorer, watched

PAGE = Path(__file__).parents[2] / "src" / "regard" / "insight" / "page" / "index.html"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if not CHROMIUM:
        pytest.skip("no Chromium was found: install the package chromium")
    if not PAGE.is_file():
        pytest.skip("the explorer's page is not built: run make page")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def address(counting: Path) -> Iterator[str]:
    """The explorer of the run that can count."""
    with explorer(counting) as address:
        yield address


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """The explorer, open on a sentence."""
    with watched(browser, address) as seen:
        yield seen.open(f"{address}#text=two+five+one&to=fr")
