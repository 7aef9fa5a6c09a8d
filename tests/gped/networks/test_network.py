"""Networks: where dropout stands and what it does, and how filters lie in memory."""

import pytest
import torch

import gped
from gped.networks.network import Dropout
from tests.helpers import TINY_CONV, TINY_DENSE


@pytest.mark.parametrize(
    ("architecture", "places"), [(TINY_DENSE, [3, 6]), (TINY_CONV, [3, 7, 11])], ids=["dense", "conv"]
)
def test_dropout_stands_after_every_hidden_layer(architecture, places):
    network = gped.Network(architecture, 3, gped.stream(0, "φ"), 0.5, gped.stream(0, "d"))
    found = [number for number, layer in enumerate(network) if isinstance(layer, Dropout)]
    assert found == places


def test_dropout_is_off_when_predicting_and_drops_its_share_when_training():
    dropout = Dropout(0.3, gped.stream(0, "d"))
    ones = torch.ones(200, 50)
    dropped = dropout.train()(ones)
    assert dropped.unique().tolist() == pytest.approx([0, 1 / 0.7])
    assert (dropped == 0).float().mean() == pytest.approx(0.3, abs=0.02)
    assert torch.equal(dropout.eval()(ones), ones)
    channels = dropout.train()(torch.ones(20, 30, 4, 4)).flatten(2)
    assert ((channels == 0).all(2) | (channels > 0).all(2)).all()


def test_dropout_can_be_limited_to_the_first_hidden_layers():
    for architecture, layers in ((TINY_DENSE, 2), (TINY_CONV, 3)):
        for limit in (None, 0, 1):
            network = gped.Network(architecture, 3, gped.stream(0, "φ"), 0.5, gped.stream(0, "dropout"), limit)
            kinds = [type(layer).__name__ for layer in network]
            assert kinds.count("Dropout") == (layers if limit is None else limit)
            if limit == 1:
                assert kinds.index("Dropout") == kinds.index("ReLU") + 1
            assert network.resized(architecture.channels, architecture.hidden).dropout_layers == limit


def test_filters_are_laid_out_channels_last_even_with_one_channel_and_stay_so():
    network = gped.Network(TINY_CONV, 3, gped.stream(0, "φ"))
    resumed = network.restored(network.state())
    for layer in (network.weighted[0], resumed.weighted[0], network.snapshot().weighted[0]):
        assert layer.weight.shape == (4, 1, 3, 3) and layer.weight.stride() == (9, 1, 3, 1)
        assert torch.equal(layer.weight, network.weighted[0].weight)
