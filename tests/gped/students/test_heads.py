"""Heads and losses, against torch's own distributions and closed forms."""

import numpy as np
import pytest
import scipy.special
import scipy.stats
import torch
from torch.distributions import Categorical, Dirichlet, kl_divergence

import gped
from gped import uncertainty


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
    torch.testing.assert_close(gped.Exponential("absolute").loss(outputs, outputs.exp()), torch.tensor(0.0))


def test_impossible_heads_are_refused():
    with pytest.raises(ValueError, match="error is 'cubic'"):
        gped.Exponential("cubic")
    with pytest.raises(ValueError, match="temperature is 0"):
        gped.Dirichlet(0)


def decomposed(alphas: np.ndarray) -> uncertainty.Uncertainty:
    told = gped.Dirichlet().tells(torch.tensor(alphas))
    return uncertainty.decompose(told["probabilities"].numpy(), told["data"].numpy())


def test_the_dirichlet_decomposition_agrees_with_monte_carlo():
    alphas = np.array([[0.3, 0.5, 2.0], [5.0, 5.0, 5.0], [40.0, 1.0, 0.2], [1.0, 1.0, 1.0]])
    said = decomposed(alphas)
    for row, alpha in enumerate(alphas):
        draws = scipy.stats.dirichlet(alpha).rvs(200_000, random_state=row)
        np.testing.assert_allclose(said.data[row], uncertainty.entropy(draws).mean(), atol=5e-3)
        np.testing.assert_allclose(said.total[row], scipy.stats.entropy(draws.mean(0)), atol=5e-3)
    np.testing.assert_allclose(said.knowledge, said.total - said.data)
    assert (said.knowledge > 0).all()


def test_a_sharp_dirichlet_has_the_entropy_of_its_mean_and_no_knowledge_uncertainty():
    said = decomposed(np.array([[7e8, 2e8, 1e8]]))
    np.testing.assert_allclose(said.data, scipy.stats.entropy([0.7, 0.2, 0.1]), rtol=1e-6)
    np.testing.assert_allclose(said.knowledge, 0, atol=1e-6)


@pytest.mark.parametrize("classes", [2, 3, 10])
@pytest.mark.parametrize(("least", "most"), [(-12, -6), (-3, 3), (6, 12), (-12, 12)], ids=str)
def test_what_a_dirichlet_tells_is_exact_for_small_and_huge_concentrations(classes, least, most):
    alphas = 10 ** np.random.default_rng(classes).uniform(least, most, (500, classes))
    said = gped.Dirichlet().tells(torch.tensor(alphas))
    total = alphas.sum(1, keepdims=True)
    entropy = (alphas / total * (scipy.special.digamma(total + 1) - scipy.special.digamma(alphas + 1))).sum(1)
    means = np.stack([scipy.stats.dirichlet(alpha).mean() for alpha in alphas])
    np.testing.assert_allclose(said["probabilities"], means, rtol=1e-12, atol=0)
    np.testing.assert_allclose(said["data"], entropy, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("a", "b"), [(0.3, 0.7), (1.0, 1.0), (2.0, 30.0), (400.0, 100.0)])
def test_the_expected_entropy_of_two_classes_is_its_integral(a, b):
    integral = scipy.stats.beta(a, b).expect(lambda p: scipy.stats.entropy([p, 1 - p]))
    said = gped.Dirichlet().tells(torch.tensor([[a, b]], dtype=torch.float64))
    assert said["data"].item() == pytest.approx(integral, rel=1e-6)


def test_only_a_dirichlet_knows_how_the_draws_differ():
    predictions = torch.softmax(random(6, 4), 1)
    for head in (gped.Softmax(), gped.Linear(), gped.Exponential()):
        assert head.tells(predictions) == {}
