"""Bayesian Dark Knowledge beside what one would otherwise take: errors and cost of teachers and students."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from gped.evaluation import metrics
from workflow.experiments.paper import PAPER_SETS
from workflow.reporting.frames import Row
from workflow.reporting.published import published

MEGABYTE = 1e6
BYTES = 4  # of a parameter in single precision
HEADINGS = {
    "method": ("Method", "{}"),
    "model": ("Network", "{}"),
    "draws": ("Passes", "{:,.0f}"),
    "test_error": ("Test error (%)", "{:.3f}"),
    "log_likelihood": ("Log-likelihood", "{:.4f}"),
    "ece": ("ECE (%)", "{:.2f}"),
    "kl": ("KL from teacher", "{:.4f}"),
    "torch_ms": ("torch (ms)", "{:.3g}"),
    "onnx_ms": ("ONNX (ms)", "{:.3g}"),
    "megabytes": ("Size (MB)", "{:,.1f}"),
}
"""Of the table as it is read: what columns are called, and how their numbers are written."""
PUBLISHED = {("SGD", "teacher"): "SGD", ("SGLD", "teacher"): "SGLD", ("SGLD", "student"): "distilled"}
"""Our rows, and what the authors call theirs."""


def rows(
    method: str,
    labels: np.ndarray,
    said: Mapping[str, np.ndarray],
    latency: Mapping[str, float],
    draws: int,
    stored: int,
    parameters: int,
) -> Iterator[Row]:
    """A teacher and its student.

    Args:
        method: What the teacher is.
        labels: Of the test inputs.
        said: Class probabilities of the test inputs by the teacher and by the student.
        latency: Milliseconds for an image, by torch and as ONNX, of one network.
        draws: Networks that say what the teacher says, or passes through one.
        stored: Networks that the teacher has to keep.
        parameters: Of a network.
    """
    for model, passes, networks in (("teacher", draws, stored), ("student", 1, 1)):
        p = said[model]
        yield {
            "method": method,
            "model": model,
            "draws": passes,
            "test_error": 100 * (1 - metrics.accuracy(p, labels)),
            "log_likelihood": -metrics.nll(p, labels),
            "ece": 100 * metrics.ece(p, labels),
            "kl": metrics.kl(said["teacher"], p) if model == "student" else np.nan,
            "torch_ms": passes * latency["torch"],
            "onnx_ms": passes * latency["onnx"],
            "megabytes": networks * parameters * BYTES / MEGABYTE,
        }


def with_published(numbers: pd.DataFrame) -> pd.DataFrame:
    """With the authors' numbers in the rows that they have, if the data are theirs."""
    theirs = published("bdk").set_index("method").rename(columns={"test_error_percent": "test_error"})
    comparable = set(numbers["dataset"]) <= PAPER_SETS
    for column in ("test_error", "log_likelihood"):
        numbers[f"published_{column}"] = [
            theirs[column].get(PUBLISHED.get((row.method, row.model)), np.nan) if comparable else np.nan
            for row in numbers.itertuples()
        ]
    return numbers


def as_text(numbers: pd.DataFrame) -> pd.DataFrame:
    """The table as it is read, the published numbers in brackets."""
    table = pd.DataFrame(index=numbers.index)
    for column, (heading, form) in HEADINGS.items():
        text = numbers[column].map(lambda value, form=form: "–" if pd.isna(value) else form.format(value))
        if f"{column}_seed_std" in numbers:
            spread = numbers[f"{column}_seed_std"]
            text += [f" ± {form.format(value)}" if value > 0 else "" for value in spread]
        if f"published_{column}" in numbers:
            theirs = numbers[f"published_{column}"]
            text += [f" ({form.format(value)})" if pd.notna(value) else "" for value in theirs]
        table[heading] = text
    return table


def note(told: Mapping[str, Any], dataset: str, chosen: Mapping[str, Any]) -> str:
    """What the numbers are of: lengths, seeds, and whose numbers stand in brackets.

    Args:
        told: Lengths and seeds.
        dataset: What the data are called.
        chosen: By kinds of networks, the weight decays and dropout that were chosen, of each seed.
    """
    plain, dropout = (chosen[kind] for kind in ("plain", "dropout"))
    beside = (
        "Reproduced (published: Balan et al., 2015, T = 1,000,000)."
        if dataset in PAPER_SETS
        else f"On {dataset}: a demonstration, not to be compared with published numbers."
    )
    return (
        f"{beside} N = {told['train_size']:,}. SGLD: T = {told['steps']:,}, burn-in {told['burn_in']:,}, "
        f"η = {told['step_size']:g}, τ = {told['prior_precision']:g}. Students: {told['updates']:,} updates each, the "
        f"chain's every {told['thinning']} steps. SGD: {told['epochs']} epochs, weight decay "
        f"{_listed(one['weight_decay'] for one in plain)}; with dropout {_listed(one['dropout'] for one in dropout)}, "
        f"{_listed(one['weight_decay'] for one in dropout)}. "
        f"Seed{'s' * (len(told['seeds']) > 1)} {_listed(told['seeds'])}. Time of one image on one core; a teacher's is "
        "that of one network times its passes."
    )


def _listed(values: Any) -> str:
    return ", ".join(dict.fromkeys(f"{value:g}" for value in values))
