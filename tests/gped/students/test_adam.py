"""The optimiser is torch's."""

import torch

import gped
from gped.students.adam import Adam
from tests.helpers import TINY_CONV


def test_adam_is_torchs_bit_for_bit():
    """On parameters of every layout, with a learning rate that changes."""
    networks = [gped.Network(TINY_CONV, 3, gped.stream(0, "φ")) for _ in range(2)]
    ours, theirs = Adam(networks[0].parameters()), torch.optim.Adam(networks[1].parameters(), fused=True)
    generator = gped.stream(0, "x")
    for number in range(20):
        x, rate = torch.rand(4, 1, 10, 10, generator=generator), 0.01 * 0.5 ** (number // 5)
        ours.step(torch.autograd.grad(networks[0](x).square().sum(), ours.parameters), rate)
        theirs.param_groups[0]["lr"] = rate
        theirs.zero_grad()
        networks[1](x).square().sum().backward()
        theirs.step()
    assert all(torch.equal(a, b) for a, b in zip(*(network.parameters() for network in networks), strict=True))
