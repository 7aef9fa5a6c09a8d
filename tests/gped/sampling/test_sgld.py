"""The chain samples from the right distribution, and takes the right step."""

import math

import posteriors
import pytest
import torch
from torch import Tensor, nn

import gped
from tests.helpers import (
    NOISE_PRECISION,
    OBSERVATIONS,
    PRIOR,
    Listening,
    Louder,
    check_stationary_distribution,
    gaussian_chain,
    hearing,
)


def test_a_full_batch_chain_has_the_mean_and_variance_of_its_closed_form():
    check_stationary_distribution(gped.SGLD(0.1, PRIOR), 0.1)


class TwiceTheNoise(gped.SGLD):
    """Noise of variance 2η."""

    def scale(self, t: int) -> float:
        return math.sqrt(2)

    def update(self, theta: list[Tensor], gradient: list[Tensor], t: int, noise: gped.Noise) -> None:
        super().update(theta, gradient, t, Louder(noise, self.scale(t)))


class StepSizeAsDeviation(TwiceTheNoise):
    """Noise of standard deviation η."""

    def scale(self, t: int) -> float:
        return math.sqrt(self.step_size(t))


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
        return -nn.functional.cross_entropy(outputs, batch[1], reduction="sum") + log_prior, outputs

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


def test_passes_over_the_data_are_reshuffled_and_without_replacement():
    batches: list[Tensor] = []
    chain = gaussian_chain(gped.SGLD(1e-3), batch_size=3, likelihood=hearing(batches))
    targets = chain.labels[:, 0].tolist()
    for _ in range(6):
        chain.step()
    seen = [targets.index(v) for y in batches for v in y[:, 0].tolist()]
    first, second = seen[:OBSERVATIONS], seen[OBSERVATIONS:]
    assert sorted(first) == sorted(second) == list(range(OBSERVATIONS))
    assert first != second


def test_a_short_last_minibatch_is_scaled_to_the_whole_of_the_data():
    batches: list[Tensor] = []
    chain = gaussian_chain(Listening(1e-3), batch_size=3, likelihood=hearing(batches))  # 8 observations: 3, 3, 2
    for size in (3, 3, 2):
        theta = chain.theta.clone()
        chain.step()
        expected = OBSERVATIONS / size * NOISE_PRECISION * (batches[-1] - theta).sum(0)
        assert len(batches[-1]) == size
        torch.testing.assert_close(chain.sampler.gradient[0], expected)
