"""The explorer as its users meet it: a server that is a process of its own, and a page that notes what goes wrong."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page

from process import REGARD


@contextmanager
def explorer(run: Path) -> Iterator[str]:
    """`regard explore` on a run, as a process of its own; gives its address."""
    command = [str(REGARD), "explore", str(run), "--no-open", "--port", "0", "--device", "cpu"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            found = re.search(r"http://\S+", process.stdout.readline())
            assert found, "the server did not say where it is"
            yield found[0]
        finally:
            process.terminate()


@dataclass
class Watched:
    """A page, and what it complained about or asked elsewhere for."""

    page: Page
    troubles: list[str] = field(default_factory=list)

    def note(self, message: ConsoleMessage) -> None:
        """A question that the server refused is no trouble: the page says so, and the browser's console says it too."""
        if message.type in ("error", "warning") and "status of 422" not in message.text:
            self.troubles.append(message.text)

    def dismiss(self, dialog: Dialog) -> None:
        self.troubles.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def open(self, address: str) -> Page:
        self.page.goto(address)
        self.page.locator("main section").first.wait_for(timeout=20_000)
        return self.page


@contextmanager
def watched(browser: Browser, origin: str, **how) -> Iterator[Watched]:
    """A new page on which an error, a refused request or a request to another origin is a failure."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **how})
    context.set_default_timeout(15_000)
    seen = Watched(context.new_page())
    seen.page.on("console", seen.note)
    seen.page.on("pageerror", lambda error: seen.troubles.append(str(error)))
    seen.page.on("dialog", seen.dismiss)
    seen.page.on(
        "request",
        lambda request: (
            None
            if request.url.startswith(("data:", "blob:")) or urlsplit(request.url).netloc == urlsplit(origin).netloc
            else seen.troubles.append(f"asked elsewhere: {request.url}")
        ),
    )
    try:
        yield seen
    finally:
        context.close()
    assert not seen.troubles, seen.troubles
