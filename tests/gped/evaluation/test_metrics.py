"""Metrics against scikit-learn and brute-force definitions."""

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import given, settings
from hypothesis import strategies as st

from gped import metrics

seeds = st.integers(0, 2**32 - 1)


def predictions(seed: int, count: int = 60, classes: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Distributions in which every class is possible: what an impossible one costs, scikit-learn says differently."""
    generator = np.random.default_rng(seed)
    p = 0.999 * generator.dirichlet(np.full(classes, 0.5), count) + 0.001 / classes
    return p / p.sum(1, keepdims=True), generator.integers(0, classes, count)


@given(seeds)
def test_nll_accuracy_and_brier_are_scikit_learns(seed):
    p, labels = predictions(seed)
    log_loss = sklearn.metrics.log_loss(labels, p, labels=range(4))
    assert metrics.nll(p, labels) == pytest.approx(log_loss, rel=1e-12)
    assert metrics.accuracy(p, labels) == sklearn.metrics.accuracy_score(labels, p.argmax(1))
    brier = sklearn.metrics.brier_score_loss(labels, p, labels=range(4), scale_by_half=False)
    assert metrics.brier(p, labels) == pytest.approx(brier)


def test_nll_of_an_impossible_label_is_large_but_finite():
    assert 700 < metrics.nll(np.array([[1.0, 0.0]]), np.array([1])) < 710


@given(seeds, st.integers(1, 20))
def test_ece_is_its_definition(seed, bins):
    p, labels = predictions(seed)
    confidence, correct = p.max(1), p.argmax(1) == labels
    total = 0.0
    for k in range(bins):
        inside = (confidence > k / bins) & (confidence <= (k + 1) / bins)
        if inside.any():
            total += inside.mean() * abs(correct[inside].mean() - confidence[inside].mean())
    assert metrics.ece(p, labels, bins) == pytest.approx(total, abs=1e-9)


def test_a_confidence_between_two_bins_belongs_to_the_lower():
    p, labels = np.array([[0.4, 0.3, 0.3], [0.5, 0.25, 0.25]]), np.array([0, 1])  # in one of four bins: right and wrong
    assert metrics.ece(p, labels, 4) == pytest.approx(abs((1 - 0.4) + (0 - 0.5)) / 2)


def scores(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """In- and out-of-distribution scores, rounded so that there are ties."""
    generator = np.random.default_rng(seed)
    return generator.normal(0, 1, 30).round(1), generator.normal(1, 1, 40).round(1)  # 95 % of 40 can be met exactly


@given(seeds)
def test_auroc_is_the_probability_of_the_higher_score(seed):
    inside, outside = scores(seed)
    wins = (outside[:, None] > inside).mean() + (outside[:, None] == inside).mean() / 2
    assert metrics.auroc(inside, outside) == pytest.approx(wins)


@given(seeds)
def test_aupr_is_the_mean_precision_at_the_positives(seed):
    inside, outside = scores(seed)
    precision = [(outside >= s).sum() / ((outside >= s).sum() + (inside >= s).sum()) for s in outside]
    assert metrics.aupr(inside, outside) == pytest.approx(np.mean(precision))


@given(seeds)
def test_fpr95_is_the_lowest_rate_of_false_alarms_that_catches_95_percent(seed):
    inside, outside = scores(seed)
    thresholds = [s for s in np.concatenate([inside, outside]) if (outside >= s).mean() >= 0.95]
    assert metrics.fpr95(inside, outside) == pytest.approx(min((inside >= s).mean() for s in thresholds))


@given(seeds)
def test_aurc_is_the_mean_risk_over_coverages(seed):
    generator = np.random.default_rng(seed)
    uncertainty, correct = generator.permutation(25), generator.random(25) < 0.7
    ranked = ~correct[np.argsort(uncertainty)]
    assert metrics.aurc(uncertainty, correct) == pytest.approx(np.mean([ranked[:k].mean() for k in range(1, 26)]))


def test_aurc_does_not_depend_on_the_order_of_ties():
    correct = np.array([True, False, False, True])
    assert metrics.aurc(np.zeros(4), correct) == metrics.aurc(np.zeros(4), correct[::-1]) == 0.5


@settings(deadline=None, max_examples=20)
@given(seeds)
def test_ndcg_is_its_definition_on_the_same_samples(seed):
    generator = np.random.default_rng(seed)
    ensemble, student = generator.normal(0.3, 1, 150), generator.normal(0, 1, 150)
    said = metrics.ndcg(ensemble, student, k=5, sample=30, trials=8, seed=1)
    sampler, values = np.random.default_rng(1), []
    for _ in range(8):
        chosen = sampler.choice(150, 30, replace=False)
        gain = np.maximum(0, ensemble[chosen])
        discount = 1 / np.log2(np.arange(2, 7))
        ranked = gain[np.argsort(-student[chosen])][:5]
        values.append((ranked * discount).sum() / (np.sort(gain)[::-1][:5] * discount).sum())
    assert said.mean == pytest.approx(np.mean(values))
    assert said.std == pytest.approx(np.std(values))


def test_ndcg_of_the_ensembles_own_ranking_is_one():
    ensemble = np.random.default_rng(0).random(200)
    assert metrics.ndcg(ensemble, 2 * ensemble + 1, trials=20) == pytest.approx((1, 0))


def test_ndcg_refuses_samples_that_cannot_be_drawn():
    with pytest.raises(ValueError, match="samples of 100 from 50 inputs"):
        metrics.ndcg(np.ones(50), np.ones(50))


def test_entropy_mae_is_the_mean_absolute_difference():
    assert metrics.entropy_mae(np.array([1.0, 2.0]), np.array([1.5, 1.0])) == 0.75


def test_equal_counts_shortens_the_longer_by_a_choice_without_replacement():
    short, long = np.arange(5), np.arange(100, 120)
    for first, second in ((short, long), (long, short)):
        a, b = metrics.equal_counts(first, second)
        assert len(a) == len(b) == 5
        assert set(a) <= set(first) and set(b) <= set(second)
        assert len(set(a)) == len(set(b)) == 5


def test_arrays_that_do_not_go_together_are_refused_rather_than_broadcast():
    p = np.full((3, 2), 0.5)
    for labels in (np.array([1]), np.array([[1], [0], [1]]), np.array([0, 1, -1]), np.array([0, 1, 2])):
        for metric in (metrics.nll, metrics.accuracy, metrics.brier, metrics.ece):
            with pytest.raises(ValueError, match="labels"):
                metric(p, labels)
    with pytest.raises(ValueError, match="the same"):
        metrics.entropy_mae(np.ones((3, 1)), np.ones(3))
    with pytest.raises(ValueError, match="of the ensemble"):
        metrics.ndcg(np.ones(200), np.ones(150))
