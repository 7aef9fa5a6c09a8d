"""SGD is that of torch, and an interrupted network ends as one that was not."""

import pytest
import torch
from torch import nn

import gped
from gped.networks.network import Network
from tests.helpers import TINY_DENSE, random_images
from workflow.jobs.descent import Descent

LABELS = torch.randint(0, 3, (50,), generator=gped.stream(0, "labels"))
IMAGES = gped.Inputs(random_images(TINY_DENSE, 50))
SETTINGS = {"epochs": 3, "batch_size": 20, "learning_rate": 0.05, "momentum": 0.8, "weight_decay": 0.01}


def descent(dropout: float = 0.0, **options: object) -> Descent:
    network = Network(TINY_DENSE, 3, gped.stream(1, "start"), dropout, gped.stream(1, "dropped"))
    return Descent(network, IMAGES, LABELS, **SETTINGS | {"order": gped.stream(2, "order")} | options)


def test_its_steps_are_those_of_torchs_sgd_in_passes_over_the_data():
    ours = descent()
    theirs = Network(TINY_DENSE, 3, gped.stream(1, "start")).train()
    sgd = torch.optim.SGD(theirs.parameters(), 0.05, momentum=0.8, weight_decay=0.01)
    falling = torch.optim.lr_scheduler.LambdaLR(sgd, lambda t: 1 - t / 9)
    generator = gped.stream(2, "order")
    for _ in range(3):
        for batch in torch.randperm(50, generator=generator).split(20):
            sgd.zero_grad()
            nn.functional.cross_entropy(theirs(IMAGES[batch]), LABELS[batch]).backward()
            sgd.step()
            falling.step()
    trained = ours.trained()
    assert ours.t == 9 and not trained.training
    for one, other in zip(trained.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("dropout", [0.0, 0.5])
@pytest.mark.parametrize("at", [1, 3, 5])
def test_a_network_that_was_interrupted_is_the_same_bit_for_bit(dropout, at, tmp_path):
    whole, first, second = descent(dropout).trained(), descent(dropout), descent(dropout)
    with gped.Checkpoint(tmp_path, "key") as checkpoint:
        checkpoint.resume({"descent": first})
        for _ in range(at):
            first.step()
        checkpoint.save(at)
    with gped.Checkpoint(tmp_path, "key") as checkpoint:
        resumed = second.trained(checkpoint)
    assert second.t == whole_steps() and all(map(torch.equal, whole.parameters(), resumed.parameters()))


def whole_steps() -> int:
    return 3 * 3  # three passes of 20, 20 and 10


def test_dropout_and_the_order_change_what_becomes_of_a_network():
    plain, dropped, other = (one.trained() for one in (descent(), descent(0.5), descent(order=gped.stream(3, "order"))))
    for one in (dropped, other):
        assert not torch.equal(next(plain.parameters()), next(one.parameters()))
