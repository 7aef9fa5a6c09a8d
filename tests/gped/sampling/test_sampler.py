"""Step sizes are what they should be at each step."""

import pytest
import torch

import gped


def test_a_polynomial_decay_shrinks_the_step():
    decay = gped.PolynomialDecay(scale=0.5, offset=1, power=0.5)
    assert decay(3) == pytest.approx(0.25)
    theta, zero = torch.full((50,), 2.0, dtype=torch.float64), torch.zeros(50, dtype=torch.float64)
    noise = gped.Noise([theta], gped.stream(0, "noise"))
    gped.SGLD(decay, prior_precision=1.0).update([theta], [zero], 3, noise)
    z = torch.empty(50, dtype=torch.float64).normal_(generator=gped.stream(0, "noise"))
    torch.testing.assert_close(theta, 2.0 * (1 - 0.125) + 0.5 * z)
