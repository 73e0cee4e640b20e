"""Matrices multiplied by a kernel in C are torch's product; where there is no kernel, or no gain, torch computes it."""

import shutil
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from regard import compiled
from regard.compiled import Kernel
from regard.model import matmul
from regard.model.matmul import Linear, affine, multiply, orthogonal, product, rectified
from regard.training.optimizer import ROUNDS

COMPILER = next(filter(None, map(shutil.which, compiled.COMPILERS)), None)
pytestmark = pytest.mark.skipif(COMPILER is None, reason="needs a C compiler")


@settings(deadline=None, max_examples=80)
@given(
    rows=st.integers(1, 60),
    columns=st.integers(1, 900),
    depth=st.one_of(st.integers(1, 90), st.sampled_from([511, 512, 513, 1100])),
    spare=st.sampled_from([0, 1, 7]),
    turned=st.tuples(st.booleans(), st.booleans()),
    begin=st.sampled_from(["nothing", "a row", "itself"]),
    seed=st.integers(0, 2**32),
)
def test_the_kernel_computes_what_torch_computes(matrices, rows, columns, depth, spare, turned, begin, seed):
    """In any order of rows and columns, as parts of wider matrices, and beginning with what is there."""
    draw = torch.Generator().manual_seed(seed)

    def matrix(high: int, wide: int, transposed: bool) -> Tensor:
        if transposed:
            return matrix(wide, high, False).T
        return torch.randn(high, wide + spare, generator=draw)[:, :wide]

    a, b, out = matrix(rows, depth, turned[0]), matrix(depth, columns, turned[1]), matrix(rows, columns, False)
    first = {"nothing": None, "a row": torch.randn(columns, generator=draw).expand(rows, columns), "itself": out}[begin]
    expected = (a.double() @ b.double() + (0 if first is None else first.double())).float()
    torch.testing.assert_close(multiply(matrices, a, b, out, first), expected, rtol=1e-4, atol=2e-4)


@pytest.mark.parametrize("wide", [512, 1024, 2048])
def test_rows_that_lie_a_power_of_two_apart_are_multiplied_right(matrices, wide):
    """They are copied first, as they would fight for the same places of a cache."""
    x, matrix = torch.randn(33, wide), torch.randn(45, wide)
    torch.testing.assert_close(multiply(matrices, x, matrix.T, torch.empty(33, 45)), x @ matrix.T, rtol=1e-4, atol=2e-4)
    g = torch.randn(37, wide)
    out = torch.empty(wide, 21)
    torch.testing.assert_close(multiply(matrices, g.T, g[:, :21], out), g.T @ g[:, :21], rtol=1e-4, atol=2e-4)


def test_nothing_beside_the_result_is_touched(matrices):
    whole = torch.full((20, 70), 7.0)
    out = whole[2:17, 5:40]
    multiply(matrices, torch.randn(15, 3), torch.randn(3, 35), out)
    out.fill_(7.0)
    assert (whole == 7.0).all()


def test_a_number_does_not_depend_on_what_stands_beside_it(matrices):
    """To the last bit: a row alone, among others, and a column alone."""
    a, b = torch.randn(50, 700), torch.randn(700, 500)
    whole = multiply(matrices, a, b, torch.empty(50, 500))
    assert torch.equal(multiply(matrices, a[23:24], b, torch.empty(1, 500)), whole[23:24])
    assert torch.equal(multiply(matrices, a, b[:, 400:401].contiguous(), torch.empty(50, 1)), whole[:, 400:401])


def test_what_is_not_a_number_stays_in_its_row(matrices):
    a, b = torch.randn(30, 12), torch.randn(12, 34)
    a[17, 3] = torch.nan
    out = multiply(matrices, a, b, torch.empty(30, 34))
    assert out[17].isnan().all()
    assert out.isfinite().all(1).sum() == 29


@pytest.mark.parametrize("shape", [(71, 24), (9, 13, 24)])
def test_a_linear_map_learns_by_the_kernel_what_it_learns_by_torch(multiplying, shape):
    own = Linear(24, 40)
    others = nn.Linear(24, 40)
    others.load_state_dict(own.state_dict())
    x, gradient = torch.randn(shape, requires_grad=True), torch.randn(*shape[:-1], 40)
    assert "Affine" in own(x).grad_fn.name(), "the kernel is what is compared"
    found, expected = own(x), others(x)
    torch.testing.assert_close(found, expected)
    for one, other in zip(
        torch.autograd.grad(found, (x, *own.parameters()), gradient),
        torch.autograd.grad(expected, (x, *others.parameters()), gradient),
        strict=True,
    ):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


def test_gradients_may_lie_anywhere_and_may_be_unwanted(multiplying):
    layer = Linear(24, 40)
    x = torch.randn(70, 24)
    layer(x).sum().backward()  # a gradient that is one number, expanded; x wants none
    torch.testing.assert_close(layer.weight.grad, x.sum(0).expand(40, 24), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(layer.bias.grad, torch.full((40,), 70.0))
    layer.requires_grad_(False)
    y = torch.randn(70, 24, requires_grad=True)
    layer(y).sum().backward()
    torch.testing.assert_close(y.grad, layer.weight.sum(0).expand(70, 24), rtol=1e-4, atol=1e-4)


def test_a_product_is_new_or_put_or_added(multiplying):
    a, b = torch.randn(70, 11), torch.randn(11, 35)
    out = torch.ones(70, 35)
    torch.testing.assert_close(product(a, b), a @ b, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(product(a, b, out, add=True), 1 + a @ b, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(product(a, b, out), a @ b, rtol=1e-4, atol=1e-4)
    torch.set_num_threads(2)  # as by torch
    torch.testing.assert_close(product(a, b), a @ b)
    torch.testing.assert_close(product(a, b, out, add=True), 2 * a @ b, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(product(a, b, out), a @ b)


def test_a_product_is_put_where_columns_lie_apart(multiplying):
    a, b, whole = torch.randn(70, 11), torch.randn(11, 35), torch.full((70, 2 * 35), 7.0)
    product(a, b, whole[:, ::2])
    torch.testing.assert_close(whole[:, ::2], a @ b, rtol=1e-4, atol=1e-4)
    assert (whole[:, 1::2] == 7).all()


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    count=st.integers(1, 4),
    rows=st.integers(1, 70),
    more=st.integers(0, 90),
    turned=st.booleans(),
    seed=st.integers(0, 99),
)
def test_matrices_are_turned_round_by_round_as_in_double_precision(multiplying, count, rows, more, turned, seed):
    draw = torch.Generator().manual_seed(seed)
    x = torch.randn(count, rows, rows + more, generator=draw) / (2 * rows + more)
    given = x.mT.contiguous().mT if turned else x.clone()
    expected = x.double()
    for a, b, c in ROUNDS:
        gram = expected @ expected.mT
        expected = a * expected + (b * gram + c * gram @ gram) @ expected
    torch.testing.assert_close(orthogonal(given, ROUNDS), expected.float(), rtol=1e-3, atol=1e-4)
    assert torch.equal(given, x), "what is given stays as it is"


def test_what_is_of_another_kind_is_left_to_torch(multiplying):
    """Other numbers, as they are or by autocast; other devices; several threads for one operation; few rows."""

    def by_the_kernel(rows: int = 70, **how) -> bool:
        layer = Linear(24, 40).to(**how)
        return "Affine" in layer(torch.randn(rows, 24, **how)).grad_fn.name()

    assert by_the_kernel()
    assert not by_the_kernel(rows=matmul.FEW - 1)
    assert not by_the_kernel(dtype=torch.float64)
    assert not by_the_kernel(device="meta")
    with torch.autocast("cpu", torch.bfloat16):
        assert not by_the_kernel()
    torch.set_num_threads(2)
    assert not by_the_kernel()


def test_what_does_not_fit_is_refused_as_torch_refuses_it(multiplying):
    """A kernel would read whatever lies behind."""
    x, matrix, bias = torch.randn(70, 24), torch.randn(40, 23), torch.zeros(40)
    for bad in ((x, matrix, bias), (x[:, :23], matrix, bias[:39])):
        with pytest.raises(RuntimeError):
            affine(*bad)
    with pytest.raises(RuntimeError):
        product(x, matrix.T)
    torch.testing.assert_close(affine(x[:, :0], matrix[:, :0], bias + 1), torch.ones(70, 40))
    assert Linear(24, 40, bias=False)(x).shape == (70, 40)


def test_matrices_of_any_layout_are_multiplied_and_learned(multiplying):
    x, bias = torch.randn(70, 24), torch.randn(40, 2)[:, 0]
    matrix = torch.randn(24, 40).T.requires_grad_()  # its columns lie side by side
    torch.testing.assert_close(affine(x, matrix, bias), F.linear(x, matrix, bias), rtol=1e-4, atol=1e-4)
    own, others = (torch.autograd.grad(f(x, matrix, bias + 0).square().sum(), matrix)[0] for f in (affine, F.linear))
    torch.testing.assert_close(own, others, rtol=1e-3, atol=1e-3)
    spread = torch.randn(70, 2 * 512)[:, ::2]  # neither its rows nor its columns do
    torch.testing.assert_close(product(spread.T, x), spread.T @ x, rtol=1e-4, atol=1e-4)


def test_out_of_training_torch_computes(multiplying):
    """There any batch gives the same text, which rests on measurements of torch's kernels."""
    layer = Linear(24, 40).eval()
    assert "Affine" not in layer(torch.randn(70, 24)).grad_fn.name()


def test_a_second_derivative_is_refused(multiplying):
    x = torch.randn(70, 24, requires_grad=True)
    matrix, bias = torch.randn(40, 24), torch.zeros(40)
    first = torch.autograd.grad(affine(x, matrix, bias).square().sum(), x, create_graph=True)[0]
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.sum().backward()
    torch.testing.assert_close(affine(x, matrix, bias), F.linear(x, matrix, bias), rtol=1e-4, atol=1e-4)


@pytest.fixture
def anew(tmp_path, monkeypatch):
    """As if no kernel had been asked for yet, with an empty folder for compiled ones."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    matmul.kernel.cache_clear()
    yield tmp_path / "regard"
    matmul.kernel.cache_clear()


def test_the_trial_decides_once(anew, monkeypatch):
    """A kernel that is no gain here is not used; and a machine that has found so does not ask again."""
    slow = "print('ours takes 1.50 × as long here')"
    monkeypatch.setattr(matmul, "CHECK", slow)
    assert matmul.kernel() == Kernel(None, "torch's kernel: ours takes 1.50 × as long here")
    monkeypatch.setattr(matmul, "CHECK", "")
    matmul.kernel.cache_clear()
    assert matmul.kernel() == Kernel(None, "torch's kernel: ours takes 1.50 × as long here")
    for each in anew.iterdir():
        each.unlink()
    matmul.kernel.cache_clear()
    assert matmul.kernel().library is not None


def test_a_kernel_that_computes_something_else_is_not_used(anew, tmp_path, monkeypatch):
    wrong = Path(shutil.copytree(matmul.SOURCE.parent, tmp_path / "model")) / matmul.SOURCE.name
    wrong.write_text(matmul.SOURCE.read_text().replace("* b1;", "* b0;"))
    monkeypatch.setattr(matmul, "SOURCE", wrong)
    found = matmul.kernel()
    assert found.library is None
    assert found.why.startswith("torch's kernel: a trial of ours failed (")


def test_the_trial_of_the_kernel_ends_here_one_way_or_the_other(anew):
    found = matmul.kernel()
    assert found.library is not None or "× as long here" in found.why


def test_a_changed_header_is_compiled_anew(tmp_path):
    copied = Path(shutil.copytree(matmul.SOURCE.parent, tmp_path / "model")) / matmul.SOURCE.name
    before = compiled.fingerprint(copied)
    with (copied.parent / "vector.h").open("a") as header:
        header.write("/* changed */\n")
    assert compiled.fingerprint(copied) != before == compiled.fingerprint(matmul.SOURCE)


@settings(deadline=None, max_examples=60)
@given(sizes=st.tuples(*[st.integers(1, 70)] * 2), depth=st.sampled_from([1, 9, 512, 515]), seed=st.integers(0, 99))
def test_a_gate_lets_through_what_is_behind_a_positive_number(matrices, sizes, depth, seed):
    (rows, columns), draw = sizes, torch.Generator().manual_seed(seed)
    a, b, gate = (torch.randn(size, generator=draw) for size in ((rows, depth), (depth, columns), (rows, columns)))
    bias, out = torch.randn(columns, generator=draw).expand(rows, -1), torch.empty(rows, columns)
    exact = (a.double() @ b.double() + bias.double()).float()
    torch.testing.assert_close(
        multiply(matrices, a, b, out, begin=bias, gate=gate).clone(), exact * (gate > 0), rtol=1e-3, atol=1e-3
    )
    torch.testing.assert_close(multiply(matrices, a, b, out, begin=bias, gate=out), exact.relu(), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(("shape", "hidden", "to"), [((7, 11, 24), 40, 16), ((130, 33), 600, 35)])
def test_a_rectified_map_of_a_map_and_its_gradients_are_torchs(matrices, shape, hidden, to, monkeypatch):
    monkeypatch.setattr(matmul, "library", lambda *given: matrices)
    inner, outer = nn.Linear(shape[-1], hidden), nn.Linear(hidden, to)
    x, gradient = torch.randn(shape, requires_grad=True), torch.randn(*shape[:-1], to)
    learned = [x, *inner.parameters(), *outer.parameters()]
    own, others = rectified(x, inner, outer), outer(inner(x).relu())
    assert own.grad_fn is not None
    assert type(own.grad_fn).__name__ == "RectifiedBackward"
    torch.testing.assert_close(own, others, rtol=1e-3, atol=1e-4)
    for one, other in zip(
        torch.autograd.grad(own, learned, gradient), torch.autograd.grad(others, learned, gradient), strict=True
    ):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-3)


def test_what_is_not_a_number_passes_the_rectifier(matrices):
    """As it passes torch's: a training that has failed must be seen to have failed."""
    a, b = torch.randn(9, 5), torch.randn(5, 37)
    a[4] = torch.nan
    out = torch.empty(9, 37)
    multiply(matrices, a, b, out, gate=out)
    assert out[4].isnan().all()
    assert out.isnan().sum() == 37


def test_torch_tells_of_layers_that_do_not_fit_together(matrices, monkeypatch):
    monkeypatch.setattr(matmul, "library", lambda *given: matrices)
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        rectified(torch.randn(70, 12), nn.Linear(12, 33), nn.Linear(34, 5))
