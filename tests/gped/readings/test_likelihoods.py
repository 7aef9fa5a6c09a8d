"""What outputs mean: log-likelihoods against scipy, what draws say, and targets that do not fit."""

import numpy as np
import pytest
import scipy.stats
import torch

import gped
from tests.helpers import TINY_DENSE, random_images


def normal(*shape: int, name: str = "z") -> torch.Tensor:
    return torch.randn(*shape, generator=gped.stream(0, name), dtype=torch.float64)


def test_the_gaussian_log_likelihood_is_scipys_summed_over_targets():
    outputs, targets = normal(7, 6), normal(7, 3, name="y")
    mean, deviation = outputs[:, :3].numpy(), np.exp(outputs[:, 3:].numpy() / 2)
    expected = scipy.stats.norm(mean, deviation).logpdf(targets.numpy()).sum(1)
    np.testing.assert_allclose(gped.Gaussian(6).log_likelihood(outputs, targets), expected, rtol=1e-12)
    single = gped.Gaussian(2).log_likelihood(outputs[:, [0, 3]], targets[:, 0])
    np.testing.assert_allclose(single, scipy.stats.norm(mean[:, 0], deviation[:, 0]).logpdf(targets[:, 0]), rtol=1e-12)


def test_the_categorical_log_likelihood_is_that_of_the_label_and_draws_say_log_probabilities():
    outputs, labels = normal(5, 4), torch.tensor([0, 3, 1, 2, 2])
    p = np.exp(outputs.numpy()) / np.exp(outputs.numpy()).sum(1, keepdims=True)
    likelihood = gped.Categorical(4)
    np.testing.assert_allclose(likelihood.log_likelihood(outputs, labels), np.log(p[np.arange(5), labels]), rtol=1e-12)
    np.testing.assert_allclose(likelihood.says(outputs), np.log(p), rtol=1e-12)


def test_the_moments_of_a_regression_are_those_of_a_sample_of_its_draws():
    """Of two draws: the mean and variance of targets that are drawn from either with equal chances."""
    said = torch.tensor([[0.5, np.log(0.3)], [-1.0, np.log(2.0)]])
    generator = np.random.default_rng(0)
    y = np.concatenate([generator.normal(m, np.exp(v / 2), 10**6) for m, v in said.numpy()])
    mean, noise, second_moment = (
        g(said).mean().item() for g in map(gped.Gaussian(2).expectations.get, ("mean", "noise", "second_moment"))
    )
    assert mean == pytest.approx(y.mean(), abs=5e-3) and second_moment - mean**2 == pytest.approx(y.var(), rel=5e-3)
    assert noise == pytest.approx((0.3 + 2.0) / 2)


@pytest.mark.parametrize(
    ("likelihood", "targets", "sentence"),
    [
        (gped.Gaussian, torch.zeros(10, dtype=torch.int64), "they must be 1 floating point number for each input"),
        (gped.Gaussian, torch.zeros(10, 2), "they must be 1 floating point number"),
        (gped.Gaussian, torch.full((10,), torch.nan), "some targets are not finite"),
        (gped.Categorical, torch.zeros(10), "pass likelihood=gped.Gaussian"),
        (gped.Likelihood, torch.zeros(10), "does not say how likely targets are"),
    ],
)
def test_targets_that_do_not_fit_the_likelihood_are_refused(likelihood, targets, sentence):
    images = random_images(TINY_DENSE, 10)
    network = gped.Network(TINY_DENSE, 2, gped.stream(0, "θ"))
    settings = {"steps": 5, "burn_in": 0, "thinning": 1, "batch_size": 2, "likelihood": likelihood}
    with pytest.raises(ValueError, match=sentence):
        gped.Chain(network, images, targets, images, gped.SGLD(1e-3), **settings).step()


def test_a_gaussian_needs_two_outputs_for_each_target():
    with pytest.raises(ValueError, match="3 outputs, but a Gaussian takes two for each target"):
        gped.Gaussian(3)


def test_students_of_classes_and_regressions_do_not_listen_to_each_other(make_chain):
    with pytest.raises(ValueError, match="expects what a gaussian likelihood says, but the readings are of a cat"):
        gped.distill(make_chain(), [gped.regression(TINY_DENSE)])
    with pytest.raises(ValueError, match="not distributions over classes"):
        gped.StudentSpec(TINY_DENSE, (gped.Target(gped.predictive, "us"),), gped.Gaussian(4))
    with pytest.raises(ValueError, match="not means, noises and second moments"):
        expectation = gped.Expectation("moments of classes", lambda log_p: log_p.exp(), gped.Moments())
        gped.StudentSpec(TINY_DENSE, (gped.Target(expectation, "us"),), gped.Categorical(3))
