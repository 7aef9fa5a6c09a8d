"""The README is true: its code runs, and its commands are those that work."""

import csv
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from PIL import Image
from sklearn.datasets import load_digits

import gped
from tests.helpers import ENVIRONMENT, ROOT, copy_of_the_project

TEXT = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```bash\n(.*?)```", TEXT, re.DOTALL)
COMPLETE = [line for block in BLOCKS for line in block.splitlines() if line.startswith("python3 -m venv")]
SNAKEMAKE = sorted(
    {line.split("&& ")[-1] for block in BLOCKS for line in block.splitlines() if "snakemake" in line}
    | set(re.findall(r"`(snakemake .*?)`", TEXT))
)


def in_shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """As typed, with the Python of these tests."""
    path = f"{Path(sys.executable).parent}:{ENVIRONMENT['PATH']}"
    return subprocess.run(
        command, shell=True, cwd=folder, env=ENVIRONMENT | {"PATH": path}, capture_output=True, text=True, timeout=600
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Where the README's Python code has been run."""
    folder = tmp_path_factory.mktemp("readme")
    (code,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    result = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, result.stderr
    (folder / "printed").write_text(result.stdout)
    return folder


def test_the_library_is_shown_in_a_dozen_lines():
    (code,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len([line for line in code.splitlines() if line]) <= 12


@pytest.mark.slow
def test_the_student_of_the_readme_knows_digits_that_nobody_has_seen(folder):
    right, unsure = re.fullmatch(r"(\d+)% right, unsure by (.+) nats\n", (folder / "printed").read_text()).groups()
    assert int(right) >= 85  # of 297
    assert 0 < float(unsure) <= np.log(10) + 0.01
    said = gped.load_student(folder / "student.safetensors").predict(load_digits().images[1500:].astype(np.uint8))
    assert (said.knowledge >= 0).all() and (said.data > 0).all()


@pytest.mark.slow
def test_the_student_can_be_used_as_the_readme_says(folder):
    images = (load_digits().images * 255 / 16).astype(np.uint8)
    (folder / "pictures").mkdir()
    for number in (0, 9):
        Image.fromarray(images[number]).save(folder / f"pictures/{number}.png")
    (block,) = (block for block in BLOCKS if "gped predict" in block)
    for command in block.splitlines():
        result = in_shell(command, folder)
        assert result.returncode == 0, result.stderr
    rows = list(csv.DictReader((folder / "said.csv").read_text().splitlines()))
    assert [row["class"] for row in rows] == ["0", "9"]
    session = onnxruntime.InferenceSession(folder / "student.onnx")
    (probabilities,) = session.run(["probabilities"], {"images": images[[0, 9], None]})
    np.testing.assert_allclose(probabilities[:, 9], [float(row["p9"]) for row in rows], rtol=1e-4, atol=1e-6)


def test_there_are_two_complete_commands_one_for_the_tables_and_one_for_the_tests():
    tables, tests = (command.split(" && ") for command in COMPLETE)
    assert tables[:2] == tests[:2] == ["python3 -m venv .venv", ". .venv/bin/activate"]
    assert tables[2:] == ["pip install -c envs/constraints.txt -e '.[workflow]'", "snakemake --cores 2 all_tables"]
    assert tests[2] == "pip install -c envs/constraints.txt -e '.[test]'"
    assert tests[3].startswith("python -m pytest")


@pytest.mark.slow
@pytest.mark.parametrize("command", SNAKEMAKE)
def test_every_snakemake_command_has_something_to_do(command, tmp_path):
    folder = copy_of_the_project(tmp_path)
    (folder / "mine.yaml").write_text("run: seeds\nseeds: [0, 1, 2]\n")
    result = in_shell(f"{command} --dry-run", folder)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "Job stats" in result.stdout


@pytest.mark.slow
def test_the_estimate_takes_the_name_of_a_preset():
    command = next(command for command in re.findall(r"`(python benchmarks/.*?)`", TEXT))
    assert shlex.split(command) == ["python", "benchmarks/estimate.py", "paper"]
    wrong = in_shell("python benchmarks/estimate.py papr", ROOT)
    assert wrong.returncode and wrong.stderr.strip() == "There is no preset and no file papr. Did you mean paper?"
    told = in_shell("python benchmarks/estimate.py paper", ROOT)
    assert told.returncode == 0, told.stderr
    *_, whole, _, sentence = told.stdout.rstrip().splitlines()
    chains, students, *hours = whole.split()[1:]
    assert (chains, students) == ("51.0", "504.0") and re.search(r"\b51 chains and 504 students\b", TEXT)
    assert sum(map(float, hours)) == pytest.approx(float(re.search(r"about (.*) core-hours", sentence)[1]), abs=0.11)
