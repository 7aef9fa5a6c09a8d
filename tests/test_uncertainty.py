"""Uncertainties against Monte Carlo and torch's distributions."""

import numpy as np
import scipy.stats
import torch

from gped import uncertainty


def test_the_dirichlet_decomposition_agrees_with_monte_carlo():
    alphas = np.array([[0.3, 0.5, 2.0], [5.0, 5.0, 5.0], [40.0, 1.0, 0.2], [1.0, 1.0, 1.0]])
    said = uncertainty.decompose_dirichlet(alphas)
    for row, alpha in enumerate(alphas):
        draws = scipy.stats.dirichlet(alpha).rvs(200_000, random_state=row)
        np.testing.assert_allclose(said.data[row], uncertainty.entropy(draws).mean(), atol=5e-3)
        np.testing.assert_allclose(said.total[row], scipy.stats.entropy(draws.mean(0)), atol=5e-3)
    np.testing.assert_allclose(said.knowledge, said.total - said.data)
    assert (said.knowledge > 0).all()


def test_a_sharp_dirichlet_has_the_entropy_of_its_mean_and_no_knowledge_uncertainty():
    said = uncertainty.decompose_dirichlet(np.array([[7e8, 2e8, 1e8]]))
    np.testing.assert_allclose(said.data, scipy.stats.entropy([0.7, 0.2, 0.1]), rtol=1e-6)
    np.testing.assert_allclose(said.knowledge, 0, atol=1e-6)


def test_the_decomposition_of_an_ensemble_is_its_mutual_information():
    draws = np.random.default_rng(0).dirichlet(np.ones(4), (50, 30))
    mean, expected = draws.mean(0), scipy.stats.entropy(draws, axis=2).mean(0)
    said = uncertainty.decompose(mean, expected)
    p, q = torch.tensor(draws), torch.tensor(mean)
    mutual_information = (p * (p.log() - q.log())).sum(2).mean(0).numpy()
    np.testing.assert_allclose(said.knowledge, mutual_information, atol=1e-12)
    np.testing.assert_allclose(said.total, scipy.stats.entropy(mean, axis=1))


def test_a_certain_prediction_has_no_entropy():
    assert uncertainty.entropy(np.array([[1.0, 0.0, 0.0]])) == 0
