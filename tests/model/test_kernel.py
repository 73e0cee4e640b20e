"""Attention of short sequences by a kernel in C is torch's attention; where there is no kernel, torch computes it."""

import ctypes
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from regard import compiled
from regard.model import kernel as module
from regard.model.attention import Attention
from regard.model.kernel import ShortAttention, fits, kernel, may_suit, short_attention

COMPILER = next(filter(None, map(shutil.which, compiled.COMPILERS)), None)
pytestmark = pytest.mark.skipif(COMPILER is None, reason="needs a C compiler")


@pytest.fixture
def ours() -> ctypes.CDLL:
    library = kernel().library
    assert library is not None, kernel().why
    return library


@pytest.fixture
def anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """As if no kernel had been asked for yet, with an empty folder for compiled ones."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    kernel.cache_clear()
    yield tmp_path / "regard"
    kernel.cache_clear()


def compared(ours: ctypes.CDLL, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> None:
    """Output and gradients of the kernel against torch's."""
    own = ShortAttention.apply(ours, q, k, v, mask)
    assert isinstance(own, Tensor)
    others = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    gradient = torch.randn_like(others)
    torch.testing.assert_close(own, others, rtol=1e-5, atol=1e-5)
    for one, other in zip(
        torch.autograd.grad(own, (q, k, v), gradient), torch.autograd.grad(others, (q, k, v), gradient), strict=True
    ):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=2e-5)


@settings(deadline=None, max_examples=60)
@given(
    rows=st.integers(1, 4),
    heads=st.integers(1, 3),
    queries=st.integers(1, 128),
    keys=st.integers(1, 128),
    vectors=st.integers(1, 3),
    mask=st.sampled_from(["none", "keys", "queries and keys", "each head's", "causal"]),
    seed=st.integers(0, 2**32),
)
def test_the_kernel_computes_what_torch_computes(rows, heads, queries, keys, vectors, mask, seed):
    ours = kernel().library
    assert ours is not None
    draw = torch.Generator().manual_seed(seed)
    shape = {
        "keys": (rows, 1, 1, keys),
        "queries and keys": (rows, 1, queries, keys),
        "each head's": (rows, heads, queries, keys),
        "causal": (queries, keys),
    }.get(mask)
    may = None if shape is None else torch.rand(shape, generator=draw) < 0.6
    if mask == "causal":
        may = torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries)
    if may is not None:
        may[..., 0] = True  # who may look at nothing has a test of their own
    sizes = ((rows, heads, n, vectors * ours.lanes()) for n in (queries, keys, keys))
    q, k, v = (torch.randn(size, generator=draw).requires_grad_() for size in sizes)
    compared(ours, q, k, v, may)


def test_heads_may_lie_anywhere_in_memory(ours):
    """As slices of one matrix, as attention makes them; turned by rotary positions; or with features apart."""
    heads, features = 3, 2 * ours.lanes()
    x = torch.randn(2, 5, 3 * heads * features, requires_grad=True)
    q, k, v = (y.unflatten(-1, (heads, features)).transpose(1, 2) for y in x.chunk(3, dim=-1))
    compared(ours, q, k, v, None)
    compared(ours, q.contiguous(), k, v.flip(-1).mT.contiguous().mT, None)


def test_who_may_look_at_nothing_takes_nothing(ours):
    q, k, v = (torch.randn(2, 3, n, ours.lanes(), requires_grad=True) for n in (4, 7, 7))
    mask = torch.ones(2, 1, 4, 7, dtype=torch.bool)
    mask[1, 0, 2] = False
    output = ShortAttention.apply(ours, q, k, v, mask)
    assert isinstance(output, Tensor)
    assert not output[1, :, 2].any()
    gradients = torch.autograd.grad(output.square().sum(), (q, k, v))
    assert all(gradient.isfinite().all() for gradient in gradients)
    assert not gradients[0][1, :, 2].any()


def test_what_may_not_be_looked_at_weighs_nothing_at_all(ours):
    """To the last bit: padding with anything, even infinities near, changes nothing."""
    q, k, v = (torch.randn(1, 2, n, ours.lanes()) for n in (3, 9, 9))
    mask = (torch.arange(9) < 6)[None, None, None]
    alone = ShortAttention.apply(ours, q, k[:, :, :6], v[:, :, :6], None)
    k[:, :, 6:], v[:, :, 6:] = 1e30, 1e30
    assert torch.equal(ShortAttention.apply(ours, q, k, v, mask), alone)  # pyright: ignore[reportArgumentType]


def test_scores_far_apart_do_not_overflow(ours):
    q, k, v = (torch.randn(1, 1, n, ours.lanes(), requires_grad=True) for n in (3, 5, 5))
    q = (q * 300).detach().requires_grad_()
    own = ShortAttention.apply(ours, q, k, v, None)
    assert isinstance(own, Tensor)
    torch.testing.assert_close(own, F.scaled_dot_product_attention(q, k, v), rtol=1e-4, atol=1e-4)
    assert all(gradient.isfinite().all() for gradient in torch.autograd.grad(own.sum(), (q, k, v)))


def test_what_is_not_a_number_shows(ours):
    q, k, v = (torch.randn(1, 1, n, ours.lanes()) for n in (3, 5, 5))
    k[0, 0, 2, 1] = torch.nan
    assert ShortAttention.apply(ours, q, k, v, None).isnan().all()  # pyright: ignore[reportAttributeAccessIssue]


def test_what_is_long_or_wide_is_left_to_torch(ours):
    lanes, longest, widest = ours.lanes(), ours.longest(), ours.widest()

    assert fits(ours, longest, widest)
    assert not fits(ours, longest + 1, lanes)
    assert not fits(ours, 3, widest + lanes)
    assert not fits(ours, 3, lanes + 1)
    long, short = torch.randn(1, 1, longest + 1, lanes), torch.randn(1, 1, 5, lanes)
    for q, k in ((long, short), (short, long)):
        torch.testing.assert_close(short_attention(q, k, k, None), F.scaled_dot_product_attention(q, k, k))


def test_what_is_of_another_kind_or_to_be_broadcast_is_left_to_torch():
    def suits(q: tuple[int, ...], k: tuple[int, ...], v: tuple[int, ...], mask: Tensor | None = None, **how) -> bool:
        return may_suit(torch.zeros(q, **how), torch.zeros(k, **how), torch.zeros(v, **how), mask)

    q, k = (2, 3, 4, 32), (2, 3, 5, 32)
    assert suits(q, k, k)
    assert suits(q, k, k, torch.ones(4, 5, dtype=torch.bool))
    assert not suits(q, k, k, torch.zeros(4, 5)), "a bias"
    assert not suits(q, k, k, dtype=torch.bfloat16)
    assert not suits(q, k, k, device="meta")
    assert not suits((2, 3, 0, 32), k, k)
    assert not suits(q[1:], k[1:], k[1:])
    assert not suits(q, (1, 3, 5, 32), (1, 3, 5, 32))
    assert not suits(q, (2, 1, 5, 32), (2, 1, 5, 32))
    assert not suits(q, (2, 3, 5, 16), (2, 3, 5, 16))
    assert not suits(q, k, (2, 3, 6, 32))
    with FakeTensorMode():
        assert not suits(q, k, k)


def test_a_memory_of_other_rows_is_refused_in_training_as_it_is_elsewhere():
    attention = Attention(width=64, heads=2)
    for mode in (True, False):
        with pytest.raises(RuntimeError):
            attention.train(mode)(torch.randn(3, 5, 64), torch.randn(2, 7, 64))


def test_a_second_derivative_is_refused(ours):
    """Torch's fused kernel has none either."""
    x = torch.randn(1, 2, 3, ours.lanes(), requires_grad=True)
    first = torch.autograd.grad(short_attention(x, x, x, None).square().sum(), x, create_graph=True)[0]
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.sum().backward()


def test_many_threads_are_left_to_torch(ours):
    """Ours is computed by the thread that asks; torch's is shared out among all."""
    x = torch.zeros(1, 1, 2, ours.lanes())
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(module.FEW + 1)
        assert not may_suit(x, x, x, None)
        torch.set_num_threads(module.FEW)
        assert may_suit(x, x, x, None)
    finally:
        torch.set_num_threads(before)


def test_attention_learns_by_the_kernel_what_it_learns_by_torch(ours, monkeypatch):
    """In training mode one of the two computes; the parameters' gradients are the same to rounding."""
    attention = Attention(width=4 * ours.lanes(), heads=2)
    x, memory = torch.randn(3, 5, 4 * ours.lanes()), torch.randn(3, 7, 4 * ours.lanes())

    def gradients() -> list[Tensor]:
        attention.zero_grad()
        attention(x, memory).square().sum().backward()
        return [p.grad.clone() for p in attention.parameters() if p.grad is not None]

    own = gradients()
    monkeypatch.setattr(module, "kernel", lambda: compiled.Kernel(None, ""))
    for one, other in zip(own, gradients(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


def test_a_kernel_is_compiled_once(anew, monkeypatch):
    assert kernel() == compiled.Kernel(kernel().library, "a kernel compiled for this processor")
    (kept,) = anew.glob("*.so")
    assert {each.suffix for each in anew.iterdir()} == {".so", ".sum"}, "and nothing else is left there"
    kernel.cache_clear()
    monkeypatch.setenv("PATH", "")
    library = kernel().library
    assert library is not None, "it is kept, so no compiler is needed any more"
    assert library._name == str(kept)


@pytest.mark.parametrize("damage", [lambda code: code[:1000], lambda code: code[:500] + b"?" + code[501:]])
def test_a_kept_kernel_that_is_damaged_is_compiled_anew(anew, damage):
    assert kernel().library is not None
    (kept,) = anew.glob("*.so")
    code = kept.read_bytes()
    kernel.cache_clear()
    kept.unlink()
    kept.write_bytes(damage(code))
    assert kernel().library is not None
    assert kept.read_bytes() == code


def test_a_kernel_that_cannot_be_kept_is_used_all_the_same(anew):
    anew.write_text("not a folder")
    assert kernel().library is not None


@pytest.mark.parametrize("name", ["folder", "file"])
def test_a_kept_kernel_that_others_may_write_is_not_opened(anew, name):
    assert kernel().library is not None
    (kept,) = anew.glob("*.so")
    kernel.cache_clear()
    {"folder": anew, "file": kept}[name].chmod(0o777)
    library = kernel().library
    assert library is not None
    assert library._name != str(kept)


def test_without_room_for_temporary_files_torch_computes(anew, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(anew / "missing"))
    assert kernel() == compiled.Kernel(None, "torch's kernel: there is no place for ours (No such file or directory)")


def test_a_compiler_that_can_is_asked_after_one_that_cannot(anew, tmp_path, monkeypatch):
    stand_in(tmp_path, "exit 1", monkeypatch)
    monkeypatch.setattr(compiled, "COMPILERS", ("cc", Path(COMPILER or "").resolve().as_posix()))
    assert kernel().library is not None


def test_nothing_is_kept_in_or_opened_from_the_folder_one_happens_to_be_in(anew, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    monkeypatch.chdir(tmp_path)
    assert kernel().library is not None
    assert not list(tmp_path.iterdir())


def test_without_a_compiler_torch_computes(anew, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert kernel() == compiled.Kernel(None, "torch's kernel: there is no C compiler for ours")
    q = torch.randn(1, 2, 3, 16)
    torch.testing.assert_close(short_attention(q, q, q, None), F.scaled_dot_product_attention(q, q, q))


def test_it_can_be_turned_off(anew, monkeypatch):
    monkeypatch.setenv("REGARD_KERNEL", "0")
    assert kernel() == compiled.Kernel(None, "torch's kernel, as REGARD_KERNEL=0 asks for")


def test_a_compiler_that_fails_is_told_of(anew, tmp_path, monkeypatch):
    compiler = stand_in(tmp_path, "echo no such processor >&2; exit 1", monkeypatch)
    monkeypatch.setattr(compiled, "COMPILERS", ("cc",))
    assert kernel() == compiled.Kernel(None, f"torch's kernel: {compiler} did not compile ours (no such processor)")


def test_a_kernel_that_kills_its_process_is_not_used(anew, tmp_path, monkeypatch):
    """Some virtual machines advertise instructions that they do not have: the trial dies, and not the training."""
    broken = tmp_path / "broken.c"
    broken.write_text(
        "long long lanes(void) { return 8; } long long longest(void) { return 128; }\n"
        "long long widest(void) { return 128; }\n"
        "void forward(void) { __builtin_trap(); } void backward(void) {}\n"
    )
    stand_in(tmp_path, f'exec {COMPILER} -fPIC -shared {broken} -o "$8"', monkeypatch)
    found = kernel()
    assert found.library is None
    assert found.why in [f"torch's kernel: a trial of ours died of {name}" for name in ("SIGILL", "SIGTRAP")]
    assert not anew.exists(), "and it is not kept"


def test_a_kernel_that_computes_something_else_is_not_used(anew, tmp_path, monkeypatch):
    wrong = tmp_path / "wrong.c"
    wrong.write_text(module.SOURCE.read_text().replace("1.0f / sqrtf((float)n.d)", "1.0f"))
    stand_in(
        tmp_path,
        f'exec {COMPILER} -std=gnu11 -O1 -fPIC -shared -I{module.SOURCE.parent} {wrong} -o "$8" -lm',
        monkeypatch,
    )
    found = kernel()
    assert found.library is None
    assert found.why.startswith("torch's kernel: a trial of ours failed (")


def stand_in(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A compiler that does what a shell script says."""
    path = folder / "bin" / "cc"
    path.parent.mkdir()
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{path.parent}:{os.environ['PATH']}")
    return path
