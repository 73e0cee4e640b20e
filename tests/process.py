"""regard as a process of its own, as its users start it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

REGARD = Path(sys.executable).with_name("regard")


def call(*arguments: str | Path, stdin: str | bytes = "", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    data = stdin if isinstance(stdin, bytes) else stdin.encode()
    done = subprocess.run([REGARD, *map(str, arguments)], input=data, capture_output=True, cwd=cwd, timeout=120)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def refused(*arguments: str | Path, stdin: str | bytes = "", cwd: Path | None = None, code: int = 1) -> str:
    """What is said on stderr, where nothing else comes of it."""
    done = call(*arguments, stdin=stdin, cwd=cwd)
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.stderr
