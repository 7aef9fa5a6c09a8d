"""The error that one chain states beside what several chains show, where both are known in closed form."""

import numpy as np
import pytest

from gped.evaluation.montecarlo import BLOCKS, relaxation, relaxations_per_block, spread_over_error
from gped.sampling import reference


def test_the_blocks_are_those_of_the_reference():
    assert BLOCKS == reference.BLOCKS


def test_after_the_relaxation_time_a_weight_under_its_prior_has_fallen_to_one_eth():
    step_size, precision, weight = 4e-6, 10.0, 1.0
    for _ in range(round(relaxation(step_size, precision))):
        weight -= step_size / 2 * precision * weight
    assert weight == pytest.approx(np.exp(-1), rel=1e-3)


def test_blocks_of_the_published_chains_last_about_one_relaxation_time_and_those_of_shorter_ones_do_not():
    assert relaxation(4e-6, 10) == pytest.approx(50_000)
    assert relaxations_per_block(10**6, 1000, 4e-6, 10) == pytest.approx(0.999)
    assert relaxations_per_block(50_000, 10_000, 4e-6, 10) == pytest.approx(0.04)
    assert relaxations_per_block(50_000, 10_000, 2e-6, 10) == pytest.approx(0.02)


def test_without_a_prior_a_weight_is_never_forgotten():
    assert relaxation(4e-6, 0) == np.inf and relaxations_per_block(50_000, 10_000, 4e-6, 0) == 0


def autoregression(chains: int, steps: int, memory: float, inputs: int) -> np.ndarray:
    """Stationary chains of the first order with unit variance: correlation memory^k at a distance of k steps."""
    generator = np.random.default_rng(0)
    draws = np.empty((chains, steps, inputs))
    draws[:, 0] = generator.normal(size=(chains, inputs))
    for step in range(1, steps):
        noise = generator.normal(size=(chains, inputs))
        draws[:, step] = memory * draws[:, step - 1] + np.sqrt(1 - memory**2) * noise
    return draws


def variance_of_mean(steps: int, memory: float) -> float:
    """Of such a chain, by summing all its correlations."""
    distance = np.abs(np.subtract.outer(np.arange(steps), np.arange(steps)))
    return float((memory**distance).mean())


@pytest.mark.parametrize(("memory", "least", "most"), [(0.5, 1.0, 1.05), (0.99, 3.5, 3.6)])
def test_the_ratio_says_how_far_off_the_error_of_blocks_is(memory, least, most):
    steps, length = 400, 400 // BLOCKS
    draws = autoregression(3, steps, memory, inputs=4000)
    means = draws.mean(1)
    blocks = draws.reshape(3, BLOCKS, length, -1).mean(2)
    error = blocks[0].std(0, ddof=1) / np.sqrt(BLOCKS)
    of_mean, of_block = variance_of_mean(steps, memory), variance_of_mean(length, memory)
    stated = (of_block - of_mean) * BLOCKS / (BLOCKS - 1) / BLOCKS  # what blocks of that correlation lead one to expect
    expected = np.sqrt(of_mean / stated)
    assert least <= expected <= most
    assert spread_over_error(means, error) == pytest.approx(expected, rel=0.05)
