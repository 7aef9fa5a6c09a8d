"""The chain samples from the right distribution, and takes the right step."""

import math

import posteriors
import pytest
import torch
from torch import Tensor, nn

import gped
from gped.chain import categorical

PRIOR, NOISE_PRECISION, OBSERVATIONS, DIMENSIONS = 2.0, 0.5, 8, 400


class Mean(nn.Module):
    """A network whose output is its parameter, for each input: the mean of a Gaussian."""

    def __init__(self) -> None:
        super().__init__()
        self.mean = nn.Parameter(torch.zeros(DIMENSIONS, dtype=torch.float64))

    def forward(self, inputs: Tensor) -> Tensor:
        return self.mean.expand(len(inputs), -1)


def gaussian(outputs: Tensor, targets: Tensor) -> Tensor:
    return -NOISE_PRECISION / 2 * (outputs - targets).square().sum(1)


def gaussian_chain(sampler: gped.SGLD, **options: object) -> gped.Chain:
    targets = torch.empty(OBSERVATIONS, DIMENSIONS, dtype=torch.float64).normal_(1, generator=gped.stream(1, "y"))
    inputs = torch.zeros(OBSERVATIONS, 1)
    settings = {"steps": 10**6, "burn_in": 0, "thinning": 1, "batch_size": OBSERVATIONS} | options
    return gped.Chain(Mean(), inputs, targets, inputs, sampler, log_likelihood=gaussian, **settings)


def check_stationary_distribution(sampler: gped.SGLD, step_size: float) -> None:
    """Mean and variance over many steps and dimensions against the discretised chain's closed form."""
    precision = PRIOR + OBSERVATIONS * NOISE_PRECISION
    chain = gaussian_chain(sampler)
    posterior_mean = NOISE_PRECISION * chain.labels.sum(0) / precision
    deviations = []
    for _ in range(4000):
        chain.step()
        deviations.append(chain.theta - posterior_mean)
    deviations = torch.stack(deviations[100:])
    variance = 1 / (precision * (1 - step_size * precision / 4))
    assert abs(deviations.mean()) < 0.05 * math.sqrt(variance)
    assert deviations.mean(0).abs().mean() < 0.05 * math.sqrt(variance)
    assert abs(deviations.square().mean() / variance - 1) < 0.05


def test_a_full_batch_chain_has_the_mean_and_variance_of_its_closed_form():
    check_stationary_distribution(gped.SGLD(0.1, PRIOR), 0.1)


class TwiceTheNoise(gped.SGLD):
    def update(self, theta: Tensor, gradient: Tensor, t: int, generator: torch.Generator) -> None:
        before = theta.clone()
        drift = self.step_size(t) / 2 * (gradient - self.prior_precision * theta)
        super().update(theta, gradient, t, generator)
        noise = theta - before - drift
        theta.copy_(before + drift + self.scale(self.step_size(t)) * noise)

    @staticmethod
    def scale(eta: float) -> float:
        return math.sqrt(2)  # noise of variance 2η


class StepSizeAsDeviation(TwiceTheNoise):
    @staticmethod
    def scale(eta: float) -> float:
        return math.sqrt(eta)  # noise of standard deviation η


@pytest.mark.parametrize("wrong", [TwiceTheNoise, StepSizeAsDeviation])
def test_a_chain_with_the_wrong_noise_fails_that_check(wrong: type[gped.SGLD]):
    with pytest.raises(AssertionError):
        check_stationary_distribution(wrong(0.1, PRIOR), 0.1)


def test_one_step_equals_that_of_posteriors_at_half_the_step_size_with_the_same_noise():
    step_size, prior = 1e-2, 10.0
    network = nn.Linear(20, 4, bias=False)
    x = torch.randn(30, 20, generator=gped.stream(0, "x"))
    y = torch.randint(0, 4, (30,), generator=gped.stream(0, "y"))

    def log_posterior(parameters: dict[str, Tensor], batch: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        outputs = torch.func.functional_call(network, parameters, (batch[0],))
        log_prior = -prior / 2 * parameters["weight"].square().sum()
        return categorical(outputs, batch[1]).sum() + log_prior, outputs

    transform = posteriors.sgmcmc.sgld.build(log_posterior, lr=step_size / 2)
    state = transform.init({"weight": network.weight.detach().clone()})
    with torch.random.fork_rng(devices=[]):
        torch.set_rng_state(gped.stream(7, "noise").get_state())
        state, _ = transform.update(state, (x, y))

    chain = gped.Chain(
        network, x, y, x, gped.SGLD(step_size, prior), steps=9, burn_in=0, thinning=1, batch_size=30, seed=7
    )
    chain.step()
    torch.testing.assert_close(chain.network.weight.detach(), state.params["weight"], rtol=1e-5, atol=1e-6)


def test_a_polynomial_decay_shrinks_the_step():
    decay = gped.PolynomialDecay(scale=0.5, offset=1, power=0.5)
    assert decay(3) == pytest.approx(0.25)
    theta, zero = torch.full((50,), 2.0, dtype=torch.float64), torch.zeros(50, dtype=torch.float64)
    gped.SGLD(decay, prior_precision=1.0).update(theta, zero, 3, gped.stream(0, "noise"))
    noise = torch.empty(50, dtype=torch.float64).normal_(generator=gped.stream(0, "noise"))
    torch.testing.assert_close(theta, 2.0 * (1 - 0.125) + 0.5 * noise)


def test_passes_over_the_data_are_reshuffled_and_without_replacement():
    chain = gaussian_chain(gped.SGLD(1e-3), batch_size=3)
    seen: list[int] = []
    targets = chain.labels[:, 0].tolist()
    chain.log_likelihood = lambda outputs, y: (
        seen.extend(targets.index(v) for v in y[:, 0].tolist()) or gaussian(outputs, y)
    )
    for _ in range(6):
        chain.step()
    first, second = seen[:OBSERVATIONS], seen[OBSERVATIONS:]
    assert sorted(first) == sorted(second) == list(range(OBSERVATIONS))
    assert first != second


def test_a_short_last_minibatch_is_scaled_to_the_whole_of_the_data():
    chain = gaussian_chain(gped.SGLD(1e-3), batch_size=3)  # 8 observations: 3, 3, 2
    batches: list[Tensor] = []
    chain.log_likelihood = lambda outputs, y: batches.append(y) or gaussian(outputs, y)
    for size in (3, 3, 2):
        theta = chain.theta.clone()
        chain.step()
        expected = OBSERVATIONS / size * NOISE_PRECISION * (batches[-1] - theta).sum(0)
        assert len(batches[-1]) == size
        torch.testing.assert_close(chain.gradient, expected)
