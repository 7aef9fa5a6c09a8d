"""What is set beside the chain of Bayesian Dark Knowledge, as values."""

import pytest
import yaml

from tests.helpers import ROOT, configuration, merged
from workflow.experiments import bdk
from workflow.experiments.configuration import ConfigurationError, check
from workflow.experiments.matrix import Matrix, chosen_models
from workflow.experiments.paths import Paths
from workflow.experiments.plan import Plan
from workflow.experiments.resources import jobs

SCHEMA = yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text())


def configured(**over: object) -> dict:
    config = merged(configuration("bdk"), over)
    return config | {"models": chosen_models(config)}


def test_the_preset_is_the_published_chain():
    config = configured()
    check(config, SCHEMA)
    matrix = Matrix(config)
    (cell,) = bdk.cells(matrix)
    chain = matrix.models[cell.role]["chain"]
    assert (cell.dataset, cell.train_size, cell.mask) == ("MNIST", 50_000, 0)
    assert (chain["steps"], chain["burn_in"], chain["step_size"], chain["prior_precision"]) == (10**6, 1000, 4e-6, 1)
    assert (chain["batch_size"], chain["noise"]) == (100, "native")
    assert bdk.student(matrix).slug == "predictive-us-h100-k1x1" and bdk.updates(matrix) == 9990
    assert config["bdk"]["weight_decays"][0] == chain["prior_precision"] / cell.train_size


def test_other_presets_have_none_of_it():
    for preset in (None, "tiny", "reduced", "paper"):
        plan = Plan(configuration(preset))
        assert not bdk.is_wanted(plan.matrix) and bdk.cells(plan.matrix) == []
        assert not [job for job in plan.all_settings() if "networks/" in job or "ensembles/" in job or "bdk" in job]


def test_every_weight_decay_is_tried_alone_and_with_every_dropout():
    section = {"weight_decays": [0.1, 0.2], "dropouts": [0.3, 0.4, 0.5], "members": 4}
    matrix = Matrix(configured(bdk=section))
    networks = bdk.networks(matrix)
    plain, dropout = (
        [one for one in networks.values() if one.tried and one.kind == kind] for kind in ("plain", "dropout")
    )
    assert [one.tried for one in plain] == [(0.1, 0.0), (0.2, 0.0)]
    assert sorted(one.tried for one in dropout) == [(d, r) for d in (0.1, 0.2) for r in (0.3, 0.4, 0.5)]
    assert bdk.members(matrix, "ensemble") == ["plain-0", "plain-1", "plain-2", "plain-3"]
    assert {networks[name].number for name in bdk.members(matrix, "ensemble")} == {0, 1, 2, 3}
    for name in (*bdk.members(matrix, "ensemble"), *bdk.members(matrix, "sgd")):
        assert bdk.tried(matrix, networks[name]) == [one.name for one in plain]
    (name,) = bdk.members(matrix, "dropout")
    assert bdk.tried(matrix, networks[name]) == [one.name for one in dropout]


def test_all_students_have_as_many_updates_and_halvings_as_the_chains():
    chain = {"steps": 7000, "burn_in": 1000, "reference_every": 50}
    students = {"halving": "2000 steps", "thinning": {"predictive": 20, "entropy": 10, "joint": 10}}
    matrix = Matrix(configured(models={"fcnn_mnist": {"chain": chain, "students": students}}))
    (cell,) = bdk.cells(matrix)
    told = [bdk.teaching(matrix, cell, name) for name in bdk.ENSEMBLES]
    assert [(one["updates"], one["halving_every"]) for one in told] == [(300, 100)] * 3
    assert [one["draws"] for one in told] == [1, 100, 10]
    assert bdk.passes(matrix, bdk.CHAIN) == 120


@pytest.mark.parametrize(
    ("over", "message"),
    [
        ({"experiments": [4]}, r"bdk: .* so 1 must be among the experiments"),
        (
            {"models": {"fcnn_mnist": {"train_sizes": [60_000]}}},
            r"train_sizes: 60000 leaves no training images outside D",
        ),
        ({"bdk": {"epochs": 0}}, r"bdk\.epochs: 0 must be at least 1"),
        ({"bdk": {"dropouts": [0]}}, r"bdk\.dropouts\[0\]: 0 must be greater than 0"),
        ({"bdk": {"member": 3}}, r"bdk: unknown key member\. Did you mean members\?"),
    ],
)
def test_a_section_that_cannot_be_run_gets_a_sentence(over, message):
    with pytest.raises(ConfigurationError, match=message):
        check(configured(**over), SCHEMA)


def test_it_needs_the_model_whose_chain_it_is_about():
    config = configured()
    config["models"] = {"cnn_mnist": configuration()["models"]["cnn_mnist"]}
    with pytest.raises(ConfigurationError, match=r"bdk: sets networks beside the model fcnn_mnist"):
        check(config, SCHEMA)


def test_status_hears_of_its_networks_and_students():
    plan = Plan(configured())
    (cell,) = bdk.cells(plan.matrix)
    made = {
        *(file for name in bdk.networks(plan.matrix) for file in plan.paths.network(cell.path, name)),
        plan.paths.ensemble(cell.path, "ensemble"),
    }
    found = jobs(plan.matrix, plan.cells.values(), plan.paths, made)
    assert [job.kind for job in found].count("networks") == len(bdk.networks(plan.matrix)) == 17
    (student,) = (job for job in found if job.kind == "students")
    assert student.outputs == [Paths(".").ensemble_student(cell.path, "ensemble")[1]] and student.steps == 9990
    assert {job.steps for job in found if job.kind == "networks"} == {20 * 500}
    logs = {Paths(".").log(job) for job in plan.all_settings()}
    assert all(job.log in logs for job in found)
