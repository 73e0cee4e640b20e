"""No number format is used before it is known to work here: every trial below is a real process."""

from __future__ import annotations

import re
from contextlib import nullcontext

import pytest
import torch

from regard.errors import ConfigError, DeviceError
from regard.precision import GAIN, TRIAL, Precision, choose, may_gain, tried

CPU, CUDA, MPS = (torch.device(name) for name in ("cpu", "cuda", "mps"))
DIES = "import os, signal; os.kill(os.getpid(), signal.SIGILL)"
RAISES = "raise RuntimeError('could not create a primitive')"
HANGS = "import time; time.sleep(60)"
MUTE = "print('no number')"


def finds(gain: float) -> str:
    return f"print('oneDNN has something to say'); print({gain})"


def test_float32_needs_no_trial():
    chosen = choose("float32", CPU, width=48, trial=DIES)
    assert (chosen.name, chosen.dtype, chosen.scaled, chosen.why) == ("float32", torch.float32, False, "as asked")
    assert isinstance(chosen.autocast(), nullcontext)


def test_this_machine_is_tried_and_the_choice_explained():
    """Whatever it finds, it ends in a choice with a reason, and in this process."""
    chosen = choose("auto", CPU, width=48, trial=TRIAL)
    assert chosen.name in ("float32", "bfloat16")
    assert "bfloat16" in chosen.why
    with chosen.autocast():
        product = torch.ones(4, 6) @ torch.ones(6, 5)
    assert product.dtype == chosen.dtype


def test_only_an_x86_that_claims_no_instructions_is_spared_the_trial():
    assert may_gain({"architecture": "x86_64", "amx_bf16": True})
    assert may_gain({"architecture": "x86_64", "avx512_bf16": True, "amx_bf16": False})
    assert may_gain({"architecture": "aarch64"})
    assert not may_gain({"architecture": "x86_64", "avx512_bf16": False, "amx_bf16": False})


def test_a_process_that_dies_of_an_illegal_instruction_leaves_float32_and_says_so():
    chosen = choose("auto", CPU, width=48, trial=DIES)
    assert (chosen.name, chosen.why) == ("float32", "a trial of bfloat16 died of SIGILL")


def test_who_asks_for_what_kills_the_process_is_told_the_signal():
    told = "bfloat16 does not work on this CPU, a trial of bfloat16 died of SIGILL: choose --precision auto or float32"
    with pytest.raises(DeviceError, match=f"^{re.escape(told)}$"):
        choose("bfloat16", CPU, width=48, trial=DIES)


@pytest.mark.parametrize(
    ("trial", "why"),
    [
        (RAISES, "a trial of bfloat16 failed (RuntimeError: could not create a primitive)"),
        ("raise SystemExit(3)", "a trial of bfloat16 failed (exit code 3)"),
        (MUTE, "a trial of bfloat16 ended without a result"),
        ("", "a trial of bfloat16 ended without a result"),
        ("print(float('nan'))", "a trial of bfloat16 ended without a result"),
        ("import os; os.kill(os.getpid(), 40)", "a trial of bfloat16 died of signal 40"),
    ],
)
def test_any_other_failure_leaves_float32_too(trial, why):
    chosen = choose("auto", CPU, width=48, trial=trial)
    assert (chosen.name, chosen.why) == ("float32", why)


def test_a_trial_that_hangs_is_given_up():
    chosen = choose("auto", CPU, width=48, trial=HANGS, patience=0.3)
    assert (chosen.name, chosen.why) == ("float32", "a trial of bfloat16 did not end within 0.3 s")


def test_auto_takes_bfloat16_where_it_is_clearly_faster():
    chosen = choose("auto", CPU, width=48, trial=finds(1.75))
    assert (chosen.name, chosen.dtype, chosen.scaled) == ("bfloat16", torch.bfloat16, False)
    assert chosen.why == "bfloat16 is 1.75 × as fast on this CPU at width 48"


def test_auto_keeps_float32_where_bfloat16_gains_little():
    chosen = choose("auto", CPU, width=48, trial=finds(GAIN - 0.1))
    assert chosen.name == "float32"
    assert chosen.why == "bfloat16 is 1.10 × as fast on this CPU at width 48, and 1.2 × as fast is asked of it"


def test_who_asks_for_bfloat16_gets_it_however_slow():
    chosen = choose("bfloat16", CPU, width=48, trial=finds(0.5))
    assert (chosen.name, chosen.why) == ("bfloat16", "as asked; bfloat16 takes 2.00 × as long on this CPU at width 48")


def test_the_trial_is_of_the_given_width_with_our_number_of_threads():
    assert tried(48, "import sys; print(float(sys.argv[1]) + float(sys.argv[2]) / 10)", 60) == 48.1


def test_autocast_is_of_the_chosen_format():
    with Precision("bfloat16", CPU, "as asked").autocast():
        assert torch.is_autocast_enabled("cpu")
        assert torch.get_autocast_dtype("cpu") == torch.bfloat16
    assert not torch.is_autocast_enabled("cpu")


def test_a_scaler_that_has_nothing_to_scale_passes_the_step_through():
    x = torch.tensor([3.0], requires_grad=True)
    optimizer, scaler = torch.optim.SGD([x], lr=1.0), choose("float32", CPU, width=48).scaler()
    scaler.scale(2 * x.sum()).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert x.item() == 1.0


def refusal(kind: type[Exception], name: str, device: torch.device, sentence: str) -> None:
    with pytest.raises(kind, match=f"^{re.escape(sentence)}$"):
        choose(name, device, width=48, trial=DIES)


def test_what_a_device_does_not_offer_is_refused_in_a_sentence(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: False)
    unknown = "precision 'fp8' is unknown: choose from auto, float32, bfloat16, float16"
    refusal(ConfigError, "fp8", CPU, unknown)
    half = "precision float16 is for GPUs alone: choose auto, bfloat16 or float32 on a CPU"
    refusal(ConfigError, "float16", CPU, half)
    refusal(ConfigError, "float16", MPS, "precision float16 is not offered on mps: choose auto or float32")
    old = "this GPU does not compute in bfloat16: choose --precision auto or float16"
    refusal(DeviceError, "bfloat16", CUDA, old)


def test_mps_computes_in_float32():
    chosen = choose("auto", MPS, width=48, trial=DIES)
    assert (chosen.name, chosen.why) == ("float32", "nothing else has been tried on mps")


@pytest.mark.parametrize(("native", "name", "scaled"), [(True, "bfloat16", False), (False, "float16", True)])
def test_a_gpu_computes_in_bfloat16_if_it_can_and_else_in_float16_with_scaling(monkeypatch, native, name, scaled):
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: native)
    chosen = choose("auto", CUDA, width=48, trial=DIES)
    assert (chosen.name, chosen.scaled) == (name, scaled)
    assert choose("float16", CUDA, width=48).scaled
