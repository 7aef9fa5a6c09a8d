"""Published numbers beside ours: computed, never written, and with verdicts that can fail."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

from tests.helpers import LONG, published_tables
from workflow.reporting.comparison import (
    EFFECTS,
    ROW_KEYS,
    VERDICTS,
    compare,
    counted,
    counts,
    directions,
    half_interval,
    in_words,
    pages,
    verdict,
)
from workflow.reporting.published import rounding


@pytest.fixture
def tables() -> dict[str, pd.DataFrame]:
    """The published tables, in the place of a run's."""
    return published_tables()


def test_all_516_results_are_there_whether_produced_or_not(tables):
    nothing = compare({}, LONG, 1)
    assert len(nothing) == 516 and set(nothing["verdict"]) == {"not measured"}
    everything = compare(tables, LONG, 1)
    assert len(everything) == 516 and set(everything["verdict"]) == {"agrees"}
    assert (everything["difference"] == 0).all()
    assert everything["published_spread"].notna().sum() == 48
    assert list(everything)[-13:] == [
        "quantity",
        "published",
        "published_spread",
        "reproduced",
        "reproduced_spread",
        "difference",
        "verdict",
        "steps",
        "seeds",
        "low",
        "high",
        "rule",
        "repeats",
    ]


def test_a_number_is_found_by_its_keys_whatever_the_order_of_rows(tables):
    tables["estimators"] = tables["estimators"].sample(frac=1, random_state=0)
    row = (tables["estimators"]["model"] == "FCNN") & (tables["estimators"]["train_size"] == 20000)
    row &= tables["estimators"]["masking_rate"] == 0.51
    tables["estimators"].loc[row, "entropy_mae_us"] += 1
    result = compare(tables, LONG, 1)
    (changed,) = result[result["verdict"] != "agrees"].to_dict("records")
    assert (changed["model"], changed["train_size"], changed["masking_rate"]) == ("FCNN", 20000, 0.51)
    assert (changed["quantity"], changed["verdict"]) == ("entropy_mae_us", "worse")
    assert changed["difference"] == pytest.approx(1)


@pytest.mark.parametrize(
    ("difference", "allowed", "more_is_better", "expected"),
    [
        (0.0045, 0.0045, False, "agrees"),
        (-0.0045, 0.0045, False, "agrees"),
        (0.0046, 0.0045, False, "worse"),
        (-0.0046, 0.0045, False, "better"),
        (0.0101, 0.01, True, "better"),
        (-0.0101, 0.01, True, "worse"),
        (math.nan, 0.01, True, "not measured"),
    ],
)
def test_a_difference_that_is_not_allowed_is_better_or_worse(difference, allowed, more_is_better, expected):
    assert verdict(difference, allowed, more_is_better) == expected


def test_rounding_is_half_a_unit_of_the_last_printed_digit_also_where_that_is_zero():
    printed = rounding("ood_auroc")
    row = (printed["model"] == "FCNN") & (printed["ood_dataset"] == "notMNIST") & (printed["student"] == "large")
    row &= (printed["estimator"] == "us") & (printed["uncertainty"] == "total")
    assert printed.loc[row, "gped"].item() == 0.0005  # of 0.670
    assert rounding("ndcg").loc[0, ["gped_mean", "gped_std"]].tolist() == [0.0005, 0.005]  # of 0.954 and 0.02
    assert rounding("estimators")["masking_rate"].max() == 0.8  # what tells rows apart stays


# Quantiles of Student's t by a printed table: 4.303 for 2 degrees of freedom, 2.776 for 4.
@pytest.mark.parametrize(
    ("std", "seeds", "error", "by_hand"),
    [
        (0.01, 3, 0.0, 4.303 * 0.01 * math.sqrt(4 / 3) + 0.0005),
        (0.01, 5, 0.0, 2.776 * 0.01 * math.sqrt(6 / 5) + 0.0005),
        (0.01, 5, 0.002, 2.776 * 0.01 * math.sqrt(6 / 5) + 0.0005 + 1.960 * 0.002),
        (0.0, 3, 0.0, 0.0005),
    ],
)
def test_the_prediction_interval_is_that_of_one_new_run_and_includes_what_else_is_known(std, seeds, error, by_hand):
    assert half_interval(std, seeds, 0.0005, error) == pytest.approx(by_hand, rel=2e-4)


def test_one_new_run_is_in_the_interval_as_often_as_it_says():
    generator, trials, seeds = np.random.default_rng(0), 20_000, 4
    runs = generator.normal(0.4, 0.01, size=(trials, seeds + 1))
    ours = runs[:, :seeds]
    off = np.abs(ours.mean(1) - runs[:, seeds])
    half = half_interval(1.0, seeds, 0.0) * ours.std(1, ddof=1)
    assert (off <= half).mean() == pytest.approx(0.95, abs=0.005)


def with_spread(tables: dict[str, pd.DataFrame], std: float) -> dict[str, pd.DataFrame]:
    numbers = {name: [c for c in frame if c not in ROW_KEYS] for name, frame in tables.items()}
    return {name: f.assign(**{f"{c}_seed_std": std for c in numbers[name]}) for name, f in tables.items()}


def test_with_three_seeds_their_spread_decides_and_with_two_the_smallest_effect(tables):
    moved = {name: frame.copy() for name, frame in tables.items()}
    for column in ("ensemble", "gped", "end2"):
        moved["ood_auroc"][column] -= 0.02
    for seeds, expected in ((2, "worse"), (3, "agrees")):
        result = compare(with_spread(moved, 0.01), LONG, seeds).query("table == 'ood_auroc'")
        assert set(result["verdict"]) == {expected}
        assert set(result["rule"]) == {{2: "half the smallest effect", 3: "prediction interval"}[seeds]}
        assert set(result["seeds"]) == {seeds} and set(result["steps"]) == {10**6}
        half = {2: 0.01, 3: 4.303 * 0.01 * math.sqrt(4 / 3) + 0.0005}[seeds]
        np.testing.assert_allclose(result["high"] - result["reproduced"], half, atol=1e-5)
        np.testing.assert_allclose(result["reproduced"] - result["low"], half, atol=1e-5)
    exact = compare(with_spread(moved, 0.0001), LONG, 3).query("table == 'ood_auroc'")
    assert set(exact["verdict"]) == {"worse"}


def test_the_samples_of_ndcg_are_allowed_for_because_all_our_seeds_have_the_same(tables):
    result = compare(with_spread(tables, 0.0), LONG, 3).query("table == 'ndcg'")
    row = result.iloc[0]  # 0.954 ± 0.02, in the place of ours, too
    assert row["high"] - row["reproduced"] == pytest.approx(0.0005 + 1.96 * 0.02 * math.sqrt(2 / 500), rel=1e-3)


def test_the_length_of_the_chain_stands_beside_a_number_and_excuses_nothing(tables):
    tables["exp1"]["teacher_nll"] += 0.1
    short = compare(tables, [(model, dataset, 50_000) for model, dataset, _ in LONG], 1)
    rows = short[(short["table"] == "exp1") & (short["quantity"] == "teacher_nll")]
    assert set(rows["verdict"]) == {"worse"} and set(rows["steps"]) == {50_000}
    assert compare({}, LONG, 1)[["steps", "seeds", "low", "high"]].isna().all(axis=None)


def test_more_is_better_only_of_detection_and_ranking(tables):
    for frame in tables.values():
        numbers = frame.select_dtypes("float").columns.difference(["masking_rate"])
        frame[numbers] += 5
    result = compare(tables, LONG, 1)
    found = result.groupby("table")["verdict"].agg(set)
    assert found["ood_auroc"] == found["ndcg"] == {"better"}
    assert found["exp1"] == found["estimators"] == found["test_metrics"] == {"worse"}
    assert directions(result) == (255 + 51, 462)


# What a table's numbers are held against must be what the paper draws from it.


def test_the_smallest_effects_are_those_of_the_published_numbers(tables):
    grid, test = tables["estimators"], tables["test_metrics"].query("student == 'large'")
    ood, ndcg = tables["ood_auroc"], tables["ndcg"]
    ranking = ndcg["gped_mean"] - ndcg["end2_mean"]
    error = test["entropy_mae_end2"] - test["entropy_mae_gped"]
    found = {
        ("estimators", "NLL"): (grid["student_nll_us"] - grid["student_nll_uo"]).median(),
        ("estimators", "entropy MAE"): (grid["entropy_mae_us"] - grid["entropy_mae_uo"]).median(),
        ("test_metrics", "NLL"): (test["nll_end2"] - test["nll_gped"]).mean(),
        ("test_metrics", "entropy MAE"): error[test["dataset"] == "MNIST"].mean(),
        ("ndcg", "nDCG"): ranking.groupby(ndcg["student"]).mean().min(),
    }
    assert {key: round(value, 3) for key, value in found.items()} == {key: EFFECTS[key].size for key in found}
    assert EFFECTS["ood_auroc", "AUROC"].size == round((ood["gped"] - ood["end2"]).mean(), 2)
    for kind in ("NLL", "entropy MAE"):
        assert EFFECTS["exp1", kind].size == EFFECTS["estimators", kind].size  # the same numbers
    assert len(EFFECTS) == len(found) + 3


# Power: numbers that are not the published ones must mostly be told from them.


def share_that_agrees(tables: dict[str, pd.DataFrame], quantities: str = "") -> float:
    result = compare(tables, LONG, 1).dropna(subset="reproduced")
    result = result[result["quantity"].str.contains(quantities)]
    assert len(result) >= 24
    return (result["verdict"] == "agrees").mean()


@pytest.mark.parametrize("table", ["test_metrics", "ood_auroc", "ndcg"])
def test_end2_in_the_place_of_gped_mostly_fails(table, tables):
    frame = tables[table]
    swapped = frame.assign(**{c: frame[c.replace("gped", "end2")] for c in frame if "gped" in c})
    assert share_that_agrees({table: swapped}, "gped") < 1 / 6
    assert share_that_agrees({table: frame}, "gped") == 1


def test_a_constant_for_every_auroc_fails_and_so_do_the_means_of_the_tables(tables):
    constant = tables["ood_auroc"].assign(ensemble=0.85, gped=0.85, end2=0.85)
    assert share_that_agrees({"ood_auroc": constant}) < 1 / 20
    for name in ("estimators", "test_metrics", "ood_auroc", "ndcg"):
        frame = tables[name]
        means = {c: frame[c].mean() for c in frame if c not in ROW_KEYS}
        assert share_that_agrees({name: frame.assign(**means)}) < 1 / 10


def of_the_neighbour(frame: pd.DataFrame, along: str) -> pd.DataFrame:
    """Every cell with the numbers of the next mask, training size or student; the last with those of the one before."""
    others = [key for key in ROW_KEYS if key in frame and key != along]
    numbers = [column for column in frame if column not in ROW_KEYS]
    parts = []
    for _, part in frame.groupby(others, dropna=False):
        part = part.sort_values(along)
        if len(part) > 1:
            order = [*range(1, len(part)), len(part) - 2]
            parts.append(part.assign(**{column: part[column].to_numpy()[order] for column in numbers}))
    return pd.concat(parts)


@pytest.mark.parametrize(
    ("table", "along", "quantities", "most"),
    [
        ("estimators", "masking_rate", "", 1 / 50),
        ("estimators", "train_size", "nll", 1 / 6),
        ("estimators", "train_size", "mae", 1 / 2),  # from size to size the paper's change by 0.004, in the median
        ("ood_auroc", "student", "gped|end2", 1 / 5),
        ("ndcg", "student", "", 1 / 10),
        ("test_metrics", "student", "gped|end2", 1 / 3),  # GPED's FCNN is as good as it gets at the base's size
    ],
)
def test_the_numbers_of_a_neighbouring_cell_mostly_fail(table, along, quantities, most, tables):
    assert share_that_agrees({table: of_the_neighbour(tables[table], along)}, quantities) < most


# Each number counts once.


def test_each_number_counts_once_whichever_tables_it_stands_in(tables):
    result = compare(tables, LONG, 1)
    numbers = set()
    for row in result.astype(object).fillna("").to_dict("records"):
        number = {key: row[key] for key in ("table", *ROW_KEYS, "quantity")}
        if row["table"] == "exp1":
            size = 50_000 if row["dataset"] == "CIFAR10" else 60_000
            number |= {"table": "estimators", "train_size": size, "masking_rate": 0}
            number["quantity"] += {"student_nll": "_us", "entropy_mae": "_uo"}.get(row["quantity"], "")
        if row["quantity"] in ("nll_ensemble", "ensemble"):
            number |= {"estimator": "any", "student": "any"}
        numbers.add(tuple(number.values()))
    assert len(numbers) == len(counted(result)) == 516 - 9 - 3 * (3 + 12)


def test_of_two_values_printed_for_one_number_the_more_frequent_counts(tables):
    result = compare(tables, LONG, 1)
    rows = result.query("quantity == 'ensemble' and model == 'FCNN' and uncertainty == 'knowledge'")
    rows = rows[rows["ood_dataset"] == "KMNIST"]
    assert sorted(rows["published"]) == [0.948, 0.948, 0.948, 0.976]
    assert rows.loc[~rows["repeats"], "published"].tolist() == [0.948]


def test_a_run_of_experiment_1_alone_counts_its_numbers(tables):
    result = compare({"exp1": tables["exp1"]}, LONG, 1)
    assert counted(result)["table"].value_counts()["exp1"] == 9
    assert len(counted(result)) == 462 and directions(result)[1] == 9
    without = tables["estimators"].drop(columns="student_nll_us")
    once = counted(compare({"exp1": tables["exp1"], "estimators": without}, LONG, 1)).query("table == 'exp1'")
    assert set(once["quantity"]) == {"student_nll"}  # which is that of U_s


def test_the_counts_are_those_of_a_plain_loop_and_stand_above_the_numbers(tables):
    generator = np.random.default_rng(0)
    for name in ("estimators", "test_metrics"):
        for column in (c for c in tables[name] if c not in ROW_KEYS and "ensemble" not in c):
            tables[name][column] += generator.normal(0, 0.01, len(tables[name]))
    del tables["ndcg"], tables["exp1"]
    result = compare(tables, LONG, 1)
    expected = dict.fromkeys(itertools.product(result["table"].unique(), VERDICTS), 0)
    worse = 0
    for row in result.to_dict("records"):
        if not row["repeats"]:
            expected[row["table"], row["verdict"]] += 1
            worse += row["difference"] > 0 and row["table"] in ("estimators", "test_metrics")
    table = counts(result).set_index("table").astype(int)
    assert {key: table.loc[key] for key in expected} == expected
    assert table.loc["all", list(VERDICTS)].sum() == 462 and table.loc["ndcg", "not measured"] == 48
    assert directions(result) == (worse, 462 - 48) and table.loc["all", "differences for the worse"] == worse
    (first, _, note), (effects, *_), (every, *_) = pages(result)
    assert first.equals(counts(result)) and len(every) == 516
    assert note.startswith("Of the 462 numbers in the paper's tables (516 with repetitions) it makes 414: ")
    assert f"{worse} of the 414 differences are for the worse." in note
    assert table.loc["all", ["printed", "counted"]].tolist() == [516, 462]
    assert all(name in note for name in VERDICTS)
    assert effects["off by at most"].tolist() == [f"{effect.size / 2:g}" for effect in EFFECTS.values()]
    assert effects.query("table == 'ood_auroc'")["off by at most"].item() == "0.01"


def test_numbers_on_other_data_are_set_beside_nothing(tables):
    result = compare({name: frame.assign(dataset="MNIST5k") for name, frame in tables.items()}, LONG, 1)
    assert set(result["verdict"]) == {"not measured"}
    assert in_words(result) == "Of the 462 numbers in the paper's tables (516 with repetitions) it makes none."
