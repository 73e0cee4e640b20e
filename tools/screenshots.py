"""Pictures of the explorer for docs/explorer.md, from the runs of the demos. Make those and the page, and then them:

    make demo page
    for family in gpt bert vit dalle; do .venv/bin/regard demo $family; done
    .venv/bin/python tools/screenshots.py [runs] [--out docs/pictures]

Needs Chromium and the package playwright.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from urllib.parse import urlencode

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

WIDE = "The animal didn't cross the street because it was too wide."
GAP = "The [MASK] didn't cross the street because it was too tired."
SECTIONS = ("machine", "vectors", "steps", "heads", "writing", "beam", "whatif", "training")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, nargs="?", default=Path("runs"))
    parser.add_argument("--out", type=Path, default=Path("docs/pictures"))
    given = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if not chromium:
        sys.exit("no Chromium was found: install the package chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        translator(browser, given.runs / "demo", given.out)
        writer(browser, given.runs / "demo-gpt", given.out)
        reader(browser, given.runs / "demo-bert", given.out)
        seer(browser, given.runs / "demo-vit", given.out)
        painter(browser, given.runs / "demo-dalle", given.out)
        browser.close()


@contextmanager
def explored(browser: Browser, run: Path, **question: str) -> Iterator[Page]:
    """A page that explores a run, which has been asked this, with nothing over its panels."""
    regard = Path(sys.executable).with_name("regard")
    command = [str(regard), "explore", str(run), "--no-open", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            found = re.search(r"http://\S+", server.stdout.readline())
            assert found, "the server did not say where it is"
            page = browser.new_page(viewport={"width": 1240, "height": 1180})
            page.goto(f"{found[0]}#{urlencode(question)}")
            yield page
            page.close()
        finally:
            server.terminate()


def translator(browser: Browser, run: Path, out: Path) -> None:
    """All its panels, each where it has most to show, and what is seen first."""
    with explored(browser, run, text=WIDE, to="fr") as page:
        page.locator("main section").first.wait_for()
        choose_the_head_that_binds(page)
        writing = page.locator("#writing")
        for _ in range(5):
            writing.get_by_role("button", name="next").click()
        page.locator("#whatif [role=switch][tabindex='0']").first.wait_for()
        page.locator("#whatif").get_by_role("button", name="the chosen head off").click()
        page.locator("#whatif [data-testid=whatif-verdict]").wait_for()
        for section in SECTIONS:
            panel(page, section, out / f"explorer-{section}.png")
        page.evaluate("document.getElementById('heads').scrollIntoView()")
        page.wait_for_timeout(400)
        save(page.screenshot(), out / "explorer.png")


def choose_the_head_that_binds(page: Page) -> None:
    """The head that tells what is wide, and so what "it" is, found as a user would find it."""
    find = page.locator("#heads [data-testid=find]")
    find.get_by_label("the word that looks").select_option(label="wide")
    find.get_by_label("the word looked at").select_option(label="street")
    find.get_by_role("button", name="find").click()
    find.locator("tbody button").first.click()


def writer(browser: Browser, run: Path, out: Path) -> None:
    """The last word that it wrote of a sentence that hangs on one of the first."""
    with explored(browser, run, text="The animal didn't cross the street because it was too") as page:
        panel(page, "writing", out / "explorer-gpt.png")


def reader(browser: Browser, run: Path, out: Path) -> None:
    """What it puts into a gap."""
    with explored(browser, run, text=GAP) as page:
        panel(page, "answer", out / "explorer-bert.png")


def seer(browser: Browser, run: Path, out: Path) -> None:
    """What a patch in the midst of a picture that was kept for the end has looked at, by the roll-out of all layers."""
    with explored(browser, run) as page:
        page.get_by_label("an image file").set_input_files(run / "one.png")
        page.get_by_label("what is looked through").select_option("rollout")
        page.get_by_label("roll-out up to layer").fill("4")
        page.locator("#picture [data-testid=patch]").nth(6).click()
        page.mouse.move(0, 0)
        panel(page, "picture", out / "explorer-vit.png")


def painter(browser: Browser, run: Path, out: Path) -> None:
    """A picture half painted: what the next code looks at."""
    with explored(browser, run, text="a large red circle") as page:
        page.get_by_role("slider", name="code", exact=True).fill("72")
        page.get_by_label("layer looked through").fill("2")
        panel(page, "picture", out / "explorer-dalle.png")


def panel(page: Page, section: str, path: Path) -> None:
    page.evaluate("document.querySelector('header').style.position = 'static'")  # not over the panels
    page.locator(f"#{section}").scroll_into_view_if_needed()
    page.wait_for_timeout(700)
    save(page.locator(f"#{section}").screenshot(), path)
    page.evaluate("document.querySelector('header').style.position = ''")


def save(picture: bytes, path: Path) -> None:
    """256 colours are enough for a page, and a third of the size."""
    Image.open(BytesIO(picture)).convert("RGB").quantize(
        256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
    ).save(path, optimize=True)


if __name__ == "__main__":
    main()
