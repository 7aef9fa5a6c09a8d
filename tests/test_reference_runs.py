"""The committed reference run: its pages follow from its numbers, and what the documents quote stands in them."""

import html
import re
from pathlib import Path

import pandas as pd
import pytest
import yaml

from tests.helpers import ROOT, published_tables
from workflow.experiments.matrix import Matrix
from workflow.reporting.claims import judge
from workflow.reporting.comparison import compare
from workflow.reporting.published import PUBLISHED_TABLES

REFERENCE = ROOT / "results/reference"
PARTS = sorted(path.parent.parent for path in REFERENCE.glob("*/tables/published_vs_reproduced.csv"))
PAGE = (ROOT / "docs/reference.md").read_text()


def tables(part: Path, names: tuple[str, ...]) -> dict[str, pd.DataFrame]:
    files = (part / f"tables/{name}.csv" for name in names)
    return {file.stem: pd.read_csv(file) for file in files if file.exists()}


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_every_number_stands_beside_the_published_one_with_the_verdict_that_follows(part):
    lengths = Matrix(yaml.safe_load((part / "config.yaml").read_text())).chain_lengths()
    expected = compare(published_tables(), tables(part, PUBLISHED_TABLES), lengths)
    committed = pd.read_csv(part / "tables/published_vs_reproduced.csv")
    assert len(committed) == 516
    assert committed["verdict"].tolist() == expected["verdict"].tolist()
    pd.testing.assert_series_equal(committed["reproduced"], expected["reproduced"], rtol=1e-5)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_the_claims_follow_from_the_numbers(part):
    ours = tables(part, (*PUBLISHED_TABLES, "tradeoff", "constants"))
    expected = judge(published_tables("text"), ours).fillna("")
    committed = pd.read_csv(part / "tables/claims.csv", keep_default_na=False)
    pd.testing.assert_frame_equal(committed, expected, check_dtype=False)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_the_configuration_that_was_laid_over_the_preset_is_there(part):
    config = yaml.safe_load((part / "config.yaml").read_text())
    own = yaml.safe_load((REFERENCE / f"{part.name}.yaml").read_text())
    assert config["preset"] == "reduced"
    assert config["experiments"] == own["experiments"]
    command = f"--configfile results/reference/{part.name}.yaml --config preset=reduced"
    assert command in PAGE


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_the_summary_tells_the_verdicts_and_how_many_numbers_were_made(part):
    page = html.unescape((part / "summary.html").read_text())
    compared, judged = (pd.read_csv(part / f"tables/{name}.csv") for name in ("published_vs_reproduced", "claims"))
    made = compared[compared["verdict"] != "not produced"]
    assert f"It makes {len(made)} of the 516 numbers" in page
    assert f"{(made['verdict'] == 'within').sum()} within" in page
    for row in judged.itertuples():
        assert re.search(re.escape(f"<td>{row.claim}</td>") + rf'<td class="verdict \w+">{row.verdict}</td>', page)


def test_what_the_page_quotes_stands_in_the_tables():
    rendered = "".join(path.read_text() for part in PARTS for path in part.glob("tables/*.md"))
    quoted = re.findall(r"\d\.\d{3} \(\d\.\d{3}\)", PAGE)
    assert len(quoted) >= 15
    assert [number for number in quoted if number not in rendered] == []
    judged = (REFERENCE / "experiment4/tables/claims.md").read_text()
    for found in re.findall(r"\| (\d+ of \d+):", PAGE):
        assert f"| {found} |" in judged


def test_the_gaps_that_the_page_quotes_are_those_of_the_ablation():
    rows = pd.read_csv(REFERENCE / "schedule/tables/ablations.csv").query("quantity == 'nll_gap'")
    rows = rows.assign(text=[f"{mean:.4f} ± {std:.4f}" for mean, std in rows[["value", "value_seed_std"]].to_numpy()])
    gaps = rows.groupby(["model", "train_size"], sort=False)["text"].agg(list)
    quoted = re.findall(r"\| (FCNN|CNN) \| ([\d,]+) \|.*\| (-?0\.\d+ ± 0\.\d+) \| (-?0\.\d+ ± 0\.\d+) \|", PAGE)
    found = {(model, int(size.replace(",", ""))): [one, other] for model, size, one, other in quoted}
    assert found == gaps.to_dict()


def test_the_gap_falls_or_rises_with_data_as_the_page_says_of_either_seed():
    first, both = (
        pd.read_csv(REFERENCE / f"{part}/tables/ablations.csv")
        .query("ablation == 'schedule' and quantity == 'nll_gap'")
        .pivot(index=["model", "setting"], columns="train_size", values="value")
        for part in ("learning_rate", "schedule")
    )
    for seed in (first, 2 * both - first):  # the mean of two seeds has both in it
        falls = (seed.diff(axis=1).iloc[:, 1:] < 0).all(axis=1)
        rises = (seed.diff(axis=1).iloc[:, 1:] > 0).all(axis=1)
        assert falls.xs("halving per pass over D", level="setting").tolist() == [True, True]
        assert rises.xs("halving as at the largest N", level="setting").tolist() == [True, True]


def test_what_is_said_of_entropy_students_that_learnt_nothing_stands_in_the_tables():
    part = REFERENCE / "learning_rate/tables"
    constants = pd.read_csv(part / "constants.csv").query("dataset == 'MNIST'")
    errors = constants[["entropy_mae_uo", "entropy_mae_us"]]
    idle = int(errors.ge(constants["constant_mae"], axis=0).to_numpy().sum())
    assert f"Of the {errors.size} such students {idle} are no better" in " ".join(PAGE.split())
    compared = pd.read_csv(part / "published_vs_reproduced.csv").query("dataset == 'MNIST' and verdict == 'within'")
    count = compared["quantity"].str.startswith("entropy_mae").sum()
    assert f"{count} of their numbers count as *within*" in " ".join(PAGE.split())
    assert f"({count} only because the tolerance is wide" in " ".join((ROOT / "README.md").read_text().split())


def test_the_readme_counts_the_numbers_of_all_parts():
    compared = [pd.read_csv(part / "tables/published_vs_reproduced.csv")["verdict"] for part in PARTS]
    made = sum((verdicts != "not produced").astype(int) for verdicts in compared)
    assert made.max() == 1  # no number is made by two parts
    within = sum((verdicts == "within").sum() for verdicts in compared)
    readme = " ".join((ROOT / "README.md").read_text().split())
    assert f"{made.sum()} of the 516 published numbers, {within} of them within 0.01 or 10 %" in readme
