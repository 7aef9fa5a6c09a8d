"""The benchmarks measure what they say, in the smallest size."""

import runpy
import sys

import pandas as pd
import pytest
import torch

from tests.helpers import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))

import estimate
import overhead
import steps

import gped
from workflow.experiments.matrix import Matrix


@pytest.mark.slow
def test_all_contenders_take_turns_and_are_compared_in_the_same_round():
    rows = steps.measure("cnn_mnist", rounds=2)
    names = ["ours", "ours, native noise", "posteriors", "plain loop", "forward and backward", "matrix products"]
    assert list(rows["step"]) == 2 * names
    table = steps.summary(rows).set_index("step")
    assert (table["ms"] > 0).all() and table.loc["ours", "times_ours"] == 1


def test_the_plain_loop_follows_the_gradient_of_the_posterior(monkeypatch):
    """Without its noise, against the formula written out."""
    monkeypatch.setattr(torch, "randn_like", torch.zeros_like)
    x, y = torch.rand(steps.BATCH, 1, 28, 28), torch.randint(0, 10, (steps.BATCH,))
    network = gped.Network(gped.FCNN_MNIST, 10, gped.stream(0, "θ"))
    before = [parameter.detach().clone() for parameter in network.parameters()]
    gradients = torch.autograd.grad(torch.nn.functional.cross_entropy(network(x), y), list(network.parameters()))
    steps.with_a_plain_loop(network, lambda: (x, y))()
    for old, gradient, new in zip(before, gradients, network.parameters(), strict=True):
        expected = old - steps.STEP_SIZE / 2 * (steps.INPUTS * gradient + steps.PRIOR * old)
        torch.testing.assert_close(new.detach(), expected, rtol=1e-5, atol=1e-7)


def test_the_ratios_are_those_of_the_times():
    names = {"ours": 2.0, "ours, native noise": 1.0, "posteriors": 6.0, "forward and backward": 0.5}
    rows = [{"network": "fcnn_mnist", "round": 0, "step": step, "ms": ms} for step, ms in names.items()]
    shared = pd.DataFrame({"H": 10, "students": [1, 4], "seconds": [2.0, 4.0], "own chains over one": [1.0, 2.0]})
    runs = ["chain", "chain, recorded", "chain, recorded, with checkpoints", "4 students, live"]
    recorded = pd.DataFrame({"run": runs, "over the chain": [1.0, 1.01, 1.02, 2.0]})
    ratios = runpy.run_path(str(ROOT / "benchmarks/__main__.py"))["ratios"]
    table = ratios(steps.summary(pd.DataFrame(rows)), shared, recorded).set_index("what")["ratio"]
    assert table.round(6).tolist() == [3, 4, 6, 2, 2, 1.01, 1.02]
    assert table["fcnn_mnist, ours, native noise: over the bare gradient"] == 2


def test_an_estimate_adds_up_the_steps_and_updates_of_the_matrix(monkeypatch):
    matrix = Matrix(estimate.configuration([ROOT / "workflow/presets/paper.yaml"]))
    monkeypatch.setattr(estimate, "chain_seconds", lambda role, noise: (3600e-6, 0.0))
    monkeypatch.setattr(estimate, "update_seconds", lambda architecture: 0.0)
    table = estimate.estimate(matrix).set_index("model")
    fine_tuning = (2 * 600 * 600 + 800 * 200) / 1e6
    assert table.loc["all", "chain hours"] == pytest.approx(51 + fine_tuning)
    assert table.loc["all", "student hours"] == 0
    monkeypatch.setattr(estimate, "chain_seconds", lambda role, noise: (0.0, 0.0))
    monkeypatch.setattr(estimate, "update_seconds", lambda architecture: 3600 / 99_900)
    table = estimate.estimate(matrix).set_index("model")
    base = 24 * (2 * 0.1 + 2)  # predictive with H = 100, entropy with H = 10, both estimators
    search = 35 * (0.1 + 1)
    pruned = 11 * (0.1 + 1) * (999_000 + 360_000) / 999_000
    assert table.loc["fcnn_mnist", "student hours"] == pytest.approx(base + search + pruned + 8, rel=1e-6)


def test_the_time_of_a_run_is_shared_out_without_a_rest(tmp_path):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/teacher.log").write_text("12:00:00 chain: steps 1 to 600 in 0:01:10, loss 0.3\n")
    (tmp_path / "logs/students.log").write_text("12:00:00 distilling: steps 301 to 600 in 0:00:20, loss 0.3\n")
    pd.DataFrame({"job": ["a", "b"], "seconds": [80.0, 30.0]}).to_csv(tmp_path / "timings.csv")
    (tmp_path / "manifest.json").write_text(
        '{"started": "2026-01-01T00:00:00+00:00", "finished": "2026-01-01T00:01:40+00:00"}'
    )
    table = overhead.outside(tmp_path, cores=2)
    assert table["core seconds"].tolist() == [70, 20, 20, 90]
    assert table["share"].sum() == pytest.approx(1)
