"""Sample by a rule of your own in the place of SGLD, check it, and distil what its chain says.

python examples/own_sampler.py
"""

from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale
from torch import Tensor, nn

import gped


class LaplaceSGLD:
    """SGLD under the prior exp(−rate · |θ|), which draws parameters to zero."""

    def __init__(self, step_size: float, rate: float) -> None:
        self.step_size = lambda t: step_size  # a function of t, which the chain quotes when it diverges
        self.rate = rate

    def update(self, theta: Sequence[Tensor], gradient: Sequence[Tensor], t: int, noise: gped.Noise) -> None:
        """Move θ in place. The gradient is the log-likelihood's: the prior is for the sampler to add."""
        eta = self.step_size(t)
        for parameter, slope, z in zip(theta, gradient, noise(), strict=True):
            drift = slope - self.rate * parameter.sign()
            parameter.add_(drift, alpha=eta / 2).add_(z, alpha=sqrt(eta))

    def state(self) -> dict[str, Any]:
        """Nothing: a step depends on θ alone."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Nothing to do."""


class KnownNoise(gped.Likelihood):
    """p(y|x, θ) of your own, here N(y; output, 1)."""

    name = "known noise"

    def log_likelihood(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """One number for each input."""
        return -(outputs - targets).square().sum(1) / 2


def check(sampler: gped.Sampler, prior: np.ndarray) -> None:
    """Compare draws of θ given a single y = 1 ~ N(θ, 1) with integrals; 2,000 independent θ at once."""
    network, x, y = nn.Linear(1, 2000, bias=False), torch.ones(1, 1), torch.ones(1, 2000)
    nn.init.zeros_(network.weight)
    settings = {"likelihood": KnownNoise, "batch_size": 1}
    chain = gped.Chain(network, x, y, x, sampler, steps=1500, burn_in=500, thinning=100, **settings)
    draws = torch.stack([chain.theta.clone() for t, _ in chain.run(0) if t > 500])
    weights = prior * np.exp(-((GRID - 1) ** 2) / 2)
    mean = np.average(GRID, weights=weights)
    variance = np.average((GRID - mean) ** 2, weights=weights)
    for name, drawn, exact in (("mean", draws.mean(), mean), ("variance", draws.var(), variance)):
        print(f"{type(sampler).__name__}: {name} {drawn:.3f}, by integration {exact:.3f}")


GRID = np.linspace(-10, 10, 100_001)
check(LaplaceSGLD(0.01, rate=2), prior=np.exp(-2 * np.abs(GRID)))
check(gped.SGHMC(0.01, prior_precision=2), prior=np.exp(-(GRID**2)))

# 569 tumours, 30 measurements of each; every second is kept for testing.
x, y = load_breast_cancer(return_X_y=True)
x, y = torch.tensor(scale(x)), torch.tensor(y)
layout = gped.Architecture(input_shape=(30,), channels=(), kernel=0, hidden=(30,))
for sampler in (LaplaceSGLD(1e-3, rate=5), gped.SGHMC(1e-4)):
    reference = gped.Reference(x[1::2], every=5)
    settings = {"steps": 1200, "burn_in": 400, "thinning": 1, "references": {"test": reference}}
    teacher = gped.Network(layout, 2, gped.stream(0, "start"))
    chain = gped.Chain(teacher, x[::2], y[::2], x[::2], sampler, **settings)
    (student,) = gped.distill(chain, [gped.joint(layout, classes=2, steps=1200, thinning=1, learning_rate=5e-3)])
    truth = reference.result()["entropy"]
    error, constant = (np.abs(said - truth).mean() for said in (student.predict(x[1::2]).data, np.median(truth)))
    print(f"{type(sampler).__name__}: {error:.3f} from student to ensemble, {constant:.3f} from the best constant")
