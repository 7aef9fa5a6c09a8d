"""What is said of a student: the numbers of others' metrics, and a plain word where it is worth nothing."""

import re

import numpy as np
import pytest
import torch
from scipy.stats import entropy
from sklearn.metrics import accuracy_score, log_loss, mean_absolute_error

import gped
from gped.training.material import Material
from gped.training.verdict import judged

CLASSES, HELD_OUT = 3, 50
GENERATOR = np.random.default_rng(0)
LABELS = np.repeat([0, 1, 2], [60, 30, 10])
TRUTH = GENERATOR.integers(0, CLASSES, HELD_OUT)
FREQUENCIES = np.tile([0.6, 0.3, 0.1], (HELD_OUT, 1))


def answers(right: float) -> np.ndarray:
    """Distributions that give the truth about so much."""
    mixed = GENERATOR.dirichlet(np.ones(CLASSES), HELD_OUT)
    return right * np.eye(CLASSES)[TRUTH] + (1 - right) * mixed


def lines(student: np.ndarray, data: np.ndarray, ensemble: np.ndarray, expected: np.ndarray) -> list[str]:
    inputs = gped.Inputs(torch.zeros(HELD_OUT, 1, 4, 4, dtype=torch.uint8))
    material = Material(inputs, torch.tensor(LABELS), inputs, inputs, torch.tensor(TRUTH), ("a", "b", "c"), [])
    total = entropy(student, axis=1)
    said = gped.Prediction({}, probabilities=student, total=total, data=data, knowledge=total - data)
    return list(judged(said, {"predictive": ensemble, "entropy": expected}, material))


def row(who: str, probabilities: np.ndarray, data: np.ndarray, expected: np.ndarray) -> list[str]:
    """What the table should have."""
    right = accuracy_score(TRUTH, probabilities.argmax(1))
    words = [who, f"{log_loss(TRUTH, probabilities):.3f}", f"{right:.1%}", f"{mean_absolute_error(expected, data):.3f}"]
    total = entropy(probabilities, axis=1)
    for values in (total, total - data) if who != "constant" else ():
        words += [f"{min(values):.2f}", "…", f"{np.median(values):.2f}", "…", f"{max(values):.2f}"]
    return words


def test_the_table_has_the_numbers_that_other_libraries_compute():
    ensemble, student = answers(0.8), answers(0.6)
    expected = 0.8 * entropy(ensemble, axis=1)
    data, constant = 0.9 * expected, np.full(HELD_OUT, np.median(expected))
    heading, *rows, units = lines(student, data, ensemble, expected)
    assert re.split(" {2,}", heading) == [
        "held out",
        "NLL",
        "accuracy",
        "entropy MAE",
        "total uncertainty",
        "knowledge",
    ]
    assert [one.split() for one in rows] == [
        row("ensemble", ensemble, expected, expected),
        row("student", student, data, expected),
        row("constant", FREQUENCIES, constant, expected),
    ]
    assert units == "uncertainties are in nats: the least, the median and the greatest"


@pytest.mark.parametrize(("ensemble", "word"), [(0.8, "the ensemble is"), (0.0, "neither is the ensemble")])
def test_a_student_that_is_no_better_than_a_constant_is_called_that(ensemble, word):
    said = answers(ensemble)
    if not ensemble:
        said = FREQUENCIES[:, [2, 0, 1]]
    *_, last = lines(FREQUENCIES, np.zeros(HELD_OUT), said, entropy(said, axis=1) / 2)
    assert last.startswith(
        f"The student is no better than saying of every image how frequent the classes are (by NLL); {word}."
    )
    assert "more --steps" in last


def test_a_student_whose_entropies_are_no_better_than_a_constant_is_called_that():
    ensemble = answers(0.8)
    expected = 0.8 * entropy(ensemble, axis=1)
    *_, last = lines(answers(0.7), np.full(HELD_OUT, np.median(expected)), ensemble, expected)
    assert last.startswith("The data uncertainty that the student says is no nearer to the ensemble's than one number")
    *_, last = lines(answers(0.7), expected, ensemble, expected)
    assert last.startswith("uncertainties are in nats")
