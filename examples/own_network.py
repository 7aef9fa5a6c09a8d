"""Distil a teacher of your own on data of your own: any module that returns logits, any tensors.

python examples/own_network.py
"""

import numpy as np
import torch
from sklearn.datasets import load_breast_cancer
from torch import Tensor, nn

import gped


class Residual(nn.Module):
    """Two residual blocks with tanh: nothing that gped.Architecture could say."""

    def __init__(self, features: int, width: int, classes: int, generator: torch.Generator) -> None:
        super().__init__()
        self.enter, self.leave = nn.Linear(features, width), nn.Linear(width, classes)
        self.blocks = nn.ModuleList(nn.Linear(width, width) for _ in range(2))
        for parameter in self.parameters():  # from a generator of our own, so that θ_0 is the same in every run
            nn.init.normal_(parameter, std=0.1, generator=generator)

    def forward(self, x: Tensor) -> Tensor:
        """Logits."""
        x = self.enter(x)
        for block in self.blocks:
            x = x + torch.tanh(block(x))
        return self.leave(x)


# 569 tumours, 30 measurements of each. Numbers that are not pixels enter as they are: standardise them yourself.
x, y = map(torch.tensor, load_breast_cancer(return_X_y=True))
order = torch.randperm(len(y), generator=gped.stream(0, "split"))
x, y = x[order], y[order]
x = (x - x[:400].mean(0)) / x[:400].std(0)
train, test, truth = x[:400], x[400:], y[400:].numpy()

schedule = {"steps": 2000, "thinning": 2}
reference = gped.Reference(test, every=5)
settings = {"burn_in": 400, "references": {"test": reference}, **schedule}
teacher = Residual(30, 20, 2, gped.stream(0, "start"))
chain = gped.Chain(teacher, train, y[:400], train, gped.SGLD(1e-3), **settings)

# A student is a gped.Architecture, or any module too: by a function of the number of its outputs and a generator.
plain = gped.Architecture(input_shape=(30,), channels=(), kernel=0, hidden=(30, 30))
makes = {"plain": plain, "own": lambda outputs, generator: Residual(30, 10, outputs, generator)}
specs = [gped.joint(network, classes=2, learning_rate=5e-3, halving_every=600) for network in makes.values()]
students = dict(zip(makes, gped.distill(chain, specs), strict=True))

ensemble = reference.result()
likelier = np.bincount(truth).max() / len(truth)
for which, student in students.items():
    said = student.predict(test)
    right = [(p.argmax(1) == truth).mean() for p in (ensemble["predictive"], said.probabilities)]
    print(f"{which}: the ensemble {right[0]:.1%} right, the student {right[1]:.1%}, the likelier class {likelier:.1%}")
    for name in ("predictive", "entropy"):
        error = np.abs(said.expectations[name] - ensemble[name]).mean()
        constant = np.abs(np.median(ensemble[name], axis=0) - ensemble[name]).mean()
        print(f"{which}, {name}: {error:.3f} away from the ensemble, the best constant {constant:.3f}")
