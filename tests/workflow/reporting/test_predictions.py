"""Predictions are counted as docs/predictions.md says, in tables of which the answer is known."""

import re

import pandas as pd
import pytest

from tests.helpers import ROOT
from workflow.reporting.frames import with_frontier
from workflow.reporting.predicted.schedules import LARGEST, PER_PASS, SMALLEST
from workflow.reporting.predictions import HYPOTHESES, outcomes
from workflow.reporting.published import published

CELLS = published("estimators").query("dataset == 'MNIST' and masking_rate in (0, 0.29)")
OFF, ON = "dropout after the first hidden layer only", "the same, left on at prediction"


def ablation(name: str, model: str, estimator: str, gaps: dict[str, list[float]], quantity: str = "nll_gap"):
    """Rows of a table of ablations: for each setting, how far the gap of each cell is from the published one."""
    cells = CELLS[CELLS["model"] == model]
    theirs = cells[f"student_nll_{estimator}"] - cells["teacher_nll"]
    keys = cells[["model", "dataset", "train_size", "masking_rate"]]
    return [
        keys.assign(
            ablation=name, estimator=estimator, setting=setting, quantity=quantity, value=(theirs + off).to_numpy()
        )
        for setting, off in gaps.items()
    ]


def outcome(number: int, tables: dict[str, pd.DataFrame], seeds: int = 3, steps: int = 10**6) -> tuple[str, str]:
    return outcome_of(f"H{number}", tables, seeds, steps)


def outcome_of(name: str, tables: dict[str, pd.DataFrame], seeds: int = 1, steps: int = 50_000) -> tuple[str, str]:
    table = outcomes({"run": (tables, seeds, steps)})
    (row,) = table[table["hypothesis"].str.startswith(f"{name}:")].itertuples()
    return row.outcome, row.counted


@pytest.mark.parametrize(
    ("nearer", "expected"), [(8, "as predicted"), (7, "as predicted"), (6, "neither"), (5, "neither"), (4, "refuted")]
)
def test_h1_counts_the_cells_in_which_100_epochs_are_nearer(nearer, expected):
    gaps = {"as configured": [0.01] * 8, "halving every 100 epochs": [0.001] * nearer + [0.02] * (8 - nearer)}
    tables = {"ablations": pd.concat(ablation("release", "CNN", "us", gaps))}
    found, told = outcome(1, tables)
    assert found == expected and told.startswith(f"100 is nearer in {nearer} of 8 cells")
    assert outcome(1, tables, seeds=2) == ("not run", "")


def test_h1_wants_gaps_within_a_third_as_well():
    gaps = {"as configured": [9.0] * 8, "halving every 100 epochs": [1.0] * 8}
    assert outcome(1, {"ablations": pd.concat(ablation("release", "CNN", "us", gaps))}) == (
        "neither",
        "100 is nearer in 8 of 8 cells, and within a third in 0",
    )


@pytest.mark.parametrize(
    ("on", "off", "expected"),
    [(8, 8, "as predicted"), (7, 7, "as predicted"), (6, 8, "neither"), (8, 4, "refuted"), (4, 8, "refuted")],
)
def test_h2_wants_dropout_on_for_one_estimator_and_off_for_the_other(on, off, expected):
    rows = [
        *ablation("release", "FCNN", "us", {ON: [0.0] * on + [0.02] * (8 - on), OFF: [0.01] * 8}),
        *ablation("release", "FCNN", "uo", {OFF: [0.0] * off + [0.02] * (8 - off), ON: [0.01] * 8}),
    ]
    told = f"nearer in {on} of 8 cells left on (U_s), in {off} off (U_o)"
    assert outcome(2, {"ablations": pd.concat(rows)}) == (expected, told)


@pytest.mark.parametrize(
    ("largest", "smallest", "expected"),
    [
        (-0.01, 0.03, "as predicted"),  # it rises with one schedule, and falls by less than half with the other
        (0.004, 0.0, "as predicted"),  # it stays
        (0.006, 0.0, "neither"),  # it falls, by less than half
        (0.06, 0.0, "refuted"),
        (0.0, 0.06, "refuted"),
    ],
)
def test_h3_compares_by_how_much_the_gap_falls(largest, smallest, expected):
    falls = {PER_PASS: 0.1, LARGEST: largest, SMALLEST: smallest}
    rows = [
        one.assign(value=[0.2 + fall * (size == 10000) for size in one["train_size"]])
        for model in ("CNN", "FCNN")
        for quantity in ("nll_gap", "kl_to_ensemble")
        for fall, one in zip(
            falls.values(), ablation("schedule", model, "us", dict.fromkeys(falls, [0.0] * 8), quantity), strict=True
        )
    ]
    found, told = outcome(3, {"ablations": pd.concat(rows)})
    count = 4 if expected == "as predicted" else 0
    assert found == expected and told.startswith(f"as said in {count} of 4 by NLL and in {count} by the divergence")
    assert told.endswith(f"by more than half in {4 if expected == 'refuted' else 0}")


@pytest.mark.parametrize(("ahead", "expected"), [(16, "as predicted"), (15, "neither"), (9, "neither"), (8, "refuted")])
def test_h4_counts_settings_on_mnist_in_which_gped_is_ahead_and_ties_for_nobody(ahead, expected):
    table = published("ood_auroc").assign(end2=0.5, gped=0.9)
    mnist = table["dataset"] == "MNIST"
    table.loc[mnist, "gped"] = [0.6] * ahead + [0.50049] * (32 - ahead)
    assert outcome(4, {"ood_auroc": table}) == (expected, f"GPED is ahead in {ahead} of 32 settings")
    assert outcome(4, {"ood_auroc": table}, steps=50_000) == ("not run", "")


@pytest.mark.parametrize(
    ("mae", "correlation", "expected"),
    [(0.018, 0.4, "as predicted"), (0.018, 0.2, "neither"), (0.019, 0.4, "neither"), (0.02, 0.4, "refuted")],
)
def test_h5_holds_entropy_errors_against_the_best_constant(mae, correlation, expected):
    table = published("exp1").assign(entropy_mae=0.01, beside_constant_mae=0.02, beside_correlation=0.9)
    table.loc[0, ["entropy_mae", "beside_correlation"]] = mae, correlation
    found, told = outcome(5, {"exp1": table})
    assert found == expected
    assert told.startswith(f"FCNN: MAE {mae:.4f} (constant 0.0200), correlation {correlation:.2f}, CNN: MAE 0.0100")


def masked(**changes: list[float]) -> dict[str, pd.DataFrame]:
    """The published table of MNIST, in which columns of the FCNN's 20 masked cells are changed by so much."""
    table = published("estimators").query("dataset == 'MNIST'").reset_index(drop=True)
    cells = table.query("model == 'FCNN' and masking_rate > 0").index
    assert len(cells) == 20
    for column, by in changes.items():
        table.loc[cells, column] += by
    return {"estimators": table}


@pytest.mark.parametrize(("above", "expected"), [(18, "as predicted"), (17, "neither"), (12, "refuted")])
def test_p1_counts_the_masked_cells_whose_ensemble_is_worse_than_published(above, expected):
    found, told = outcome_of("P1", masked(teacher_nll=[0.02] * above + [-0.02] * (20 - above)))
    assert found == expected and told.startswith(f"above in {above} of 20, by 0.01 to 0.06 in {above}")


def test_p2_compares_neighbours_in_the_table_and_leaves_out_printed_ties():
    tables = masked()
    assert outcome_of("P2", tables) == ("as predicted", "the same sign in 75 of 75")
    turned = {"estimators": tables["estimators"].assign(teacher_nll=-tables["estimators"]["teacher_nll"])}
    assert outcome_of("P2", turned) == ("refuted", "the same sign in 0 of 75")


@pytest.mark.parametrize(("larger", "expected"), [(0, "as predicted"), (1, "neither"), (4, "neither"), (5, "refuted")])
def test_p3_counts_gaps_that_are_larger_than_published(larger, expected):
    found, told = outcome_of("P3", masked(student_nll_us=[0.001] * larger + [-0.001] * (20 - larger)))
    assert found == expected
    assert told == f"larger than published in {larger} of 20, largest at m = 15 or 20 for 4 of 4 training sizes"


@pytest.mark.parametrize(("ahead", "expected"), [(0.009, "as predicted"), (0.02, "neither"), (0.04, "refuted")])
def test_p4_averages_by_how_much_one_estimator_is_ahead(ahead, expected):
    tables = masked()
    tables["estimators"]["student_nll_us"] = tables["estimators"]["student_nll_uo"] + ahead
    assert outcome_of("P4", tables) == (expected, f"U_o is ahead by {ahead:+.4f} on average of 20 cells")


@pytest.mark.parametrize(
    ("many", "few", "expected"), [(15, 2, "as predicted"), (15, 3, "neither"), (14, 0, "neither"), (8, 0, "refuted")]
)
def test_p5_counts_entropy_students_that_beat_the_constant(many, few, expected):
    tables = masked()
    table = tables["estimators"].query("model == 'FCNN' and masking_rate > 0").sort_values("masking_rate")
    better = [*(number < few for number in range(4)), *(number < many for number in range(16))]
    tables["constants"] = table.assign(constant_mae=0.05, entropy_mae_uo=[0.04 if one else 0.05 for one in better])
    told = f"better than the constant in {many} of 16, with m = 5 in {few} of 4"
    assert outcome_of("P5", tables) == (expected, told)


def test_p6_wants_one_network_on_either_side():
    assert outcome_of("P6", masked())[0] == "as predicted"
    assert outcome_of("P6", masked(teacher_nll=[0.2] * 20))[0] == "refuted"
    alone = masked()["estimators"].query("model == 'FCNN'")
    assert outcome_of("P6", {"estimators": alone}) == ("not run", "")


def test_predictions_of_masked_cells_wait_for_all_of_them():
    table = masked()["estimators"].query("not (model == 'FCNN' and train_size == 60000 and masking_rate == 0.8)")
    every = {"estimators": table, "constants": table.assign(constant_mae=1)}
    assert {outcome_of(f"P{number}", every)[0] for number in range(1, 6)} == {"not run"}


def tradeoffs(
    search: dict[float, tuple[float, float]], pruned: dict[float, tuple[float, float]]
) -> dict[str, pd.DataFrame]:
    """FCNN students of experiment 3: by cost over the base's, the NLL of one and the entropy MAE of the other."""
    rows = [
        {"model": "FCNN", "dataset": "MNIST", "train_size": 60000, "masking_rate": 0.29, "target": target}
        | {"method": method, "k1": cost, "k2": cost, "params": 100 * cost, "macs": 100 * cost, "accuracy": 0.9}
        | {
            "nll": errors[0] if target == "predictive" else None,
            "entropy_mae": errors[1] if target == "entropy" else None,
        }
        for target in ("predictive", "entropy")
        for method, students in (("search", search), ("prune", pruned))
        for cost, errors in students.items()
    ]
    return {"tradeoff": with_frontier(pd.DataFrame(rows).astype({"nll": float, "entropy_mae": float}))}


SEARCHED = {0.5: (0.46, 0.12), 1: (0.44, 0.10), 3: (0.40, 0.08)}
"""All on the frontier, and as predicted."""


@pytest.mark.parametrize(
    ("largest", "expected"),
    [((0.40, 0.08), "as predicted"), ((0.45, 0.08), "neither"), ((0.45, 0.11), "refuted"), ((0.44, 0.10), "refuted")],
)
def test_p7_wants_the_largest_to_be_better_in_both(largest, expected):
    tables = tradeoffs(SEARCHED | {3: largest}, {1: (0.45, 0.11)})
    assert outcome_of("P7", tables)[0] == expected


@pytest.mark.parametrize(
    ("pruned", "expected", "count"),
    [
        ({3: (0.39, 0.07)}, "as predicted", "4 of 12"),
        ({0.9: (0.39, 0.07)}, "neither", "8 of 12"),
        ({0.4: (0.39, 0.07)}, "refuted", "12 of 12"),
        ({4: (0.39, 0.07)}, "as predicted", "0 of 12"),
    ],
)
def test_p8_counts_students_on_the_frontier_that_a_pruned_one_of_no_more_cost_beats(pruned, expected, count):
    told = f"{count} students on the search's frontier are beaten"
    assert outcome_of("P8", tradeoffs(SEARCHED, pruned)) == (expected, told)


@pytest.mark.parametrize(
    ("best", "expected"),
    [((0.37, 0.08), "as predicted"), ((0.37, 0.09), "neither"), ((0.36, 0.08), "refuted"), ((0.36, 0.09), "refuted")],
)
def test_p9_wants_entropies_to_improve_strongly_and_nlls_not(best, expected):
    searched = {0.5: (0.46, 0.12), 1: (0.44, 0.10)}
    told = f"best over base: predictive {best[0] / 0.44:.2f}, entropy {best[1] / 0.1:.2f}"
    assert outcome_of("P9", tradeoffs(searched, {2: best})) == (expected, told)


@pytest.mark.parametrize(
    ("cost", "nll", "expected"), [(0.4, 0.48, "as predicted"), (0.4, 0.49, "refuted"), (0.5, 0.40, "refuted")]
)
def test_p10_wants_a_cheap_pruned_student_of_little_loss(cost, nll, expected):
    assert outcome_of("P10", tradeoffs(SEARCHED, {cost: (nll, 0.1)}))[0] == expected


def test_predictions_of_trade_offs_wait_for_both_methods():
    tables = tradeoffs(SEARCHED, {})
    assert {outcome_of(f"P{number}", tables)[0] for number in range(7, 11)} == {"not run"}


def sizes(**columns: list[float]) -> dict[str, pd.DataFrame]:
    """CIFAR-10's two smaller sizes, the larger first; columns are off from the published ones by so much."""
    table = published("estimators").query("dataset == 'CIFAR10' and train_size < 50000").iloc[::-1]
    return {"estimators": table.assign(**{name: table[name] + by for name, by in columns.items()})}


@pytest.mark.parametrize(
    ("off", "expected", "told"),
    [
        ([0.1, 0.1], "as predicted", "10,000 images 0.579 (0.479), 20,000 images 0.481 (0.381)"),
        ([0.3, 0.1], "neither", "10,000 images 0.579 (0.479), 20,000 images 0.681 (0.381)"),
        ([0.1, -0.01], "refuted", "10,000 images 0.469 (0.479), 20,000 images 0.481 (0.381)"),
    ],
)
def test_p11_wants_gaps_above_the_published_that_fall_with_data(off, expected, told):
    assert outcome_of("P11", sizes(student_nll_us=off)) == (expected, f"gap (published): {told}")


@pytest.mark.parametrize(("off", "expected"), [(-0.07, "as predicted"), (-0.06, "neither"), (-0.04, "refuted")])
def test_p12_wants_errors_that_do_not_rise_with_data(off, expected):
    found, told = outcome_of("P12", sizes(entropy_mae_uo=[off, 0]))
    assert found == expected and told == f"MAE 0.144 → {0.21 + off:.3f}"


def test_predictions_of_cifar10_wait_for_both_sizes():
    alone = {"estimators": sizes()["estimators"].iloc[:1]}
    assert {outcome_of(f"P{number}", alone)[0] for number in (11, 12)} == {"not run"}


def test_tables_that_do_not_tell_decide_nothing():
    assert set(outcomes({"run": ({}, 3, 10**6)})["outcome"]) == {"not run"}


def test_the_document_has_the_same_hypotheses():
    text = (ROOT / "docs/predictions.md").read_text()
    assert re.findall(r"^\| ([HP]\d+) \|", text, re.MULTILINE) == [one.name for one in HYPOTHESES]
