"""Uncertainties against torch's distributions."""

import numpy as np
import scipy.stats
import torch

from gped import uncertainty


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
