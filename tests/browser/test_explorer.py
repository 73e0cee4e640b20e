"""The explorer, driven as a person would: what the page shows is what the model computed, and everything follows."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import regard
from exploring import explorer, watched
from regard.config import Settings, validate
from regard.insight.views import Kind, Question, ask, find, head, look
from regard.model import build
from regard.run import Run
from regard.tokens.text import TextTokenizer
from unpacking import unpacked

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
QUESTION = Question(text="two five one", to="fr")


@pytest.fixture(scope="module")
def run(counting: Path) -> Run:
    return regard.load(counting)


@pytest.fixture(scope="module")
def answer(run: Run):
    return ask(run, QUESTION)


def close(numbers: Sequence[float]) -> Any:
    return pytest.approx(list(numbers), rel=1e-4, abs=1e-5)


def values(found: Locator) -> list[float]:
    """The numbers that are shown, in full, once the page has asked for them."""
    expect(found.page.get_by_test_id("six-steps")).to_have_attribute("aria-busy", "false")
    found.first.wait_for(state="attached")
    return [float(value) for value in found.evaluate_all("all => all.map(each => each.dataset.value)")]


def chosen(page: Page) -> dict[str, str]:
    """What the address says is looked at."""
    return {key: value[0] for key, value in parse_qs(page.url.partition("#")[2]).items()}


def test_the_page_translates_what_is_typed(page: Page, run: Run):
    expect(page.locator("header output")).to_have_text(next(regard.translate(run, ["two five one"], to="fr")).text)
    page.get_by_label("a sentence to translate").fill("seven three")
    page.get_by_role("button", name="Translate").click()
    expect(page.locator("header output")).to_have_text(next(regard.translate(run, ["seven three"], to="fr")).text)
    page.get_by_label("into which language").select_option("en")
    page.get_by_label("a sentence to translate").fill("sept trois")
    page.keyboard.press("Enter")
    expect(page.locator("header output")).to_have_text("seven three")
    assert chosen(page)["text"] == "sept trois"


def test_a_sentence_that_cannot_be_looked_at_is_refused_in_one(page: Page):
    page.get_by_label("a sentence to translate").fill("one " * 600)
    page.get_by_role("button", name="Translate").click()
    expect(page.get_by_role("alert")).to_contain_text("too long to look at")
    page.get_by_label("a sentence to translate").fill("one two")
    page.get_by_role("button", name="Translate").click()
    expect(page.locator("header output")).to_have_text("un deux")
    expect(page.get_by_role("alert")).to_have_count(0)


def test_the_machine_is_drawn_with_its_sizes_and_opens(page: Page, run: Run):
    machine = page.locator("#machine")
    assert values(machine.get_by_test_id("parameters")) == [run.size]
    machine.locator("[data-part='encoder.blocks.0.feed_forward']").click()
    opened = machine.get_by_test_id("opened")
    expect(opened).to_have_attribute("data-part", "encoder.blocks.0.feed_forward")
    feed = run.model.get_submodule("encoder.blocks.0.feed_forward")
    assert sum(p.numel() for p in feed.parameters()) in values(machine.locator("dl [data-value]"))
    machine.locator("[data-part='decoder.blocks.0.cross_attention']").click()
    expect(opened).to_have_attribute("data-part", "decoder.blocks.0.cross_attention")


def test_words_become_the_models_vectors(page: Page, answer):
    panel = page.locator("#vectors")
    tokens = answer.source.tokens
    assert values(panel.locator(".id")) == [token.id for token in tokens]
    embedding, position, total = answer.vectors["source"]
    chosen_token = 1
    panel.get_by_role("button", name=tokens[chosen_token].piece.replace("▁", "")).first.click()
    for name, numbers in (("embedding", embedding), ("position", position), ("sum", total)):
        shown = values(panel.get_by_test_id(f"vectors-{name}"))[0]
        assert np.isclose(numbers[chosen_token].numpy(), shown, rtol=1e-4).any()


@pytest.mark.parametrize(("kind", "number"), [("encoder", 0), ("encoder", 1), ("decoder", 1), ("cross", 0)])
def test_the_six_steps_show_the_models_numbers(page: Page, answer, kind: Kind, number: int):
    page.locator("header").get_by_label("kind of attention").select_option(kind)
    page.locator("header").get_by_label("head", exact=True).select_option(index=number)
    panel = page.locator("#steps")
    row = 2
    panel.get_by_role("group", name="the row to follow").get_by_role("button").nth(row).click()
    steps = head(answer, kind, 0, number)
    assert int(chosen(page).get("source" if kind == "encoder" else "step", 0)) == row
    for name, packed in (("score", steps.scores), ("scaled", steps.scaled), ("weight", steps.weights)):
        expected = unpacked(packed)[row]
        found = values(panel.get_by_test_id(name))
        assert found == close(expected.tolist())
    assert values(panel.get_by_test_id("total")) == pytest.approx([1], abs=1e-5)
    hidden = steps.masked[row] if steps.masked else []
    assert panel.get_by_test_id("masked").count() == sum(hidden)


def test_the_six_steps_can_be_played(page: Page):
    panel = page.locator("#steps")
    panel.get_by_role("button", name="first").click()
    expect(panel.get_by_test_id("step-sentence")).to_contain_text("1")
    panel.get_by_role("button", name="next").click()
    expect(panel.get_by_test_id("step-sentence")).to_contain_text("2")
    panel.get_by_role("button", name="play").click()
    expect(panel.get_by_test_id("step-sentence")).to_contain_text("3")


def test_choosing_a_head_changes_everything_and_the_address(page: Page, answer):
    page.locator("#heads").get_by_role("button", name="layer 1, head 2", exact=True).click()
    assert chosen(page)["head"] == "1"
    expect(page.locator("header").get_by_label("head", exact=True)).to_have_value("1")
    weights = unpacked(head(answer, "encoder", 0, 1).weights)
    row = int(chosen(page).get("source", 0))
    assert values(page.locator("#steps").get_by_test_id("weight")) == close(weights[row].tolist())
    entropy = next(each.entropy for each in look(answer).heads if (each.kind, each.head) == ("encoder", 1))
    assert values(page.locator("#heads").get_by_test_id("figure-entropy")) == close([entropy])


def test_the_head_that_binds_two_words_is_found(page: Page, answer):
    panel = page.locator("#heads")
    panel.get_by_label("the word that looks").select_option(label="five")
    panel.get_by_label("the word looked at").select_option(label="two")
    panel.get_by_role("button", name="find").click()
    names = [word.text for word in answer.source.words]
    expected = find(answer, "encoder", names.index("five"), names.index("two"))
    assert values(panel.get_by_test_id("finding")) == close([each.weight for each in expected])
    best = expected[0]
    panel.locator("tbody").get_by_role("button", name=f"layer {best.layer + 1}, head {best.head + 1}").click()
    assert int(chosen(page).get("head", 0)) == best.head


def test_writing_goes_step_by_step_and_a_word_can_be_forced(page: Page, run: Run, answer):
    panel = page.locator("#writing")
    for number, step in enumerate(look(answer).steps):
        assert int(chosen(page).get("step", 0)) == number
        shown = values(panel.get_by_test_id("probability"))
        assert shown[: len(step.options)] == close([each.probability for each in step.options])
        if number + 1 < len(answer.seen.target):
            panel.get_by_role("button", name="next").click()
    panel.get_by_role("button", name="first").click()
    other = look(answer).steps[0].options[1]
    panel.get_by_role("button", name=f"write {other.piece.replace('▁', '') or '␣'} instead").first.click()
    forced = ask(run, Question(text="two five one", to="fr", prefix=(other.id,)))
    expect(page.locator("header output")).to_have_text(look(forced).translation)
    assert chosen(page)["prefix"] == str(other.id)
    panel.get_by_role("button", name="let it choose again").click()
    expect(page.locator("header output")).to_have_text(look(answer).translation)


def test_the_beam_ends_in_the_hypotheses_that_were_found(page: Page, answer):
    beam = look(answer).beam
    assert beam
    finished = sorted((node.score for node in beam.nodes if node.fate == "finished"), reverse=True)
    assert values(page.locator("#beam").get_by_test_id("score")) == close(finished)
    page.locator("#beam .ranking button").nth(1).click()
    second = values(page.locator("#beam").get_by_test_id("node-score"))
    assert second == close([finished[1]])


def test_what_if_a_head_were_off_or_a_word_gone(page: Page, run: Run):
    panel = page.locator("#whatif")
    panel.locator("[data-head='cross.0.0']").click()
    changed = look(ask(run, Question(text="two five one", to="fr", off=("cross.0.0",))))
    logs = [math.log(step.chosen.probability) for step in changed.steps]
    expect(panel.get_by_test_id("sureness-after")).to_be_visible()
    assert values(panel.get_by_test_id("sureness-after")) == pytest.approx([np.mean(logs)], rel=1e-3, abs=1e-4)
    panel.get_by_label("mask the mask").check()
    panel.get_by_label("remove the positions").check()
    expect(panel.get_by_test_id("whatif-change")).to_contain_text("position")
    panel.get_by_role("button", name="look at this one everywhere").click()
    expect(page.locator("header output")).to_have_text(
        look(
            ask(run, Question(text="two five one", to="fr", off=("cross.0.0",), mask=False, positions=False))
        ).translation
    )
    assert (chosen(page)["off"], chosen(page)["mask"], chosen(page)["positions"]) == ("cross.0.0", "off", "off")


def test_the_curves_are_those_of_the_run(page: Page, counting: Path):
    panel = page.locator("#training")
    panel.get_by_text("numbers").click()
    lines = [json.loads(line) for line in (counting / "metrics.jsonl").read_text().splitlines()]
    shown = values(panel.locator("td[data-value]"))
    for line in lines:
        for name in ("loss", "valid_loss", "valid_bleu", "learning_rate"):
            assert name not in line or any(value == pytest.approx(line[name]) for value in shown)


def test_a_link_opens_the_same_view(page: Page, browser: Browser, address: str):
    page.locator("header").get_by_label("kind of attention").select_option("cross")
    page.locator("#heads").get_by_role("button", name="layer 1, head 2", exact=True).click()
    page.locator("#writing").get_by_role("button", name="next").click()
    weights = values(page.locator("#steps").get_by_test_id("weight"))
    with watched(browser, address) as other:
        again = other.open(page.url)
        assert chosen(again) == chosen(page)
        assert values(again.locator("#steps").get_by_test_id("weight")) == weights
        expect(again.locator("header").get_by_label("kind of attention")).to_have_value("cross")


def test_a_token_is_pointed_at_everywhere(page: Page):
    page.locator("#vectors").get_by_role("button", name="five").first.hover()
    assert page.locator(".pointed").count() > 1


def test_the_keyboard_is_enough(page: Page):
    button = page.locator("#heads").get_by_role("button", name="layer 1, head 1", exact=True)
    button.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert chosen(page)["head"] == "1"
    page.get_by_label("a sentence to translate").focus()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("three")
    page.keyboard.press("Enter")
    expect(page.locator("header output")).to_have_text("trois")


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 360)])
def test_axe_finds_nothing_serious(browser: Browser, address: str, scheme, width: int):
    how = {"color_scheme": scheme, "viewport": {"width": width, "height": 900}}
    with watched(browser, address, **how) as seen:
        page = seen.open(f"{address}#text=two+five+one&to=fr&kind=decoder")
        page.locator("#steps").get_by_test_id("weight").first.wait_for()
        page.evaluate(AXE.read_text(encoding="utf-8"))
        found = page.evaluate("axe.run().then(found => found.violations)")
        serious = [each for each in found if each["impact"] in ("serious", "critical")]
        assert not [(each["id"], [node["html"] for node in each["nodes"]][:3]) for each in serious]
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page scrolls sideways"


def long_run(folder: Path) -> Path:
    """A network of six layers and random numbers: what it says is nonsense, but it is as large as a real one."""
    lines = [f"{a}{b} {b}{c} {c}{a}" for a in "bdfgkl" for b in "aeiou" for c in "mnprst"]
    tokenizer = TextTokenizer.learn(lines, size=400)
    sizes = {"width": 256, "hidden": 1024, "heads": 8, "layers": 6}
    vocabularies = {"source_vocabulary": len(tokenizer), "target_vocabulary": len(tokenizer)}
    settings = validate(
        Settings, {"model": {**sizes, **vocabularies}, "decode": {"max_length": 100, "length_penalty": 10.0}}, "test"
    )
    run = Run(settings, build(settings.model).eval(), {"source": tokenizer, "target": tokenizer}, folder)
    run.save_description(folder)
    run.save(folder)
    return folder


def painted(page: Page, selector: str) -> None:
    """Wait until it is seen, to a frame: a locator that has waited for a while looks but twice a second."""
    page.wait_for_function("selector => document.querySelector(selector)", arg=selector, timeout=120_000)
    page.evaluate("() => new Promise(requestAnimationFrame)")


def test_a_long_sentence_stays_quick(browser: Browser, tmp_path: Path, record_property):
    """How quick is printed, not asserted: pytest -s tests/browser -k quick."""
    folder = tmp_path / "long"
    folder.mkdir()
    with explorer(long_run(folder)) as address, watched(browser, address) as seen:
        page = seen.page
        page.goto(address)
        box = page.get_by_label("a sentence to translate")
        box.fill(" ".join(["ba", "de", "fi", "go", "ku"] * 19))
        began = time.perf_counter()
        page.get_by_role("button", name="Translate").click()
        painted(page, "#machine [data-part]")
        first = time.perf_counter() - began
        painted(page, "#training")
        whole = time.perf_counter() - began
        assert page.locator("#heads .grid button").count() == 6 * 8
        frames = page.evaluate(
            """async () => {
                const tokens = [...document.querySelectorAll('#machine .token')]
                const began = performance.now()
                let frames = 0
                while (performance.now() - began < 3000) {
                    tokens[frames % tokens.length]?.dispatchEvent(new PointerEvent('pointerenter', { bubbles: true }))
                    await new Promise(requestAnimationFrame)
                    frames++
                }
                return 1000 * frames / (performance.now() - began)
            }"""
        )
        record_property("first view, seconds", first)
        record_property("all panels, seconds", whole)
        record_property("frames a second while pointing", frames)
        told = f"first view {first:.2f} s after submit, all panels {whole:.2f} s"
        print(f"\n{told}; {frames:.0f} frames/s while pointing along the tokens")
