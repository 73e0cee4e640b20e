"""Try something in a process of its own: what ends that process does not end this one."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence


class FailedTrialError(Exception):
    """How a trial failed, as what it did: "died of SIGILL"."""


def trial(code: str, *arguments: object, patience: float) -> str:
    """What a Python of its own printed while it ran the code, within so many seconds."""
    command = [sys.executable, "-P", "-c", code, *map(str, arguments)]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=patience
        )
    except subprocess.TimeoutExpired:
        raise FailedTrialError(f"did not end within {patience:g} s") from None
    if done.returncode < 0:
        raise FailedTrialError(f"died of {signal_name(-done.returncode)}")
    if done.returncode > 0:
        last = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1]
        raise FailedTrialError(f"failed ({last})")
    return done.stdout


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def quickest(*works: Callable[[], object], rounds: int = 12) -> Sequence[float]:
    """The seconds that each needs at best, all by turns: a busy neighbour slows them all, and none for ever."""
    seconds = [[timed(work) for work in works] for _ in range(rounds)]
    return [min(each) for each in zip(*seconds, strict=True)]


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
