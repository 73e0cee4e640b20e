"""Whatever is typed, learned, named or linked is shown as text: of forty attempts none runs."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page

from exploring import explorer, watched
from process import call
from regard.config import Settings, validate
from regard.model import build
from regard.run import Run
from regard.tokens.text import TextTokenizer

RUN = "window.ran=1"
PAYLOADS = [
    f"<script>{RUN}</script>",
    f"</script><script>{RUN}</script>",
    f"<ScRiPt>{RUN}</sCrIpT>",
    f"<img src=x onerror={RUN}>",
    f"<img src=x onerror='{RUN}'>",
    f'"><img src=x onerror={RUN}>',
    f"'><img src=x onerror={RUN}>",
    f"<svg onload={RUN}>",
    f"<svg><script>{RUN}</script></svg>",
    f"<svg><animate onbegin={RUN} attributeName=x dur=1s>",
    f"<body onload={RUN}>",
    f"<iframe src='javascript:parent.{RUN}'></iframe>",
    f"<iframe srcdoc='<script>parent.{RUN}</script>'></iframe>",
    f"<a href='javascript:{RUN}'>x</a>",
    f"javascript:{RUN}",
    f"<input autofocus onfocus={RUN}>",
    f"<select autofocus onfocus={RUN}><option>x</select>",
    f"<textarea autofocus onfocus={RUN}>",
    f"<details open ontoggle={RUN}>",
    f"<video><source onerror={RUN}></video>",
    f"<audio src=x onerror={RUN}>",
    f"<object data='javascript:{RUN}'></object>",
    f"<embed src='javascript:{RUN}'>",
    f"<form action='javascript:{RUN}'><button>x</button></form>",
    f"<button formaction='javascript:{RUN}'>x</button>",
    f"<marquee onstart={RUN}>x</marquee>",
    f"<style>@import 'javascript:{RUN}';</style>",
    f"<div style='background:url(javascript:{RUN})'>x</div>",
    f"<link rel=stylesheet href='javascript:{RUN}'>",
    f"<meta http-equiv=refresh content='0;url=javascript:{RUN}'>",
    f"<base href='javascript:{RUN}//'>",
    f"<math><mtext></mtext><script>{RUN}</script></math>",
    f"<template><script>{RUN}</script></template>",
    f"<noscript><p title='</noscript><img src=x onerror={RUN}>'>",
    f"{{{{constructor.constructor('{RUN}')()}}}}",
    f"${{{RUN}}}",
    f"';{RUN}//",
    f'";{RUN}//',
    f"`;{RUN}//",
    f"\u2028{RUN}\u2029//<!--<script>{RUN}",
]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory) -> Path:
    """A run that knows nothing but these lines, under a name that is one of them."""
    name = PAYLOADS[3].replace("/", "")
    folder = tmp_path_factory.mktemp("runs") / name
    folder.mkdir()
    tokenizer = TextTokenizer.learn([line for line in PAYLOADS for _ in range(20)], size=900)
    sizes = {"width": 16, "hidden": 24, "heads": 2, "layers": 1}
    vocabularies = {"source_vocabulary": len(tokenizer), "target_vocabulary": len(tokenizer)}
    settings = validate(Settings, {"model": {**sizes, **vocabularies}, "decode": {"max_length": 12}}, "test")
    run = Run(settings, build(settings.model).eval(), {"source": tokenizer, "target": tokenizer}, folder)
    run.save_description(folder)
    run.save(folder)
    (folder / "metrics.jsonl").write_text('{"step": 1, "loss": 2.5, "<img src=x onerror=window.ran=1>": 1}\n')
    return folder


@pytest.fixture(scope="module")
def hostile_address(hostile: Path):
    with explorer(hostile) as address:
        yield address


def test_there_are_forty_and_the_vocabulary_has_learned_them(hostile: Path):
    assert len(set(PAYLOADS)) == 40
    pieces = TextTokenizer.load(hostile / "tokenizer.model")
    assert any("<" in piece for piece in pieces.pieces(range(len(pieces))))


def assert_nothing_ran(page: Page) -> None:
    page.wait_for_timeout(100)
    assert page.evaluate("window.ran === undefined")
    assert page.locator("main script, main iframe, main img, main object, main embed, main form[action]").count() == 0


def test_nothing_runs_from_a_sentence_a_vocabulary_or_a_name(browser: Browser, hostile_address: str):
    with watched(browser, hostile_address) as seen:
        page = seen.page
        page.goto(hostile_address)
        box = page.get_by_label("a sentence to translate")
        for payload in PAYLOADS:
            box.fill(payload)
            with page.expect_response("**/api/look"):
                page.get_by_role("button", name="Translate").click()
            page.locator("main section").first.wait_for()
            assert_nothing_ran(page)


def test_nothing_runs_from_an_address(browser: Browser, hostile_address: str):
    with watched(browser, hostile_address) as seen:
        page = seen.page
        for payload in PAYLOADS:
            each = quote(payload)
            page.goto("about:blank")
            with page.expect_response("**/api/look"):
                page.goto(
                    f"{hostile_address}#text={each}&to={each}&kind={each}&layer={each}&off={each}&order={each}&x={each}"
                )
            assert_nothing_ran(page)


def test_nothing_runs_from_a_file(browser: Browser, hostile: Path, tmp_path: Path):
    for number, payload in enumerate(PAYLOADS[::8]):
        out = tmp_path / f"{number}.html"
        assert call("explain", hostile, payload, "--out", out).returncode == 0
        with watched(browser, out.as_uri()) as seen:
            assert_nothing_ran(seen.open(out.as_uri()))
