"""A hash of code that changes with what it does, not with its comments, docstrings or layout."""

import ast
import hashlib
from pathlib import Path

PACKAGE = Path(__file__).parent


def code_hash(script: Path) -> str:
    """Hash of a script and of everything in this checkout that it imports, directly or not."""
    digest, seen, waiting = hashlib.sha256(), set(), [script]
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        waiting += sorted(_imported(ast.parse(path.read_text())))
    for path in sorted(seen):
        digest.update(path.name.encode() + ast.dump(_without_docstrings(ast.parse(path.read_text()))).encode())
    return digest.hexdigest()[:16]


def _imported(tree: ast.Module) -> set[Path]:
    """Files of the modules that a module imports, anywhere in it."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    found = set()
    for name in names - {PACKAGE.name}:  # the package itself only says where its names live
        base = PACKAGE.parent.joinpath(*name.split("."))
        found |= {file for file in (base.with_suffix(".py"), base / "__init__.py") if file.is_file()}
    return found


def _without_docstrings(tree: ast.Module) -> ast.Module:
    """The tree with every string that stands alone as a statement taken out."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [part for part in body if not _is_string(part)]  # type: ignore[attr-defined]
    return tree


def _is_string(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
