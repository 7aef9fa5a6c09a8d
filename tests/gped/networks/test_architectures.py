"""Architectures are widened as the paper says, and impossible ones refused."""

import pytest

import gped


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
