"""Every number of a tiny run a second time: chains, students, predictions and tables by the naive code of tests/naive.

From the configuration and the decoded images to the last digit of each table, so that what is swapped, dropped or
counted wrongly on the way shows somewhere. Where predictions are slow without torch, every tenth input stands for all.
"""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors import safe_open
from safetensors.numpy import load_file

from tests.helpers import configuration
from tests.naive import chain as naive_chain
from tests.naive import images, networks, students
from tests.naive.chain import Reading, log_probabilities, readings_in
from tests.naive.networks import Parameters
from tests.naive.run import Cell, Run
from tests.naive.tables import Tables
from tests.naive.told import specification, steps

pytestmark = pytest.mark.slow
CONFIG = configuration("tiny")
CELLS = Run(Path(), CONFIG).cells()
FOCUS = [cell for cell in CELLS if cell == Run(Path(), CONFIG).focus(cell.role)]

ROUNDING = 1e-7
"""Mean difference between parameters of the same student in two computations."""


class Doubted(Tables):
    """A run, with what the naive code makes of its images and readings."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, CONFIG)
        self.seen, self.readings, self.draws = cache(self._seen), cache(self._readings), cache(self._draws)

    def ood(self, cell: Cell) -> list[str]:
        return self.models[cell.role]["ood"] if cell in FOCUS else []

    def _seen(self, cell: Cell) -> images.Seen:
        model = self.models[cell.role]
        sets = {split: self.images(model["dataset"], split) for split in ("train", "test")}
        sets |= {name: self.images(name, "test") for name in self.ood(cell)}
        limit, data_seed = CONFIG["data"]["ood_limit"], CONFIG["data_seed"]
        return images.seen(sets, cell.size, cell.mask, data_seed, model["standardise"], limit, self.ood(cell))

    def _readings(self, cell: Cell) -> list[Reading]:
        return readings_in(self.path(cell) / "readings.bin")[1]

    def _draws(self, cell: Cell) -> dict[int, Parameters]:
        """θ at every step of the chain, by a loop of our own."""
        chain = self.models[cell.role]["chain"]
        return dict(naive_chain.draws(cell.role, self.seen(cell), chain, cell.seed, self.last_step(cell)))

    def last_step(self, cell: Cell) -> int:
        model = self.models[cell.role]
        tuning = steps(model["pruning"]["fine_tuning"], cell.size, model["chain"]) if cell in FOCUS else 0
        return model["chain"]["steps"] + tuning


@pytest.fixture(scope="module")
def run(finished_project) -> Doubted:
    return Doubted(finished_project / "results/tiny")


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def name_of(cell: Cell) -> str:
    return f"{cell.role}-n{cell.size}-m{cell.mask}"


# Chains


@pytest.mark.parametrize("cell", CELLS, ids=name_of)
def test_readings_are_of_all_training_images_at_the_steps_of_the_protocol(cell, run):
    model, header = run.models[cell.role], readings_in(run.path(cell) / "readings.bin")[0]
    chain, shortest = model["chain"], min(model["students"]["thinning"].values())
    assert header["inputs"] == len(run.images(model["dataset"], "train")[0]) > cell.size
    assert (header["likelihood"], header["values"], header["size"]) == ("categorical", 10, chain["reading_size"])
    due = [t for t in range(1, run.last_step(cell) + 1) if t > chain["burn_in"] and t % shortest == 0]
    assert chain["burn_in"] % shortest == 0  # where a reading would be if t = B counted
    assert [reading.step for reading in run.readings(cell)] == due
    notes = header["notes"]
    assert {key: notes[key] for key in chain} == chain
    assert (notes["seed"], notes["inputs"]["data_seed"]) == (CONFIG["seeds"][0], CONFIG["data_seed"])


@pytest.mark.parametrize("cell", CELLS, ids=name_of)
def test_readings_are_what_a_naive_chain_says(cell, run):
    """Masks and subsample of D, masks of D', scaling, prior, step size and random streams all decide it."""
    order, seen = networks.stream(cell.seed, "order of D'"), run.seen(cell)
    for step, indices, log_p in run.readings(cell):
        assert indices == torch.randint(len(seen.unlabelled), (len(indices),), generator=order).tolist()
        expected = log_probabilities(run.draws(cell)[step], seen, seen.unlabelled[indices])
        assert np.abs(log_p - expected).mean() < 1e-3


@pytest.mark.parametrize("cell", CELLS, ids=name_of)
def test_the_reference_is_the_mean_over_stored_draws_from_the_burn_in_to_the_last_step(cell, run):
    seen, chain = run.seen(cell), run.models[cell.role]["chain"]
    reference = run.arrays(run.path(cell) / "reference.npz")
    for name, pixels in seen.evaluated.items():
        every, some = chain["reference_every" if name == "test" else "ood_every"], slice(None, None, 5)
        counted = range(chain["burn_in"] + 1, chain["steps"] + 1)  # t = B not included
        log_p = [log_probabilities(run.draws(cell)[t], seen, pixels[some]) for t in counted if t % every == 0]
        said = {"predictive": [np.exp(one) for one in log_p], "entropy": [naive_chain.entropies(one) for one in log_p]}
        for what, values in said.items():
            mean, error = naive_chain.mean_and_error(values)
            np.testing.assert_allclose(reference[f"{name}/{what}"][some], mean, atol=1e-3)
            np.testing.assert_allclose(reference[f"{name}/{what}_error"][some], error, atol=1e-3)
    assert {key.split("/")[0] for key in reference} == set(seen.evaluated)
    assert len(reference["test/entropy"]) == len(seen.evaluated["test"])


# Students


@pytest.mark.parametrize("cell", CELLS, ids=name_of)
def test_a_student_file_says_what_the_configuration_asked_for(cell, run):
    model, seen = run.models[cell.role], run.seen(cell)
    for told in run.students(cell):
        with safe_open(run.student(cell, told, "safetensors"), framework="np") as file:
            description = json.loads(file.metadata()["gped"].split("\n")[1])
        assert description["specification"] == specification(told, model), told
        heads = [(name, size) for name, _, size in description["heads"]]
        assert heads == [(name, size) for name, _, size in told.expectations(model)]
        assert [head for _, head, _ in description["heads"]] == [
            target["head"] for target in specification(told, model)["targets"]
        ]
        scaling = description["scaling"]
        channels = range(len(seen.mean)) if model["standardise"] else range(1)
        np.testing.assert_allclose(scaling["mean"], [seen.mean[channel] for channel in channels], rtol=1e-7)
        np.testing.assert_allclose(scaling["std"], [seen.std[channel] for channel in channels], rtol=1e-7)
    files = {path.name for path in (run.path(cell) / "students").iterdir()}
    assert files == {run.student(cell, one, form).name for one in run.students(cell) for form in ("safetensors", "npz")}


@pytest.mark.parametrize("cell", CELLS, ids=name_of)
def test_students_are_what_a_naive_loop_makes_of_the_readings(cell, run):
    model, seen = run.models[cell.role], run.seen(cell)
    for told in run.students(cell):
        stages, updates = students.trained(told, model, seen, run.readings(cell))
        tensors, said = load_file(run.student(cell, told, "safetensors")), run.arrays(run.student(cell, told, "npz"))
        assert deviation(stages.pop(""), tensors) < ROUNDING, told
        cost = json.loads(str(said["cost"]))
        shapes = [tensors[f"{layer}.weight"].shape for layer in range(len(tensors) // 2)]
        assert cost["updates"] == updates
        assert (cost["parameters"], cost["multiply_adds"]) == networks.cost(cell.role, shapes)
        assert cost["widths"] == [shape[0] for shape in shapes[:-1]]
        assert set(stages) == ({"before pruning", "after pruning"} if told.strength is not None else set())
        for stage, parameters in stages.items():
            x = torch.from_numpy(seen.scaled(seen.evaluated["test"][::10])).float()
            expected = students.said(told, model, networks.forward(parameters, x).double().numpy())
            for what, values in expected.items():
                np.testing.assert_allclose(said[f"{stage}/test/{what}"][::10], values, atol=1e-4)


@pytest.mark.parametrize("cell", [cell for cell in FOCUS if cell.role != "cnn_cifar10"], ids=name_of)
def test_the_other_estimator_would_have_made_a_student_that_can_be_told_apart(cell, run):
    """So that the comparison with a naive loop can tell U_s from U_o: these chains move enough in so few steps."""
    model, seen = run.models[cell.role], run.seen(cell)
    for target in ("predictive", "entropy", "joint", "end2"):
        told, other = (run.told(cell, target, estimator) for estimator in ("us", "uo"))
        stages, _ = students.trained(other, model, seen, run.readings(cell))
        assert deviation(stages[""], load_file(run.student(cell, told, "safetensors"))) > 5 * ROUNDING


def deviation(parameters: Parameters, tensors: dict[str, np.ndarray]) -> float:
    """Mean difference of parameters. Not the largest: Adam makes a whole step of a gradient that is only rounding."""
    assert len(tensors) == 2 * len(parameters)
    differences = []
    for layer, parts in enumerate(parameters):
        for name, part in zip(("weight", "bias"), parts, strict=True):
            assert tensors[f"{layer}.{name}"].shape == part.shape
            differences.append(np.abs(tensors[f"{layer}.{name}"].astype(np.float64) - part.numpy()).ravel())
    return float(np.concatenate(differences).mean())


@pytest.mark.parametrize("cell", CELLS, ids=name_of)
def test_predictions_are_what_the_saved_tensors_say(cell, run):
    model, seen = run.models[cell.role], run.seen(cell)
    for told in run.students(cell):
        tensors, predictions = (
            load_file(run.student(cell, told, "safetensors")),
            run.arrays(run.student(cell, told, "npz")),
        )
        sets = set(seen.evaluated) if told.target in ("joint", "end2") else {"test"}
        expected = {"cost"}
        for name in sets:
            said = students.said(told, model, networks.outputs(tensors, seen.scaled(seen.evaluated[name][::10])))
            for what, values in said.items():
                assert len(predictions[f"{name}/{what}"]) == len(seen.evaluated[name])
                np.testing.assert_allclose(predictions[f"{name}/{what}"][::10], values, rtol=1e-4, atol=1e-5)
            expected |= {f"{name}/{what}" for what in said}
        assert {key for key in predictions if "pruning/" not in key} == expected


# Tables

KEYS = ["model", "dataset", "train_size", "masking_rate", "target", "method", "k1", "k2", "lambda"]
KEYS += ["ood_dataset", "estimator", "student", "uncertainty", "masked"]
TABLES = (
    "exp1",
    "estimators",
    "constants",
    "test_metrics",
    "ood_auroc",
    "ood_extended",
    "ndcg",
    "accuracy",
    "tradeoff",
)
TABLES += ("pruning",)


@pytest.mark.parametrize("table", TABLES)
def test_every_value_of_a_table_can_be_recomputed(table, run):
    ours = pd.read_csv(run.folder / f"tables/{table}.csv")
    naive = pd.DataFrame(list(getattr(run, table)()))
    assert set(ours) == set(naive)
    keys = [column for column in KEYS if column in naive]
    ours, naive = (frame.set_index(keys).sort_index() for frame in (ours, naive))
    assert not naive.index.has_duplicates
    texts = [column for column in naive if not pd.api.types.is_numeric_dtype(naive[column])]
    ours[texts] = ours[texts].fillna("")  # in a file, nothing is not a number
    pd.testing.assert_frame_equal(ours[list(naive)], naive, check_exact=False, rtol=1e-5, atol=1e-9, check_dtype=False)


def test_no_table_is_left_unchecked(run):
    joined = {path.stem for path in (run.folder / "tables").glob("*.csv")}
    tables = {name for name in joined if not any(name != other and name.startswith(f"{other}_") for other in joined)}
    assert tables - {"published_vs_reproduced", "claims"} == set(TABLES)
