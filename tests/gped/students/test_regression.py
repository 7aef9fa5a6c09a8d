"""Students of a regression: what their head learns, against closed forms."""

import numpy as np
import pytest
import scipy.stats
import torch
from torch import Tensor, nn

import gped
from gped.readings import functions

LAYOUT = gped.Architecture(input_shape=(1,), channels=(), kernel=0, hidden=(40, 40))


def some_draws(count: int = 400) -> Tensor:
    """What draws say of 3 inputs: (draws, inputs, mean and log-variance)."""
    generator = gped.stream(0, "draws")
    mean = torch.tensor([0.5, -2.0, 1.0]) + torch.tensor([0.1, 1.0, 0.4]) * torch.randn(count, 3, generator=generator)
    log_variance = torch.tensor([-1.0, 0.0, -3.0]) + 0.5 * torch.randn(count, 3, generator=generator)
    return torch.stack([mean, log_variance], 2)


def test_the_loss_comes_to_rest_at_the_predictive_mean_and_both_parts_of_the_predictive_variance():
    said, head = some_draws().double(), gped.Moments()
    targets = torch.stack([functions.moments(draw) for draw in said]).mean(0)
    mean, noise = said[..., 0], said[..., 1].exp()
    variance = noise.mean(0) + mean.var(0, correction=0)
    exact = torch.stack([mean.mean(0), variance.log(), torch.logit(noise.mean(0) / variance)], 1)
    told = head.tells(head.predict(exact))
    torch.testing.assert_close(told["total"], variance)
    torch.testing.assert_close(told["data"], noise.mean(0))
    for moved in (torch.zeros(3), *torch.eye(3), *-torch.eye(3)):
        outputs = (exact + 0.1 * moved).requires_grad_()
        (gradient,) = torch.autograd.grad(head.loss(outputs, targets), outputs)
        if moved.any():  # it leads back
            assert (gradient[:, moved != 0] * moved[moved != 0] > 1e-9).all()
        else:
            torch.testing.assert_close(gradient, torch.zeros_like(gradient), atol=1e-12, rtol=0)


def test_the_gradient_for_single_draws_averages_to_that_for_their_mean():
    said, head = some_draws(), gped.Moments()
    outputs = torch.randn(3, 3, generator=gped.stream(0, "z"), dtype=torch.float64, requires_grad=True)
    targets = torch.stack([functions.moments(draw.double()) for draw in said])
    (exact,) = torch.autograd.grad(head.loss(outputs, targets.mean(0)), outputs)
    single = torch.stack([torch.autograd.grad(head.loss(outputs, one), outputs)[0] for one in targets])
    torch.testing.assert_close(single.mean(0), exact)


def test_parts_of_a_variance_are_never_negative_and_add_up():
    outputs = 30 * torch.randn(1000, 6, generator=gped.stream(0, "z"), dtype=torch.float64)
    told = gped.Moments().tells(gped.Moments().predict(outputs))
    assert told["mean"].shape == (1000, 2)
    assert (told["data"] >= 0).all() and (told["data"] <= told["total"]).all()


class Line(nn.Module):
    """A slope, with noise of known variance."""

    def __init__(self) -> None:
        super().__init__()
        self.slope = nn.Parameter(torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([self.slope * x, torch.full_like(x, np.log(0.25))], 1)


@pytest.mark.slow
def test_a_student_of_a_line_says_the_closed_form_of_its_predictive_distribution(tmp_path):
    """With y = wx + ε, ε ~ N(0, 1/4) and w ~ N(0, 1): mean E[w] x, noise 1/4, and disagreement Var[w] x²."""
    generator = gped.stream(0, "data")
    x = 2 * torch.rand(8, 1, generator=generator) - 1
    y = 0.7 * x[:, 0] + 0.5 * torch.randn(8, generator=generator)
    precision = 1 + (x**2).sum().item() / 0.25
    slope, spread = (x[:, 0] @ y).item() / 0.25 / precision, 1 / precision
    grid = torch.linspace(-2, 2, 200).unsqueeze(1)
    settings = {"steps": 20_000, "burn_in": 200, "thinning": 4, "batch_size": 8, "likelihood": gped.Gaussian}
    chain = gped.Chain(Line(), x, y, grid, gped.SGLD(0.01, prior_precision=1), **settings)
    spec = gped.regression(LAYOUT, estimator="uo", learning_rate=5e-3, halving_every=3000)
    (student,) = gped.distill(chain, [spec])
    student.save(tmp_path / "student.safetensors")
    said = gped.load_student(tmp_path / "student.safetensors").predict(grid)
    x = grid[:, 0].numpy()
    assert np.abs(said.mean - slope * x).mean() < 0.05
    assert np.abs(said.data - 0.25).mean() < 0.03
    assert np.corrcoef(said.knowledge, spread * x**2)[0, 1] > 0.97
    assert np.abs(said.knowledge - spread * x**2).mean() < 0.15 * spread * (x**2).mean() + 0.01
    np.testing.assert_allclose(said.total, said.data + said.knowledge)
    assert said.probabilities is None and "moments" not in said.further


def test_metrics_of_a_regression_are_scipys_and_an_honest_interval_covers_what_it_says():
    generator = np.random.default_rng(0)
    mean, variance = generator.normal(0, 1, 4000), generator.uniform(0.1, 2, 4000)
    y = generator.normal(mean, np.sqrt(variance))
    expected = -scipy.stats.norm(mean, np.sqrt(variance)).logpdf(y).mean()
    assert gped.metrics.gaussian_nll(mean, variance, y) == pytest.approx(expected)
    assert gped.metrics.rmse(mean, y) == pytest.approx(np.sqrt(variance.mean()), rel=0.05)
    for level in (0.5, 0.9):
        assert gped.metrics.coverage(mean, variance, y, level) == pytest.approx(level, abs=0.02)
        assert gped.metrics.coverage(mean, variance / 4, y, level) < level - 0.1
    with pytest.raises(ValueError, match=r"shapes \(4000,\), \(3,\)"):
        gped.metrics.rmse(mean, y[:3])
    with pytest.raises(ValueError, match="they must all be positive"):
        gped.metrics.gaussian_nll(mean, -variance, y)
