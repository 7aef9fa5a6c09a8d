"""Costs against the published counts, torch's modules and torch's own operation counter."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

import gped
from gped import cost

BASES = {"fcnn": gped.FCNN_MNIST, "cnn_mnist": gped.CNN_MNIST, "cnn_cifar10": gped.CNN_CIFAR10}


@pytest.mark.parametrize(
    ("name", "parameters", "multiply_adds"),
    [("fcnn", 478_410, 477_600), ("cnn_mnist", 29_880, 385_600), ("cnn_cifar10", 184_808, 2_391_300)],
)
def test_base_networks_cost_what_the_protocol_says(name, parameters, multiply_adds):
    assert cost.parameters(BASES[name], 10) == parameters
    assert cost.multiply_adds(BASES[name], 10) == multiply_adds


@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize(("k1", "k2", "outputs"), [(0.5, 3, 1), (2.5, 1.5, 10), (1, 1, 11)])
def test_costs_are_those_of_the_network_that_torch_runs(name, k1, k2, outputs):
    architecture = BASES[name].scaled(k1, k2)
    network = gped.Network(architecture, outputs, gped.stream(0, "θ"))
    with FlopCounterMode(display=False) as counter:
        network(torch.zeros(1, *architecture.input_shape))
    assert cost.parameters(architecture, outputs) == sum(p.numel() for p in network.parameters())
    assert 2 * cost.multiply_adds(architecture, outputs) == counter.get_total_flops()
