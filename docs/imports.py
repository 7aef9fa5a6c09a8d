"""Draw which room imports from which: reads the code, writes an SVG.

    python docs/imports.py > docs/imports.svg

An arrow goes from a room to those that use it; where other arrows lead there, it is left out. With --modules, the
imports themselves are printed, module by module.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from graph import Edge, svg

ROOT = Path(__file__).parent.parent
PACKAGES = ("gped", "workflow")
WHAT = {
    "gped/support": "files, checks, checkpoints",
    "gped/data": "sets, masks, folders of images",
    "gped/inputs": "how pixels enter a network",
    "gped/networks": "architectures, pruning, cost",
    "gped/readings": "what draws say, recorded",
    "gped/sampling": "samplers, chain, reference",
    "gped/students": "what learns, and answers",
    "gped/evaluation": "metrics, uncertainties",
    "gped/distillation": "Algorithm 1",
    "gped/training": "a folder to a student",
    "gped/command": "the command line",
    "workflow/experiments": "the matrix as values",
    "workflow/jobs": "what jobs share",
    "workflow/reporting": "tables, figures, verdicts",
    "workflow/scripts": "a job each",
}


def modules() -> dict[str, Path]:
    """All modules by their dotted names."""
    found = {}
    for file in sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        parts = file.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def imports(file: Path, known: dict[str, Path]) -> Iterator[str]:
    """The modules of ours that a module imports, anywhere in it, also where only type checkers look."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module in known:
            inside = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in known else node.module for name in inside)


def room(module: str) -> str:
    """The folder that a module is in, or the module itself if it is in none."""
    return "/".join(module.split(".")[:2])


def graph() -> dict[str, set[str]]:
    """What each module imports. The package gped itself only tells where its names live, and is left out."""
    known = modules()
    return {name: set(imports(file, known)) - {name, "gped"} for name, file in known.items() if name != "gped"}


def rooms() -> list[Edge]:
    """The edges between rooms, from the one that is imported."""
    edges = {(room(used), room(user)) for user, every in graph().items() for used in every}
    return sorted((used, user) for used, user in edges if used != user)


def without_detours(edges: list[Edge]) -> list[Edge]:
    """The edges that no way over other boxes replaces."""
    below: dict[str, set[str]] = {}
    for upper, lower in edges:
        below.setdefault(upper, set()).add(lower)

    def reached(box: str) -> set[str]:
        return {far for near in below.get(box, ()) for far in ({near} | reached(near))}

    return [(one, other) for one, other in edges if not any(other in reached(near) for near in below[one] - {other})]


if __name__ == "__main__":
    if "--modules" in sys.argv:
        for user, every in graph().items():
            print(user, *sorted(every))
    else:
        sys.stdout.write(svg("The rooms, and who uses which", without_detours(rooms()), WHAT))
