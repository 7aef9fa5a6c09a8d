"""The paper's claims with verdicts: computed, never written; for each, numbers that turn it round."""

import itertools
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from tests.helpers import published_tables
from workflow.reporting.claims import CLAIMS, judge, note, read

Tables = dict[str, pd.DataFrame]
CELL = ["model", "dataset", "train_size", "masking_rate"]


@pytest.fixture
def published() -> Tables:
    return published_tables("text")


def searched(model: str, dataset: str, target: str, base: float) -> list[dict]:
    """Students of one model: a search over three widths, and three pruned ones that do better at each cost."""
    common = {"model": model, "dataset": dataset, "target": target}
    search = [("search", k, 100_000 * k * k, base / k) for k in (0.5, 1, 2)]
    prune = [("prune", 2, cost, error) for cost, error in ((20_000, base), (90_000, 0.8 * base), (390_000, 0.4 * base))]
    rows = []
    for method, k, cost, error in [*search, *prune]:
        numbers = {"nll": error, "accuracy": 1 - error / 5, "entropy_mae": np.nan}
        if target == "entropy":
            numbers = {"nll": np.nan, "accuracy": np.nan, "entropy_mae": error}
        rows.append(
            common
            | {"method": method, "k1": k, "k2": k, "params": cost, "macs": 10 * cost, "pareto": "macs+params"}
            | numbers
        )
    return rows


@pytest.fixture
def tables() -> Tables:
    """A run on which every claim holds that can: the published tables, corrected where the paper contradicts itself."""
    tables = published_tables()
    fcnn = tables["exp1"]["model"] == "FCNN"
    tables["exp1"].loc[fcnn, ["teacher_nll", "student_nll"]] = 0.042, 0.050
    grid = tables["estimators"]
    grid.loc[grid["masking_rate"] == 0.8, "teacher_nll"] = [2.3 + 1e-3 * i for i in range(7, -1, -1)]
    grid["student_nll_uo"] = grid["student_nll_us"] - 0.001
    tables["constants"] = grid[[*CELL, "entropy_mae_uo", "entropy_mae_us"]].assign(constant_mae=1.0)
    models = itertools.product([("FCNN", "MNIST"), ("CNN", "MNIST"), ("CNN", "CIFAR10")], ("predictive", "entropy"))
    tables["tradeoff"] = pd.DataFrame(itertools.chain(*(searched(*model, target, 0.4) for model, target in models)))
    ood, ndcg = tables["ood_auroc"], tables["ndcg"]
    ood["end2"] = ood["end2"].where(ood["gped"] != ood["end2"], ood["end2"] - 0.01)
    ndcg["end2_mean"] = ndcg["end2_mean"].where(ndcg["gped_mean"] != ndcg["end2_mean"], ndcg["end2_mean"] - 0.01)
    keys = tables["test_metrics"][["model", "dataset", "estimator", "student"]]
    accuracy = {"ensemble": 0.95, "gped": 0.93, "end2": 0.92}
    tables["accuracy"] = pd.concat([keys.assign(method=method, accuracy=a) for method, a in accuracy.items()])
    return tables


def found(published: Tables, tables: Tables, seeds: int = 1) -> dict[str, tuple[str, str]]:
    return {row.claim: (row.reproduced, row.verdict) for row in judge(published, tables, seeds).itertuples()}


def changed(table: str, **columns: Callable[[pd.DataFrame], object]) -> Callable[[Tables], Tables]:
    """The same tables with other columns in one of them."""
    return lambda tables: tables | {table: tables[table].assign(**columns)}


def reversed_along(key: str) -> Callable[[Tables], Tables]:
    """The grid of experiment 2 with the largest size or mask in the place of the smallest, and so on."""

    def turn(tables: Tables) -> Tables:
        grid = tables["estimators"]
        values = grid.groupby(["model", "dataset"])[key].transform(
            lambda v: v.map(dict(zip(sorted(set(v)), sorted(set(v), reverse=True), strict=True)))
        )
        return tables | {"estimators": grid.assign(**{key: values})}

    return turn


def exchanged(table: str, one: str, other: str) -> Callable[[Tables], Tables]:
    """Two kinds of columns, or two values of a column, in each other's place."""

    def turn(tables: Tables) -> Tables:
        frame = tables[table]
        both = {c: c.replace(one, other) if one in c else c.replace(other, one) for c in frame}
        return tables | {table: frame.rename(columns=both).replace({one: other, other: one})}

    return turn


def pruned(**columns: Callable[[pd.DataFrame], object]) -> Callable[[Tables], Tables]:
    """Other columns of the pruned students alone."""

    def turn(tables: Tables) -> Tables:
        frame = tables["tradeoff"].copy()
        rows = frame["method"] == "prune"
        for name, value in columns.items():
            frame.loc[rows, name] = value(frame[rows])
        return tables | {"tradeoff": frame}

    return turn


def flat(part: pd.DataFrame) -> pd.Series:
    return 0.5 + 0.0 * part["masking_rate"] + 1e-6 * part["train_size"]


TURNS: dict[str, Callable[[Tables], Tables]] = {
    "The FCNN's NLLs on MNIST closely replicate those of Bayesian Dark Knowledge": changed(
        "exp1", student_nll=lambda t: t["student_nll"] + 0.01, teacher_nll=lambda t: t["teacher_nll"] + 0.01
    ),
    "The entropy error of base students is low on MNIST": changed(
        "constants", constant_mae=lambda t: 1.05 * t["entropy_mae_uo"]
    ),
    "On CIFAR-10 the base student does not match the teacher, as it does on MNIST": changed(
        "exp1", student_nll=lambda t: t["teacher_nll"], entropy_mae=0.1
    ),
    "The teacher's NLL falls with more training data": reversed_along("train_size"),
    "The teacher's NLL rises with masking": reversed_along("masking_rate"),
    "Masking changes the teacher's NLL much more than the training size does": changed("estimators", teacher_nll=flat),
    "The student's NLL gap falls with more training data": reversed_along("train_size"),
    "The NLL gap is largest at moderate masking": changed(
        "estimators", student_nll_us=lambda t: t["teacher_nll"] + t["masking_rate"]
    ),
    "Under the largest mask the teacher is essentially uniform": changed(
        "estimators", teacher_nll=lambda t: t["teacher_nll"] - 0.2
    ),
    "The entropy MAE is largest at moderate masking": changed("estimators", entropy_mae_uo=lambda t: t["masking_rate"]),
    "On CIFAR-10 the entropy MAE rises with more training data": reversed_along("train_size"),
    "On MNIST the FCNN's results are similar to the CNN's": changed(
        "estimators",
        teacher_nll=lambda t: t["teacher_nll"].where(t["model"] == "CNN", -t["teacher_nll"]),
        entropy_mae_uo=lambda t: t["entropy_mae_uo"].where(t["model"] == "CNN", -t["entropy_mae_uo"]),
        student_nll_us=0.0,
    ),
    "U_o is almost always better than U_s in NLL": exchanged("estimators", "uo", "us"),
    "U_o is almost always better than U_s in entropy MAE": exchanged("estimators", "uo", "us"),
    "Search and pruning improve strongly on the base student": changed(
        "tradeoff", nll=lambda t: 1 + 0.1 * t["nll"], entropy_mae=lambda t: 1 + 0.1 * t["entropy_mae"]
    ),
    "Larger students of the search are better": changed(
        "tradeoff", nll=lambda t: -t["nll"], entropy_mae=lambda t: -t["entropy_mae"]
    ),
    "Pruning beats exhaustive search at equal cost": pruned(
        params=lambda t: 10 * t["params"], macs=lambda t: 10 * t["macs"]
    ),
    "Pruning takes less than half of the base's multiply-adds on MNIST with a small loss": pruned(
        macs=lambda t: 500_000 + t["macs"]
    ),
    "The best student comes from pruning": pruned(
        nll=lambda t: 1 + t["nll"], accuracy=lambda t: 0.1, entropy_mae=lambda t: 1 + t["entropy_mae"]
    ),
    "Larger students close the gap to the ensemble": exchanged("test_metrics", "base", "large"),
    "GPED beats EnD² on every in-distribution metric: NLL and entropy MAE": exchanged("test_metrics", "gped", "end2"),
    "GPED beats EnD² on every in-distribution metric: accuracy": exchanged("accuracy", "gped", "end2"),
    "GPED tracks the expected entropy better than EnD² (largest students, U_s)": exchanged(
        "test_metrics", "gped", "end2"
    ),
    "GPED beats EnD² in 75 % of out-of-distribution settings": exchanged("ood_auroc", "gped", "end2"),
    "GPED beats EnD² in 91 % of ranking settings": exchanged("ndcg", "gped", "end2"),
}


def test_every_claim_is_judged_and_has_numbers_that_turn_it_round(published, tables):
    sentences = [claim.sentence for claim in CLAIMS]
    assert judge(published, tables, 1)["claim"].tolist() == sentences == list(TURNS)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.sentence)
def test_a_claim_holds_or_not_as_the_numbers_say(claim, tables):
    assert claim.verdict(claim.find(tables)) == "holds"
    assert claim.verdict(claim.find(TURNS[claim.sentence](tables))) == "does not hold"


def test_the_published_numbers_are_counted_strictly_and_ties_are_told(published):
    counts = found(published, published_tables())
    assert counts["U_o is almost always better than U_s in NLL"] == (
        "41 of 51, 6 ties (51 chains, 1 seed)",
        "holds partly",
    )
    assert counts["U_o is almost always better than U_s in entropy MAE"] == ("48 of 51 (51 chains, 1 seed)", "holds")
    assert counts["GPED beats EnD² on every in-distribution metric: NLL and entropy MAE"][0].startswith("24 of 24 (")
    detection = counts["GPED beats EnD² in 75 % of out-of-distribution settings"]
    assert detection == ("35 of 48, 1 tie (3 chains, 1 seed)", "holds partly")  # 75 % with the tie
    assert counts["GPED beats EnD² in 91 % of ranking settings"] == (
        "21 of 24, 1 tie (3 chains, 1 seed)",
        "holds partly",
    )
    assert counts["Under the largest mask the teacher is essentially uniform"] == (
        "4 of 8 (8 chains, 1 seed)",  # the CNN's: the FCNN's NLL is 2.1, and ln 10 is 2.3
        "does not hold",
    )
    assert counts["The FCNN's NLLs on MNIST closely replicate those of Bayesian Dark Knowledge"][1] == "does not hold"


def test_the_counts_against_brute_force(published):
    grid = published_tables()["estimators"]
    rows = {tuple(row[key] for key in CELL): row for row in grid.to_dict("records")}
    falls = steps = 0
    for (model, dataset, size, mask), row in rows.items():
        following = {10_000: 20_000, 20_000: 50_000 if dataset == "CIFAR10" else 30_000, 30_000: 60_000}.get(size)
        if following:
            steps += 1
            falls += rows[model, dataset, following, mask]["teacher_nll"] < row["teacher_nll"]
    count = found(published, {"estimators": grid})["The teacher's NLL falls with more training data"][0]
    assert count.startswith(f"{falls} of {steps}, 1 tie")
    at = [0, 0.03, 0.13, 0.29, 0.51, 0.8]
    inside = 0
    for model, size in itertools.product(("CNN", "FCNN"), (10_000, 20_000, 30_000, 60_000)):
        gaps = [
            rows[model, "MNIST", size, m]["student_nll_us"] - rows[model, "MNIST", size, m]["teacher_nll"] for m in at
        ]
        inside += gaps.index(max(gaps)) not in (0, 5)
    assert found(published, {"estimators": grid})["The NLL gap is largest at moderate masking"][0].startswith(
        f"{inside} of 8 ("
    )


def test_a_peak_at_the_end_is_no_tie(tables):
    claim = "The NLL gap is largest at moderate masking"
    turned = TURNS[claim]({"estimators": tables["estimators"]})
    assert found({}, turned)[claim][0] == "0 of 8 (48 chains, 1 seed)"


def test_networks_are_alike_in_their_gaps_not_in_their_students_alone(tables):
    claim, grid = "On MNIST the FCNN's results are similar to the CNN's", tables["estimators"]
    gap = 0.001 * (grid["student_nll_us"] - grid["teacher_nll"]).where(grid["model"] == "CNN", -grid["teacher_nll"])
    count = next(one for one in CLAIMS if one.sentence == claim).find(
        {"estimators": grid.assign(student_nll_us=grid["teacher_nll"] + gap)}
    )
    assert str(count) == "2 of 3"


def test_our_numbers_are_rounded_like_the_papers_before_they_are_compared(published, tables):
    grid = tables["estimators"]
    tables["estimators"] = grid.assign(student_nll_uo=grid["student_nll_us"] - 1e-4)
    claim = "U_o is almost always better than U_s in NLL"
    assert found(published, tables)[claim] == ("0 of 51, 51 ties (51 chains, 1 seed)", "does not hold")


def test_what_is_left_out_as_dead_does_not_depend_on_which_estimator_won(tables):
    claim = "U_o is almost always better than U_s in entropy MAE"
    tables = {name: tables[name] for name in ("estimators", "constants")}
    constants = tables["constants"]
    assert found({}, tables)[claim] == ("48 of 51 (51 chains, 1 seed)", "holds")
    both = constants[["entropy_mae_uo", "entropy_mae_us"]].mean(axis=1)
    constants["constant_mae"] = both.where(constants.index < 40, 1.0)
    rest = tables["estimators"][40:]
    true = (rest["entropy_mae_uo"] < rest["entropy_mae_us"]).sum()
    assert found({}, tables)[claim][0] == f"{true} of 11 (11 chains, 1 seed)"
    swap = {"entropy_mae_uo": "entropy_mae_us", "entropy_mae_us": "entropy_mae_uo"}
    swapped = {name: tables[name].rename(columns=swap) for name in tables}
    ties = (rest["entropy_mae_uo"] == rest["entropy_mae_us"]).sum()
    assert found({}, swapped)[claim][0] == f"{11 - ties - true} of 11 (11 chains, 1 seed)"
    constants["constant_mae"] = 1.001 * both  # a little better than a constant, each of them
    assert found({}, tables)[claim][0] == "48 of 51 (51 chains, 1 seed)"
    constants["constant_mae"] = both
    (row,) = judge({}, tables, 1).query("claim == @claim").to_dict("records")
    assert (row["reproduced"], row["verdict"]) == ("", "not measured")
    assert row["evidence"] == "needs entropy students that are better than a constant"


def test_half_the_cost_is_counted_in_multiply_adds_and_on_mnist_alone(tables):
    claim = "Pruning takes less than half of the base's multiply-adds on MNIST with a small loss"
    tables = {"tradeoff": tables["tradeoff"]}
    assert found({}, tables)[claim][0] == "4 of 4 (2 chains, 1 seed)"
    heavy = pruned(params=lambda t: 500_000 + t["params"])(tables)
    assert found({}, heavy)[claim][0] == "4 of 4 (2 chains, 1 seed)"  # whatever they weigh
    exactly_half = pruned(macs=lambda t: t["macs"].clip(lower=500_000))(tables)
    assert found({}, exactly_half)[claim][0] == "0 of 4 (2 chains, 1 seed)"  # less than half
    dear = tables["tradeoff"].copy()
    rows = (dear["dataset"] == "CIFAR10") & (dear["method"] == "prune")
    dear.loc[rows, "macs"] += 500_000
    assert found({}, {"tradeoff": dear})[claim][1] == "holds"


def test_pruned_students_are_compared_at_no_more_than_equal_cost_and_a_tie_wins_nothing(tables):
    claim = "Pruning beats exhaustive search at equal cost"
    tables = {"tradeoff": tables["tradeoff"]}
    assert found({}, tables)[claim][0] == "36 of 36 (3 chains, 1 seed)"
    search = tables["tradeoff"].query("method == 'search'")
    copies = search.assign(method="prune")
    tied = {"tradeoff": pd.concat([search, copies], ignore_index=True)}
    assert found({}, tied)[claim] == ("0 of 36, 36 ties (3 chains, 1 seed)", "does not hold")
    assert found({}, tied)["The best student comes from pruning"][0] == "0 of 9, 9 ties (3 chains, 1 seed)"


def test_several_seeds_are_more_chains(tables):
    (count,) = (count for count, verdict in found({}, {"ndcg": tables["ndcg"]}, seeds=3).values() if count)
    assert count == "22 of 24 (9 chains, 3 seeds)"


def test_sets_that_the_paper_does_not_have_do_not_count_for_its_claim(published, tables):
    more = tables["ood_auroc"].assign(ood_dataset="SVHN", gped=1.0)
    claim = "GPED beats EnD² in 75 % of out-of-distribution settings"
    before = found(published, tables)[claim]
    assert found(published, tables | {"ood_auroc": pd.concat([tables["ood_auroc"], more])})[claim] == before


def test_changing_the_published_numbers_changes_nothing_of_ours(published, tables):
    before = judge(published, tables, 1)
    for name, frame in published.items():
        numbers = frame.select_dtypes("number").columns.difference(CELL)
        published[name] = frame.assign(**{column: frame[column].to_numpy()[::-1] for column in numbers})
    after = judge(published, tables, 1)
    ours = ["claim", "reproduced", "evidence", "verdict"]
    pd.testing.assert_frame_equal(before[ours], after[ours])
    assert (before["published"] != after["published"]).any()


def test_what_a_run_does_not_make_is_not_measured_and_says_what_is_lacking(published, tables):
    result = judge(published, {}, 1)
    assert set(result["verdict"]) == {"not measured"} and set(result["reproduced"]) == {""}
    assert result["evidence"].str.fullmatch(r"needs the table \w+ of experiment [\d or]+").all()
    grid = tables["estimators"]
    few = judge(published, {"estimators": grid[grid["masking_rate"] < 0.1]}, 1).set_index("claim")["evidence"]
    assert few["The NLL gap is largest at moderate masking"] == "needs at least 3 masking rates in the table estimators"
    assert few["Under the largest mask the teacher is essentially uniform"].startswith("needs a masking rate of 0.8")
    mnist = judge(published, {"estimators": grid[grid["dataset"] == "MNIST"]}, 1).set_index("claim")["evidence"]
    claim = "On CIFAR-10 the entropy MAE rises with more training data"
    assert mnist[claim] == "needs numbers on CIFAR10 in the table estimators"
    searched_only = tables["tradeoff"].query("method == 'search'")
    search = judge(published, {"tradeoff": searched_only}, 1).set_index("claim")
    assert "search and prune" in search.loc["The best student comes from pruning", "evidence"]
    assert search.loc["Larger students of the search are better", "verdict"] == "holds"


def test_what_only_the_papers_figures_show_is_said_to_be_there(published):
    result = judge(published, {}, 1).set_index("claim")["published"]
    assert result["Pruning beats exhaustive search at equal cost"] == "only in figures"
    assert result["The entropy error of base students is low on MNIST"] == "the paper does not say"
    assert result["Search and pruning improve strongly on the base student"].startswith("holds: 1 of 1 (1 chain)")


def test_numbers_on_other_data_are_counted_in_the_place_of_the_papers_and_judge_no_claim(published, tables):
    stand_ins = {"MNIST5k": "MNIST", "PhotoLetters": "CIFAR10"}
    names = {place: name for name, place in stand_ins.items()}
    demonstration = judge(published, {name: frame.replace(names) for name, frame in tables.items()}, 1, stand_ins)
    assert set(demonstration["verdict"]) == {"not judged"}
    assert demonstration["reproduced"].tolist() == judge(published, tables, 1)["reproduced"].tolist()
    assert "On MNIST5k (in MNIST's place), PhotoLetters (in CIFAR10's place): a demonstration" in note(stand_ins)
    assert "demonstration" not in note({})


def test_the_verdict_is_read_beside_the_claim(published, tables):
    judged = judge(published, tables, 1)
    assert list(judged) == ["claim", "published", "reproduced", "evidence", "verdict"]
    assert list(read(judged))[:2] == ["claim", "verdict"] and len(read(judged)) == len(CLAIMS)
