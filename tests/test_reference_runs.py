"""The committed reference run: its pages follow from its numbers, and what the documents quote stands in them."""

import html
import io
import re
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest
import yaml
from matplotlib.figure import Figure
from PIL import Image, ImageChops

from tests.helpers import ROOT, published_tables
from workflow.experiments.matrix import Matrix
from workflow.reporting.claims import judge
from workflow.reporting.comparison import compare, counted, in_words
from workflow.reporting.drawings import draw
from workflow.reporting.predicted.counted import cells_beside_published
from workflow.reporting.published import PUBLISHED_TABLES, published
from workflow.reporting.reference import parts_in, robustness_of_all, united

REFERENCE = ROOT / "results/reference"
PARTS = sorted(path.parent.parent for path in REFERENCE.glob("*/tables/published_vs_reproduced.csv"))
PAGE = (ROOT / "docs/reference.md").read_text()


def tables(part: Path, names: tuple[str, ...]) -> dict[str, pd.DataFrame]:
    files = (part / f"tables/{name}.csv" for name in names)
    return {file.stem: pd.read_csv(file) for file in files if file.exists()}


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_every_number_stands_beside_the_published_one_with_the_verdict_that_follows(part):
    matrix = Matrix(yaml.safe_load((part / "config.yaml").read_text()))
    expected = compare(tables(part, PUBLISHED_TABLES), matrix.chain_lengths(), len(matrix.config["seeds"]))
    committed = pd.read_csv(part / "tables/published_vs_reproduced.csv")
    assert len(committed) == 516
    for column in ("verdict", "repeats"):
        assert committed[column].tolist() == expected[column].tolist()
    for column in ("reproduced", "low", "high"):
        pd.testing.assert_series_equal(committed[column], expected[column], rtol=1e-4)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_the_claims_follow_from_the_numbers(part):
    ours = tables(part, (*PUBLISHED_TABLES, "tradeoff", "constants", "accuracy"))
    seeds = yaml.safe_load((part / "config.yaml").read_text())["seeds"]
    expected = judge(published_tables("text"), ours, len(seeds))
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
    assert in_words(compared) in page
    for row in judged.itertuples():
        assert re.search(re.escape(f"<td>{row.claim}</td>") + rf'<td class="verdict \w+">{row.verdict}</td>', page)


DRAWN = {
    "experiment4": {"comparison_gped_end2": "accuracy", "published_vs_reproduced": "published_vs_reproduced"},
    "grid": {"published_vs_reproduced": "published_vs_reproduced"},
    "learning_rate": {
        "published_vs_reproduced": "published_vs_reproduced",
        "robustness_cnn_mnist": "estimators",
        "robustness_fcnn_mnist": "estimators",
        "schedule": "ablations",
    },
    "schedule": {"schedule": "ablations"},
}
"""The committed figures that are drawn from committed tables. The others need images, references or predictions."""


@pytest.mark.parametrize(("part", "name"), [(part, name) for part, figures in DRAWN.items() for name in figures])
def test_the_figures_show_the_numbers_in_the_tables(part, name, tmp_path):
    committed = Image.open(REFERENCE / part / f"figures/{name}.png")
    if f"version{matplotlib.__version__}," not in committed.info["Software"]:
        pytest.skip(f"it was drawn by {committed.info['Software']}, this is {matplotlib.__version__}")
    drawing, _, role = name.partition("_") if name.startswith("robustness") else (name, "", "")
    matrix = Matrix(yaml.safe_load((REFERENCE / part / "config.yaml").read_text()))
    table, numbers = pd.read_csv(REFERENCE / part / f"tables/{DRAWN[part][name]}.csv"), str(tmp_path / "numbers.csv")
    options = {}
    if role:
        cell, options = matrix.focus(role)[0], {"title": matrix.title(role)}
        table = table[(table["model"] == cell.model) & (table["dataset"] == cell.dataset)]
    elif name == "comparison_gped_end2":
        options = {"titles": [matrix.title(role) for role in matrix.models]}
    table.to_csv(numbers, index=False)
    figure = draw(drawing, {"numbers": [numbers] if "titles" in options else numbers}, options)
    check_that_it_is(committed, figure, dpi=300)


def check_that_it_is(committed: Image.Image, figure: Figure, dpi: int) -> None:
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=dpi)
    ours = Image.open(drawn)
    assert ours.size == committed.size
    differences = ImageChops.difference(ours.convert("RGB"), committed.convert("RGB"))
    assert np.asarray(differences).mean() < 0.001  # a dot that moves by its width changes some hundred pixels


def test_the_heatmaps_of_all_runs_show_the_numbers_in_their_tables():
    figures = dict(robustness_of_all(parts_in(REFERENCE)))
    assert figures.keys() == {path.stem for path in REFERENCE.glob("robustness_*.png")}
    for name, figure in figures.items():
        committed = Image.open(REFERENCE / f"{name}.png")
        if f"version{matplotlib.__version__}," not in committed.info["Software"]:
            pytest.skip(f"it was drawn by {committed.info['Software']}, this is {matplotlib.__version__}")
        check_that_it_is(committed, figure, dpi=200)


def test_every_committed_figure_but_two_is_looked_at():
    committed = {(path.parts[-3], path.stem) for path in REFERENCE.glob("*/figures/*.png")}
    others = {("experiment4", "joint_entropy"), ("experiment4", "masking")}
    assert committed - others == {(part, name) for part, figures in DRAWN.items() for name in figures}


def test_what_the_page_quotes_stands_in_the_tables():
    rendered = "".join(path.read_text() for part in PARTS for path in part.glob("tables/*.md"))
    quoted = re.findall(r"\d\.\d{3} \(\d\.\d{3}\)", PAGE)
    assert len(quoted) >= 15
    assert [number for number in quoted if number not in rendered] == []
    judged = (REFERENCE / "experiment4/tables/claims.md").read_text()
    counts = re.findall(r"\| (\d+ of \d+(?:, \d+ tie)?):", PAGE)
    assert len(counts) == 4
    for found in counts:
        assert f"| {found} (3 chains, 1 seed) |" in judged


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
    compared = pd.read_csv(part / "published_vs_reproduced.csv").query("dataset == 'MNIST' and verdict == 'agrees'")
    count = compared["quantity"].str.startswith("entropy_mae").sum()
    assert f"{count} of their numbers agrees with the published one" in " ".join(PAGE.split())


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_the_page_tells_how_many_numbers_of_each_part_agree(part):
    verdicts = counted(pd.read_csv(part / "tables/published_vs_reproduced.csv"))["verdict"].value_counts()
    made = verdicts.drop("not measured").sum()
    (row,) = (line for line in PAGE.splitlines() if f"reference/{part.name}.yaml --config" in line)
    told = [made, *(verdicts.get(name, 0) for name in ("agrees", "better", "worse"))]
    assert row.endswith(f"| {' | '.join(map(str, told))} |")


def test_the_readme_counts_the_numbers_of_all_parts():
    compared = [pd.read_csv(part / "tables/published_vs_reproduced.csv") for part in PARTS]
    made = sum((part["verdict"] != "not measured").astype(int) for part in compared)
    assert made.max() == 1  # no number is made by two parts
    verdicts = pd.concat([counted(part) for part in compared])["verdict"].value_counts()
    readme = " ".join((ROOT / "README.md").read_text().split())
    assert f"{verdicts.drop('not measured').sum()} of the 462 different numbers in the paper's tables" in readme
    agree, better, worse = (verdicts[name] for name in ("agrees", "better", "worse"))
    assert (
        f"{agree} of them agree to half of the smallest effect" in readme
        and f"{better} are better and {worse} worse" in readme
    )


def test_the_page_tells_of_every_mask_with_all_images_what_the_runs_and_the_paper_have():
    keys = ["model", "dataset", "train_size", "masking_rate"]
    table = united(parts_in(REFERENCE))["estimators"].merge(published("estimators"), on=keys, suffixes=("", "_theirs"))
    rows = []
    table = table.query("dataset == 'MNIST' and train_size == 60000")
    table = table.sort_values(["model", "masking_rate"], ascending=[False, True])
    for row in table.to_dict("records"):
        cells = [f"{row['teacher_nll']:.3f} ({row['teacher_nll_theirs']:.3f})"]
        for estimator in ("us", "uo"):
            ours, theirs = (row[f"student_nll_{estimator}{end}"] - row[f"teacher_nll{end}"] for end in ("", "_theirs"))
            cells.append(f"{ours:+.3f} ({theirs:+.3f})".replace("-0.000", "+0.000"))
        cells.append(f"{row['entropy_mae_uo']:.3f} ({row['entropy_mae_uo_theirs']:.3f})")
        rows.append(f"| {row['model']} | {100 * row['masking_rate']:.0f} % | {' | '.join(cells)} |")
    assert len(rows) == 12
    assert "\n".join(rows) in PAGE


def test_what_the_page_says_of_masks_is_what_was_counted():
    text, counts = " ".join(PAGE.split()), (REFERENCE / "README.md").read_text()
    for told, found in (
        ("worse in all 20 cells of the FCNN, by 0.044 on average", r"above in 20 of 20, .*; \+0\.044 on average"),
        ("they differ by 0.0016 on average", r"U_o is ahead by \+0\.0016 on average of 20 cells"),
        ("in 15 of 16 cells of the FCNN, with 3 % in 1 of 4", r"constant in 15 of 16, with m = 5 in 1 of 4"),
    ):
        assert told in text and re.search(found, counts)
    table = cells_beside_published(united(parts_in(REFERENCE)), "model == 'FCNN' and masking_rate > 0")
    off = {
        name: table[name] - table[f"{name}_published"] for name in ("teacher_nll", "student_nll_uo", "student_nll_us")
    }
    assert f"worse than published by {off['student_nll_uo'].mean():.3f} on average" in text
    assert f"with U_s it is better by {-off['student_nll_us'].mean():.3f}" in text
    few, many = (off["teacher_nll"][table["train_size"] == size].mean() for size in (10_000, 60_000))
    assert f"(by {few:.3f} with 10,000, by {many:.3f} with 60,000)" in text
    gaps = table.query("masking_rate == 0.29")
    gaps = (gaps["student_nll_us"] - gaps["teacher_nll"]).set_axis(gaps["train_size"])
    assert f"from {gaps[10000]:.3f} with 10,000 images to {gaps[60000]:+.3f} with 60,000" in text


def test_the_readme_and_the_page_count_the_claims_of_all_runs_as_they_were_counted():
    claims = pd.read_csv(REFERENCE / "claims.csv").set_index("claim")
    falls, rises, gap, nll, mae = (
        [re.search(r"\d+ of \d+", claims.loc[claim, column])[0] for column in ("published", "reproduced")]
        for claim in (
            "The teacher's NLL falls with more training data",
            "The teacher's NLL rises with masking",
            "The student's NLL gap falls with more training data",
            "U_o is almost always better than U_s in NLL",
            "U_o is almost always better than U_s in entropy MAE",
        )
    )
    readme, text = (ROOT / "README.md").read_text(), " ".join(PAGE.split())
    assert f"| {falls[0]}, {rises[0]} | {falls[1]}, {rises[1]} |" in readme and f"| {gap[0]} | without masks" in readme
    assert f"rises with masks in {rises[1]} comparisons and falls with data in {falls[1]}" in text
    assert f"the claim holds in {gap[1]} comparisons" in text
    assert f"({nll[0]} with 6 ties, and {mae[0]})" in text
    assert f"in {nll[1]} cells by NLL" in text and f"in {mae[1]} cells whose students" in text


# Bayesian Dark Knowledge


def test_the_page_of_bdk_has_the_table_of_its_run_with_its_caption():
    page = (ROOT / "docs/bdk.md").read_text()
    _, *rows, note = (REFERENCE / "bdk/tables/bdk.md").read_text().strip().split("\n\n")
    assert len(rows) == 1 and len(rows[0].splitlines()) == 2 + 4 * 2
    assert f"{rows[0]}\n" in page and " ".join(note.split()) in " ".join(page.split())


def test_the_table_of_bdk_in_words_is_that_in_numbers_with_the_lengths_of_its_configuration():
    numbers = pd.read_csv(REFERENCE / "bdk/tables/bdk.csv")
    rows = (REFERENCE / "bdk/tables/bdk.md").read_text().split("\n\n")[1].splitlines()[2:]
    for row, told in zip(numbers.itertuples(), rows, strict=True):
        cells = [cell.strip() for cell in told.strip("|").split("|")]
        assert cells[:2] == [row.method, row.model] and cells[2] == f"{row.draws:,}"
        assert cells[3].split()[0] == f"{row.test_error:.3f}" and cells[4].split()[0] == f"{row.log_likelihood:.4f}"
        beside = "" if np.isnan(row.published_test_error) else f"({row.published_test_error:.3f})"
        assert cells[3].partition(" ")[2] == beside
    config = yaml.safe_load((REFERENCE / "bdk/config.yaml").read_text())
    own, chain = yaml.safe_load((REFERENCE / "bdk.yaml").read_text()), config["models"]["fcnn_mnist"]["chain"]
    assert chain["steps"] == own["models"]["fcnn_mnist"]["chain"]["steps"]
    draws = chain["steps"] // chain["reference_every"] - chain["burn_in"] // chain["reference_every"]
    assert numbers["draws"].tolist() == [1, 1, config["bdk"]["draws"], 1, config["bdk"]["members"], 1, draws, 1]
    assert f"T = {chain['steps']:,}," in (REFERENCE / "bdk/tables/bdk.md").read_text()
    assert "--configfile results/reference/bdk.yaml --config preset=bdk" in (ROOT / "docs/bdk.md").read_text()
