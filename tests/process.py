"""regard as a process of its own.

Each call is a fresh process that runs the command as its users do: arguments, files and streams in, streams and an exit
code out. So that not each of some hundred of them imports torch, they are forked from one that has done that and
nothing else. `REGARD` is the script itself, for tests that talk to a running command.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
from pathlib import Path
from subprocess import CompletedProcess

REGARD = Path(sys.executable).with_name("regard")
PATIENCE = 120  # seconds

ready = multiprocessing.get_context("forkserver")
ready.set_forkserver_preload(["torch"])


def call(*arguments: str | Path, stdin: str | bytes = "", cwd: Path | None = None) -> CompletedProcess[str]:
    given = [str(each) for each in arguments]
    with tempfile.TemporaryDirectory() as folder:
        streams = [Path(folder, name) for name in ("in", "out", "err")]
        streams[0].write_bytes(stdin if isinstance(stdin, bytes) else stdin.encode())
        process = ready.Process(target=run, args=(given, streams, cwd or Path.cwd(), dict(os.environ)))
        process.start()
        process.join(PATIENCE)
        if process.exitcode is None:
            process.kill()
            raise TimeoutError(f"regard {' '.join(given)} took more than {PATIENCE} s")
        out, err = (stream.read_text(encoding="utf-8") for stream in streams[1:])
    return CompletedProcess(given, process.exitcode, out, err)


def run(arguments: list[str], streams: list[Path], cwd: Path, environment: dict[str, str]) -> None:
    """In the new process: the command, with the streams as its own."""
    for number, (stream, flags) in enumerate(zip(streams, (os.O_RDONLY, *2 * [os.O_WRONLY | os.O_CREAT]), strict=True)):
        os.dup2(os.open(stream, flags), number)
    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(each, mode, encoding="utf-8") for each, mode in enumerate("rww"))
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    sys.argv = [str(REGARD), *arguments]

    from regard.cli import main

    main()


def refused(*arguments: str | Path, stdin: str | bytes = "", cwd: Path | None = None, code: int = 1) -> str:
    """What is said on stderr, where nothing else comes of it."""
    done = call(*arguments, stdin=stdin, cwd=cwd)
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.stderr
