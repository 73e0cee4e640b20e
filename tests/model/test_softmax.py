"""The softmax in place by a kernel in C is torch's, to rounding, whatever the sizes; where there is none, by torch."""

from __future__ import annotations

import shutil

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard import compiled
from regard.model import softmax
from regard.model.softmax import softmax_
from regard.workers import threads

COMPILER = next(filter(None, map(shutil.which, compiled.COMPILERS)), None)
needs_a_compiler = pytest.mark.skipif(COMPILER is None, reason="needs a C compiler")


@needs_a_compiler
@settings(deadline=None, max_examples=60)
@given(
    rows=st.integers(1, 9),
    columns=st.integers(1, 300),
    size=st.sampled_from([0.0, 1.0, 40.0, 1e4]),
    seed=st.integers(0, 99),
)
def test_the_kernel_gives_the_softmax_and_its_normalizer(rows, columns, size, seed):
    assert softmax.kernel().library, softmax.kernel().why
    logits = size * torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed))
    exact = logits.double()
    with threads(1):
        normalizers = softmax_(logits)
    torch.testing.assert_close(logits.double(), exact.softmax(-1), rtol=1e-5, atol=1e-8)
    torch.testing.assert_close(normalizers.double(), exact.logsumexp(-1), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("count", [1, 2])
def test_rows_may_have_several_dimensions(count):
    """One thread asks the kernel, several ask torch."""
    logits = torch.randn(2, 3, 37)
    expected, normalizers = logits.softmax(-1), logits.logsumexp(-1)
    with threads(count):
        torch.testing.assert_close(softmax_(logits), normalizers)
    torch.testing.assert_close(logits, expected)


@needs_a_compiler
@pytest.mark.parametrize("strange", [torch.nan, torch.inf])
def test_what_is_not_a_number_makes_its_row_none_and_no_other(strange):
    logits = torch.randn(3, 21)
    logits[1, 20] = strange
    expected = logits.softmax(-1)
    with threads(1):
        softmax_(logits)
    assert logits[1].isnan().all()
    torch.testing.assert_close(logits[[0, 2]], expected[[0, 2]])


@needs_a_compiler
def test_what_can_never_be_chosen_has_no_share():
    logits = torch.randn(2, 35)
    logits[:, 3:30] = -torch.inf
    expected = logits.softmax(-1)
    with threads(1):
        softmax_(logits)
    torch.testing.assert_close(logits, expected)
    assert (logits[:, 3:30] == 0).all()


def test_columns_that_do_not_lie_side_by_side_are_torchs():
    whole = torch.randn(5, 24)
    every_other = whole[:, ::2]
    expected = every_other.softmax(-1)
    with threads(1):
        softmax_(every_other)
    torch.testing.assert_close(whole[:, ::2], expected)
