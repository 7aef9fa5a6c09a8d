"""The paper's claims with verdicts: computed, never written."""

import numpy as np
import pandas as pd
import pytest

from tests.helpers import published_tables
from workflow.reporting.claims import CLAIMS, judge


@pytest.fixture
def published() -> dict[str, pd.DataFrame]:
    return published_tables("text")


@pytest.fixture
def tables() -> dict[str, pd.DataFrame]:
    """The published tables, in the place of a run's."""
    return published_tables()


def verdicts(published, tables) -> dict[str, tuple[str, str]]:
    return {row.claim: (row.reproduced, row.verdict) for row in judge(published, tables).itertuples()}


def test_the_published_numbers_bear_the_papers_counts_out(published, tables):
    found = verdicts(published, tables)
    assert found["U_o is almost always at least as good as U_s in NLL"] == ("47 of 51", "holds")
    assert found["U_o is almost always at least as good as U_s in entropy MAE"] == ("48 of 51", "holds")
    assert found["GPED beats EnD² on every in-distribution metric"] == ("24 of 24", "holds")
    assert found["GPED beats EnD² in 75 % of out-of-distribution settings"] == ("36 of 48", "holds")  # with the tie
    assert found["GPED beats EnD² in 91 % of ranking settings"] == ("22 of 24", "holds")  # with the tie


def test_swapping_gped_and_end2_turns_the_verdicts_round(published, tables):
    for name in ("test_metrics", "ood_auroc", "ndcg"):
        columns = {c: c.replace("gped", "end2") if "gped" in c else c.replace("end2", "gped") for c in tables[name]}
        tables[name] = tables[name].rename(columns=columns)
    found = verdicts(published, tables)
    assert {verdict for claim, (_, verdict) in found.items() if "EnD²" in claim} == {"does not hold"}


@pytest.mark.parametrize(
    ("column", "claim"),
    [
        ("teacher_nll", "The teacher's NLL falls with more training data"),
        ("student_nll_us", "The student's NLL gap falls with more training data"),
        ("entropy_mae_uo", "On CIFAR-10 the entropy MAE rises with more training data"),
    ],
)
def test_reversing_the_training_sizes_turns_the_claims_about_data_round(column, claim, published, tables):
    grid = tables["estimators"]
    sizes = grid.groupby(["model", "dataset"])["train_size"].transform(
        lambda values: values.map(dict(zip(sorted(set(values)), sorted(set(values), reverse=True), strict=True)))
    )
    tables["estimators"] = grid.assign(train_size=sizes)
    assert verdicts(published, tables)[claim][1] == "does not hold"


def test_students_that_are_no_better_than_a_constant_win_nothing(published, tables):
    claim = "U_o is almost always at least as good as U_s in entropy MAE"
    keys = ["model", "dataset", "train_size", "masking_rate", "entropy_mae_uo", "entropy_mae_us"]
    constants = tables["estimators"][keys].assign(constant_mae=1.0)
    assert verdicts(published, tables | {"constants": constants})[claim] == ("48 of 51", "holds")
    both = constants[["entropy_mae_uo", "entropy_mae_us"]].min(axis=1)
    constants.loc[constants.index[:40], "constant_mae"] = both[:40]
    rest = constants[40:]
    true = (rest["entropy_mae_uo"] <= rest["entropy_mae_us"]).sum()
    assert verdicts(published, tables | {"constants": constants})[claim][0] == f"{true} of 11"
    constants["constant_mae"] = both
    assert verdicts(published, tables | {"constants": constants})[claim] == ("0 of 0", "not measured")


def test_sets_that_the_paper_does_not_have_do_not_count_for_its_claim(published, tables):
    more = tables["ood_auroc"].assign(ood_dataset="SVHN", gped=1.0)
    tables["ood_auroc"] = pd.concat([tables["ood_auroc"], more])
    found = verdicts(published, tables)
    assert found["GPED beats EnD² in 75 % of out-of-distribution settings"] == ("36 of 48", "holds")


def test_changing_the_published_numbers_changes_nothing_of_ours(published, tables):
    before = judge(published, tables)
    for name, frame in published.items():
        numbers = frame.select_dtypes("number").columns
        published[name] = frame.assign(**{column: frame[column].to_numpy()[::-1] for column in numbers})
    after = judge(published, tables)
    ours = ["claim", "reproduced", "evidence", "verdict"]
    pd.testing.assert_frame_equal(before[ours], after[ours])
    assert (before["published"] != after["published"]).any()


def test_what_a_run_does_not_make_is_not_measured(published):
    result = judge(published, {})
    assert set(result["verdict"]) == {"not measured"}
    assert set(result["evidence"]) == {"this run does not make these numbers"}


def students(pruned_error: float, pruned_parameters: int) -> pd.DataFrame:
    """A search with two students and one pruned student, for the FCNN."""
    common = {"model": "FCNN", "dataset": "MNIST", "target": "predictive", "entropy_mae": np.nan, "accuracy": 0.9}
    rows = [
        {"method": "search", "k1": 1, "k2": 1, "params": 478_410, "nll": 0.30, "pareto": "macs+params"},
        {"method": "search", "k1": 2, "k2": 2, "params": 1_276_810, "nll": 0.25, "pareto": "macs+params"},
        {
            "method": "prune",
            "k1": 5,
            "k2": 5,
            "params": pruned_parameters,
            "nll": pruned_error,
            "pareto": "macs+params",
        },
    ]
    return pd.DataFrame([common | row | {"macs": row["params"], "accuracy": 1 - row["nll"]} for row in rows])


@pytest.mark.parametrize(
    ("error", "parameters", "beats", "half", "best"),
    [
        (0.24, 200_000, "4 of 4", "1 of 1", "2 of 2"),  # small and good: beats both on both costs
        (0.28, 478_410, "2 of 4", "0 of 1", "0 of 2"),  # as large as the base, better than that alone
        (0.32, 200_000, "0 of 4", "1 of 1", "0 of 2"),  # a small loss at less than half the size
        (0.24, 2_000_000, "0 of 4", "0 of 1", "2 of 2"),  # the best, at more cost than any other
    ],
)
def test_claims_about_pruning_compare_error_at_equal_cost(error, parameters, beats, half, best, published):
    found = verdicts(published, {"tradeoff": students(error, parameters)})
    assert found["Pruning beats exhaustive search at equal cost"][0] == beats
    assert found["Pruning reaches half the base's size with a small loss"][0] == half
    assert found["The best student comes from pruning"][0] == best


def test_every_claim_is_judged_and_numbers_on_other_data_judge_none(published, tables):
    assert judge(published, tables)["claim"].tolist() == [claim.sentence for claim in CLAIMS]
    assert len(CLAIMS) == 15
    demonstration = judge(published, {name: frame.assign(dataset="MNIST5k") for name, frame in tables.items()})
    assert set(demonstration["verdict"]) == {"not measured"}
    assert demonstration["evidence"].str.startswith("MNIST5k cannot judge it; there, ").sum() >= 10
