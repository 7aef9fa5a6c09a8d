"""Regularised units die, and removing them changes nothing but the cost."""

import pytest
import torch

import gped
from gped import cost
from gped.networks.pruning import without_dead_units, zero_dead_units

ARCHITECTURES = {
    "dense": gped.Architecture((1, 8, 8), (), 0, (20, 16)),
    "conv": gped.Architecture((2, 14, 13), (6, 8), 3, (12,)),
    "conv to output": gped.Architecture((1, 12, 12), (6, 8), 3, ()),
    "the paper's": gped.CNN_CIFAR10,
}


def network_with_weak_units(architecture: gped.Architecture) -> gped.Network:
    """Half of each layer's units have weights below 1e-3, with biases of both signs."""
    network = gped.Network(architecture, 5, gped.stream(0, "θ")).double()
    generator = gped.stream(0, "biases")
    with torch.no_grad():
        for layer in network.weighted:
            layer.bias.uniform_(-1, 1, generator=generator)
        for layer in network.weighted[:-1]:
            layer.weight[::2] *= 1e-3
    return network.eval()


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_a_network_without_its_dead_units_computes_the_same(name):
    network = network_with_weak_units(ARCHITECTURES[name])
    inputs = torch.rand(7, *network.architecture.input_shape, generator=gped.stream(0, "x"), dtype=torch.float64)
    zero_dead_units(network, 1e-3)
    smaller = without_dead_units(network)
    for old, new in zip(
        ARCHITECTURES[name].channels + ARCHITECTURES[name].hidden,
        smaller.architecture.channels + smaller.architecture.hidden,
        strict=True,
    ):
        assert new == old // 2
    assert any((layer.bias[::2] > 0).any() and (layer.bias[::2] < 0).any() for layer in network.weighted[:-1])
    torch.testing.assert_close(smaller(inputs), network(inputs), rtol=0, atol=1e-9)
    assert sum(p.numel() for p in smaller.parameters()) == cost.parameters(smaller.architecture, 5)


def test_dropping_the_constant_of_a_dead_unit_would_be_noticed():
    network = network_with_weak_units(ARCHITECTURES["conv"])
    inputs = torch.rand(7, 2, 14, 13, generator=gped.stream(0, "x"), dtype=torch.float64)
    zero_dead_units(network, 1e-3)
    expected = network(inputs)
    with torch.no_grad():
        for layer in network.weighted[:-1]:
            layer.bias[::2] = -1  # relu(bias) = 0: nothing to fold
    assert (without_dead_units(network)(inputs) - expected).abs().max() > 1e-3


def test_only_units_whose_weights_are_all_small_are_zeroed():
    network = gped.Network(ARCHITECTURES["dense"], 5, gped.stream(0, "θ"))
    first = network.weighted[0].weight
    with torch.no_grad():
        first[:3] = 5e-4
        first[1, 7] = 2e-3
    bias = network.weighted[0].bias.clone()
    zero_dead_units(network, 1e-3)
    assert [bool(row.any()) for row in first[:4]] == [False, True, False, True]
    assert torch.equal(network.weighted[0].bias, bias)


@pytest.mark.parametrize("scale", [0.0, 1e-6])
@pytest.mark.parametrize("name", ["dense", "conv"])
def test_a_layer_never_dies_whole(name, scale):
    network = gped.Network(ARCHITECTURES[name], 5, gped.stream(0, "θ")).double()
    with torch.no_grad():
        for layer in network.weighted[:-1]:
            layer.weight *= scale
    strongest = [int(layer.weight.abs().flatten(1).amax(1).argmax()) for layer in network.weighted[:-1]]
    kept = [layer.weight[unit].clone() for layer, unit in zip(network.weighted, strongest, strict=False)]
    zero_dead_units(network, 1e-3)
    for layer, unit, weights in zip(network.weighted, strongest, kept, strict=False):
        assert torch.equal(layer.weight[unit], weights)
    smaller = without_dead_units(network)
    assert set(smaller.architecture.channels + smaller.architecture.hidden) == {1}
    inputs = torch.rand(3, *network.architecture.input_shape, dtype=torch.float64)
    torch.testing.assert_close(smaller(inputs), network(inputs), rtol=0, atol=1e-9)


def test_padding_is_refused():
    network = gped.Network(ARCHITECTURES["conv"], 5, gped.stream(0, "θ"))
    network.weighted[0].padding = (1, 1)
    with pytest.raises(ValueError, match=r"padding \(1, 1\).*Only unpadded"):
        without_dead_units(network)


def groups_of(network: gped.Network) -> list[torch.Tensor]:
    return [row for layer in network.weighted[:-1] for row in layer.weight.flatten(1)]


@pytest.mark.parametrize("name", ["dense", "conv"])
def test_the_penalty_is_the_sum_of_the_norms_of_incoming_weights(name):
    network = gped.Network(ARCHITECTURES[name], 5, gped.stream(0, "θ"))
    norms = sum(float(row.detach().square().sum().sqrt()) for row in groups_of(network))
    assert float(gped.GroupLasso(1.0).penalty(network).detach()) == pytest.approx(norms, rel=1e-5)

    output = sum(float(row.detach().norm()) for row in network.weighted[-1].weight)
    biases = sum(float(layer.bias.detach().norm()) for layer in network.weighted)
    as_released = gped.GroupLasso(1.0, biases=True, output_layer=True)
    assert float(as_released.penalty(network).detach()) == pytest.approx(norms + output + biases, rel=1e-5)


def test_the_subgradient_is_the_unit_vector_of_each_group_and_zero_at_zero():
    network = gped.Network(ARCHITECTURES["conv"], 5, gped.stream(0, "θ"))
    with torch.no_grad():
        network.weighted[0].weight[2] = 0
    gped.GroupLasso(1.0).penalty(network).backward()
    weight = network.weighted[0].weight
    assert not weight.grad[2].any()
    torch.testing.assert_close(weight.grad[1], weight[1].detach() / weight[1].detach().norm())


@pytest.mark.parametrize("name", ["dense", "conv"])
def test_the_proximal_step_shortens_each_group_by_the_same_length(name):
    network = gped.Network(ARCHITECTURES[name], 5, gped.stream(0, "θ"))
    before = [row.detach().clone() for row in groups_of(network)]
    amount = float(torch.stack([row.norm() for row in before]).median())
    gped.GroupLasso(10.0, proximal=True).shrink(network, amount / 10)
    for old, new in zip(before, groups_of(network), strict=True):
        expected = old * max(0.0, 1 - amount / float(old.norm()))
        torch.testing.assert_close(new.detach(), expected, rtol=1e-4, atol=1e-6)
    assert any(not row.any() for row in groups_of(network))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strength": -1}, "strength of the group lasso is -1"),
        ({"strength": 1, "threshold": -1}, "threshold"),
        ({"strength": 1, "fine_tuning_steps": -1}, "fine_tuning_steps"),
        ({"strength": 1, "fine_tuning_rate": 0}, "fine_tuning_rate"),
    ],
)
def test_impossible_settings_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        gped.GroupLasso(**options)
