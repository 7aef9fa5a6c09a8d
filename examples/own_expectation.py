"""Distil expectations of your own: how clearly a draw decides between classes, and how many draws vote for each.

python examples/own_expectation.py
"""

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import Tensor

import gped


def margin(log_p: Tensor) -> Tensor:
    """How far the likeliest class is ahead of the second: one number for each input."""
    first, second = log_p.exp().topk(2, dim=1).values.unbind(1)
    return first - second


def votes(log_p: Tensor) -> Tensor:
    """1 for the draw's likeliest class, 0 for the others. On average, the share of draws that vote for each class."""
    return torch.nn.functional.one_hot(log_p.argmax(1), log_p.shape[1])


# A name, the function g of a draw's log-probabilities (inputs, classes), and the head that expresses its values.
own = [
    gped.Expectation("margin", margin, gped.Exponential()),
    gped.Expectation("votes", votes, gped.Softmax()),
]

# 200 labelled digits of 8×8 pixels leave much to be unsure of. The student also sees 1,100 unlabelled ones.
images, labels = map(torch.tensor, load_digits(return_X_y=True))
order = torch.randperm(len(labels), generator=gped.stream(0, "split"))
images, labels = images[order] / 16, labels[order]
unlabelled, test = images[:1300], images[1300:]

# What the ensemble says of the test inputs, to compare with: the same functions g, averaged over the draws.
reference = gped.Reference(test, every=5, expectations={one.name: one.g for one in own})
layout = gped.Architecture(input_shape=(64,), channels=(), kernel=0, hidden=(100, 100))
teacher = gped.Network(layout, 10, gped.stream(0, "start"))
schedule = {"steps": 4000, "thinning": 2}
settings = {"burn_in": 1000, "references": {"test": reference}, **schedule}
chain = gped.Chain(teacher, images[:200], labels[:200], unlabelled, gped.SGLD(1e-3), **settings)

targets = tuple(gped.Target(one, "uo") for one in own)
spec = gped.StudentSpec(layout, targets, gped.Categorical(10), learning_rate=5e-3, halving_every=1000, **schedule)
(student,) = gped.distill(chain, [spec])

ensemble, said = reference.result(), student.predict(test).expectations
for name, values in said.items():
    error = np.abs(values - ensemble[name]).mean()
    constant = np.abs(np.median(ensemble[name], axis=0) - ensemble[name]).mean()
    print(f"{name}: the student is {error:.3f} away from the ensemble, the best constant {constant:.3f}")
