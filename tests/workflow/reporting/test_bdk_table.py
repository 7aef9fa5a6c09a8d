"""The table of Bayesian Dark Knowledge: costs by hand, published numbers where they belong, and only there."""

import numpy as np
import pandas as pd
import pytest

from tests.naive import metrics as naive
from workflow.reporting.bdk_table import as_text, note, rows, with_published

LABELS = np.array([0, 1, 2, 0])
TEACHER = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.4, 0.3], [0.9, 0.05, 0.05]])
STUDENT = np.array([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.3, 0.3, 0.4], [0.2, 0.5, 0.3]])
CAPTION = {"train_size": 50_000, "steps": 10**6, "burn_in": 1000, "step_size": 4e-6, "prior_precision": 1}
CAPTION |= {"thinning": 100, "updates": 9990, "epochs": 20, "seeds": [0]}
CHOSEN = {
    "plain": [{"weight_decay": 2e-5, "dropout": 0.0}],
    "dropout": [{"weight_decay": 2e-4, "dropout": 0.5}],
}


def numbers(dataset: str) -> pd.DataFrame:
    said, latency = {"teacher": TEACHER, "student": STUDENT}, {"torch": 0.2, "onnx": 0.1}
    made = [
        {"dataset": dataset, **row}
        for method in ("SGD", "deep ensemble", "SGLD")
        for row in rows(method, LABELS, said, latency, 50, 40, 500_000)
    ]
    return with_published(pd.DataFrame(made))


def test_errors_and_costs_are_those_of_the_definitions():
    teacher, student, *_ = numbers("MNIST").to_dict("records")
    for row, p in ((teacher, TEACHER), (student, STUDENT)):
        assert row["test_error"] == pytest.approx(100 - 100 * naive.accuracy(p, LABELS))
        assert row["log_likelihood"] == pytest.approx(-naive.nll(p, LABELS))
        assert row["ece"] == pytest.approx(100 * naive.ece(p, LABELS))
    kl = np.mean(
        [sum(a * np.log(a / b) for a, b in zip(p, q, strict=True)) for p, q in zip(TEACHER, STUDENT, strict=True)]
    )
    assert student["kl"] == pytest.approx(kl) and np.isnan(teacher["kl"])
    assert (teacher["draws"], teacher["torch_ms"], teacher["onnx_ms"]) == (50, pytest.approx(10), pytest.approx(5))
    assert (student["draws"], student["torch_ms"], student["onnx_ms"]) == (1, 0.2, 0.1)
    assert (teacher["megabytes"], student["megabytes"]) == (80, 2)


def test_the_published_numbers_stand_in_the_rows_that_they_are_of():
    frame = numbers("MNIST")
    theirs = {
        (row.method, row.model): (row.published_test_error, row.published_log_likelihood)
        for row in frame.itertuples()
        if not np.isnan(row.published_test_error)
    }
    assert theirs == {
        ("SGD", "teacher"): (1.536, -0.0613),
        ("SGLD", "teacher"): (1.271, -0.0419),
        ("SGLD", "student"): (1.307, -0.0502),
    }
    text = as_text(frame)
    assert text["Test error (%)"].tolist()[4:] == ["25.000 (1.271)", "25.000 (1.307)"]
    assert text["Log-likelihood"].tolist()[4].endswith(" (-0.0419)")
    assert text["Test error (%)"].tolist()[2:4] == ["25.000", "25.000"]
    told = note(CAPTION, "MNIST", CHOSEN)
    for part in ("Balan et al., 2015, T = 1,000,000", "T = 1,000,000,", "N = 50,000", "9,990 updates", "Seed 0."):
        assert part in told


@pytest.mark.parametrize("dataset", ["MNIST5k", "MNIST (unofficial)"])
def test_on_other_data_nothing_published_is_shown(dataset):
    frame = numbers(dataset)
    assert frame["published_test_error"].isna().all() and frame["published_log_likelihood"].isna().all()
    assert not any("(1" in cell or "(-" in cell for cell in as_text(frame).to_numpy().ravel())
    told = note(CAPTION, dataset, CHOSEN)
    assert told.startswith(f"On {dataset}: a demonstration") and "published:" not in told


def test_the_spread_of_seeds_is_shown_where_there_is_any():
    frame = numbers("MNIST").assign(test_error_seed_std=0.25, draws_seed_std=0.0)
    text = as_text(frame)
    assert text["Test error (%)"].iloc[0] == "25.000 ± 0.250 (1.536)" and text["Passes"].iloc[0] == "50"
