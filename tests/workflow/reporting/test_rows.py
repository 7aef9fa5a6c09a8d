"""The rows of the tables, from what a small run that we make up says."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax

from gped.data.images import ImageSet
from tests.helpers import configuration
from tests.naive import metrics as naive
from workflow.experiments.names import Cell, StudentId
from workflow.experiments.paths import Paths
from workflow.experiments.plan import Plan
from workflow.jobs.arrays import save_arrays
from workflow.reporting.comparison import compare
from workflow.reporting.forms import as_text
from workflow.reporting.published import published
from workflow.reporting.results import Results
from workflow.reporting.rows import ROWS

COUNT, CLASSES = 40, 10
CELL = Cell("fcnn_mnist", "MNIST", 1000, 15, 0)
PREDICTIVE = {u: StudentId("predictive", u, 1, 1, 1) for u in ("us", "uo")}
ENTROPY = {u: StudentId("entropy", u, 1, 1, 1) for u in ("us", "uo")}
PRUNED = StudentId("predictive", "us", 1, 2, 2, 0.5)
JOINT, END2 = StudentId("joint", "us", 1, 1, 1), StudentId("end2", "us", 1, 1, 1)
GENERATOR = np.random.default_rng(0)


def distribution(sharpness: float = 1.0) -> np.ndarray:
    return softmax(sharpness * GENERATOR.normal(size=(COUNT, CLASSES)), axis=1).astype(np.float32)


def entropy(p: np.ndarray) -> np.ndarray:
    return -(p * np.log(p)).sum(1)


def decomposed(prefix: str, sharpness: float) -> dict[str, np.ndarray]:
    p = distribution(sharpness)
    data = (0.5 * entropy(p)).astype(np.float32)
    names = {"probabilities": p, "total": entropy(p), "data": data, "knowledge": entropy(p) - data}
    return {f"{prefix}/{name}": values.astype(np.float32) for name, values in names.items()}


class Run:
    """A run with one cell, whose files are made up."""

    def __init__(self, folder: Path) -> None:
        self.paths = Paths(str(folder))
        self.labels = np.arange(COUNT) % CLASSES
        ImageSet("MNIST", np.zeros((COUNT, 1, 28, 28), np.uint8), self.labels, "made up").save(
            self.paths.images("MNIST", "test")
        )
        self.arrays: dict[StudentId, dict] = {}
        self.reference = {}
        for name, sharpness in {"test": 2.0, "Far": 0.5, "Far-unmasked": 0.6}.items():
            p = distribution(sharpness)
            self.reference |= {f"{name}/predictive": p, f"{name}/entropy": 0.7 * entropy(p)}
        self.reference |= {f"test/{what}_error": np.full(COUNT, 0.25) for what in ("predictive", "entropy")}
        save_arrays(self.paths.reference(CELL.path), self.reference)
        for one in PREDICTIVE.values():
            self._save(one, {"test/probabilities": distribution()})
        for one in ENTROPY.values():
            self._save(one, {"test/data": GENERATOR.random(COUNT).astype(np.float32)})
        stages = {f"{stage} pruning/test/probabilities": distribution() for stage in ("before", "after")}
        self._save(PRUNED, {"test/probabilities": distribution(), **stages})
        for one in (JOINT, END2):
            every = (decomposed(name, 1.0) for name in ("test", "Far", "Far-unmasked"))
            self._save(one, {key: value for arrays in every for key, value in arrays.items()})

    def _save(self, student: StudentId, arrays: dict) -> None:
        cost = {"widths": [400, 400], "parameters": 7, "multiply_adds": 5, "updates": 3}
        self.arrays[student] = arrays
        save_arrays(self.paths.predictions(CELL.path, student.slug), arrays | {"cost": json.dumps(cost)})

    def rows(self, table: str, students: list[StudentId], **options: object) -> list[dict]:
        return list(ROWS[table](Results(self.paths, CELL, students, **options)))

    def nll(self, p: np.ndarray) -> float:
        return -np.log(p[np.arange(COUNT), self.labels].astype(np.float64)).mean()

    def mae(self, said: np.ndarray) -> float:
        return np.abs(said - self.reference["test/entropy"]).mean()


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Run:
    return Run(tmp_path_factory.mktemp("run"))


def test_base_students_are_set_beside_their_teacher(run):
    (row,) = run.rows("exp1", [PREDICTIVE["us"], ENTROPY["uo"]])
    assert row.pop("teacher_nll") == pytest.approx(run.nll(run.reference["test/predictive"]))
    assert row.pop("student_nll") == pytest.approx(run.nll(run.arrays[PREDICTIVE["us"]]["test/probabilities"]))
    assert row.pop("entropy_mae") == pytest.approx(run.mae(run.arrays[ENTROPY["uo"]]["test/data"]))
    truth, said = run.reference["test/entropy"], run.arrays[ENTROPY["uo"]]["test/data"]
    assert row.pop("beside_constant_mae") == pytest.approx(np.abs(truth - np.median(truth)).mean())
    assert row.pop("beside_correlation") == pytest.approx(np.corrcoef(truth, said)[0, 1])
    assert row == {"model": "FCNN", "dataset": "MNIST"}


def test_tables_on_unofficial_data_say_so_and_have_no_published_numbers(run):
    """The settings are those that a job gets: Fashion-MNIST under the names of MNIST's files, say."""
    config = configuration("paper")
    config["data"]["unofficial"] = ["MNIST", "KMNIST"]
    plan = Plan(config)
    called = plan.measuring(plan.measurements["us_base"])["needs"][0]["called"]
    options = {"ood_sets": ["Far"], "keys": {"estimator": "us", "student": "base"}, "called": called}
    rows = run.rows("ood_auroc", [JOINT, END2], **options)
    assert {row["dataset"] for row in rows} == {"MNIST (unofficial)"}
    text, note = as_text(pd.DataFrame(rows).assign(ood_dataset="notMNIST"), published("ood_auroc"), told=[])
    assert note == "On MNIST (unofficial): a demonstration, not to be compared with the paper's numbers."
    assert not text["GPED"].str.contains(r"\(").any()
    renamed = run.rows("ood_auroc", [JOINT, END2], **options | {"called": {"Far": called["KMNIST"]}})
    assert {row["ood_dataset"] for row in renamed} == {"KMNIST (unofficial)"}
    compared = compare({"ood_auroc": pd.DataFrame(rows + renamed)}, [], seeds=1)
    assert set(compared["verdict"]) == {"not measured"}


def test_estimators_are_not_mixed_up(run):
    students = [*PREDICTIVE.values(), *ENTROPY.values()]
    (row,) = run.rows("estimators", students)
    assert (row["train_size"], row["masking_rate"]) == (1000, 0.29)
    for u in ("us", "uo"):
        assert row[f"student_nll_{u}"] == pytest.approx(run.nll(run.arrays[PREDICTIVE[u]]["test/probabilities"]))
        assert row[f"entropy_mae_{u}"] == pytest.approx(run.mae(run.arrays[ENTROPY[u]]["test/data"]))
    (beside,) = run.rows("constants", students)
    truth = run.reference["test/entropy"]
    assert beside["constant_mae"] == pytest.approx(np.abs(truth - np.median(truth)).mean())
    assert beside["mean_entropy"] == pytest.approx(truth.mean())


def test_the_ensemble_and_both_methods_are_compared_under_the_keys_of_the_table(run):
    keys = {"estimator": "us", "student": "base"}
    (row,) = run.rows("test_metrics", [JOINT, END2], keys=keys)
    assert {key: row[key] for key in keys} == keys
    for method, student in {"gped": JOINT, "end2": END2}.items():
        assert row[f"nll_{method}"] == pytest.approx(run.nll(run.arrays[student]["test/probabilities"]))
        assert row[f"entropy_mae_{method}"] == pytest.approx(run.mae(run.arrays[student]["test/data"]))
    rows = run.rows("accuracy", [JOINT, END2], keys=keys)
    assert [one["method"] for one in rows] == ["ensemble", "gped", "end2"]
    assert rows[0]["negative_knowledge"] == 0
    right = run.arrays[END2]["test/probabilities"].argmax(1) == run.labels
    assert rows[2]["accuracy"] == pytest.approx(right.mean())


def test_detection_is_measured_by_each_uncertainty_masked_and_in_the_extended_table_also_not(run):
    (total, knowledge) = run.rows("ood_auroc", [JOINT, END2], ood_sets=["Far"])
    assert (total["uncertainty"], knowledge["uncertainty"]) == ("total", "knowledge")
    assert list(total) == ["model", "dataset", "ood_dataset", "uncertainty", "ensemble", "gped", "end2"]
    inside, outside = (entropy(run.reference[f"{name}/predictive"]) for name in ("test", "Far"))
    larger = np.mean([(far > near) + 0.5 * (far == near) for near in inside for far in outside])
    assert total["ensemble"] == pytest.approx(larger)
    extended = run.rows("ood_extended", [JOINT, END2], ood_sets=["Far"])
    assert [(one["masked"], one["uncertainty"]) for one in extended] == [
        (True, "total"),
        (True, "knowledge"),
        (False, "total"),
        (False, "knowledge"),
    ]
    assert extended[0]["ensemble_auroc"] == total["ensemble"]
    for row in extended:
        for method, student in {"gped": JOINT, "end2": END2}.items():
            far, kind = "Far" if row["masked"] else "Far-unmasked", row["uncertainty"]
            pair = tuple(run.arrays[student][f"{name}/{kind}"] for name in ("test", far))
            assert row[f"{method}_auroc"] == pytest.approx(naive.auroc(*pair))
            assert row[f"{method}_aupr"] == pytest.approx(naive.aupr(*pair))
            assert row[f"{method}_fpr95"] == pytest.approx(naive.fpr95(*pair))


def test_a_set_that_was_not_available_leaves_its_rows_empty(run):
    rows = run.rows("ood_auroc", [JOINT, END2], ood_sets=["Missing", "Far"])
    assert [one["ood_dataset"] for one in rows] == ["Missing", "Missing", "Far", "Far"]
    assert all(np.isnan([one["ensemble"], one["gped"], one["end2"]]).all() for one in rows[:2])
    assert not any(np.isnan([one["ensemble"], one["gped"], one["end2"]]).any() for one in rows[2:])


def test_rankings_compare_both_methods_with_the_ensemble(run):
    rows = run.rows("ndcg", [JOINT, END2])
    assert [one["uncertainty"] for one in rows] == ["total", "knowledge"]
    for row in rows:
        p = run.reference["test/predictive"].astype(np.float64)
        truth = entropy(p) - run.reference["test/entropy"] * (row["uncertainty"] == "knowledge")
        for method, student in {"gped": JOINT, "end2": END2}.items():
            said = run.arrays[student][f"test/{row['uncertainty']}"]
            expected = naive.ndcg(truth, said, sample=COUNT)
            assert (row[f"{method}_mean"], row[f"{method}_std"]) == pytest.approx(expected, rel=1e-6)


def test_tradeoffs_show_the_error_that_a_student_can_have_and_its_cost(run):
    searched, entropy_student, pruned = run.rows("tradeoff", [PREDICTIVE["us"], ENTROPY["uo"], PRUNED])
    assert [searched["method"], pruned["method"]] == ["search", "prune"]
    assert (pruned["k1"], pruned["lambda"], searched["lambda"]) == (2, 0.5, None)
    assert (searched["params"], searched["macs"], searched["widths"]) == (7, 5, "400-400")
    assert searched["nll"] > 0 and np.isnan(searched["entropy_mae"])
    assert np.isnan([entropy_student["nll"], entropy_student["accuracy"]]).all() and entropy_student["entropy_mae"] > 0


def test_the_steps_of_pruning_are_told_of_pruned_students_only(run):
    (row,) = run.rows("pruning", [PREDICTIVE["us"], PRUNED], keys={"target": "predictive"})
    arrays = run.arrays[PRUNED]
    before, after = (run.nll(arrays[f"{stage} pruning/test/probabilities"]) for stage in ("before", "after"))
    assert (row["error_before"], row["error_after"]) == (pytest.approx(before), pytest.approx(after))
    assert row["error_final"] == pytest.approx(run.nll(arrays["test/probabilities"]))
    assert row["jump_above_10_percent"] == (after > 1.1 * before)


def test_an_ablation_has_a_row_for_each_setting_and_quantity(run):
    students = {"release": PREDICTIVE["us"], "entropy loss": ENTROPY["uo"], "joint head": JOINT, "reference": None}
    compared = [(name, "a setting", student) for name, student in students.items()]
    taught = [one for one in students.values() if one]
    rows = run.rows("ablations", taught, ood_sets=["Far"], ablations=compared, relaxations_per_block=1.5)
    found = {(row["ablation"], row["quantity"]): row["value"] for row in rows}
    assert len(found) == len(rows) and {row["setting"] for row in rows} == {"a setting"}
    told = {row["ablation"]: (row["target"], row["estimator"]) for row in rows}
    assert told["joint head"] == ("joint", "us") and told["reference"] == ("", "")
    gap = found["release", "student_nll"] - found["release", "teacher_nll"]
    assert found["release", "nll_gap"] == pytest.approx(gap)
    p, q = run.reference["test/predictive"].astype(float), run.arrays[PREDICTIVE["us"]]["test/probabilities"]
    assert found["release", "kl_to_ensemble"] == pytest.approx((p * np.log(p / q)).sum(1).mean(), rel=1e-5)
    assert found["reference", "monte_carlo_error_entropy"] == 0.25
    assert ("release", "entropy_mae") not in found and ("entropy loss", "student_nll") not in found
    assert found["entropy loss", "entropy_mae"] == pytest.approx(run.mae(run.arrays[ENTROPY["uo"]]["test/data"]))
    inside, outside = (run.arrays[JOINT][f"{name}/total"] for name in ("test", "Far"))
    larger = np.mean([(far > near) + 0.5 * (far == near) for near in inside for far in outside])
    assert found["joint head", "auroc_total_Far"] == pytest.approx(larger)
    assert found["joint head", "negative_knowledge"] == 0


@pytest.mark.parametrize(("relaxations", "called"), [(0.99, "_at_least"), (1.0, "")])
def test_the_error_of_a_chain_is_called_a_lower_bound_where_its_blocks_are_shorter_than_its_memory(
    run, relaxations, called
):
    options = {"ablations": [("reference", "every step", None)], "relaxations_per_block": relaxations}
    found = {row["quantity"]: row["value"] for row in run.rows("ablations", [], **options)}
    assert found.pop("teacher_nll") > 0
    errors = {f"monte_carlo_error_{what}{called}": 0.25 for what in ("predictive", "entropy")}
    assert found == {"relaxations_per_block": relaxations, **errors}


def test_chains_of_other_seeds_say_how_far_off_that_error_is(run):
    other = replace(CELL, seed=1)
    shifted = {name: values + 0.5 * name.startswith("test") for name, values in run.reference.items()}
    save_arrays(run.paths.reference(other.path), shifted)
    options = {"ablations": [("reference", "every step", None)], "relaxations_per_block": 0.5, "other_seeds": [other]}
    found = {row["quantity"]: row["value"] for row in run.rows("ablations", [], **options)}
    between = 0.5 / np.sqrt(2)  # the standard deviation of two numbers that differ by a half
    assert found["spread_over_error_entropy"] == pytest.approx(between / 0.25)
    assert found["spread_over_error_predictive"] == pytest.approx(between / 0.25)


def test_the_one_student_that_is_asked_for_must_be_one(run):
    results = Results(run.paths, CELL, [*PREDICTIVE.values()])
    with pytest.raises(ValueError):
        results.the(target="predictive")
    assert results.the(target="predictive", estimator="uo").has("probabilities")
    assert not results.the(target="predictive", estimator="uo").has("data")
