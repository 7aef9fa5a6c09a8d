"""How good predictions and uncertainties are. Arrays in, a number out; no torch."""

from typing import NamedTuple

import numpy as np

# scikit-learn is imported where it is used: it takes more than a second, which most tables and figures can save.

Array = np.ndarray


def _checked(probabilities: Array, labels: Array) -> tuple[Array, Array]:
    probabilities, labels = np.asarray(probabilities, np.float64), np.asarray(labels)
    if probabilities.ndim != 2 or labels.shape != (len(probabilities),):
        raise ValueError(
            f"probabilities have the shape {probabilities.shape} and labels {labels.shape}: they must be (inputs, "
            "classes) and (inputs,)."
        )
    if labels.min() < 0 or labels.max() >= probabilities.shape[1]:
        raise ValueError(f"labels go from {labels.min()} to {labels.max()} for {probabilities.shape[1]} classes.")
    return probabilities, labels


def nll(probabilities: Array, labels: Array) -> float:
    """Mean negative log-likelihood of the labels."""
    probabilities, labels = _checked(probabilities, labels)
    chosen = probabilities[np.arange(len(labels)), labels]
    return float(-np.log(np.maximum(chosen, np.finfo(np.float64).tiny)).mean())


def accuracy(probabilities: Array, labels: Array) -> float:
    """Share of inputs whose most probable class is the label."""
    probabilities, labels = _checked(probabilities, labels)
    return float((np.argmax(probabilities, 1) == labels).mean())


def brier(probabilities: Array, labels: Array) -> float:
    """Mean squared distance between the distribution and the label's indicator, summed over classes: 0 to 2."""
    probabilities, labels = _checked(probabilities, labels)
    errors = probabilities.copy()
    errors[np.arange(len(labels)), labels] -= 1
    return float((errors**2).sum(1).mean())


def ece(probabilities: Array, labels: Array, bins: int = 15) -> float:
    """Expected calibration error: |accuracy − confidence| in equal-width bins of confidence, weighted by their size."""
    probabilities, labels = _checked(probabilities, labels)
    confidence = np.max(probabilities, 1)
    correct = np.argmax(probabilities, 1) == labels
    bin_of = np.clip(np.ceil(confidence * bins).astype(int) - 1, 0, bins - 1)  # bins are (k/bins, (k+1)/bins]
    gaps = np.bincount(bin_of, correct - confidence, bins)
    return float(np.abs(gaps).sum() / len(labels))


def kl(ensemble: Array, student: Array) -> float:
    """Mean Kullback–Leibler divergence of the student's distributions from the ensemble's: 0 for a faithful student.

    Unlike the difference of their NLLs it cannot be negative.
    """
    p, q = np.asarray(ensemble, np.float64), np.asarray(student, np.float64)
    if p.ndim != 2 or p.shape != q.shape:
        raise ValueError(f"probabilities have the shapes {p.shape} and {q.shape}: they must both be (inputs, classes).")
    tiny = np.finfo(np.float64).tiny
    return float((p * (np.log(np.maximum(p, tiny)) - np.log(np.maximum(q, tiny)))).sum(1).mean())


def correlation(student: Array, ensemble: Array) -> float:
    """Pearson's correlation; 0 for a student that says the same of all inputs."""
    student, ensemble = np.asarray(student, np.float64), np.asarray(ensemble, np.float64)
    if student.shape != ensemble.shape:
        raise ValueError(f"values have the shapes {student.shape} and {ensemble.shape}: they must be the same.")
    if np.ptp(student) == 0 or np.ptp(ensemble) == 0:
        return 0.0
    return float(np.corrcoef(student, ensemble)[0, 1])


def entropy_mae(student: Array, ensemble: Array) -> float:
    """Mean absolute error of the student's expected entropy, or of one constant for all inputs."""
    student, ensemble = np.asarray(student, np.float64), np.asarray(ensemble, np.float64)
    if student.shape not in ((), ensemble.shape):
        raise ValueError(f"entropies have the shapes {student.shape} and {ensemble.shape}: they must be the same.")
    return float(np.abs(student - ensemble).mean())


def auroc(in_distribution: Array, out_of_distribution: Array) -> float:
    """Probability that an out-of-distribution input has the higher score, ties counting half."""
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(*_detection(in_distribution, out_of_distribution)))


def aupr(in_distribution: Array, out_of_distribution: Array) -> float:
    """Average precision with out-of-distribution as the positive class.

    It depends on the share of positives, so compare it on equal counts: see `equal_counts`.
    """
    from sklearn.metrics import average_precision_score

    return float(average_precision_score(*_detection(in_distribution, out_of_distribution)))


def fpr95(in_distribution: Array, out_of_distribution: Array) -> float:
    """Share of in-distribution inputs flagged at the threshold that catches at least 95 % of the others."""
    from sklearn.metrics import roc_curve

    false_positives, true_positives, _ = roc_curve(
        *_detection(in_distribution, out_of_distribution), drop_intermediate=False
    )
    return float(false_positives[np.searchsorted(true_positives, 0.95)])


def _detection(in_distribution: Array, out_of_distribution: Array) -> tuple[Array, Array]:
    truth = np.repeat([0, 1], [len(in_distribution), len(out_of_distribution)])
    return truth, np.concatenate([in_distribution, out_of_distribution])


def equal_counts(first: Array, second: Array, seed: int = 0) -> tuple[Array, Array]:
    """Both arrays cut to the length of the shorter, the longer by a random choice."""
    count = min(len(first), len(second))
    generator = np.random.default_rng(seed)
    first, second = (
        values if len(values) == count else generator.choice(values, count, replace=False) for values in (first, second)
    )
    return first, second


def aurc(uncertainty: Array, correct: Array) -> float:
    """Area under the risk–coverage curve: mean error rate over the k most certain inputs, averaged over k.

    Inputs of equal uncertainty share their errors, so the value does not depend on their order.
    """
    _, group, sizes = np.unique(uncertainty, return_inverse=True, return_counts=True)
    error_rate = np.bincount(group, ~np.asarray(correct, bool)) / sizes
    errors = np.repeat(error_rate, sizes)
    return float((np.cumsum(errors) / np.arange(1, len(errors) + 1)).mean())


class Trials(NamedTuple):
    """Mean and standard deviation over random trials."""

    mean: float
    std: float


def ndcg(ensemble: Array, student: Array, k: int = 20, sample: int = 100, trials: int = 500, seed: int = 0) -> Trials:
    """nDCG@k of the student's uncertainty ranking, on random samples of the inputs.

    The gain of an input is the ensemble's uncertainty, or 0 where that is negative. The samples depend on the seed
    and the number of inputs alone, so that every method is judged on the same ones.
    """
    from sklearn.metrics import ndcg_score

    if len(ensemble) != len(student):
        raise ValueError(f"there are {len(ensemble)} uncertainties of the ensemble and {len(student)} of the student.")
    if not 1 <= k <= sample <= len(ensemble):
        raise ValueError(f"nDCG@{k} of samples of {sample} from {len(ensemble)} inputs: need k ≤ sample ≤ inputs.")
    generator = np.random.default_rng(seed)
    chosen = np.stack([generator.choice(len(ensemble), sample, replace=False) for _ in range(trials)])
    gain = np.maximum(0, np.asarray(ensemble, np.float64))[chosen]
    scores = [ndcg_score(gain[[i]], np.asarray(student)[chosen[[i]]], k=k) for i in range(trials)]
    return Trials(float(np.mean(scores)), float(np.std(scores)))


def rmse(mean: Array, targets: Array) -> float:
    """Root of the mean squared error of a regression's predictions."""
    mean, targets = _alike(mean, targets)
    return float(np.sqrt(((mean - targets) ** 2).mean()))


def gaussian_nll(mean: Array, variance: Array, targets: Array) -> float:
    """Mean negative log-likelihood of targets under Gaussians of this mean and variance.

    The predictive distribution of an ensemble is a mixture, of which these are the first two moments.
    """
    mean, variance, targets = _alike(mean, variance, targets)
    if not (variance > 0).all():
        raise ValueError(f"variances go down to {variance.min():g}: they must all be positive.")
    return float(((targets - mean) ** 2 / variance + np.log(2 * np.pi * variance)).mean() / 2)


def coverage(mean: Array, variance: Array, targets: Array, level: float = 0.9) -> float:
    """Share of targets inside the central interval that a Gaussian of this mean and variance gives so much of itself.

    With honest variances it is the level.
    """
    from scipy.special import ndtri

    mean, variance, targets = _alike(mean, variance, targets)
    if not 0 < level < 1:
        raise ValueError(f"the level of an interval is {level}: it must be between 0 and 1.")
    return float((np.abs(targets - mean) <= ndtri((1 + level) / 2) * np.sqrt(variance)).mean())


def _alike(*arrays: Array) -> list[Array]:
    """All in double precision; refused if one is of another shape, or anything is not finite."""
    arrays = tuple(np.asarray(array, np.float64) for array in arrays)
    if len({array.shape for array in arrays}) > 1:
        raise ValueError(f"the arrays have the shapes {', '.join(str(a.shape) for a in arrays)}: they must be alike.")
    if not all(np.isfinite(array).all() for array in arrays):
        raise ValueError("some predictions or targets are not finite.")
    return list(arrays)
