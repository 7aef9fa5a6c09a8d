"""A hash of code that changes with what it does, not with its comments, docstrings or layout."""

import ast
import hashlib
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1]


def code_hash(module: str | Path) -> str:
    """Hash of a module, told by its file, and of everything in this checkout that it imports, directly or not."""
    digest = hashlib.sha256()
    for path, tree in sorted(modules(Path(module)).items()):
        digest.update(path.name.encode() + _dumped(tree))
        if path.with_suffix(".c").is_file():  # what a module compiles is its code, too
            digest.update(path.with_suffix(".c").read_bytes())
    return digest.hexdigest()[:16]


def modules(module: Path) -> dict[Path, ast.Module]:
    """A module and all that it imports in this checkout, each with what runs of it."""
    trees, waiting = dict[Path, ast.Module](), [module]
    while waiting:
        path = waiting.pop()
        if path not in trees:
            trees[path] = _what_runs(path.read_text())
            waiting += _imported(trees[path])
    return trees


def _imported(tree: ast.Module) -> set[Path]:
    """Files of the modules that a module imports, anywhere in it."""
    found = set()
    for name in _names(tree) - {PACKAGE.name}:  # the package itself only says where its names live
        base = PACKAGE.parent.joinpath(*name.split("."))
        found |= {file for file in (base.with_suffix(".py"), base / "__init__.py") if file.is_file()}
    return found


# Scripts have most modules in common, and Snakemake asks for all scripts whenever it starts.


@cache
def _names(tree: ast.Module) -> set[str]:
    """What a module imports, and what of it."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


@cache
def _dumped(tree: ast.Module) -> bytes:
    return ast.dump(tree).encode()


@cache
def _what_runs(text: str) -> ast.Module:
    """The tree of a module without strings that stand alone, and without what only type checkers see."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [part for part in body if not _is_string(part) and not _is_for_types(part)]  # type: ignore[attr-defined]
    return tree


def _is_string(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
