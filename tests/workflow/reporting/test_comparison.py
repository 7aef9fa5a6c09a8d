"""Published numbers beside ours: computed, never written."""

import numpy as np
import pandas as pd
import pytest

from tests.helpers import LONG, published_tables
from workflow.reporting.comparison import VERDICTS, compare, counts, pages, verdict


@pytest.fixture
def published() -> dict[str, pd.DataFrame]:
    return published_tables()


@pytest.fixture
def tables() -> dict[str, pd.DataFrame]:
    """The published tables, in the place of a run's."""
    return published_tables()


def test_all_516_results_are_there_whether_produced_or_not(published, tables):
    nothing = compare(published, {}, LONG)
    assert len(nothing) == 516 and set(nothing["verdict"]) == {"not produced"}
    everything = compare(published, tables, LONG)
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
    tables["estimators"] = tables["estimators"].sample(frac=1, random_state=0)
    row = (tables["estimators"]["model"] == "FCNN") & (tables["estimators"]["train_size"] == 20000)
    row &= tables["estimators"]["masking_rate"] == 0.51
    tables["estimators"].loc[row, "entropy_mae_us"] += 1
    result = compare(published, tables, LONG)
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
    assert verdict(published, difference, more_is_better, seed_std, short) == expected


def test_more_is_better_only_of_detection_and_ranking(published, tables):
    for frame in tables.values():
        numbers = frame.select_dtypes("float").columns.difference(["masking_rate"])
        frame[numbers] += 5
    found = compare(published, tables, LONG).groupby("table")["verdict"].agg(set)
    assert found["ood_auroc"] == found["ndcg"] == {"better"}
    assert found["exp1"] == found["estimators"] == found["test_metrics"] == {"worse"}


def test_the_counts_add_up_to_all_numbers_and_stand_above_them(published, tables):
    del tables["ndcg"]
    result = compare(published, tables, LONG)
    counted = counts(result).set_index("table").astype(int)
    assert counted.loc["all"].sum() == 516
    assert counted.loc["ndcg"].to_dict() == dict.fromkeys(VERDICTS, 0) | {"not produced": 48}
    (first, heading, note), (second, *_) = pages(result)
    assert len(second) == 516 and "all 516 numbers" in heading and first.equals(counts(result))
    assert all(name in note for name in VERDICTS)
