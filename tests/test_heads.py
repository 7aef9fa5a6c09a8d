"""Heads and losses, against torch's own distributions and closed forms."""

import pytest
import torch
from torch.distributions import Categorical, Dirichlet, kl_divergence

import gped


def random(*shape: int, name: str = "z") -> torch.Tensor:
    return torch.randn(*shape, generator=gped.stream(0, name))


def test_the_dirichlet_loss_is_its_negative_log_likelihood():
    outputs, pi = random(20, 5), torch.softmax(random(20, 5, name="π"), 1)
    head = gped.Dirichlet(temperature=2.5)
    expected = -Dirichlet((outputs.double() / 2.5).exp()).log_prob(pi.double()).mean()
    torch.testing.assert_close(head.loss(outputs, pi.log()), expected, rtol=1e-6, atol=1e-6)


def test_the_dirichlet_loss_of_an_averaged_target_is_the_average_of_the_losses():
    head, outputs = gped.Dirichlet(), random(6, 4)
    targets = [torch.log_softmax(random(6, 4, name=f"draw {k}"), 1) for k in range(10)]
    average = torch.stack([head.loss(outputs, target) for target in targets]).mean()
    torch.testing.assert_close(head.loss(outputs, torch.stack(targets).mean(0)), average)


def test_the_dirichlet_predicts_at_its_own_temperature():
    outputs = random(3, 4)
    torch.testing.assert_close(gped.Dirichlet(2.5, 1.0).predict(outputs), outputs.exp())
    torch.testing.assert_close(gped.Dirichlet(2.5, 2.0).predict(outputs), (outputs / 2).exp())


def test_the_softmax_loss_is_the_kl_divergence_up_to_the_targets_entropy():
    outputs, p = random(20, 5), torch.softmax(random(20, 5, name="p"), 1)
    target, student = Categorical(p), Categorical(logits=outputs)
    expected = (kl_divergence(target, student) + target.entropy()).mean()
    torch.testing.assert_close(gped.Softmax().loss(outputs, p), expected)


def test_errors_are_summed_over_values_and_averaged_over_inputs():
    outputs, targets = torch.tensor([[1.0, 2.0], [0.0, 5.0]]), torch.tensor([[0.0, 0.0], [0.0, 1.0]])
    assert gped.Linear().loss(outputs, targets) == (1 + 2 + 0 + 4) / 2
    assert gped.Linear("squared").loss(outputs, targets) == (1 + 4 + 0 + 16) / 2
    torch.testing.assert_close(gped.Exponential().loss(outputs.exp().log(), outputs.exp()), torch.tensor(0.0))


def test_impossible_heads_are_refused():
    with pytest.raises(ValueError, match="error is 'cubic'"):
        gped.Exponential("cubic")
    with pytest.raises(ValueError, match="temperature is 0"):
        gped.Dirichlet(0)
