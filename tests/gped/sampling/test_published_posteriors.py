"""Posteriors that others have published, and the thresholds of another library's tests of its samplers."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor, nn

import gped

OUTSIDE = Path(__file__).parents[2] / "outside"


class LinearRegression(nn.Module):
    """Means by a line without intercept, and one logarithm of the noise's variance for all inputs."""

    def __init__(self, slopes: Tensor, log_variance: float) -> None:
        super().__init__()
        self.slopes = nn.Parameter(slopes.clone())
        self.log_variance = nn.Parameter(torch.tensor(log_variance))

    def forward(self, x: Tensor) -> Tensor:
        mean = x @ self.slopes
        return torch.stack([mean, self.log_variance.expand_as(mean)], 1)


@pytest.mark.slow
def test_the_posterior_of_a_regression_is_that_of_posteriordbs_reference_draws():
    """Inputs are divided by 70, so that all parameters move alike. Our prior is broader, which matters little."""
    data, gold = pd.read_csv(OUTSIDE / "sblri.csv"), pd.read_csv(OUTSIDE / "sblri_gold.csv")
    x, y = torch.tensor(data.drop(columns="y").to_numpy() / 70).float(), torch.tensor(data["y"].to_numpy()).float()
    start = LinearRegression(torch.linalg.lstsq(x, y).solution, 0.0)
    sampler = gped.SGLD(4e-4, prior_precision=1e-6)
    settings = {"steps": 60_000, "burn_in": 1000, "thinning": 60_000, "batch_size": len(y), "likelihood": gped.Gaussian}
    chain = gped.Chain(start, x, y, x, sampler, **settings)
    draws = torch.stack([chain.theta.clone() for t, _ in chain.run() if t > 1000]).double()
    draws = torch.cat([draws[:, :5] / 70, (draws[:, 5:] / 2).exp()], 1).numpy()
    z = (draws.mean(0) - gold["mean"]) / gold["std"]
    ratio = draws.std(0) / gold["std"]
    assert (z.abs() < 0.3).all(), z.tolist()
    assert ((ratio - 1).abs() < 0.05).all(), ratio.tolist()


MEAN, COVARIANCE = torch.tensor([0.7, -1.2]), torch.tensor([[0.6, 0.3], [0.3, 0.5]])
PRECISION = torch.linalg.inv(COVARIANCE)


class Normal(gped.Likelihood):
    """The parameters themselves are normal; there are no data."""

    name = "normal"

    def log_likelihood(self, outputs: Tensor, targets: Tensor) -> Tensor:
        offset = outputs - MEAN
        return -((offset @ PRECISION) * offset).sum(1) / 2


def divergence(mean: np.ndarray, covariance: np.ndarray) -> float:
    """Kullback–Leibler divergence of a Gaussian from the true one."""
    precision, offset = PRECISION.double().numpy(), mean - MEAN.numpy()
    trace = np.trace(precision @ covariance)
    return (trace + offset @ precision @ offset - 2 - np.linalg.slogdet(precision @ covariance)[1]) / 2


@pytest.mark.slow
@pytest.mark.parametrize("sampler", [gped.SGLD(0.1, 0), gped.SGHMC(0.01, 0)], ids=["SGLD", "SGHMC"])
def test_a_gaussian_is_met_as_closely_as_posteriors_asks_of_its_own_samplers(sampler):
    """From far away, 10^5 steps without 15,000: mean and covariance to 0.1, divergence to 1 % of the first."""
    network = nn.Linear(1, 2, bias=False)
    nn.init.constant_(network.weight, 10.0)
    one = torch.ones(1, 1)
    settings = {"steps": 100_000, "burn_in": 0, "thinning": 100_000, "batch_size": 1, "likelihood": Normal}
    chain = gped.Chain(network, one, one, one, sampler, **settings)
    draws = torch.stack([chain.theta.clone() for t, _ in chain.run() if t > 15_000]).double().numpy()
    mean, covariance = draws.mean(0), np.cov(draws.T)
    np.testing.assert_allclose(mean, MEAN, atol=0.1)
    np.testing.assert_allclose(covariance, COVARIANCE, atol=0.1)
    assert divergence(mean, covariance) < 0.01 * divergence(np.zeros(2), 100 * np.eye(2))
    assert math.isfinite(chain.loss)
