"""How far the Monte Carlo error that a single chain states can be trusted."""

import math

import numpy as np

BLOCKS = 20
"""Of consecutive draws, from whose means `gped.Reference` estimates the error of an expectation."""


def relaxation(step_size: float, prior_precision: float) -> float:
    """Steps in which Langevin dynamics forgets a weight that only its prior holds, the slowest there is: 2/(ητ).

    Without a prior (τ = 0) such a weight is never forgotten.
    """
    pull = step_size * prior_precision
    return 2 / pull if pull else math.inf


def relaxations_per_block(steps: int, burn_in: int, step_size: float, prior_precision: float) -> float:
    """How many relaxation times one of the blocks lasts. With less than one they are not independent.

    Then their means are more alike than independent ones would be, and the error that follows from them is a lower
    bound.
    """
    return (steps - burn_in) / BLOCKS / relaxation(step_size, prior_precision)


def spread_over_error(expectations: np.ndarray, error: np.ndarray) -> float:
    """How many times the error that a chain states the spread between chains is: 1 if the error is right.

    Args:
        expectations: Of several chains that sample one posterior, along the first axis, on the same inputs.
        error: The standard error that one of them states for each.
    """
    variance = np.asarray(expectations, np.float64).var(axis=0, ddof=1)
    return float(np.sqrt(variance.mean() / np.square(error, dtype=np.float64).mean()))
