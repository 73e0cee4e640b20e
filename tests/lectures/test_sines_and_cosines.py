"""Positions (Vaswani et al. 2017, section 3.5): sines and cosines, one row for each position."""

from __future__ import annotations

import math

import pytest
import torch

from benchmarks.lectures import LONGEST, accuracy
from regard.config import TranslatorConfig
from regard.model.position import Sinusoidal, sinusoids
from regard.model.translator import Translator


def test_pe_is_a_sine_at_even_i_and_a_cosine_at_odd_i_with_n_10000():
    """PE(pos, i) = sin(pos / n^(i/d)) at even i, cos(pos / n^((i−1)/d)) at odd i, n = 10000 (ibid.)."""
    table = sinusoids(torch.arange(7), width=10, layout="interleaved")
    for pos in range(7):
        for i in range(10):
            angle = pos / 10_000 ** ((i if i % 2 == 0 else i - 1) / 10)
            assert table[pos, i].item() == pytest.approx(math.cos(angle) if i % 2 else math.sin(angle), abs=1e-6)


def test_i_am_a_robot_has_the_slides_table():
    """ "I am a robot", d = 4, n = 100: [0 1 0 1; .84 .54 .10 1.0; .91 −.42 .20 .98; .14 −.99 .30 .96]."""
    slides = [[0, 1, 0, 1], [0.84, 0.54, 0.10, 1.0], [0.91, -0.42, 0.20, 0.98], [0.14, -0.99, 0.30, 0.96]]
    table = sinusoids(torch.arange(4), width=4, base=100, layout="interleaved")
    torch.testing.assert_close(table, torch.tensor(slides), atol=0.0051, rtol=0)  # cos 0.1 = 0.995 stands as 1.0 there


def test_interleaved_and_halves_hold_the_same_numbers_in_another_order():
    """All sines, then all cosines, or pair by pair: a permutation of the features, which the next matrix undoes."""
    interleaved, halves = (sinusoids(torch.arange(9), width=12, layout=each) for each in ("interleaved", "halves"))
    assert torch.equal(torch.cat([interleaved[:, 0::2], interleaved[:, 1::2]], dim=1), halves)
    assert not torch.equal(interleaved, halves)


def test_the_slides_one_based_exponents_are_a_third_spacing():
    """Exponents 2·1/d … 2·(d/2)/d in place of 0 … (d−2)/d: no wave of length 2π, and no reordering gives it."""
    d, n, t = 8, 10_000.0, torch.arange(1, 6, dtype=torch.float64)
    exponents = torch.arange(1, d // 2 + 1, dtype=torch.float64) * 2 / d
    one_based = (t.unsqueeze(1) / n**exponents).sin()
    sines = sinusoids(t, d, n, layout="halves")[:, : d // 2].double()
    torch.testing.assert_close(one_based[:, :-1], sines[:, 1:], atol=1e-6, rtol=0)  # one slower each
    distances = torch.cdist(sines.T, one_based.T).amin(0)  # of each of its waves to the nearest of ours
    assert distances[-1] > 1e-3, "the slowest, with wavelength n · 2π, is not in the paper's table"
    assert torch.cdist(one_based.T, sines.T).amin(0)[0] > 0.5, "and the paper's fastest is not in this one"


def test_a_sine_of_ct_has_wavelength_two_pi_over_c():
    """sin(ct) repeats after 2π/c: each column comes back after its own wavelength, and not after half of it."""
    d, n, start = 6, 100.0, torch.tensor([0.3, 1.7], dtype=torch.float64)
    for i in range(d // 2):
        length = 2 * math.pi * n ** (2 * i / d)
        here, there, half = (sinusoids(start + step, d, n)[:, i] for step in (0, length, length / 2))
        torch.testing.assert_close(there, here, atol=1e-5, rtol=0)
        torch.testing.assert_close(half, -here, atol=1e-5, rtol=0)


def test_wavelengths_run_geometrically_from_two_pi_to_n_two_pi():
    """ "The wavelengths form a geometric progression from 2π to 10000 · 2π" (ibid.); measured from the slopes at 0."""
    frequencies = sinusoids(torch.tensor([1e-6]), width=512)[0, :256] / 1e-6  # sin(ct) / t → c
    lengths = 2 * math.pi / frequencies
    ratios = lengths[1:] / lengths[:-1]
    assert lengths[0].item() == pytest.approx(2 * math.pi, rel=1e-5)
    torch.testing.assert_close(ratios, torch.full_like(ratios, 10_000 ** (2 / 512)), rtol=1e-5, atol=0)
    assert (lengths[-1] * ratios[-1]).item() == pytest.approx(10_000 * 2 * math.pi, rel=1e-5), (
        "n · 2π is where the next would be"
    )


def test_pe_of_pos_plus_k_is_a_linear_map_of_pe_of_pos():
    """ "For any fixed offset k, PE(pos + k) can be represented as a linear function of PE(pos)" (ibid.)."""
    positions = torch.arange(40)
    for k in (1, 5, 17):
        angles = sinusoids(torch.tensor([k]), width=16)[0]
        sines, cosines = angles[:8].diag(), angles[8:].diag()
        map_k = torch.cat([torch.cat([cosines, sines], dim=1), torch.cat([-sines, cosines], dim=1)])  # knows k, not pos
        here, there = sinusoids(positions, width=16), sinusoids(positions + k, width=16)
        torch.testing.assert_close(here @ map_k.T, there, atol=1e-5, rtol=0)


def test_positions_are_added_to_the_embeddings_and_not_learned():
    """ "We add positional encodings to the input embeddings" (ibid.); the table is no parameter."""
    position, x = Sinusoidal(width=6), torch.randn(2, 5, 6)
    torch.testing.assert_close(position(x) - x, sinusoids(torch.arange(5), width=6).expand(2, 5, 6))
    assert not list(position.parameters())
    model = Translator(TranslatorConfig(source_vocabulary=9, target_vocabulary=9, width=6, hidden=7, heads=2, layers=1))
    assert not [name for name in model.state_dict() if "position" in name]


def test_hope_this_will_work_in_extrapolation_no(reader: Translator):
    """Trained on up to 8 words, asked for more: sinusoids have rows for every position, the model no use for them."""
    inside = [accuracy(reader, length, count=50) for length in (2, 5, LONGEST)]
    beyond = [accuracy(reader, length, count=50) for length in (LONGEST + 2, LONGEST + 4)]
    assert min(inside) >= 0.9
    assert max(beyond) <= 0.1
