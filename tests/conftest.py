"""What all tests share: where real data lies, one thread each, and how a skip is judged."""

from __future__ import annotations

import os
from pathlib import Path

import hypothesis
import pytest

hypothesis.settings.register_profile("regard", deadline=None)  # no test hangs on a clock
hypothesis.settings.load_profile("regard")

DATA = Path(os.environ.get("REGARD_DATA", Path(__file__).parents[2] / "shared" / "data"))
STRICT = os.environ.get("REGARD_STRICT") == "1"
IMPOSSIBLE = "this machine has no "  # how a reason begins that no set-up could mend, such as a missing GPU


@pytest.fixture(autouse=True)
def one_thread_and_seed():
    """Two processes on two cores run the tests; and whatever a test draws, it draws again."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def bfloat16_works() -> bool:
    """Some machines say that they have instructions for it, and end the process that uses them."""
    import torch

    from regard.precision import TRIAL, may_gain, tried

    return not may_gain(torch.cpu.get_capabilities()) or not isinstance(tried(32, TRIAL, patience=60), str)


@pytest.fixture(scope="session")
def matrices(tmp_path_factory):
    """The kernel for matrices, whether it is a gain on this machine or not."""
    from regard import compiled
    from regard.model import matmul

    path = tmp_path_factory.mktemp("kernel") / "matmul.so"
    compiled.compile_into(path, matmul.SOURCE)
    return compiled.opened(path, matmul.TAKES)


@pytest.fixture
def multiplying(matrices, monkeypatch) -> None:
    """As where it is a gain."""
    from regard.compiled import Kernel
    from regard.model import matmul

    monkeypatch.setattr(matmul, "kernel", lambda: Kernel(matrices, "ours"))


@pytest.fixture(scope="session")
def multi30k() -> Path:
    """The folder of the real English–German–French captions."""
    folder = DATA / "multi30k"
    if not folder.is_dir():
        pytest.skip(f"Multi30k is not at {folder}: set REGARD_DATA to the folder that holds multi30k/")
    return folder


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    """REGARD_STRICT=1: what this machine could have run must not be skipped."""
    report = yield
    if STRICT and report.skipped and not hasattr(report, "wasxfail"):
        reason = str(call.excinfo.value) if call.excinfo else ""
        if not reason.startswith(IMPOSSIBLE):
            report.outcome = "failed"
            report.longrepr = f"skipped under REGARD_STRICT=1: {reason}"
    return report


def pytest_terminal_summary(terminalreporter) -> None:
    terminalreporter.write_line(f"skips: {len(terminalreporter.stats.get('skipped', []))}")


@pytest.fixture(scope="session")
def counting(tmp_path_factory) -> Path:
    """A run that has learned to count, both ways: "two five one" ↔ "deux cinq un". Trained anew for each process."""
    import torch

    from counting import pairs, settings
    from regard.training.train import train_pairs_into

    torch.set_num_threads(1)  # it may be made before the fixture above has its turn
    folder = tmp_path_factory.mktemp("runs") / "counting"
    train_pairs_into(folder, settings(), pairs(600, seed=1), pairs(20, seed=2), on="cpu")
    return folder


@pytest.fixture(scope="session")
def rhymes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that has learned to write numbers in their order. Trained anew for each process."""
    import torch

    from regard.training.train import train_into
    from rhymes import prose, settings

    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("runs") / "rhymes"
    train_into(folder, settings(), prose(), on="cpu")
    return folder


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Runs that tell stripes and moods apart, and one that paints flags. Trained anew for each process."""
    import torch

    import stripes
    from regard.training.train import train_into

    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("runs")
    train_into(folder / "stripes", stripes.stripe_settings(), stripes.parts(stripes.stripes), on="cpu")
    train_into(folder / "moods", stripes.mood_settings(), stripes.parts(stripes.moods), on="cpu")
    train_into(folder / "flags", stripes.flag_settings(), stripes.parts(stripes.flags), on="cpu")
    train_into(folder / "judge", stripes.judge_settings(), stripes.parts(stripes.flags), on="cpu")
    return {name: folder / name for name in ("stripes", "moods", "flags", "judge")}


@pytest.fixture(scope="session")
def gaps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that has learned to fill in numbers that are missing in their order. Trained anew for each process."""
    import torch

    from gaps import prose, settings
    from regard.training.train import train_into

    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("runs") / "gaps"
    train_into(folder, settings(), prose(), on="cpu")
    return folder
