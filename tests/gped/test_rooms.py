"""Who imports whom: the library's modules and rooms stand in an order, and none knows of the workflow."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import gped

PACKAGE = Path(gped.__file__).parent


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def imported(name: str) -> set[str]:
    """What a module imports anywhere in it, also within functions or for type checkers only."""
    found = set()
    for node in ast.walk(ast.parse(MODULES[name].read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{name} imports relatively"
            inside = {alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            found |= {full if full in MODULES else str(node.module) for full in inside.values()}
    return found


def graph_of_modules() -> dict[str, set[str]]:
    """Without the package itself, which only says where its names live."""
    return {name: imported(name) & (MODULES.keys() - {"gped"}) for name in MODULES if name != "gped"}


def room_of(name: str) -> str:
    """The folder of a module, or the module itself if it stands above the rooms."""
    return name.split(".")[1]


def graph_of_rooms() -> dict[str, set[str]]:
    rooms: dict[str, set[str]] = {}
    for name, others in graph_of_modules().items():
        rooms.setdefault(room_of(name), set()).update(map(room_of, others))
    return {room: others - {room} for room, others in rooms.items()}


def check_that_there_is_an_order(graph: dict[str, set[str]]) -> None:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"a cycle of imports: {' <- '.join(error.args[1])}")


@pytest.mark.parametrize("name", MODULES)
def test_no_module_knows_of_the_workflow_or_the_tests(name):
    assert not {other for other in imported(name) if other.split(".")[0] in ("workflow", "tests", "benchmarks")}


@pytest.mark.parametrize("name", [name for name in MODULES if name != "gped"])
def test_no_module_imports_from_the_package_what_lives_in_a_module(name):
    assert "gped" not in imported(name)


def test_no_modules_import_each_other_in_a_circle():
    assert len(graph_of_modules()) > 40
    check_that_there_is_an_order(graph_of_modules())


def test_no_rooms_import_each_other_in_a_circle():
    assert {"data", "networks", "sampling", "readings", "students", "evaluation", "support"} <= graph_of_rooms().keys()
    check_that_there_is_an_order(graph_of_rooms())


def test_a_circle_fails_that_check():
    with pytest.raises(pytest.fail.Exception, match=r"a cycle of imports: .*a <- "):
        check_that_there_is_an_order({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})


def test_support_needs_no_other_room_and_evaluation_needs_none_at_all():
    assert graph_of_rooms()["support"] == set()
    assert graph_of_rooms()["evaluation"] == set()
