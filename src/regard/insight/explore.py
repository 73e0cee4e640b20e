"""The verb explore: a page that shows a run thinking, served to this machine alone.

    GET  /  and its assets                       the page, as `make page` built it
    GET  /api/machine   /api/training?after=N    what does not depend on a sentence
    POST /api/look      /api/vectors   /api/head   /api/flow   /api/find

Each POST takes a question as JSON (`insight.views`) and gives a view, or 422 and {"error": a sentence}. Passes are
made one at a time. Nothing on the page comes from elsewhere, nothing is told elsewhere, and a page elsewhere that
gives its own name this machine's address is refused.
"""

from __future__ import annotations

import asyncio
import json
import re
import signal
import socket
import sys
import webbrowser
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Any, TypeVar

import torch

from regard.config import Config, validate
from regard.errors import RegardError
from regard.insight import bundle, views
from regard.insight.contract import PICTURE, FindQuestion, FlowQuestion, HeadQuestion, Question, VectorsQuestion
from regard.insight.views import Answer
from regard.insight.ways import way_of
from regard.run import Run, load

try:
    import uvicorn
    from fastapi import FastAPI, Request, Response
    from starlette.exceptions import HTTPException
    from starlette.middleware.gzip import GZipMiddleware
except ModuleNotFoundError:
    raise RegardError("regard explore needs fastapi and uvicorn: pip install 'regard[explore]'") from None

BODY = 1 << 18  # bytes of a request, besides a picture
WIDE = 512  # from this width on a second core helps to decode one sentence; below, it is waited for
REMEMBERED = 3  # answers kept, so that a head of the sentence on show costs no second pass
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
}
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
LOOPBACK = ("localhost", "127.0.0.1", "::1")

C = TypeVar("C", bound=Config)


def explore(
    folder: str | Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8010,
    open_page: bool = True,
    on: str = "auto",
    source_language: str | None = None,
) -> None:
    """Serve the explorer of a run until it is interrupted; port 0 takes a free one."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))  # uvicorn raises it again once it has closed
    bundle.page()
    with bind(host, port) as listener:
        app = application(load(folder, on=on).reading(source_language), host)
        settings = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=5)
        listener.listen()
        address = f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}/"

        def announce() -> None:
            print(f"{address}  (Ctrl-C ends it)" if sys.stdout.isatty() else address, flush=True)
            if open_page and sys.stdout.isatty():
                webbrowser.open(address)

        Server(settings, announce).run(sockets=[listener])


class Server(uvicorn.Server):
    """One that says when it can be asked, and interrupted."""

    def __init__(self, config: uvicorn.Config, announce: Callable[[], None]):
        super().__init__(config)
        self.announce = announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.announce()


def bind(host: str, port: int) -> socket.socket:
    listener = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except (OSError, UnicodeError) as error:
        if listener is not None:
            listener.close()
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise RegardError(f"port {port} of {host} cannot be used: {why}; give another with --port") from None
    return listener


# ----------------------------------------------------------------------------------------------------- the service


def application(run: Run, host: str = "127.0.0.1") -> FastAPI:
    """The app that serves one run; `host` is the name it is bound to."""
    app = FastAPI(openapi_url=None)
    room = BODY + (PICTURE if way_of(run).input == "picture" else 0)
    memory = Memory(run)
    memory.worker.submit(memory.warm_up)
    files = {path.relative_to(bundle.PAGE).as_posix(): path for path in bundle.PAGE.rglob("*") if path.suffix in TYPES}

    @app.middleware("http")
    async def guard(request: Request, go_on: Callable[[Request], Awaitable[Response]]) -> Response:
        if welcome(request.headers.get("host", ""), host):
            response = await go_on(request)
        else:
            response = refuse("this page is served under its own address alone: open the one that was printed", 421)
        response.headers.update(HEADERS)
        return response

    @app.exception_handler(RegardError)
    async def unanswered(request: Request, error: RegardError) -> Response:
        return refuse(str(error), 422)

    @app.exception_handler(HTTPException)
    async def unserved(request: Request, error: HTTPException) -> Response:
        return refuse(error.detail, error.status_code)

    @app.get("/")
    async def index() -> Response:
        return Response(bundle.page(), media_type=TYPES[".html"])

    @app.get("/api/machine")
    async def machine() -> Response:
        return as_json(views.machine(run))

    @app.get("/api/training")
    async def training(request: Request) -> Response:
        after = request.query_params.get("after", "0")
        if not re.fullmatch(r"\d{1,9}", after):
            raise RegardError(f"after={after[:40]!r} should be the number of a line, such as 0")
        return as_json(views.training(run.folder, int(after)))

    def post(path: str, kind: type[C], view: Callable[[Answer, C], Any]) -> None:
        async def answer(request: Request) -> Response:
            asked = validate(kind, await body(request, room), "the question")
            question = asked if isinstance(asked, Question) else getattr(asked, "question")  # noqa: B009
            return Response(
                await memory.answered(question, lambda found: views.to_json(view(found, asked))),
                media_type="application/json",
            )

        app.post(path)(answer)

    post("/api/look", Question, lambda answer, asked: views.look(answer))
    post("/api/vectors", VectorsQuestion, lambda answer, asked: views.vectors(answer, asked.side))
    post("/api/head", HeadQuestion, lambda answer, asked: views.head(answer, asked.kind, asked.layer, asked.head))
    post("/api/flow", FlowQuestion, lambda answer, asked: views.flow(answer, asked.stack))
    post("/api/find", FindQuestion, lambda answer, asked: views.find(answer, asked.kind, asked.from_, asked.onto))

    @app.get("/{path:path}")
    async def asset(path: str) -> Response:
        if path not in files:
            raise HTTPException(404, "there is no such page")
        return Response(files[path].read_bytes(), media_type=TYPES[files[path].suffix])

    if host not in LOOPBACK:  # within a machine, compressing takes longer than what it saves
        app.add_middleware(GZipMiddleware, minimum_size=1000, compresslevel=1)
    return app


def refuse(sentence: str, status: int) -> Response:
    return Response(json.dumps({"error": sentence}), status, media_type="application/json")


def as_json(view: Any) -> Response:
    return Response(views.to_json(view), media_type="application/json")


def welcome(header: str, host: str) -> bool:
    """Whether a Host header names us. A page elsewhere whose name was made to point here still sends its own name."""
    match = re.fullmatch(r"\[([0-9a-f:.]+)\](?::\d+)?|([^:]+)(?::\d+)?", header.lower())
    name = match[1] or match[2] if match else ""
    if host in ("0.0.0.0", "::"):  # bound to all addresses of this machine
        return name in (*LOOPBACK, socket.gethostname().lower()) or is_address(name)
    return name in (*LOOPBACK, host.lower())


def is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


async def body(request: Request, room: int) -> Mapping[str, Any]:
    """The JSON object of a request. A page elsewhere cannot send this type of content unasked."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise RegardError("a question is sent as JSON: set Content-Type to application/json")
    read = b""
    async for chunk in request.stream():
        read += chunk
        if len(read) > room:
            raise RegardError(f"a question of more than {room:,} bytes is too long: shorten it")
    try:
        given = json.loads(read)
    except (ValueError, RecursionError):
        raise RegardError('the question is not valid JSON: send an object such as {"text": "…"}') from None
    if not isinstance(given, dict):
        raise RegardError('the question is no JSON object: send one such as {"text": "…"}')
    return given


class Memory:
    """The last few answers of a run; a new one is worked out in a thread of its own, one at a time."""

    def __init__(self, run: Run):
        self.run = run
        self.answers: OrderedDict[Question, Answer] = OrderedDict()
        cores = torch.get_num_threads() if run.settings.model.width >= WIDE else 1
        self.worker = ThreadPoolExecutor(1, "pass", torch.set_num_threads, (cores,))

    async def answered(self, question: Question, view: Callable[[Answer], str]) -> str:
        return await asyncio.wrap_future(self.worker.submit(lambda: view(self.recall(question))))

    def warm_up(self) -> None:
        """Answer what nobody asked, where a word is enough of a question: a process is slow at what it never did."""
        with suppress(RegardError):
            views.to_json(views.look(views.ask(self.run, way_of(self.run).settled(Question(text="a")))))

    def recall(self, question: Question) -> Answer:
        question = way_of(self.run).settled(question)
        if question not in self.answers:
            self.answers[question] = views.ask(self.run, question)
        self.answers.move_to_end(question)
        if len(self.answers) > REMEMBERED:
            self.answers.popitem(last=False)
        return self.answers[question]
