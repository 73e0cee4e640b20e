"""C compiled on the machine that runs it, tried in a process of its own, and kept for the next time.

It needs nothing of the user: where there is no compiler, or what it made does not work, it says so, and the caller goes
on without. What a trial found to be of no use here is kept as well: the same machine decides once.
"""

from __future__ import annotations

import ctypes
import os
import platform
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from itertools import product
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from regard.trial import FailedTrialError, trial

COMPILERS = ("cc", "gcc", "clang")
FLAGS = ("-std=gnu11", "-O3", "-fPIC", "-shared")
OWN = ("-march=native", "-mcpu=native")  # asks for all that this processor has; compilers know one of the two
PATIENCE = 60.0  # seconds for a compiler, and for the trial, most of which go into importing torch
SWITCH = "REGARD_KERNEL"  # the variable that turns all of them off, by 0
PLAIN = (Tensor, nn.Parameter)  # the kinds of tensor whose numbers are what lies in memory
ALONE = Lock()  # whoever comes while one is compiled finds it kept

Takes = Mapping[str, Sequence[Any]]  # the types of what each function of a library takes


class NotCompiledError(Exception):
    """Why there is none, as a clause that calls it "ours"."""


class Kernel(NamedTuple):
    library: ctypes.CDLL | None
    why: str  # one clause: what there is, or what there is not


def kernel_of(source: Path, check: str, takes: Takes) -> Kernel:
    """The library of C, if it is wanted, and can be had, and has worked in a process of its own; or torch's kernel."""
    if os.environ.get(SWITCH) == "0":
        return Kernel(None, f"torch's kernel, as {SWITCH}=0 asks for")
    try:
        with ALONE:
            return Kernel(declared(compiled(source, check), takes), "a kernel compiled for this processor")
    except NotCompiledError as error:
        return Kernel(None, f"torch's kernel: {error}")


def declared(library: ctypes.CDLL, takes: Takes) -> ctypes.CDLL:
    """With the types of what its functions take; those that take nothing give a number, and the others nothing."""
    for name, types in takes.items():
        function = getattr(library, name)
        function.argtypes, function.restype = types, None if types else ctypes.c_int64
    return library


def opened(path: str | Path, takes: Takes) -> ctypes.CDLL:
    """A library in a file, whether it is of use here or not."""
    return declared(ctypes.CDLL(str(path)), takes)


def plain(x: Tensor, numbers: torch.dtype = torch.float32) -> bool:
    """Whether C can be handed it: there is something in it, on the CPU, and it is what the memory has."""
    return type(x) in PLAIN and x.device.type == "cpu" and x.dtype is numbers and x.numel() > 0 and not x.is_neg()


def compiled(source: Path, check: str) -> ctypes.CDLL:
    """The library of C: the one kept, or one compiled now that the Python in `check`, given its path, accepts.

    It does so by saying nothing; what it prints is why the library is of no use here.
    """
    caches = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))  # noqa: PTH111  may stay ~
    kept = caches / "regard" / f"{source.stem}-{fingerprint(source)}.so"
    refused = kept.with_suffix(".not")
    if whole(refused):
        raise NotCompiledError(refused.read_text())
    if whole(kept):
        with suppress(OSError):  # it may lie where nothing can be run
            return ctypes.CDLL(str(kept))
    try:
        with tempfile.TemporaryDirectory(prefix="regard-", ignore_cleanup_errors=True) as passing:
            made = Path(passing) / kept.name
            compile_into(made, source)
            objection = trial(check, made, patience=PATIENCE).strip()
            with suppress(OSError):  # it is as good without being kept
                keep(*((objection.encode(), refused) if objection else (made.read_bytes(), kept)))
            if objection:
                raise NotCompiledError(objection)
            return ctypes.CDLL(str(made))
    except FailedTrialError as failed:
        raise NotCompiledError(f"a trial of ours {failed}") from None
    except OSError as error:  # no room for temporary files, say
        raise NotCompiledError(f"there is no place for ours ({error.strerror})") from None


def compile_into(path: Path, source: Path) -> None:
    """By the first compiler that can."""
    compilers = [compiler for compiler in map(shutil.which, COMPILERS) if compiler]
    if not compilers:
        raise NotCompiledError("there is no C compiler for ours")
    said = []
    for compiler, own in product(compilers, OWN):
        command = [compiler, *FLAGS, own, str(source), "-o", str(path), "-lm"]
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=PATIENCE
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            said.append(str(error))
            continue
        if done.returncode == 0:
            return
        said += done.stderr.strip().splitlines()[:1]
    raise NotCompiledError(f"{compilers[0]} did not compile ours ({''.join(said[:1])})")


def keep(code: bytes, path: Path) -> None:
    """Into a file, and its checksum beside it: to open a library that is cut short would end the process."""
    if not path.is_absolute():  # nor would it be found again
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for content, name in ((code, path), (digest(code).encode(), path.with_suffix(".sum"))):
        beside = Path(tempfile.mkdtemp(dir=path.parent)) / name.name
        try:
            beside.write_bytes(content)
            beside.replace(name)
        finally:  # a full disk leaves nothing half written behind
            shutil.rmtree(beside.parent, ignore_errors=True)


def whole(path: Path) -> bool:
    """Whether a library is kept there, as it was put there, and none but its user could have put it there."""
    try:
        own = all(mine(each) for each in (path.parent, path))
        return (
            own and path.is_absolute() and path.with_suffix(".sum").read_bytes() == digest(path.read_bytes()).encode()
        )
    except OSError:
        return False


def mine(path: Path) -> bool:
    found = path.stat()
    user = getattr(os, "geteuid", lambda: found.st_uid)()  # Windows has none
    return found.st_uid == user and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def fingerprint(source: Path) -> str:
    """Of the source, what it includes and the processor: a home folder may be shared by machines that differ."""
    processor = platform.machine() + platform.processor()
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        processor += "".join(sorted({line for line in lines if line.startswith(("model name", "flags", "Features"))}))
    code = b"".join(path.read_bytes() for path in (source, *sorted(source.parent.glob("*.h"))))
    return digest(code + " ".join((*FLAGS, *OWN, processor)).encode())


def digest(content: bytes) -> str:
    return blake2b(content, digest_size=12).hexdigest()
