"""What the hash of a stage of the workflow depends on."""

import pytest

from gped.support import codehash
from tests.helpers import ROOT

SCRIPTS = ROOT / "workflow" / "scripts"


def modules_of(stage: str) -> set[str]:
    """Names of the modules of ours that a stage depends on, without those of their packages."""
    found = codehash.modules(SCRIPTS / f"{stage}.py")
    return {path.stem for path in found if path.is_relative_to(ROOT) and path.parent != SCRIPTS}


def rooms_of(stage: str) -> set[str]:
    found = codehash.modules(SCRIPTS / f"{stage}.py")
    return {"/".join(path.relative_to(ROOT).parts[:2]) for path in found}


def test_a_chain_does_not_depend_on_how_students_learn_nor_they_on_how_it_runs():
    assert {"chain", "sgld", "recording", "reference"} <= modules_of("teacher")
    learning = {"distillation", "student", "learner", "specification", "heads", "estimators", "pruning"}
    assert not (learning | {"metrics", "matrix"}) & modules_of("teacher")
    assert learning <= modules_of("students")
    assert not {"chain", "sgld", "reference", "metrics", "matrix"} & modules_of("students")
    assert not {"chain", "distillation", "inputs", "network", "checkpoint"} & modules_of("measure")


@pytest.mark.parametrize("stage", ["data", "teacher", "students", "network", "ensemble"])
def test_what_takes_long_does_not_depend_on_the_plan_nor_on_how_results_are_told(stage):
    """Of experiments, only on what the models are: their settings tell them everything else."""
    assert "workflow/reporting" not in rooms_of(stage)
    planning = {"matrix", "settings", "tables", "figures", "plan", "paths", "ablations", "batches", "configuration"}
    assert not (planning | {"names", "manifest", "resources"}) & modules_of(stage)
    assert ("models" in modules_of(stage)) == (stage != "data")


@pytest.mark.parametrize("stage", ["measure", "draw", "compare", "claims", "summarise", "bdk"])
def test_what_tells_of_results_does_not_depend_on_how_they_come_about(stage):
    assert not {"gped/sampling", "gped/students", "gped/readings"} & rooms_of(stage)
    assert not {"plan", "settings", "resources", "configuration", "manifest"} & modules_of(stage)


def test_neither_chains_nor_students_depend_on_how_the_sets_are_got():
    getting = {"sets", "embedded", "official", "download", "decoding"}
    assert getting <= modules_of("data")
    assert not getting & (modules_of("teacher") | modules_of("students"))


def test_tables_do_not_depend_on_drawings_nor_drawings_on_rows():
    assert "drawings" not in modules_of("measure")
    assert not {"rows", "results", "claims"} & modules_of("draw")
    assert not {"rows", "drawings"} & (modules_of("compare") | modules_of("claims") | modules_of("summarise"))


def test_every_script_is_a_stage_of_some_rule_and_every_stage_has_its_script():
    rules = "".join(path.read_text() for path in (ROOT / "workflow/rules").glob("*.smk"))
    scripts = {path.stem for path in SCRIPTS.glob("*.py")} - {"__init__"}
    for stage in scripts:
        assert f'code("{stage}")' in rules and f"python -m workflow.scripts.{stage} " in rules, stage
    assert rules.count("python -m workflow.scripts.") == rules.count('=code("') == len(scripts)
