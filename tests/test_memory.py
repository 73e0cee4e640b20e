"""The allocator keeps its pages while training, unless the user has told it otherwise."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

# Writes to 64 MB eight times over, once it has done so often enough to find a place for them, and prints how many pages
# the system had to hand out meanwhile.
FAULTS = """
import resource, torch
from regard.memory import keep_pages
print(keep_pages())
for _ in range(20):
    torch.ones(2**24)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(8):
    torch.ones(2**24)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def kept_and_faults(**variables: str) -> tuple[bool, int]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    done = subprocess.run(
        [sys.executable, "-c", FAULTS], capture_output=True, text=True, check=True, env={**plain, **variables}
    )
    kept, faults = done.stdout.split()
    return kept == "True", int(faults)


@pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc",
    reason="this machine has no glibc, the one allocator that is told to keep its pages",
)
def test_memory_that_was_freed_is_used_again_without_asking_the_system():
    kept, few = kept_and_faults()
    left_alone, many = kept_and_faults(MALLOC_ARENA_MAX="4")
    assert kept
    assert not left_alone
    assert few < many / 10
