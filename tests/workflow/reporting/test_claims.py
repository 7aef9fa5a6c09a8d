"""Published numbers beside ours, and claims with verdicts: computed, never written."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from workflow.scripts import claims, compare, draw  # noqa: E402 (the workflow is not an installed package)

LONG = [("FCNN", "MNIST", 10**6), ("CNN", "MNIST", 10**6), ("CNN", "CIFAR10", 10**6)]


@pytest.fixture
def published() -> dict[str, pd.DataFrame]:
    return {path.stem: pd.read_csv(path) for path in (ROOT / "workflow/published").glob("*.csv")}


@pytest.fixture
def tables(published) -> dict[str, pd.DataFrame]:
    """The published tables, in the place of a run's."""
    return {name: frame.copy() for name, frame in published.items() if name != "text"}


# Numbers


def test_all_516_results_are_there_whether_produced_or_not(published, tables):
    del published["text"]
    nothing = compare.compare(published, {}, LONG)
    assert len(nothing) == 516 and set(nothing["verdict"]) == {"not produced"}
    everything = compare.compare(published, tables, LONG)
    assert len(everything) == 516 and set(everything["verdict"]) == {"within"}
    assert (everything["difference"] == 0).all()
    assert everything["published_spread"].notna().sum() == 48
    assert list(everything)[-7:] == [
        "quantity",
        "published",
        "published_spread",
        "reproduced",
        "reproduced_spread",
        "difference",
        "verdict",
    ]


def test_a_number_is_found_by_its_keys_whatever_the_order_of_rows(published, tables):
    del published["text"]
    tables["estimators"] = tables["estimators"].sample(frac=1, random_state=0)
    row = (tables["estimators"]["model"] == "FCNN") & (tables["estimators"]["train_size"] == 20000)
    row &= tables["estimators"]["masking_rate"] == 0.51
    tables["estimators"].loc[row, "entropy_mae_us"] += 1
    result = compare.compare(published, tables, LONG)
    (changed,) = result[result["verdict"] != "within"].to_dict("records")
    assert (changed["model"], changed["train_size"], changed["masking_rate"]) == ("FCNN", 20000, 0.51)
    assert (changed["quantity"], changed["verdict"]) == ("entropy_mae_us", "worse")
    assert changed["difference"] == pytest.approx(1)


@pytest.mark.parametrize(
    ("published", "difference", "more_is_better", "seed_std", "short", "expected"),
    [
        (0.05, 0.01, False, np.nan, False, "within"),
        (0.05, 0.011, False, np.nan, False, "worse"),
        (0.05, -0.011, False, np.nan, False, "better"),
        (0.05, 0.011, True, np.nan, False, "better"),
        (0.9, -0.09, True, np.nan, False, "within"),
        (0.9, -0.091, True, np.nan, False, "worse"),
        (0.9, -0.091, True, np.nan, True, "not comparable"),
        (0.9, -0.05, True, np.nan, True, "within"),
        (0.05, 0.02, False, 0.01, False, "within"),
        (0.05, np.nan, False, np.nan, False, "not produced"),
    ],
)
def test_verdicts_follow_the_tolerances(published, difference, more_is_better, seed_std, short, expected):
    assert compare.verdict(published, difference, more_is_better, seed_std, short) == expected


# Claims


def verdicts(published, tables) -> dict[str, tuple[str, str]]:
    return {row.claim: (row.reproduced, row.verdict) for row in claims.judge(published, tables).itertuples()}


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
    before = claims.judge(published, tables)
    for name, frame in published.items():
        numbers = frame.select_dtypes("number").columns
        published[name] = frame.assign(**{column: frame[column].to_numpy()[::-1] for column in numbers})
    after = claims.judge(published, tables)
    ours = ["claim", "reproduced", "evidence", "verdict"]
    pd.testing.assert_frame_equal(before[ours], after[ours])
    assert (before["published"] != after["published"]).any()


def test_what_a_run_does_not_make_is_not_measured(published):
    result = claims.judge(published, {})
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


def test_the_figure_of_schedules_shows_both_gaps_beside_the_published_one(tmp_path):
    rows = [
        ("schedule", "CNN", "MNIST", size, 0, setting, "nll_gap", gap)
        for size, gaps in {10_000: (0.3, -0.1), 60_000: (0.1, 0.1)}.items()
        for setting, gap in zip(("per pass", "equal"), gaps, strict=True)
    ]
    columns = ["ablation", "model", "dataset", "train_size", "masking_rate", "setting", "quantity", "value"]
    pd.DataFrame(rows, columns=columns).to_csv(tmp_path / "ablations.csv")
    (axis,) = draw.schedule([tmp_path / "ablations.csv"]).axes
    handles, labels = axis.get_legend_handles_labels()
    drawn = {
        label: list(getattr(handle, "lines", [handle])[0].get_ydata())
        for handle, label in zip(handles, labels, strict=True)
    }
    assert drawn["per pass"] == [0.3, 0.1] and drawn["equal"] == [-0.1, 0.1]
    assert drawn["published"] == pytest.approx([0.170, 0.092, 0.058, 0.031])
