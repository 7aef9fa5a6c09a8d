"""A hash of code follows what the code does."""

import ast
from pathlib import Path

import pytest

from gped.support import codehash


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A package with two modules and a script that uses one of them."""
    package = tmp_path / "gped"
    package.mkdir()
    monkeypatch.setattr(codehash, "PACKAGE", package)
    (package / "used.py").write_text("from gped import deep\n\n\ndef f(x):\n    return deep.g(x)\n")
    (package / "deep.py").write_text("def g(x):\n    return x + 1\n")
    (package / "unused.py").write_text("y = 1\n")
    (tmp_path / "helper.py").write_text("z = 3\n")
    script = tmp_path / "script.py"
    script.write_text("import helper\nfrom gped.used import f\n\nprint(f(helper.z))\n")
    return tmp_path


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize("file", ["script.py", "helper.py", "gped/used.py", "gped/deep.py"])
def test_comments_docstrings_and_layout_change_nothing(file, project):
    before = codehash.code_hash(project / "script.py")
    path = project / file
    path.write_text('"""A docstring."""\n\n# a comment\n' + path.read_text().replace("(x)", "( x )"))
    assert codehash.code_hash(project / "script.py") == before


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("script.py", "print", "repr"),
        ("helper.py", "3", "4"),
        ("gped/used.py", "g(x)", "g(x + 0)"),
        ("gped/deep.py", "1", "2"),
    ],
)
def test_code_that_is_used_however_indirectly_changes_the_hash(file, old, new, project):
    before = codehash.code_hash(project / "script.py")
    change(project / file, old, new)
    assert codehash.code_hash(project / "script.py") != before


def test_code_that_is_not_used_changes_nothing(project):
    before = codehash.code_hash(project / "script.py")
    change(project / "gped/unused.py", "1", "2")
    assert codehash.code_hash(project / "script.py") == before


def test_the_kernels_source_is_part_of_the_code_that_a_chain_depends_on(tmp_path):
    (tmp_path / "a.py").write_text("x = 1")
    before = codehash.code_hash(tmp_path / "a.py")
    (tmp_path / "a.c").write_text("int x;")
    assert codehash.code_hash(tmp_path / "a.py") != before


def test_the_modules_of_a_script_are_itself_and_all_that_it_imports(project):
    found = codehash.modules(project / "script.py")
    names = ("script.py", "helper.py", "gped/used.py", "gped/deep.py")
    assert found.keys() == {project / name for name in names}
    (function,) = found[project / "gped/deep.py"].body
    assert ast.unparse(function) == "def g(x):\n    return x + 1"
