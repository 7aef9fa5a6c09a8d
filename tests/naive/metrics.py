"""Metrics by their definitions."""

import math

import numpy as np


def nll(p: np.ndarray, labels: np.ndarray) -> float:
    """Mean of −log p(label)."""
    return mean([-math.log(row[label]) for row, label in zip(p.tolist(), labels.tolist(), strict=True)])


def accuracy(p: np.ndarray, labels: np.ndarray) -> float:
    """Share of inputs whose likeliest class is the label."""
    return mean([float(likeliest(row) == label) for row, label in zip(p.tolist(), labels.tolist(), strict=True)])


def brier(p: np.ndarray, labels: np.ndarray) -> float:
    """Squared distance from the label's indicator."""
    distances = []
    for row, label in zip(p.tolist(), labels.tolist(), strict=True):
        distances.append(sum((value - (number == label)) ** 2 for number, value in enumerate(row)))
    return mean(distances)


def ece(p: np.ndarray, labels: np.ndarray, bins: int = 15) -> float:
    """Distance of accuracy from confidence in bins of confidence, weighted by how many are in each."""
    sums = [0.0] * bins
    for row, label in zip(p.tolist(), labels.tolist(), strict=True):
        confidence = max(row)
        for number in range(bins):
            if number / bins < confidence <= (number + 1) / bins:
                sums[number] += (likeliest(row) == label) - confidence
    return sum(abs(one) for one in sums) / len(labels)


def aurc(uncertainty: np.ndarray, correct: list[bool]) -> float:
    """Error rate among the k most certain inputs, averaged over k; inputs of equal uncertainty share their errors."""
    alike: dict[float, list[float]] = {}
    for value, right in zip(uncertainty.tolist(), correct, strict=True):
        alike.setdefault(value, []).append(float(not right))
    errors, rates, so_far = [mean(alike[value]) for value in sorted(alike) for _ in alike[value]], [], 0.0
    for k, error in enumerate(errors, 1):
        so_far += error
        rates.append(so_far / k)
    return mean(rates)


def mae(said: np.ndarray, truth: np.ndarray) -> float:
    """Mean absolute error."""
    return mean([abs(float(one) - float(other)) for one, other in zip(said, truth, strict=True)])


def best_constant(truth: np.ndarray) -> float:
    """The least mean absolute error of one value for all inputs; one of the inputs' own is as good as any."""
    return min(float(np.abs(truth - value).mean()) for value in truth)


def correlation(one: np.ndarray, other: np.ndarray) -> float:
    """Pearson's."""
    x, y = one - one.mean(), other - other.mean()
    return float((x * y).sum() / math.sqrt((x * x).sum() * (y * y).sum()))


def kl(p: np.ndarray, q: np.ndarray) -> float:
    """Mean of Σ p log(p/q)."""
    pairs = zip(p.tolist(), q.tolist(), strict=True)
    return mean([sum(a * math.log(a / b) for a, b in zip(*pair, strict=True) if a > 0) for pair in pairs])


def entropy(p: np.ndarray) -> np.ndarray:
    """−Σ p log p of each row."""
    return np.array([-sum(value * math.log(value) for value in row if value > 0) for row in p.tolist()])


def auroc(inside: np.ndarray, outside: np.ndarray) -> float:
    """Share of the pairs in which the input from outside has the higher score, ties counting half."""
    won = sum(float((far > inside).sum()) + float((far == inside).sum()) / 2 for far in outside)
    return won / (len(inside) * len(outside))


def aupr(inside: np.ndarray, outside: np.ndarray) -> float:
    """Of what is scored at least as high as an input from outside, the share from outside, averaged over those."""
    shares = []
    for threshold in outside:
        found = (outside >= threshold).sum()
        shares.append(found / (found + (inside >= threshold).sum()))
    return mean(shares)


def fpr95(inside: np.ndarray, outside: np.ndarray) -> float:
    """The least share of false alarms among thresholds that find 95 % of the inputs from outside."""
    thresholds = [value for value in [*inside, *outside] if (outside >= value).mean() >= 0.95]
    return min(float((inside >= value).mean()) for value in thresholds)


def in_equal_counts(inside: np.ndarray, outside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """As many of both, by the choice of a generator seeded with 0."""
    count, generator = min(len(inside), len(outside)), np.random.default_rng(0)
    if len(inside) > count:
        inside = generator.choice(inside, count, replace=False)
    if len(outside) > count:
        outside = generator.choice(outside, count, replace=False)
    return inside, outside


def ndcg(ensemble: np.ndarray, student: np.ndarray, sample: int = 100) -> tuple[float, float]:
    """nDCG@20 of so many inputs in the student's order, over 500 choices of them: mean and standard deviation."""
    generator, values = np.random.default_rng(0), []
    for _ in range(500):
        chosen = generator.choice(len(ensemble), sample, replace=False)
        gains = [max(0.0, float(value)) for value in ensemble[chosen]]
        alike: dict[float, list[float]] = {}  # inputs of equal score share their gains
        for score, gain in zip(student[chosen].tolist(), gains, strict=True):
            alike.setdefault(score, []).append(gain)
        ranked = [mean(alike[score]) for score in sorted(alike, reverse=True) for _ in alike[score]]
        values.append(discounted(ranked[:20]) / discounted(sorted(gains, reverse=True)[:20]))
    average = mean(values)
    return average, math.sqrt(mean([(value - average) ** 2 for value in values]))


def discounted(gains: list[float]) -> float:
    """Σ gain / log₂(rank + 1)."""
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def likeliest(row: list[float]) -> int:
    """The class of the largest probability."""
    return row.index(max(row))


def mean(values: list[float]) -> float:
    """The sum by the count."""
    return math.fsum(values) / len(values)
