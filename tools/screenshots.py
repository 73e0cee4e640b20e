"""Pictures of the explorer for docs/explorer.md, from the demo's run: make demo page, then

    .venv/bin/python tools/screenshots.py [runs/demo] [--out docs/pictures]

Needs Chromium and the package playwright.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from urllib.parse import urlencode

from PIL import Image
from playwright.sync_api import Page, sync_playwright

WIDE = "The animal didn't cross the street because it was too wide."
SECTIONS = ("machine", "vectors", "steps", "heads", "writing", "beam", "whatif", "training")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, nargs="?", default=Path("runs/demo"))
    parser.add_argument("--out", type=Path, default=Path("docs/pictures"))
    given = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if not chromium:
        sys.exit("no Chromium was found: install the package chromium")
    regard = Path(sys.executable).with_name("regard")
    command = [str(regard), "explore", str(given.run), "--no-open", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server, sync_playwright() as playwright:
        try:
            assert server.stdout
            found = re.search(r"http://\S+", server.stdout.readline())
            assert found, "the server did not say where it is"
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1240, "height": 1180})
            page.goto(f"{found[0]}#{urlencode({'text': WIDE, 'to': 'fr'})}")
            page.locator("main section").first.wait_for()
            choose_the_head_that_binds(page)
            prepare(page)
            page.evaluate("document.querySelector('header').style.position = 'static'")  # not over the panels
            for section in SECTIONS:
                page.locator(f"#{section}").scroll_into_view_if_needed()
                page.wait_for_timeout(700)
                save(page.locator(f"#{section}").screenshot(), given.out / f"explorer-{section}.png")
            page.evaluate("document.querySelector('header').style.position = ''")
            page.evaluate("document.getElementById('heads').scrollIntoView()")
            page.wait_for_timeout(400)
            save(page.screenshot(), given.out / "explorer.png")
            browser.close()
        finally:
            server.terminate()


def save(picture: bytes, path: Path) -> None:
    """256 colours are enough for a page, and a third of the size."""
    Image.open(BytesIO(picture)).convert("RGB").quantize(
        256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
    ).save(path, optimize=True)


def choose_the_head_that_binds(page: Page) -> None:
    """The head that tells what is wide, and so what "it" is, found as a user would find it."""
    find = page.locator("#heads [data-testid=find]")
    find.get_by_label("the word that looks").select_option(label="wide")
    find.get_by_label("the word looked at").select_option(label="street")
    find.get_by_role("button", name="find").click()
    find.locator("tbody button").first.click()


def prepare(page: Page) -> None:
    """Each panel where it has most to show."""
    writing = page.locator("#writing")
    for _ in range(5):
        writing.get_by_role("button", name="next").click()
    page.locator("#whatif [role=switch][tabindex='0']").first.wait_for()
    page.locator("#whatif").get_by_role("button", name="the chosen head off").click()
    page.locator("#whatif [data-testid=whatif-verdict]").wait_for()


if __name__ == "__main__":
    main()
