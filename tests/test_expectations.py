"""Expectations are the paper's, and the estimators estimate them."""

import pytest
import torch
from torch import Tensor

import gped
from gped.expectations import Online, Stochastic

INPUTS, CLASSES, DRAWS, SIZE = 12, 4, 40, 9


def some_log_probabilities(count: int, name: str = "p") -> Tensor:
    return torch.log_softmax(2 * torch.randn(count, CLASSES, generator=gped.stream(0, name)), 1)


def test_the_expectations_are_their_formulas():
    log_p = some_log_probabilities(30)
    p = log_p.exp()
    torch.testing.assert_close(gped.predictive(log_p), p)
    torch.testing.assert_close(gped.entropy(log_p)[:, 0], torch.distributions.Categorical(p).entropy())
    torch.testing.assert_close(gped.variance(log_p), torch.distributions.Bernoulli(p).variance)
    tempered = torch.softmax(log_p / 3, 1)
    smoothed = 0.9 * (tempered.double() - 1 / CLASSES) + 1 / CLASSES
    torch.testing.assert_close(gped.log_predictive(3.0, 0.1)(log_p).double(), smoothed.log(), rtol=1e-5, atol=1e-5)


def test_entropy_is_exact_and_not_negative_where_a_draw_is_certain():
    log_p = torch.log_softmax(torch.tensor([[0.0, 0.0], [0.0, 500.0]]), 1)
    torch.testing.assert_close(gped.entropy(log_p)[:, 0], torch.tensor([2.0, 1.0]).log())
    assert (gped.entropy(log_p) >= 0).all()


def stream_of_values():
    """Draws whose minibatches have duplicate indices, as sampling with replacement gives."""
    generator = gped.stream(0, "minibatches")
    for draw in range(DRAWS):
        log_p = some_log_probabilities(INPUTS, f"draw {draw}")
        indices = torch.randint(INPUTS, (SIZE,), generator=generator)
        yield indices, gped.entropy(log_p)[indices].double()


def check_running_mean(estimator) -> None:
    """After each minibatch, the estimates of its inputs are the means over the draws that they have met."""
    met: dict[int, list[float]] = {index: [] for index in range(INPUTS)}
    distinct = 0
    for indices, values in stream_of_values():
        for index, value in dict(zip(indices.tolist(), values[:, 0].tolist(), strict=True)).items():
            met[index].append(value)
        distinct += len(set(indices.tolist()))
        expected = [sum(met[index]) / len(met[index]) for index in indices.tolist()]
        torch.testing.assert_close(estimator(indices, values)[:, 0], torch.tensor(expected, dtype=torch.float64))
    assert estimator.counts.tolist() == [len(values) for values in met.values()]
    assert int(estimator.counts.sum()) == distinct


def test_uo_is_the_mean_over_the_draws_that_each_input_has_met():
    assert any(len(set(indices.tolist())) < SIZE for indices, _ in stream_of_values())
    check_running_mean(Online(INPUTS))


class MovingAverage(Online):
    """One count for the whole minibatch instead of one for each input."""

    def __call__(self, indices: Tensor, values: Tensor) -> Tensor:
        estimates = super().__call__(indices, values)
        weight = 1 / float(self.counts.max())
        return (1 - weight) * estimates + weight * values


def test_a_batch_wise_moving_average_fails_that_check():
    with pytest.raises(AssertionError):
        check_running_mean(MovingAverage(INPUTS))


def test_us_averages_to_uo():
    """U_s has no memory: its values over an input's draws are a sample whose mean is what U_o ends with."""
    us, uo = Stochastic(), Online(INPUTS)
    seen: dict[int, dict[int, float]] = {index: {} for index in range(INPUTS)}
    for draw, (indices, values) in enumerate(stream_of_values()):
        for index, value in zip(indices.tolist(), us(indices, values)[:, 0].tolist(), strict=True):
            seen[index][draw] = value
        uo(indices, values)
    means = [sum(draws.values()) / len(draws) for draws in seen.values()]
    torch.testing.assert_close(uo.means[:, 0], torch.tensor(means, dtype=torch.float64))


@pytest.mark.parametrize(("temperature", "smoothing"), [(0, 0.1), (-1, 0.1), (1, 1.0), (1, -0.1), (1, 0.0)])
def test_impossible_parameters_of_log_predictive_are_refused(temperature, smoothing):
    with pytest.raises(ValueError, match="of log_predictive is"):
        gped.log_predictive(temperature, smoothing)
