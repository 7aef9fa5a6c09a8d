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


def test_multipliers_widen_the_layers_that_the_paper_says():
    assert gped.FCNN_MNIST.scaled(2, 0.5).hidden == (800, 200)
    assert gped.CNN_MNIST.scaled(1.5, 2.5).channels == (15, 30)
    assert gped.CNN_MNIST.scaled(1.5, 2.5).hidden == (200,)
    assert gped.CNN_CIFAR10.scaled(0.5, 3).channels == (8, 16)
    assert gped.CNN_CIFAR10.scaled(0.5, 3).hidden == (600, 150)


def test_widths_are_rounded_down_without_the_errors_of_floating_point():
    assert gped.Architecture((4,), (), 0, (100, 10)).scaled(0.29, 0.25).hidden == (29, 2)


@pytest.mark.parametrize("multiplier", [0, -1, float("nan"), float("inf"), 0.001])
def test_impossible_multipliers_are_refused(multiplier):
    with pytest.raises(ValueError, match="multiplier"):
        gped.CNN_MNIST.scaled(multiplier, 1)


def test_impossible_architectures_are_refused():
    with pytest.raises(ValueError, match="too small for 2 convolutions of kernel 5"):
        gped.Architecture((1, 10, 10), (4, 4), 5, ())
    with pytest.raises(ValueError, match="convolutions need"):
        gped.Architecture((10,), (4,), 3, ())
    with pytest.raises(ValueError, match="0 outputs"):
        gped.Network(gped.FCNN_MNIST, 0, gped.stream(0, "θ"))
    with pytest.raises(ValueError, match="dropout is 1"):
        gped.Network(gped.FCNN_MNIST, 10, gped.stream(0, "θ"), dropout=1, dropout_generator=gped.stream(0, "d"))
