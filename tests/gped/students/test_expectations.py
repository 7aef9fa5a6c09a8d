"""Expectations are the paper's."""

import pytest
import torch

import gped
from tests.helpers import TINY_DENSE, random_images, some_log_probabilities, spec


def test_the_expectations_are_their_formulas():
    log_p = some_log_probabilities(30)
    p = log_p.exp()
    torch.testing.assert_close(gped.predictive(log_p), p)
    torch.testing.assert_close(gped.entropy(log_p)[:, 0], torch.distributions.Categorical(p).entropy())
    torch.testing.assert_close(gped.variance(log_p), torch.distributions.Bernoulli(p).variance)
    tempered = torch.softmax(log_p / 3, 1)
    smoothed = 0.9 * (tempered.double() - 1 / 4) + 1 / 4
    torch.testing.assert_close(gped.log_predictive(3.0, 0.1)(log_p).double(), smoothed.log(), rtol=1e-5, atol=1e-5)


def test_entropy_is_exact_and_not_negative_where_a_draw_is_certain():
    log_p = torch.log_softmax(torch.tensor([[0.0, 0.0], [0.0, 500.0]]), 1)
    torch.testing.assert_close(gped.entropy(log_p)[:, 0], torch.tensor([2.0, 1.0]).log())
    assert (gped.entropy(log_p) >= 0).all()


@pytest.mark.parametrize(("temperature", "smoothing"), [(0, 0.1), (-1, 0.1), (1, 1.0), (1, -0.1), (1, 0.0)])
def test_impossible_parameters_of_log_predictive_are_refused(temperature, smoothing):
    with pytest.raises(ValueError, match="of log_predictive is"):
        gped.log_predictive(temperature, smoothing)


@pytest.mark.parametrize(
    "g", [lambda log_p: log_p.max(1), lambda log_p: log_p.exp().amax(1).numpy(), lambda log_p: 0.5]
)
def test_a_function_that_gives_no_tensor_is_refused_at_once(g, make_chain):
    """Such as .max(1), which gives the greatest values and where they are."""
    target = gped.Target(gped.Expectation("top", g, gped.Linear()), "us")
    with pytest.raises(ValueError, match=r"'top' gives a (max|ndarray|float): it must give a tensor.* use \.amax\(1\)"):
        spec(target)
    with pytest.raises(ValueError, match="'top' gives a "):
        make_chain(references={"test": gped.Reference(random_images(TINY_DENSE, 3), 10, {"top": g})})
