"""Who imports whom among the library's and the workflow's modules, by the script that draws the picture of it."""

import re
import runpy
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.helpers import ROOT

Edges = dict[str, set[str]]


@pytest.fixture(scope="module")
def script() -> dict:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "docs"))
        return runpy.run_path(str(ROOT / "docs/imports.py"))


@pytest.fixture(scope="module")
def modules(script) -> Edges:
    """What each module imports."""
    return script["graph"]()


@pytest.fixture(scope="module")
def rooms(script) -> Edges:
    """Which rooms each room imports from."""
    found: Edges = {}
    for used, user in script["rooms"]():
        found.setdefault(user, set()).add(used)
    return found


def check_that_there_is_an_order(graph: Edges) -> None:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"a cycle of imports: {' <- '.join(error.args[1])}")


def test_all_modules_are_looked_at(modules):
    files = [path for package in ("gped", "workflow") for path in (ROOT / package).rglob("*.py")]
    assert len(modules) == len(files) - 1  # but gped itself
    assert "workflow.experiments.names" in modules["workflow.reporting.results"]
    assert "gped.data.images" in modules["workflow.reporting.results"]


def test_no_modules_import_each_other_in_a_circle(modules):
    check_that_there_is_an_order(modules)


def test_no_rooms_import_each_other_in_a_circle(rooms):
    check_that_there_is_an_order(rooms)


def test_the_library_does_not_know_of_the_workflow(modules):
    wrong = {(user, used) for user, every in modules.items() for used in every if user.startswith("gped")}
    assert not [pair for pair in wrong if pair[1].startswith("workflow")]


def test_the_rooms_of_the_workflow_stand_in_their_order(rooms):
    order = ["workflow/experiments", "workflow/jobs", "workflow/reporting", "workflow/scripts"]
    assert {room for room in rooms if room.startswith("workflow")} == set(order)
    for number, room in enumerate(order):
        assert not rooms[room] & set(order[number:]), room


def test_no_script_is_imported(modules):
    assert not [used for every in modules.values() for used in every if used.startswith("workflow.scripts.")]


def test_the_experiments_are_values_that_need_no_arrays(modules):
    for name in (name for name in modules if name.startswith("workflow.experiments.")):
        source = (ROOT / name.replace(".", "/")).with_suffix(".py").read_text()
        assert not re.search(r"import (torch|numpy|pandas)|from (torch|numpy|pandas)", source), name
