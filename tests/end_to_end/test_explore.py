"""The explorer as a browser meets it: a real process on a free port, real HTTP; and the page as one file."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner, Result

import regard
from regard.cli import app
from regard.errors import RegardError
from regard.insight import bundle, explore, views
from regard.insight.explore import welcome

CODE = """
import sys
from pathlib import Path
from regard.insight import bundle
bundle.PAGE = Path(sys.argv.pop(1))
from regard.cli import main
main()
"""  # the command, with a small page in place of the built one
SCRIPT = 'document.title = "</script><!-- \u2028"\n'
QUESTION = {"text": "two five one", "to": "fr"}


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    (folder / "assets").mkdir()
    (folder / "assets" / "index-1.js").write_text(SCRIPT, encoding="utf-8")
    (folder / "assets" / "index-1.css").write_text("body { color: teal }\n")
    (folder / "icon.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    (folder / "index.html").write_text(
        '<!doctype html>\n<html lang="en">\n  <head>\n    <meta charset="utf-8" />\n    <title>regard</title>\n'
        '    <link rel="icon" href="./icon.svg" />\n'
        '    <script type="module" crossorigin src="./assets/index-1.js"></script>\n'
        '    <link rel="stylesheet" crossorigin href="./assets/index-1.css">\n'
        '  </head>\n  <body><div id="app"></div></body>\n</html>\n'
    )
    return folder


def start(page: Path, *arguments: str | Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CODE, page, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},  # as many as the tests have: sums of floats depend on it
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # the background ignores it
    )


@pytest.fixture(scope="module")
def server(counting, page) -> Iterator[httpx.Client]:
    process = start(page, "explore", counting, "--port", "0", "--device", "cpu")
    assert process.stdout
    address = process.stdout.readline().strip()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address), process.communicate(timeout=10)
    with httpx.Client(base_url=address, timeout=60) as client:
        yield client
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (0, "", ""), "SIGTERM ends it, in peace"


def ask(server: httpx.Client, path: str, content: object) -> httpx.Response:
    return server.post(f"api/{path}", json=content)


def test_the_page_and_its_files_are_served_with_strict_headers(server, page):
    for path, kind, text in (
        ("", "text/html; charset=utf-8", (page / "index.html").read_text()),
        ("assets/index-1.js", "text/javascript; charset=utf-8", SCRIPT),
        ("assets/index-1.css", "text/css; charset=utf-8", "body { color: teal }\n"),
        ("api/machine", "application/json", None),
        ("nothing", "application/json", '{"error": "there is no such page"}'),
        ("assets/../../secret", "application/json", '{"error": "there is no such page"}'),
    ):
        answer = server.get(path)
        assert answer.headers["content-type"] == kind
        assert text is None or answer.text == text
        assert answer.headers["content-security-policy"] == (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
            "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in answer.headers


def test_every_route_gives_what_the_views_give(server, counting):
    run = regard.load(counting, on="cpu")
    answer = views.ask(run, views.Question.model_validate(QUESTION))
    expected = {
        "look": (QUESTION, views.look(answer)),
        "vectors": ({"question": QUESTION, "side": "read"}, views.vectors(answer, "read")),
        "head": (
            {"question": QUESTION, "kind": "cross", "layer": 0, "head": 1},
            views.head(answer, "cross", 0, 1),
        ),
        "flow": ({"question": QUESTION, "stack": "decoder"}, views.flow(answer, "decoder")),
        "find": (
            {"question": QUESTION, "kind": "cross", "from": 1, "onto": 2},
            views.find(answer, "cross", 1, 2),
        ),
    }
    for path, (asked, view) in expected.items():
        response = ask(server, path, asked)
        assert response.status_code == 200
        assert without_time(response.json()) == without_time(json.loads(views.to_json(view))), path
    assert "content-encoding" not in ask(server, "look", QUESTION).headers
    assert server.get("api/machine").json() == json.loads(views.to_json(views.machine(run)))
    whole = server.get("api/training").json()
    assert whole["next"] == len(whole["lines"]) == len((counting / "metrics.jsonl").read_text().splitlines())
    assert server.get("api/training?after=2").json()["lines"] == whole["lines"][2:]


def without_time(view: object) -> object:
    return {key: value for key, value in view.items() if key != "seconds"} if isinstance(view, dict) else view


@pytest.mark.parametrize(
    ("path", "content", "sentence"),
    [
        ("look", {}, "there is nothing to explain in an empty sentence: give some text"),
        ("look", {"order": [1, 1]}, "the question: order names a word twice: each is left once or not at all"),
        ("look", [1], 'the question is no JSON object: send one such as {"text": "…"}'),
        ("head", {"question": QUESTION, "head": 2}, "there is no head 2: there are 2, counted from 0"),
        ("head", {"question": QUESTION, "layer": 7}, "there is no encoder layer 7: there are 1, counted from 0"),
        ("head", {"kind": "x"}, "the question: kind='x' should be 'encoder', 'decoder' or 'cross'"),
        ("find", {"question": QUESTION, "onto": 99}, "there is no column word 99: there are 5, counted from 0"),
        ("flow", {"question": {"prefix": [-3]}}, "the question: question.prefix.0=-3 should be at least 0"),
    ],
)  # fmt: skip
def test_a_bad_question_gets_one_sentence(server, path, content, sentence):
    answer = ask(server, path, content)
    assert (answer.status_code, answer.json()) == (422, {"error": sentence})


def test_what_is_no_question_at_all_gets_one_too(server):
    json_type = {"content-type": "application/json"}
    for content, headers, sentence in (
        (b"{", json_type, 'the question is not valid JSON: send an object such as {"text": "…"}'),
        (b"\xff", json_type, 'the question is not valid JSON: send an object such as {"text": "…"}'),
        (b"{}", {}, "a question is sent as JSON: set Content-Type to application/json"),
        (b" " * (explore.BODY + 1), json_type, "a question of more than 262,144 bytes is too long: shorten it"),
    ):
        answer = server.post("api/look", content=content, headers=headers)
        assert (answer.status_code, answer.json()) == (422, {"error": sentence})
    assert server.get("api/training?after=x").json() == {"error": "after='x' should be the number of a line, such as 0"}
    assert server.get("api/look").status_code == 404
    assert server.delete("api/look").status_code == 405


def test_a_name_that_was_made_to_point_here_is_refused(server):
    port = server.base_url.port
    for host, status in ((f"evil.example:{port}", 421), ("", 421), (f"localhost:{port}", 200), ("[::1]", 200)):
        answer = server.get("api/machine", headers={"host": host})
        assert answer.status_code == status, host
    assert not welcome("192.168.0.7:8010", "127.0.0.1")
    assert welcome("192.168.0.7:8010", "0.0.0.0")
    assert not welcome("evil.example", "0.0.0.0")
    assert welcome("studio.local:80", "Studio.local")


def test_a_port_that_is_taken_is_told(server):
    port = server.base_url.port
    with pytest.raises(RegardError) as caught:
        explore.bind("127.0.0.1", port)
    expected = f"port {port} of 127.0.0.1 cannot be used: Address already in use; give another with --port"
    assert str(caught.value) == expected


def test_an_interrupt_ends_it_with_130(page, counting):
    process = start(page, "explore", counting, "--port", "0", "--no-open")
    assert process.stdout
    assert process.stdout.readline().startswith("http://127.0.0.1:")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, "")


def command(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(app, [*map(str, arguments)])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_a_missing_page_is_told_before_anything_is_loaded(tmp_path, monkeypatch):
    monkeypatch.setattr(bundle, "PAGE", tmp_path)
    for arguments in (["explore", "nowhere"], ["explain", "nowhere", "one", "--out", "a.html"]):
        with pytest.raises(RegardError) as caught:
            command(*arguments)
        assert str(caught.value) == "the explorer's page is not built: run make page in a checkout of regard"
    assert command("explore", "nowhere", "--port", "70000").exit_code == 2


def test_missing_packages_are_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "regard.insight.explore")
    with pytest.raises(RegardError) as caught:
        import_module("regard.insight.explore")
    assert str(caught.value) == "regard explore needs fastapi and uvicorn: pip install 'regard[explore]'"


def test_a_host_that_is_not_this_machine_s_is_refused():
    with pytest.raises(RegardError, match=r"^port 0 of 203\.0\.113\.9 cannot be used: .*; give another with --port$"):
        explore.bind("203.0.113.9", 0)
    with explore.bind("127.0.0.1", 0) as free:
        assert isinstance(free, socket.socket)


# One file


def test_one_file_holds_page_script_style_and_numbers(counting, page, tmp_path, monkeypatch):
    text = "one </script><script>alert(1)</script> & two\u2028"
    monkeypatch.setattr(bundle, "PAGE", page)
    done = command("explain", counting, text, "--to", "fr", "--beam", "2", "--out", tmp_path / "a.html")
    html = (tmp_path / "a.html").read_text(encoding="utf-8")
    run = regard.load(counting, on="cpu")
    assert done.stdout.splitlines()[0] == regard.explain(run, text, "fr", beam=2).translation

    scripts = re.findall(r"<script([^>]*)>(.*?)</script>", html, re.DOTALL)
    (data_attributes, data), (code_attributes, code) = scripts
    assert data_attributes == ' type="application/json" id="regard-offline"'
    assert code_attributes == ' type="module"'
    assert code == 'document.title = "<\\/script>\\x3c!-- \u2028"\n'
    assert not set("<>&\u2028\u2029") & set(data)
    carried = json.loads(data)
    assert carried["look"]["question"]["text"] == text
    assert carried["machine"]["live"] is False
    assert carried["look"]["beam"]["width"] == 2
    assert len(carried["heads"]) == 3 * 2

    policy = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]+)">', html)
    style = re.search(r"<style>(.*?)</style>", html, re.DOTALL)
    assert policy
    assert style
    assert policy.start() < html.index("<script"), "what comes before the policy is not under it"
    for directive, content in (("script-src", code), ("style-src", style[1])):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}';" in policy[1]
    assert "default-src 'none'" in policy[1]
    assert not re.search(r'\s(src|href)="', html), "nothing is fetched"
    assert "<title>regard</title>" in html

    with pytest.raises(RegardError, match=r"^the explorer's page lacks its file \./assets/\.\./\.\./x\.js: "):
        bundle.inlined('<head><script src="./assets/../../x.js"></script></head>', "{}")
    with pytest.raises(RegardError, match=r"a\.html cannot be written: No such file or directory$"):
        bundle.save(run, "one", "fr", tmp_path / "nowhere" / "a.html")
