"""Total, data and knowledge uncertainty of predictions, in nats."""

from typing import NamedTuple

import numpy as np

# scipy is imported where it is used: it takes 0.3 seconds, which the many jobs that only train students can save.


class Uncertainty(NamedTuple):
    """One number per input for each kind.

    Args:
        total: Entropy of the predictive distribution.
        data: Expected entropy of a single draw's distribution.
        knowledge: total − data, the disagreement between draws. Never negative for an ensemble or a Dirichlet; a
            student that learns total and data separately can get it wrong, and then it is left negative.
    """

    total: np.ndarray
    data: np.ndarray
    knowledge: np.ndarray


def entropy(probabilities: np.ndarray) -> np.ndarray:
    """−Σ p log p of each row."""
    from scipy.special import xlogy

    p = np.asarray(probabilities, np.float64)
    return -xlogy(p, p).sum(1)


def decompose(probabilities: np.ndarray, expected_entropy: np.ndarray) -> Uncertainty:
    """For an ensemble's reference or a GPED student, from the predictive distribution and the expected entropy."""
    total = entropy(probabilities)
    data = np.asarray(expected_entropy, np.float64)
    if data.shape != total.shape:
        raise ValueError(
            f"there are {total.shape} probabilities but {data.shape} entropies: one for each input is needed."
        )
    return Uncertainty(total, data, total - data)
