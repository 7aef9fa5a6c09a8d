"""The ablations of a tiny run: what is run for them, and every number of their table, by the naive code as well."""

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors import safe_open
from safetensors.numpy import load_file

from tests.helpers import configuration, planned, tiny
from tests.naive.ablations import Ablations
from tests.naive.networks import forward, stream
from tests.naive.students import Dropout, said
from tests.naive.told import specification
from tests.workflow.conftest import copied
from workflow.jobs.arrays import load_arrays

pytestmark = pytest.mark.slow


class Ablated(NamedTuple):
    """A project with its ablations, and when the files of its experiments were written."""

    project: Path
    before: dict[Path, int]


@pytest.fixture(scope="module")
def ablated(finished_project, tmp_path_factory) -> Ablated:
    project = copied(finished_project, tmp_path_factory.mktemp("ablated") / "project")
    before = {path: path.stat().st_mtime_ns for path in (project / "results/tiny/cells").rglob("*.*")}
    assert planned(project, "ablations")["teacher"] == 1 + 7  # with other pixels, and with other unlabelled inputs
    result = tiny(project, "ablations")
    assert result.returncode == 0, result.stdout[-3000:]
    return Ablated(project, before)


@pytest.fixture(scope="module")
def run(ablated) -> Ablations:
    return Ablations(ablated.project / "results/tiny", configuration("tiny"))


def test_ablations_train_only_what_the_experiments_have_not(ablated):
    assert {path: path.stat().st_mtime_ns for path in ablated.before} == ablated.before
    assert planned(ablated.project, "all_tables", "ablations") == {}


def test_the_settings_that_are_compared_make_a_difference(ablated):
    rows = pd.read_csv(ablated.project / "results/tiny/tables/ablations.csv")
    means = rows.groupby(["quantity", "ablation", "setting"])["value"].mean()
    nll, entropy_mae = means["student_nll"], means["entropy_mae"]
    assert nll["input noise"].nunique() == 2
    assert nll["EnD² temperatures"].nunique() == nll["schedule"].nunique() == 3
    assert nll["release"].nunique() == nll["unlabelled inputs"].nunique() == 4
    assert nll["slower schedule"].nunique() == entropy_mae["joint head"].nunique() == 2
    assert entropy_mae["entropy loss"].nunique() == 3
    assert (means["negative_knowledge"]["joint head", "share"] == 0).all()
    assert set(rows[rows["ablation"] == "pixels"]["setting"]) == {"standardised", "in [0, 1]"}
    cells = ablated.project / "results/tiny/cells/cnn-PhotoLetters"
    files = [cells / name / "reference.npz" for name in ("n100-m0-s7", "n100-m0-s7-rescaled")]
    scaled, rescaled = (load_arrays(file)["test/predictive"] for file in files)
    assert abs(scaled - rescaled).mean() > 1e-3
    assert (rows[rows["quantity"].str.startswith("monte_carlo")]["value"] > 0).all()
    page = (ablated.project / "results/tiny/tables/ablations.md").read_text()
    assert "halving as at the largest N" in page and "a demonstration, not to be compared" in page
    assert (ablated.project / "results/tiny/figures/schedule.png").exists()


def test_every_value_of_the_ablations_can_be_recomputed(run):
    ours = pd.read_csv(run.folder / "tables/ablations.csv", keep_default_na=False)
    naive = pd.DataFrame(list(run.rows()))
    keys = [column for column in naive if column != "value"]
    assert set(ours) == set(naive)
    ours, naive = (frame.set_index(keys)["value"].sort_index() for frame in (ours, naive))
    assert not naive.index.has_duplicates
    pd.testing.assert_series_equal(ours, naive, check_exact=False, rtol=1e-5, atol=1e-6)


def test_students_of_ablations_were_told_what_is_named_in_the_table(run):
    told = [one for one in run.compared() if one.told]
    for one in told:
        with safe_open(run.file_of(one, "safetensors"), framework="np") as file:
            description = json.loads(file.metadata()["gped"].split("\n")[1])
        assert description["specification"] == specification(one.told, run.varied(one)), one
    assert {one.variant for one in told} >= {"budget", "first", "left_on", "cold", "warm", "noise", "slow", "share"}


def test_dropout_that_is_left_on_is_on_at_prediction_and_nowhere_else(run):
    found = [one for one in run.compared() if one.variant in ("first", "left_on")]
    for one in found:
        model, tensors = run.varied(one), load_file(run.file_of(one, "safetensors"))
        layers = [tuple(torch.from_numpy(tensors[f"{n}.{name}"]) for name in ("weight", "bias")) for n in range(3)]
        rate = model["students"]["dropout"] if one.variant == "left_on" else 0
        drop = Dropout(rate, 1, stream(one.cell.seed, "dropout at prediction"))
        if one.cell.mask == 0:
            x = torch.from_numpy(run.images(model["dataset"], "test")[0] / 255).float()
            answers = said(one.told, model, forward(layers, x, drop).double().numpy())["probabilities"]
            np.testing.assert_allclose(run.arrays(run.file_of(one, "npz"))["test/probabilities"], answers, atol=1e-5)
    assert {one.variant for one in found if one.cell.mask == 0} == {"first", "left_on"}
