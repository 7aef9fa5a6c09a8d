"""The page that says which student is for what has the tables of the committed run, beside the published numbers."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest

import gped
from gped import metrics
from tests.helpers import ROOT
from workflow.reporting.published import published

RUN = ROOT / "results/reference/students"
PAGE = (ROOT / "docs/students.md").read_text()
MEASURED = pd.concat(pd.read_csv(RUN.parent / part / "tables/ablations.csv") for part in ("students", "entropies"))
METHODS = {"joint": ("gped", "GPED"), "end2": ("end2", "EnD²")}
ESTIMATORS = {"us": "U_s", "uo": "U_o"}
KINDS = ("total", "knowledge")
MODELS = {
    ("FCNN", "MNIST"): ("KMNIST", "notMNIST"),
    ("CNN", "MNIST"): ("KMNIST", "notMNIST"),
    ("CNN", "CIFAR10"): ("TIM",),
}
SLOWER = {"halving as configured": "as many halvings", "ten times as long between two": "as many updates"}
SETTINGS = {("slower schedule", setting): told for setting, told in SLOWER.items()}
SETTINGS["joint head", "share"] = "share of the total"
LOSSES = ("absolute", "squared", "deviance")


def only(frame: pd.DataFrame, **wanted: object) -> pd.DataFrame:
    return frame[np.logical_and.reduce([frame[name] == value for name, value in wanted.items()])]


def quantities(model: str, dataset: str) -> list[str]:
    detection = [f"auroc_{kind}_{ood}" for ood in MODELS[model, dataset] for kind in KINDS]
    return ["nll_gap", "entropy_mae", *detection, "ndcg_total", "ndcg_knowledge"]


def in_the_paper(model: str, dataset: str, target: str, estimator: str) -> list[float]:
    """The same quantities of the base student, from the paper's tables."""
    name, _ = METHODS[target]
    keys = {"model": model, "dataset": dataset, "estimator": estimator, "student": "base"}
    (test,) = only(published("test_metrics"), **keys).to_dict("records")
    detection, ranking = only(published("ood_auroc"), **keys), only(published("ndcg"), **keys)
    aurocs = (only(detection, ood_dataset=o, uncertainty=k)[name].item() for o in MODELS[model, dataset] for k in KINDS)
    ndcgs = (only(ranking, uncertainty=kind)[f"{name}_mean"].item() for kind in KINDS)
    return [test[f"nll_{name}"] - test["nll_ensemble"], test[f"entropy_mae_{name}"], *aurocs, *ndcgs]


def here(model: str, dataset: str, **wanted: object) -> pd.Series:
    """What was measured of a student, by quantity."""
    return only(MEASURED, model=model, dataset=dataset, **wanted).set_index("quantity")["value"]


def rows(model: str, dataset: str) -> Iterator[str]:
    """The lines of a model's table."""
    for target, (_, method) in METHODS.items():
        for estimator, called in ESTIMATORS.items():
            values = " | ".join(f"{value:.3f}" for value in in_the_paper(model, dataset, target, estimator))
            yield f"| {method}, {called} | published | {values} |  |"
            for (ablation, setting), told in SETTINGS.items():
                if target == "end2" and ablation == "joint head":
                    continue
                found = here(model, dataset, ablation=ablation, setting=setting, target=target, estimator=estimator)
                values = " | ".join(f"{found[name]:.3f}" for name in quantities(model, dataset))
                yield f"| {method}, {called} | {told} | {values} | {100 * found['negative_knowledge']:.0f} % |"


@pytest.mark.parametrize(("model", "dataset"), MODELS)
def test_its_tables_are_those_of_the_run(model, dataset):
    lines = list(rows(model, dataset))
    assert len(lines) == 14
    assert "\n".join(lines) in PAGE


def nearer(model: str, dataset: str) -> dict[str, str]:
    """In how many students the slower schedule is nearer to the published number, by kind of quantity."""
    counts: dict[str, list[bool]] = {}
    for target in METHODS:
        for estimator in ESTIMATORS:
            paper = in_the_paper(model, dataset, target, estimator)
            keys = {"ablation": "slower schedule", "target": target, "estimator": estimator}
            one, other = (here(model, dataset, setting=setting, **keys) for setting in SLOWER)
            for name, value in zip(quantities(model, dataset), paper, strict=True):
                kind = name.split("_")[0]
                counts.setdefault(kind, []).append(abs(other[name] - value) < abs(one[name] - value))
    return {kind: f"{sum(found)} of {len(found)}" for kind, found in counts.items()}


@pytest.mark.parametrize(("model", "dataset"), MODELS)
def test_the_page_counts_where_the_slower_schedule_is_nearer(model, dataset):
    found = nearer(model, dataset)
    assert f"| {model}, {dataset} | {' | '.join(found[kind] for kind in ('nll', 'entropy', 'auroc', 'ndcg'))} |" in PAGE


def losses(model: str, dataset: str, masking_rate: float) -> Iterator[str]:
    """Which loss learns the entropy, in one cell."""
    mask = f", m = {15 if masking_rate else 0}" if dataset == "MNIST" else ""
    for target, estimator in (("entropy", "us"), ("entropy", "uo"), ("joint", "us")):
        keys = {"ablation": "entropy loss", "masking_rate": masking_rate, "target": target, "estimator": estimator}
        found = [here(model, dataset, setting=loss, **keys) for loss in LOSSES]
        values = " | ".join(f"{one['entropy_mae']:.4f} ({one['correlation']:.2f})" for one in found)
        called = "joint" if target == "joint" else f"entropy, {ESTIMATORS[estimator]}"
        yield f"| {model}, {dataset}{mask} | {called} | {found[0]['constant_mae']:.4f} | {values} |"


def test_the_table_of_losses_is_that_of_the_run():
    cells = only(MEASURED, ablation="entropy loss")[["model", "dataset", "masking_rate"]].drop_duplicates()
    lines = [line for cell in cells.itertuples(index=False) for line in losses(*cell)]
    assert len(lines) == 3 * len(cells) > 0
    assert all(f"{line}\n" in PAGE for line in lines)


# The base students that come with it


@pytest.mark.parametrize("name", ["fcnn_mnist", "cnn_mnist"])
def test_a_student_that_comes_with_it_knows_digits_and_is_less_sure_of_letters(name):
    student, images = gped.load_student(RUN / f"{name}.safetensors"), gped.data.load("MNIST5k", "test")
    said = student.predict(images.images)
    letters = student.predict(gped.data.load("Letters", "test").images)
    assert metrics.accuracy(said.probabilities, images.labels) > 0.9
    assert metrics.auroc(said.total, letters.total) > 0.6
    assert said.class_names == tuple("0123456789")


def test_the_student_of_cifar10_has_names_for_what_it_sees():
    student = gped.load_student(RUN / "cnn_cifar10.safetensors")
    said = student.predict(np.zeros((2, 3, 32, 32), np.uint8))
    assert "airplane" in said.class_names and np.isfinite(said.total).all()
