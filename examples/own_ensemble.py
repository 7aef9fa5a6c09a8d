"""Distil an ensemble that is there already: ten trained networks, or one with its dropout left on.

python examples/own_ensemble.py
"""

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn

import gped


def trained(images: Tensor, labels: Tensor, seed: int) -> nn.Module:
    """A small classifier with batch normalisation and dropout, as one might have it lying around."""
    torch.manual_seed(seed)
    network = nn.Sequential(
        nn.Flatten(), nn.Linear(64, 60), nn.BatchNorm1d(60), nn.ReLU(), nn.Dropout(0.5), nn.Linear(60, 10)
    )
    optimiser = torch.optim.SGD(network.parameters(), 0.1, momentum=0.9)
    for _ in range(10):
        for batch in torch.randperm(len(labels)).split(50):
            optimiser.zero_grad()
            nn.functional.cross_entropy(network(images[batch] / 255), labels[batch]).backward()
            optimiser.step()
    return network


digits = load_digits()  # 1,797 digits of 8×8 pixels
x, y = torch.tensor(digits.images * 255 / 16, dtype=torch.uint8), torch.tensor(digits.target)
networks = [trained(x[:300], y[:300], seed) for seed in range(10)]
unlabelled, test, truth = x[:1200], x[1200:], y[1200:].numpy()  # the student hears of more than they were trained on
layout = gped.Architecture(input_shape=(1, 8, 8), channels=(), kernel=0, hidden=(60,))


members = {"ten networks": networks, "Monte Carlo dropout": gped.MonteCarloDropout(networks[0], draws=100)}
for name, teachers in members.items():
    # One student of the members' mean and expected entropy, compared with all of them on inputs that nobody has met.
    reference = gped.Reference(test)
    ensemble = gped.Ensemble(teachers, unlabelled, steps=4000, references={"test": reference})
    (student,) = gped.distill(ensemble, [gped.joint(layout, classes=10, estimator="uo", halving_every=1000)])
    all_say, it_says = reference.result(), student.predict(test)

    right = [(p.argmax(1) == truth).mean() for p in (all_say["predictive"], it_says.probabilities)]
    print(f"{name}: {right[0]:.1%} right, the student {right[1]:.1%}")
    error = np.abs(it_says.data - all_say["entropy"]).mean()
    constant = np.abs(np.median(all_say["entropy"]) - all_say["entropy"]).mean()
    print(f"{name}: the student's entropy is {error:.3f} away from the ensemble's, the best constant {constant:.3f}")
