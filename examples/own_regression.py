"""Distil a regression: the predictive mean, the noise, and how far the draws disagree.

python examples/own_regression.py
"""

import numpy as np
import torch
from sklearn.datasets import load_diabetes
from torch import Tensor, nn

import gped


class KnownNoise(nn.Module):
    """A network for the mean, with noise of a variance that is known: again two outputs."""

    def __init__(self, mean: nn.Module, variance: float) -> None:
        super().__init__()
        self.mean, self.log_variance = mean, float(np.log(variance))

    def forward(self, x: Tensor) -> Tensor:
        """Mean, and logarithm of the variance."""
        mean = self.mean(x)
        return torch.cat([mean, torch.full_like(mean, self.log_variance)], 1)


def compare(
    name: str, teacher: nn.Module, sampler: gped.Sampler, x: Tensor, y: Tensor, unlabelled: Tensor, *asked: Tensor
) -> None:
    """A chain given x and y, and its student, on test inputs."""
    test, truth = asked
    reference = gped.Reference(test, every=10)
    settings = {"steps": 12_000, "burn_in": 3000, "thinning": 4, "batch_size": min(100, len(y))}
    chain = gped.Chain(
        teacher, x, y, unlabelled, sampler, likelihood=gped.Gaussian, references={"test": reference}, **settings
    )
    layout = gped.Architecture(input_shape=tuple(x.shape[1:]), channels=(), kernel=0, hidden=(50, 50))
    spec = gped.regression(layout, estimator="uo", learning_rate=5e-3, halving_every=2500)
    (student,) = gped.distill(chain, [spec])

    said, result = student.predict(test), {key: value[:, 0] for key, value in reference.result().items()}
    ensemble = result["mean"], result["second_moment"] - result["mean"] ** 2
    for who, predicted in {"chain": ensemble, "student": (said.mean, said.total)}.items():
        rmse, nll = gped.metrics.rmse(predicted[0], truth), gped.metrics.gaussian_nll(*predicted, truth)
        inside = gped.metrics.coverage(*predicted, truth, level=0.9)
        print(f"{name}, {who}: RMSE {rmse:.2f}, NLL {nll:.2f}, {inside:.0%} of the truth inside 90 %")
    for part, theirs in (("data", result["noise"]), ("knowledge", ensemble[1] - result["noise"])):
        away = np.abs(np.sqrt(getattr(said, part)) - np.sqrt(theirs)).mean()
        constant = np.abs(np.median(np.sqrt(theirs)) - np.sqrt(theirs)).mean()
        print(f"{name}, {part}: the student is {away:.3f} away from the chain, the best constant {constant:.3f}")


# Twenty points of x³ with noise of standard deviation 3, in units of 30. D' goes beyond them.
draw = gped.stream(0, "cubic")
x, grid = 8 * torch.rand(20, 1, generator=draw) - 4, torch.linspace(-5, 5, 200).unsqueeze(1)
y, truth = ((at[:, 0] ** 3 + 3 * torch.randn(len(at), generator=draw)) / 30 for at in (x, grid))
layout = gped.Architecture(input_shape=(1,), channels=(), kernel=0, hidden=(50,))
teacher = KnownNoise(gped.Network(layout, 1, gped.stream(0, "start")), 0.01)
compare("cubic", teacher, gped.SGLD(4e-5, prior_precision=1), x / 4, y, grid / 4, grid / 4, truth)

# 442 people with diabetes: its progress in a year, by ten measurements. Here the network says the noise, too.
x, y = (torch.tensor(values).float() for values in load_diabetes(return_X_y=True))
order = torch.randperm(len(y), generator=gped.stream(0, "split"))
x, y = (x / x.std(0))[order], ((y - y.mean()) / y.std())[order]
layout = gped.Architecture(input_shape=(10,), channels=(), kernel=0, hidden=(50,))
teacher = gped.Network(layout, 2, gped.stream(0, "start"))  # a mean and the logarithm of a variance
compare("diabetes", teacher, gped.SGLD(5e-4), x[:300], y[:300], x[:300], x[300:], y[300:])
