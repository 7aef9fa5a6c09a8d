"""What the hash of a stage of the workflow depends on."""

from pathlib import Path

from gped.support import codehash

SCRIPTS = Path(__file__).parent.parent / "workflow" / "scripts"


def modules_of(stage: str) -> set[str]:
    """Names of the library's modules that a stage depends on."""
    found = codehash.modules(SCRIPTS / f"{stage}.py")
    return {path.stem for path in found if codehash.PACKAGE in path.parents}


def test_a_chain_does_not_depend_on_how_students_learn_nor_they_on_how_it_runs():
    assert {"chain", "sgld", "recording", "reference"} <= modules_of("teacher")
    learning = {"distillation", "student", "learner", "specification", "heads", "estimators", "pruning"}
    assert not (learning | {"metrics", "matrix"}) & modules_of("teacher")
    assert learning <= modules_of("students")
    assert not {"chain", "sgld", "reference", "metrics", "matrix"} & modules_of("students")
    assert not {"chain", "distillation", "inputs", "network", "checkpoint"} & modules_of("measure")
