"""From rows to tables: seeds, and frontiers."""

import itertools

import numpy as np
import pandas as pd

from workflow.reporting.frames import frame_of, over_seeds, with_frontier

ROWS = [
    {"model": model, "lambda": strength, "nll": seed + shift, "widths": f"{seed}-1"}
    for seed in range(3)
    for model, strength, shift in (("CNN", None, 0.0), ("CNN", 0.1, 10.0))
]


def test_several_seeds_become_mean_and_standard_deviation():
    frame = over_seeds(ROWS, 3)
    assert list(frame) == ["model", "lambda", "nll", "widths", "nll_seed_std"]
    assert frame["nll"].tolist() == [1, 11]
    assert frame["nll_seed_std"].tolist() == [1, 1]
    assert frame["widths"].tolist() == ["0-1 | 1-1 | 2-1"] * 2
    assert list(over_seeds(ROWS[:2], 1)) == ["model", "lambda", "nll", "widths"]


def test_the_frontier_is_that_of_the_students_that_no_other_beats():
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "method": generator.choice(["search", "prune"], 40),
            "target": "predictive",
            "macs": generator.integers(1, 20, 40),
            "params": generator.integers(1, 20, 40),
            "nll": generator.integers(1, 20, 40) / 10,
            "entropy_mae": np.nan,
        }
    )
    marked = with_frontier(frame.copy())
    for cost, (number, row) in itertools.product(("macs", "params"), marked.iterrows()):
        rivals = frame[frame["method"] == row["method"]]
        beaten = any(
            other[cost] <= row[cost]
            and other["nll"] <= row["nll"]
            and (other[cost], other["nll"]) != (row[cost], row["nll"])
            for _, other in rivals.iterrows()
        )
        assert (cost in row["pareto"]) == (not beaten), number


def test_only_the_table_of_tradeoffs_tells_who_is_on_the_frontier_and_by_the_means_over_seeds():
    students = [
        {"method": "search", "target": "entropy", "k1": k1, "macs": macs, "params": macs, "nll": np.nan}
        | {"entropy_mae": error + seed}
        for seed, errors in enumerate([(0.3, 0.2), (0.1, 0.3)])
        for k1, macs, error in zip((1, 2), (10, 20), errors, strict=True)
    ]
    assert frame_of("tradeoff", students, seeds=2)["pareto"].tolist() == ["macs+params", ""]
    assert "pareto" not in frame_of("accuracy", students, seeds=2)
