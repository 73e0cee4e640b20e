"""The explorer as one file: its page, script, style and one sentence's numbers; opens from disk, and asks nobody."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

from regard.errors import RegardError
from regard.insight import views
from regard.insight.trace import Trace
from regard.insight.ways import way_of
from regard.run import Run

PAGE = Path(__file__).with_name("page")  # built from web/ by make page
SCRIPT = re.compile(r'<script\b(?P<attributes>[^>]*?)\ssrc="(?P<path>[^"]+)"(?P<more>[^>]*)>\s*</script>')
LINK = re.compile(r'<link\b[^>]*?\shref="(?P<path>[^"]+)"[^>]*>')
ESCAPES = str.maketrans({character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"})


def page() -> str:
    """The text of the page, or a RegardError that says how to build it."""
    try:
        return (PAGE / "index.html").read_text(encoding="utf-8")
    except FileNotFoundError:
        raise RegardError("the explorer's page is not built: run make page in a checkout of regard") from None


def save(run: Run, given: Any, to: str | None, path: Path, **decode: Any) -> Trace:
    """The page with all about one sentence or picture in it; keywords override the run's decode settings."""
    answer = views.ask(run, way_of(run).question(given, to), **decode)
    html = inlined(page(), views.to_json(views.offline(answer)))
    try:
        path.write_text(html, encoding="utf-8", newline="\n")
    except OSError as error:
        raise RegardError(f"{path} cannot be written: {error.strerror}") from None
    return answer.seen.trace


def inlined(html: str, answer: str) -> str:
    """A page without other files. What may run is told by its hash, so that nothing else will."""
    scripts: list[str] = []
    styles: list[str] = []

    def script(match: re.Match[str]) -> str:
        scripts.append(content(match["path"]).replace("</script", "<\\/script").replace("<!--", "\\x3c!--"))
        module = ' type="module"' if "module" in match["attributes"] + match["more"] else " defer"
        return f"<script{module}>{scripts[-1]}</script>"

    def link(match: re.Match[str]) -> str:
        if 'rel="stylesheet"' not in match[0]:
            return ""  # an icon, or what would be loaded early
        styles.append(content(match["path"]).replace("</style", "<\\/style"))
        return f"<style>{styles[-1]}</style>"

    html = LINK.sub(link, SCRIPT.sub(script, html))
    policy = (
        f"default-src 'none'; script-src {hashes(scripts)}; style-src {hashes(styles)}; img-src data:; font-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    data = f'<script type="application/json" id="regard-offline">{answer.translate(ESCAPES)}</script>'
    meta = f'<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="{policy}">\n{data}'
    head = re.search(r"<head[^>]*>", html)
    if head is None:
        raise RegardError("the explorer's page has no head: build it again with make page")
    return f"{html[: head.end()]}\n{meta}{html[head.end() :]}"


def content(path: str) -> str:
    """The text of a file of the page, with the line ends that a browser hashes."""
    found = (PAGE / path.removeprefix("./").removeprefix("/")).resolve()
    if not found.is_relative_to(PAGE.resolve()) or not found.is_file():
        raise RegardError(f"the explorer's page lacks its file {path}: build it again with make page")
    return found.read_text(encoding="utf-8").replace("\r\n", "\n").replace("\r", "\n")


def hashes(texts: list[str]) -> str:
    return " ".join(f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in texts) or "'none'"
