"""The explorer as one file: opened from disk, without a network, it shows all that needs no new pass."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

import regard
from exploring import watched
from process import call


@pytest.fixture(scope="module")
def file(counting: Path, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("page") / "x.html"
    done = call("explain", counting, "two five one", "--to", "fr", "--out", out)
    assert done.returncode == 0, done.stderr
    return out


def test_every_panel_opens_from_disk_without_a_network(browser: Browser, file: Path, counting: Path):
    with watched(browser, file.as_uri()) as seen:
        seen.page.context.set_offline(True)
        page = seen.open(file.as_uri())
        expect(page.locator("header output")).to_have_text(
            next(regard.translate(regard.load(counting), ["two five one"], to="fr")).text
        )
        expect(page.locator("main section")).to_have_count(8)
        for name, sign in {
            "machine": "[data-part='encoder.blocks.0.self_attention']",
            "vectors": ".id",
            "steps": "[data-testid=weight]",
            "heads": ".grid canvas",
            "writing": "[data-testid=option]",
            "beam": ".ranking button",
            "whatif": "[data-testid=output-before]",
            "training": "figure svg",
        }.items():
            page.locator(f"#{name}").scroll_into_view_if_needed()
            expect(page.locator(f"#{name} {sign}").first).to_be_visible()
        for kind in ("decoder", "cross"):
            page.locator("header").get_by_label("kind of attention").select_option(kind)
            expect(page.locator("#steps").get_by_test_id("six-steps")).to_have_attribute("aria-busy", "false")
            expect(page.locator("#steps").get_by_test_id("weight").first).to_be_visible()


def test_what_needs_the_model_is_switched_off_and_says_so(browser: Browser, file: Path):
    with watched(browser, file.as_uri()) as seen:
        page = seen.open(file.as_uri())
        expect(page.get_by_role("button", name="Translate")).to_be_disabled()
        expect(page.get_by_test_id("whatif-offline")).to_contain_text("regard explore")
        expect(page.locator("#whatif").get_by_label("mask the mask")).to_be_disabled()
