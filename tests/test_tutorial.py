"""The tutorial is a notebook that runs, and shows what it would show now."""

import base64
import json
import re
import struct
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from tests.helpers import ENVIRONMENT, ROOT, files_in

PATH = ROOT / "docs/tutorial.ipynb"
NUMBER = re.compile(r"\d+(?:\.\d+)?")


def notebook(path: Path = PATH) -> list[dict]:
    return json.loads(path.read_text())["cells"]


def printed(cells: list[dict]) -> list[str]:
    outputs = [output for cell in cells for output in cell.get("outputs", ())]
    return [line for output in outputs for line in output.get("text", ())]


def pictures(cells: list[dict]) -> list[list[tuple[int, int]]]:
    """Width and height of every picture, cell by cell."""
    found = []
    for cell in cells:
        encoded = [output["data"]["image/png"] for output in cell.get("outputs", ()) if "data" in output]
        found.append([struct.unpack(">II", base64.b64decode(one)[16:24]) for one in encoded])  # a PNG's header
    return found


def executed(path: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", ROOT / "docs/notebook.py", path, folder / "executed.ipynb"]
    environment = ENVIRONMENT | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)


def test_the_notebook_is_one_that_any_forge_shows():
    nbformat.validate(nbformat.read(PATH, as_version=4))
    assert PATH.stat().st_size < 500_000
    code = [cell for cell in notebook() if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert sum(map(len, pictures(notebook()))) >= 5


def test_its_links_lead_to_files():
    text = "\n".join("".join(cell["source"]) for cell in notebook() if cell["cell_type"] == "markdown")
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert links and all((PATH.parent / link).is_file() for link in links)


@pytest.mark.slow
def test_it_runs_and_shows_what_it_would_show_now(tmp_path):
    result = executed(PATH, tmp_path)
    assert result.returncode == 0, result.stderr
    assert {file for file in files_in(tmp_path) if "cache" not in file} == {"executed.ipynb", "student.safetensors"}
    now, then = notebook(tmp_path / "executed.ipynb"), notebook()
    for ours, theirs in zip(printed(now), printed(then), strict=True):
        assert NUMBER.sub("#", ours) == NUMBER.sub("#", theirs)
        numbers = [[float(number) for number in NUMBER.findall(line)] for line in (ours, theirs)]
        assert numbers[0] == pytest.approx(numbers[1], rel=0.05, abs=0.05 if "%" not in ours else 1.0)
    for drawn, shown in zip(pictures(now), pictures(then), strict=True):
        assert [pytest.approx(size, rel=0.03) for size in shown] == drawn

    ensemble, student = (float(line.split("%")[0].split()[-1]) for line in printed(now) if "% right" in line)
    assert min(ensemble, student) > 88
    assert all(float(number) > 0.75 for line in printed(now) if "AUROC" in line for number in NUMBER.findall(line))
    assert printed(now)[-1] == "says the same: True\n"


def cells(*sources: str) -> str:
    return json.dumps({"cells": [{"cell_type": "code", "source": source.splitlines(True)} for source in sources]})


def test_cells_share_their_names_and_keep_what_they_print_and_draw(tmp_path):
    draw = "import matplotlib.pyplot as plt\nplt.plot([x])\nprint(x)"
    (tmp_path / "a.ipynb").write_text(cells("x = 3", draw, "print(plt.get_fignums())"))
    assert executed(tmp_path / "a.ipynb", tmp_path).returncode == 0
    found = notebook(tmp_path / "executed.ipynb")
    assert printed(found) == ["3\n", "[]\n"]
    assert [len(drawn) for drawn in pictures(found)] == [0, 1, 0]


def test_a_cell_that_raises_fails_and_leaves_the_notebook_as_it_was(tmp_path):
    (tmp_path / "a.ipynb").write_text(cells("x = 1", "y = x / 0"))
    result = executed(tmp_path / "a.ipynb", tmp_path)
    assert result.returncode == 1 and "cell 2" in result.stderr and "ZeroDivisionError" in result.stderr
    assert files_in(tmp_path) == ["a.ipynb"]
