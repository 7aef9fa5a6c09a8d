"""All jobs of a run: what is written down for them is what the configuration says."""

import json
import time
from collections import Counter
from itertools import product
from pathlib import Path

import pandas as pd
import pytest

from tests.helpers import configuration
from workflow.experiments.batches import batches
from workflow.experiments.names import Cell, StudentId
from workflow.experiments.paths import Jobs
from workflow.experiments.plan import Plan, as_text
from workflow.reporting.summary import introduction

SEEDS = list(range(25))
LONGEST_COMMAND = 128 * 1024  # bytes that Linux takes for one argument, of which a job's shell command is one


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """An empty folder, in which results are written."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(plan: Plan, job: str) -> dict:
    return json.loads(Path(plan.paths.settings(job)).read_text())


# Settings


def test_the_settings_of_chains_are_those_of_the_configuration(folder):
    config = configuration("tiny") | {"seeds": [3], "data_seed": 7}
    for number, model in enumerate(config["models"].values()):
        model["chain"] |= {"prior_precision": 20 + number, "step_size": 1e-5 + number}
    plan = Plan(config)
    plan.write()
    for path, cell in plan.cells.items():
        told, model = read(plan, Jobs.teacher(path)), config["models"][cell.role]
        for key in ("steps", "burn_in", "step_size", "prior_precision", "noise", "batch_size", "reading_size"):
            assert told[key] == model["chain"][key], key
        for key in ("reference_every", "ood_every"):
            assert told[key] == model["chain"][key], key
        assert (told["role"], told["seed"], told["device"]) == (cell.role, 3, "cpu")
        own = {"train_size": cell.train_size, "mask": cell.mask, "data_seed": 7}
        assert told["inputs"] | own == told["inputs"]
        assert told["inputs"]["standardise"] == (model["standardise"] != (cell.variant == "rescaled"))
        assert told["further_steps"] == (16 if plan.matrix.is_pruned(cell) else 0)


def test_the_settings_of_students_are_those_of_the_configuration(folder):
    config = configuration("tiny")
    end2 = {"temperature": 3.5, "teacher_temperature": 4.5, "prediction_temperature": 5.5, "smoothing": 0.25}
    for number, model in enumerate(config["models"].values()):
        model["students"] |= {"learning_rate": 1 + number, "halving": f"{30 + number} steps", "input_noise": 0.5}
        model["students"] |= {"dropout": 0.25, "joint_dropout": 0.125, "end2": end2}
        model["students"] |= {"entropy_loss": "squared", "joint_head": "share"}
        model["pruning"] |= {"threshold": 0.75, "learning_rate": 2 + number}
    plan = Plan(config)
    plan.write()
    seen = Counter()
    for number, (role, model) in enumerate(config["models"].items()):
        for cell in (cell for cell in plan.cells.values() if cell.role == role):
            for student in plan.matrix.students(cell):
                told = read(plan, Jobs.student(cell.path, student.slug))
                assert StudentId(**told["student"]) == student
                training, kind = told["training"], student.kind
                assert training["halving_every"] == 30 + number
                assert (training["learning_rate"], training["input_noise"]) == (1 + number, 0.5)
                assert training["steps"] == model["chain"]["steps"] and training["seed"] == cell.seed
                dropout = {"plain": 0.25, "pruned": 0, "joint": 0.125, "end2": 0.125}
                assert training["dropout"] == dropout[kind]
                assert training.get("end2") == (end2 if kind == "end2" else None)
                assert training.get("entropy_loss") == (None if kind == "end2" else "squared")
                assert training.get("joint_head") == ("share" if kind == "joint" else None)
                assert ("pruning" in training) == (kind == "pruned")
                if kind == "pruned":
                    pruning = training["pruning"]
                    assert (pruning["threshold"], pruning["fine_tuning_rate"]) == (0.75, 2 + number)
                    assert (pruning["fine_tuning_steps"], pruning["proximal"]) == (16, True)
                seen[kind] += 1
    assert set(seen) == {"plain", "pruned", "joint", "end2"}


def test_a_halving_in_epochs_is_written_in_steps_of_the_cell(folder):
    plan = Plan(configuration("tiny"))
    plan.write()
    halvings = {
        cell.train_size: read(plan, Jobs.student(cell.path, "predictive-us-h8-k1x1"))["training"]["halving_every"]
        for cell in plan.matrix.grid("fcnn_mnist")
    }
    assert halvings == {100: 10, 200: 20}


def test_the_settings_of_variants_are_those_of_the_ablations(folder):
    plan = Plan(configuration("tiny"))
    plan.write()
    small, focus = "fcnn-MNIST5k/n100-m0-s7", "fcnn-MNIST5k/n200-m15-s7"
    budget = read(plan, Jobs.student(small, "predictive-us-h8-k1x1-budget"))["training"]
    assert budget["halving_every"] == 20
    assert read(plan, Jobs.teacher(f"{focus}-mixed"))["inputs"]["copies"] == "mixed"
    cold = read(plan, Jobs.student(focus, "end2-us-h4-k1x1-cold"))["training"]["end2"]
    assert (cold["temperature"], cold["teacher_temperature"], cold["prediction_temperature"]) == (1, 1, 1)
    warm = read(plan, Jobs.student(focus, "end2-us-h4-k1x1-warm"))["training"]["end2"]
    assert (warm["temperature"], warm["prediction_temperature"]) == (2.0, 2.0)


def test_the_settings_of_a_set_say_where_it_is_and_whether_it_may_be_missing(folder):
    config = configuration("paper")
    config["data"] = {"root": "/my sets", "unofficial": ["KMNIST"], "optional": ["TIM"], "ood_limit": 10}
    plan = Plan(config)
    plan.write()
    kmnist, tim = (read(plan, Jobs.data(name, "test")) for name in ("KMNIST", "TIM"))
    where = {"root": "/my sets", "cache": "/my sets/cache", "split": "test"}
    assert kmnist == where | {"name": "KMNIST", "unofficial": True, "optional": False}
    assert tim == where | {"name": "TIM", "unofficial": False, "optional": True}


def test_the_summary_does_not_call_unofficial_data_the_papers():
    config = configuration("paper")
    config["data"]["unofficial"] = ["MNIST"]
    plan = Plan(config)
    told = plan.summarising()
    assert not told["papers_data"]
    assert [model["dataset"] for model in told["models"]] == ["MNIST (unofficial)", "MNIST (unofficial)", "CIFAR10"]
    assert told["figure"] != "published_vs_reproduced"
    text = introduction(told, pd.DataFrame({"verdict": []}))[1]
    assert "a demonstration on CIFAR10 and MNIST (unofficial), which are not the paper's data" in text


def test_the_settings_of_tables_name_the_cells_and_students_that_they_need(folder):
    plan = Plan(configuration("tiny"))
    plan.write()
    for name, measurement in plan.measurements.items():
        told = read(plan, Jobs.tables(name))
        assert [table["file"] for table in told["tables"]] == measurement.files
        assert [Cell(**need["cell"]) for need in told["needs"]] == [need.cell for need in measurement.needs]
        for need, expected in zip(told["needs"], measurement.needs, strict=True):
            assert [StudentId(**student) for student in need["students"]] == list(expected.students)
            assert need["ood"] == plan.matrix.ood(expected.cell)
            assert ("relaxations_per_block" in need) == ("reference" in [one.name for one in expected.ablations])


def test_what_is_compared_and_judged_knows_how_many_seeds_there_are(folder):
    plan = Plan(configuration("tiny") | {"seeds": [0, 5, 7]})
    plan.write()
    assert read(plan, "compare")["seeds"] == read(plan, "claims")["seeds"] == 3
    told = read(plan, "claims")["tables"]
    assert {"exp1", "estimators", "ndcg", "tradeoff", "constants", "accuracy"} <= set(told)
    needs = read(plan, Jobs.tables("ablations"))["needs"]
    chain = plan.matrix.models["fcnn_mnist"]["chain"]
    (found,) = {
        need["relaxations_per_block"]
        for need in needs
        if "relaxations_per_block" in need and need["cell"]["role"] == "fcnn_mnist"
    }
    block = (chain["steps"] - chain["burn_in"]) / 20
    assert found == pytest.approx(block * chain["step_size"] * chain["prior_precision"] / 2)


def test_settings_that_are_the_same_are_not_written_again(folder):
    plan = Plan(configuration("tiny"))
    plan.write()
    files = sorted(Path(plan.paths.run).glob("settings/**/*.json"))
    assert len(files) == len(plan.all_settings())
    times = [path.stat().st_mtime_ns for path in files]
    changed = configuration("tiny")
    changed["models"]["fcnn_mnist"]["chain"]["prior_precision"] = 11
    Plan(changed).write()
    rewritten = [path for path, time in zip(files, times, strict=True) if path.stat().st_mtime_ns != time]
    cells = {path for path, cell in plan.cells.items() if cell.role == "fcnn_mnist"}
    assert {str(path.relative_to(f"{plan.paths.run}/settings")) for path in rewritten} == {
        *(f"{Jobs.teacher(cell)}.json" for cell in cells),
        f"{Jobs.tables('ablations')}.json",  # which tells how long a block of the chain is, in relaxation times
    }


def test_equal_settings_are_equal_texts_whatever_their_order():
    assert as_text({"b": 1, "a": {"d": (1, 2), "c": "²"}}) == as_text({"a": {"c": "²", "d": [1, 2]}, "b": 1})
    assert "²" in as_text("²")


# What there is to do


def files_of(plan: Plan, cell: Cell, students: list[StudentId]) -> list[str]:
    files = [file for student in students for file in plan.paths.student_files(cell.path, student.slug)]
    return [plan.paths.readings(cell.path), plan.paths.reference(cell.path), *files]


@pytest.mark.parametrize(("preset", "size"), [*product((None, "tiny", "paper"), (1, 5, 1000))])
def test_the_jobs_of_a_run_are_all_its_chains_and_students_each_once(preset, size, folder):
    plan = Plan(configuration(preset) | {"students_per_job": size})
    matrix, run = plan.matrix, Path(plan.paths.run)
    plan.write_jobs({file for cell in matrix.cells() for file in files_of(plan, cell, matrix.students(cell))})
    jobs = json.loads((run / "jobs.json").read_text())
    made = Counter((job["kind"], output) for job in jobs for output in job["outputs"])
    chains = [("chains", f"./cells/{cell.path}/reference.npz") for cell in matrix.cells()]
    students = [
        ("students", f"./cells/{cell.path}/students/{student.slug}.npz")
        for cell in matrix.cells()
        for student in matrix.students(cell)
    ]
    assert made == Counter([*chains, *students])
    logs = {str(run / job["log"]) for job in jobs}
    expected = {plan.paths.log(Jobs.teacher(cell.path)) for cell in matrix.cells()}
    for cell in matrix.cells():
        kept = (batch for batch in batches(matrix, cell) if set(batch) & set(matrix.students(cell)))
        expected |= {plan.paths.log(Jobs.student(cell.path, batch[0].slug)) for batch in kept}
    assert logs == expected


def test_a_run_of_one_target_has_the_jobs_of_that_target_alone(folder):
    plan = Plan(configuration("tiny"))
    (cell,) = plan.matrix.full("cnn_mnist")
    predictive, *others = plan.matrix.estimator_students("cnn_mnist")
    varied = next(cell for cell in plan.cells.values() if cell.variant == "turned")  # of an ablation
    plan.write_jobs([*files_of(plan, cell, [predictive]), *files_of(plan, varied, [])])
    jobs = json.loads((Path(plan.paths.run) / "jobs.json").read_text())
    assert [job["outputs"] for job in jobs if job["kind"] == "students"] == [
        [f"./cells/{cell.path}/students/{predictive.slug}.npz"]
    ]
    chains = {output for job in jobs if job["kind"] == "chains" for output in job["outputs"]}
    assert others and chains == {f"./cells/{one.path}/reference.npz" for one in (cell, varied)}


# Many seeds


@pytest.mark.slow
def test_a_run_of_25_seeds_is_planned_in_seconds_and_no_command_comes_near_what_linux_takes(folder):
    """With what rules put on a command line: file names, and of students that share a job two for each."""
    start = time.process_time()
    plan = Plan(configuration("paper") | {"seeds": SEEDS})
    plan.write()
    batches_of_all = plan.batches()
    assert time.process_time() - start < 40  # 12,600 students; Snakemake plans anew for every job on a cluster
    told = read(plan, Jobs.tables("fcnn_mnist"))
    assert len(told["needs"]) == 24 * 25
    assert {need["cell"]["seed"] for need in told["needs"]} == set(SEEDS)
    assert Path(plan.paths.settings(Jobs.tables("fcnn_mnist"))).stat().st_size > LONGEST_COMMAND
    for shared in batches_of_all.values():
        for cell in shared.every:
            files = [file for student in shared.students for file in plan.paths.student_files(cell, student.slug)]
            files += [plan.paths.images(*one) for one in plan.matrix.sets(plan.cells[cell]).values()]
            assert len(" ".join(files).encode()) < LONGEST_COMMAND / 8
