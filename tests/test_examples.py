"""The examples of bringing one's own run as they stand, do what they say, and are what their pages quote."""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from tests.helpers import ROOT, copy_of_the_project, snakemake

EXAMPLES = ROOT / "examples"
PAGES = sorted((ROOT / "docs").glob("own_*.md"))
NUMBER = re.compile(r"\d+(?:\.\d+)?")


def run(name: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, EXAMPLES / name, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)


@pytest.fixture(scope="module")
def printed(tmp_path_factory) -> Callable[[str], str]:
    """What an example prints. Each is run once, in a folder where it must leave nothing behind."""

    @cache
    def of(name: str) -> str:
        folder = tmp_path_factory.mktemp("nothing")
        result = run(name, folder)
        unexpected = [line for line in result.stderr.splitlines() if not line.startswith("distilling: step")]
        assert result.returncode == 0 and not unexpected, result.stderr  # on a slow machine there is progress
        assert not list(folder.iterdir())
        return result.stdout

    return of


def numbers(line: str) -> list[float]:
    return [float(number) for number in NUMBER.findall(line)]


# The library


@pytest.mark.slow
def test_a_student_learns_expectations_of_ones_own(printed):
    margin, square = (numbers(line) for line in printed("own_expectation.py").splitlines())
    assert margin[0] < 0.6 * margin[1]
    assert square[0] < 0.4 * square[1]


@pytest.mark.slow
def test_a_student_learns_from_a_module_and_tensors_of_ones_own(printed):
    lines = [numbers(line) for line in printed("own_network.py").splitlines()]
    for right, predictive, entropy in (lines[:3], lines[3:]):
        ensemble, student, likelier = right
        assert min(ensemble, student) > likelier + 20
        assert predictive[0] < 0.2 * predictive[1]
        assert entropy[0] < 0.4 * entropy[1]


@pytest.mark.slow
def test_one_student_says_what_an_ensemble_of_ones_own_says(printed):
    lines = [numbers(line) for line in printed("own_ensemble.py").splitlines()]
    for (ensemble, student), (error, constant) in (lines[:2], lines[2:]):
        assert student > ensemble - 5 and ensemble > 80
        assert error < 0.85 * constant


@pytest.mark.slow
def test_a_student_of_a_regression_says_both_parts_of_the_variance(printed):
    lines = printed("own_regression.py").splitlines()
    for chain, student, data, knowledge in (map(numbers, lines[:4]), map(numbers, lines[4:])):
        assert student[0] < 1.1 * chain[0] and student[1] < chain[1] + 0.1
        assert abs(student[2] - chain[2]) < 6
        assert data[0] < max(0.03, 0.6 * data[1])  # the cubic's noise is the same everywhere
        assert knowledge[0] < 0.6 * knowledge[1]


@pytest.mark.slow
def test_a_student_learns_from_a_folder_of_images_and_is_least_sure_where_it_should_be(printed):
    right, sure, unsure = printed("own_images.py").splitlines()
    ensemble, student, likeliest = numbers(right)
    assert likeliest < 20 and min(ensemble, student) > 75
    assert numbers(sure)[-1] < 0.1 and numbers(unsure)[-1] > 1
    true, said = re.fullmatch(r"(\d)/\d+\.png: (\d), .*", sure).groups()
    assert true == said


@pytest.mark.slow
def test_a_folder_of_the_users_is_read_with_its_own_classes(tmp_path):
    generator = np.random.default_rng(0)
    for name, least in (("dark", 0), ("light", 100)):
        (tmp_path / "mine" / name).mkdir(parents=True)
        for number in range(60):
            pixels = generator.integers(least, least + 156, (30, 40, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(tmp_path / "mine" / name / f"{number}.jpg")
    result = run("own_images.py", tmp_path, "mine")
    assert result.returncode == 0, result.stderr
    right, *asked = result.stdout.splitlines()
    assert numbers(right)[1] > 90
    assert all(re.fullmatch(r"(dark|light)/\d+\.jpg: (dark|light), .*", line) for line in asked)


@pytest.mark.slow
def test_a_folder_without_classes_is_refused_with_a_sentence(tmp_path):
    Image.new("L", (20, 20)).save(tmp_path / "alone.png")
    result = run("own_images.py", tmp_path, ".")
    assert result.returncode
    assert result.stderr == ". has no folders of classes in it: the teacher needs labels.\n"


@pytest.mark.slow
@pytest.mark.parametrize("sampler", ["LaplaceSGLD", "SGHMC"])
def test_another_sampler_has_the_moments_of_its_posterior_and_teaches_a_student(sampler, printed):
    lines = [line for line in printed("own_sampler.py").splitlines() if line.startswith(f"{sampler}: ")]
    (mean, exact_mean), (variance, exact_variance), (error, constant) = map(numbers, lines)
    assert abs(mean - exact_mean) < 0.015
    assert abs(variance / exact_variance - 1) < 0.05
    assert error < 0.4 * constant


# The workflow


def commands(page: str) -> list[list[str]]:
    """The commands of a page, each as its words."""
    text = (ROOT / "docs" / page).read_text()
    return [shlex.split(block.replace("\\\n", " ")) for block in re.findall(r"```bash\n(.*?)```", text, re.DOTALL)]


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    folder = copy_of_the_project(tmp_path_factory.mktemp("project"))
    shutil.copytree(EXAMPLES, folder / "examples")
    return folder


@pytest.mark.slow
def test_a_configuration_alone_gives_rows_of_ones_own(project):
    ((program, cores, number, *arguments),) = commands("own_row.md")
    assert (program, cores, number) == ("snakemake", "--cores", "2")
    result = snakemake(project, *arguments)
    assert result.returncode == 0, result.stdout[-3000:]
    assert re.search(r"^teacher +2$", result.stdout, re.MULTILINE)  # no models but the one that was asked for
    tables = project / "results/own_row/tables"
    rows = pd.read_csv(tables / "estimators_fcnn_mnist.csv")
    assert list(zip(rows["train_size"], rows["masking_rate"], strict=True)) == [(1500, 0), (1500, 0.18)]
    assert (rows.filter(like="nll") < 1.2).all(axis=None)  # guessing has an NLL of 2.3
    students = pd.read_csv(tables / "tradeoff_predictive_fcnn_mnist.csv")
    assert list(zip(students["k1"], students["k2"], strict=True)) == [(0.25, 0.25), (0.25, 1), (1, 0.25), (1, 1)]
    assert students["nll"].iloc[-1] < students["nll"].iloc[0] < 1.5

    shown = (ROOT / "docs/own_row.md").read_text()
    written = (tables / "estimators_fcnn_mnist.md").read_text()
    quoted, table = ([line for line in text.splitlines() if line.startswith("|")] for text in (shown, written))
    assert NUMBER.sub("#", "\n".join(quoted)) == NUMBER.sub("#", "\n".join(table))
    assert numbers("\n".join(quoted)) == pytest.approx(numbers("\n".join(table)), rel=0.1)
    ends = [students["params"].iloc[0], students["nll"].iloc[0], students["params"].iloc[-1], students["nll"].iloc[-1]]
    (sentence,) = (line.replace(",", "") for line in shown.splitlines() if "89,610 parameters" in line)
    assert numbers(sentence) == pytest.approx(ends, rel=0.1)


# The pages


def examples_of(page: Path) -> list[str]:
    """The names of the examples that a page links to."""
    return re.findall(r"\(\.\./examples/([^)]+)\)", page.read_text())


def test_each_kind_of_thing_has_its_page():
    assert [page.stem for page in PAGES] == [
        "own_ensemble",
        "own_expectation",
        "own_network_and_data",
        "own_pictures",
        "own_regression",
        "own_row",
        "own_sampler",
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_in_a_page_stands_in_its_example_line_for_line(page):
    blocks = re.findall(r"```(?:python|yaml)\n(.*?)```", page.read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        assert any(f"\n{block}" in "\n" + (EXAMPLES / name).read_text() for name in examples_of(page)), block


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_fits_a_screen_and_its_links_lead_somewhere(page):
    text = page.read_text()
    assert len(text.splitlines()) < 65
    for link in re.findall(r"\]\(([^)]+)\)", text):
        assert (page.parent / link).exists(), link


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if page.stem != "own_row"], ids=lambda page: page.stem)
def test_the_output_in_a_page_is_that_of_its_example(page, printed):
    """The same words. Other processors round otherwise, so that numbers may differ a little, and the images shown."""
    outputs = "".join(printed(name) for name in examples_of(page)).splitlines()
    quoted = "".join(re.findall(r"```text\n(.*?)```", page.read_text(), re.DOTALL)).splitlines()
    assert quoted
    for ours, theirs in zip(outputs, quoted, strict=True):
        assert NUMBER.sub("#", ours) == NUMBER.sub("#", theirs)
        if ".png" not in ours:
            assert numbers(ours) == pytest.approx(numbers(theirs), rel=0.2, abs=0.02)
