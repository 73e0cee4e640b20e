"""The explorer of runs of other families: the page shows the panels that each has, with the model's numbers in them."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect

import untrained
from exploring import explorer, watched
from regard.insight import bundle, views
from regard.insight.contract import Question
from regard.insight.views import ask
from regard.insight.ways import way_of

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"


def saved(run, folder: Path) -> Path:
    run.save(folder)
    return folder


def whole(page: Page, panels: list[str]) -> None:
    """All panels are there, none says that something went wrong, and axe finds nothing serious in them."""
    expect(page.locator("main section")).to_have_count(len(panels))
    assert page.locator("main section").evaluate_all("all => all.map(each => each.id)") == panels
    page.locator("#steps").get_by_test_id("weight").first.wait_for()
    expect(page.get_by_role("alert")).to_have_count(0)
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run().then(found => found.violations)")
    serious = [each for each in found if each["impact"] in ("serious", "critical")]
    assert not [(each["id"], [node["html"] for node in each["nodes"]][:3]) for each in serious]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page scrolls sideways"


def numbers(page: Page, sign: str) -> list[float]:
    page.locator(sign).first.wait_for()
    return [float(each) for each in page.locator(sign).evaluate_all("all => all.map(each => each.dataset.value)")]


def test_a_writer_goes_on_from_a_prompt_and_a_token_can_be_forced(browser: Browser, tmp_path: Path):
    run = untrained.writer()
    answer = ask(run, Question(text="The animal"))
    look, given = views.look(answer), len("The animal")
    with explorer(saved(run, tmp_path / "run")) as address, watched(browser, address) as seen:
        page = seen.open(f"{address}#text=The+animal")
        whole(page, [*way_of(run).panels])
        expect(page.locator("header output")).to_have_text(look.translation)
        expect(page.get_by_role("button", name="Write on")).to_be_enabled()
        expect(page.locator("header").get_by_label("kind of attention").locator("option")).to_have_count(1)
        shown = numbers(page, "#writing [data-testid=probability]")
        first = look.steps[given]  # it begins where the prompt ends
        assert shown[: len(first.options)] == pytest.approx([each.probability for each in first.options], rel=1e-4)
        other = next(each for each in first.options if each.id not in (first.chosen.id, 3))
        page.locator("#writing").get_by_role("button", name=f"write {other.piece} instead", exact=True).click()
        prefix = (*(token.id for token in look.target.tokens[:given]), other.id)
        forced = views.look(ask(run, Question(text="The animal", prefix=prefix)))
        expect(page.locator("header output")).to_have_text(forced.translation)


def test_a_picture_is_chosen_and_its_patches_look(browser: Browser, tmp_path: Path):
    run = untrained.seer()
    Image.fromarray(untrained.photograph()).save(tmp_path / "x.png")
    answer = ask(run, way_of(run).question(tmp_path / "x.png"))
    trace = answer.seen.trace
    with explorer(saved(run, tmp_path / "run")) as address, watched(browser, address) as seen:
        seen.page.goto(address)
        seen.page.get_by_label("an image file").set_input_files(tmp_path / "x.png")
        page = seen.page
        page.locator("main section").first.wait_for()
        whole(page, [*way_of(run).panels])
        expect(page.locator("header output")).to_have_text(trace.translation)
        patch = "#picture [data-testid=patch]"
        assert numbers(page, patch) == pytest.approx(trace.encoder[0].mean(0)[0, 1:].tolist(), abs=1e-5)
        page.get_by_label("what is looked through").select_option("rollout")
        page.get_by_label("roll-out up to layer").fill("2")
        assert numbers(page, patch) == pytest.approx(trace.rollout("encoder")[1, 0, 1:].tolist(), abs=1e-5)
        page.locator(patch).nth(4).click()
        page.keyboard.press("ArrowUp")  # from the second row, second column
        expect(page.locator(patch).nth(1)).to_have_attribute("aria-pressed", "true")
        page.mouse.move(0, 0)
        assert numbers(page, patch) == pytest.approx(trace.rollout("encoder")[1, 2, 1:].tolist(), abs=1e-5)
        again = page.url
        page.goto("about:blank")
        page.goto(again)  # a link holds the picture, too
        expect(page.locator("header output")).to_have_text(trace.translation)
        expect(page.locator(patch).nth(1)).to_have_attribute("aria-pressed", "true")


def test_a_painting_is_stepped_through_and_a_text_is_filled_from_one_file(browser: Browser, tmp_path: Path):
    """Offline: neither has a server behind it."""
    painter, reader = untrained.painter(), untrained.reader("fill")
    painted = bundle.save(painter, "a red circle", None, tmp_path / "painted.html")
    filled = bundle.save(reader, "The [MASK] is wide.", None, tmp_path / "filled.html")
    with watched(browser, tmp_path.as_uri()) as seen:
        page = seen.open((tmp_path / "painted.html").as_uri())
        whole(page, [*way_of(painter).panels])
        page.get_by_role("slider", name="code", exact=True).fill("3")
        assert painted.patches
        row = painted.decoder[0].mean(0)[painted.patches.row + 2]
        assert numbers(page, "#picture [data-testid=beside]")[0] == pytest.approx(row[0], abs=1e-5)
        expect(page.locator("#picture [data-testid=patch].later")).to_have_count(9)
        page.locator("#picture").get_by_role("button", name="red", exact=True).click()
        expect(page.get_by_test_id("picture-told")).to_contain_text("looked at “red” when it was its turn")

        page = seen.open((tmp_path / "filled.html").as_uri())
        whole(page, [*way_of(reader).panels])
        expect(page.locator("#answer [data-testid=answer] th").first).to_have_text(filled.target[0].replace("▁", ""))
        likeliest = numbers(page, "#answer [data-testid=answer-probability]")[0]
        assert likeliest == pytest.approx(math.exp(filled.log_probabilities[0]), rel=1e-4)
