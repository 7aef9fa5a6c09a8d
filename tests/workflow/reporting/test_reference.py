"""The page of the whole reproduction, from runs of several lengths."""

import json
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
import yaml
from matplotlib.colors import to_hex

from tests.helpers import ROOT
from workflow.reporting.comparison import compare
from workflow.reporting.published import published
from workflow.reporting.reference import (
    STATUSES,
    UNKNOWN,
    Cause,
    causes_in,
    claims_of_all,
    gather,
    page,
    parts_in,
    robustness_of_all,
    text_of_numbers,
    united,
)
from workflow.reporting.verdict_map import VERDICT_COLOURS, verdict_map

REFERENCE = ROOT / "results/reference"


def a_run(folder: Path, steps: int, seeds: int, off: float, roles: tuple[str, ...] = ("FCNN", "CNN")) -> None:
    """A run whose experiment 1 is off by so much, for some models on MNIST."""
    ours = published("exp1").query("dataset == 'MNIST' and model in @roles")
    ours = ours.assign(**{name: ours[name] + off for name in ("teacher_nll", "student_nll", "entropy_mae")})
    rows = compare({"exp1": ours}, [[role, "MNIST", steps] for role in roles], seeds)
    (folder / "tables").mkdir(parents=True)
    rows.to_csv(folder / "tables/published_vs_reproduced.csv", index=False)
    ours.to_csv(folder / "tables/exp1.csv", index=False)
    pd.DataFrame({"claim": ["It is so"]}).to_csv(folder / "tables/claims.csv", index=False)
    (folder / "manifest.json").write_text(json.dumps({"gped": "9.9", "commit": 40 * "a", "finished": "2020-02-03T"}))
    model = {"chain": {"steps": steps}}
    config = {"preset": "paper", "seeds": list(range(seeds)), "models": {"fcnn_mnist": model, "cnn_mnist": None}}
    (folder / "config.yaml").write_text(yaml.safe_dump(config))


@pytest.fixture
def runs(tmp_path) -> Path:
    a_run(tmp_path / "early", 100, 2, off=0.1)
    a_run(tmp_path / "late", 1000, 1, off=0.2, roles=("CNN",))
    a_run(tmp_path / "once", 100, 1, off=0.3)
    return tmp_path


def test_of_each_number_the_longest_run_counts_then_that_of_most_seeds(runs):
    made = gather(parts_in(runs), []).dropna(subset="reproduced").set_index(["model", "quantity"])
    assert len(made) == 6
    assert (made.loc["CNN", "part"] == "late").all() and (made.loc["FCNN", "part"] == "early").all()
    assert made["difference"].round(6).to_dict() == {
        (model, quantity): off
        for model, off in {"FCNN": 0.1, "CNN": 0.2}.items()
        for quantity in ("teacher_nll", "student_nll", "entropy_mae")
    }


def test_numbers_keep_the_order_of_the_paper_and_none_is_lost(runs):
    numbers = gather(parts_in(runs), [])
    assert numbers["published"].tolist() == compare({}, [], 1)["published"].tolist()
    assert (numbers.loc[numbers["reproduced"].isna(), "part"] == "").all()


def test_a_number_that_differs_has_the_first_cause_that_explains_it_and_no_other_has_one(runs):
    short = Cause("short", "suspected", "", "", {"steps below": 1000})
    nll = Cause("nll", "tested", "", "", {"quantity": ["teacher_nll", "student_nll"], "table": "exp1"})
    numbers = gather(parts_in(runs), [nll, short])
    found = numbers.query("table == 'exp1' and dataset == 'MNIST'").set_index(["model", "quantity"])["cause"]
    assert found["FCNN", "teacher_nll"] == found["CNN", "student_nll"] == "nll"
    assert found["FCNN", "entropy_mae"] == "short"
    assert found["CNN", "entropy_mae"] == UNKNOWN
    assert Counter(numbers["cause"])[""] == 516 - 6


def test_a_number_that_agrees_has_no_cause(tmp_path):
    a_run(tmp_path / "same", 100, 1, off=0)
    everything = Cause("everything", "tested", "", "", {})
    assert set(gather(parts_in(tmp_path), [everything])["cause"]) == {""}


def with_cells(run: Path, cells: str, off: float = 0) -> None:
    """Gives a run some cells of experiment 2, as published or with another NLL of the teachers."""
    table = published("estimators").query(cells)
    table.assign(teacher_nll=table["teacher_nll"] + off).to_csv(run / "tables/estimators.csv", index=False)


def test_claims_are_judged_on_the_cells_of_all_runs_together(runs):
    claim = "The teacher's NLL rises with masking"
    with_cells(runs / "early", "model == 'FCNN' and masking_rate < 0.01")
    one = claims_of_all(parts_in(runs)).set_index("claim").loc[claim]
    assert (one["verdict"], one["evidence"]) == (
        "not measured",
        "needs at least 2 masking rates in the table estimators",
    )
    with_cells(runs / "late", "model == 'FCNN' and masking_rate > 0.2")
    both = claims_of_all(parts_in(runs)).set_index("claim").loc[claim]
    assert both["verdict"] == "holds" and both["reproduced"] == "12 of 12 (16 chains, 1 seed)"


def test_a_run_that_judges_no_claims_says_nothing_about_them(runs):
    (runs / "late/tables/claims.csv").unlink()
    with_cells(runs / "late", "model == 'FCNN'")
    claims = claims_of_all(parts_in(runs)).set_index("claim")
    assert claims.loc["The teacher's NLL rises with masking", "verdict"] == "not measured"


def test_of_a_row_that_several_runs_make_the_longest_runs_is_judged_then_that_of_most_seeds(runs):
    for name, off in (("once", 3), ("early", 1), ("late", 2)):
        with_cells(runs / name, "model == 'FCNN'" if name != "late" else "model == 'FCNN' and masking_rate == 0", off)
    keys = ["model", "dataset", "train_size", "masking_rate"]
    table = united(parts_in(runs))["estimators"].merge(published("estimators"), on=keys, suffixes=("", "_published"))
    off = (table["teacher_nll"] - table["teacher_nll_published"]).round(6)
    assert len(table) == 24
    assert set(off[table["masking_rate"] == 0]) == {2} and set(off[table["masking_rate"] > 0]) == {1}


def test_heatmaps_have_the_cells_of_all_runs_and_leave_blank_what_none_has_made(runs):
    with_cells(runs / "early", "model == 'FCNN' and masking_rate == 0")
    with_cells(runs / "late", "model == 'FCNN' and masking_rate == 0.29 and train_size > 10000")
    with_cells(runs / "once", "model == 'CNN' and masking_rate == 0")  # without masks there is no heatmap
    ((name, figure),) = robustness_of_all(parts_in(runs))
    assert name == "robustness_fcnn_mnist"
    table = published("estimators").query("model == 'FCNN' and masking_rate in (0, 0.29)")
    made = table[(table["masking_rate"] == 0) | (table["train_size"] > 10000)]
    written = [text.get_text() for text in figure.axes[0].texts]
    assert sorted(written) == sorted(made["teacher_nll"].map("{:.3f}".format)) and len(written) == 7


def test_the_page_tells_what_made_each_run_and_how_many_numbers_count_there(runs):
    parts = parts_in(runs)
    text = page(runs, parts, [], gather(parts, []), claims_of_all(parts))
    assert "| [early](early/) | paper | 100 | 2 | 3 | 9.9 | aaaaaaaaaaaa | not recorded | 2020-02-03 |" in text
    assert "| [late](late/) | paper | 1,000 | 1 | 3 |" in text and "| [once](once/) | paper | 100 | 1 | 0 |" in text
    assert "these runs make 6: 0 agree, 0 are better and 6 worse" in text


def test_the_map_has_a_square_of_its_verdicts_colour_for_every_number(runs):
    numbers = gather(parts_in(runs), [])
    squares = [(axis, patch) for axis in verdict_map(numbers).axes for patch in axis.patches]
    assert len({(axis, patch.xy) for axis, patch in squares}) == 516
    colours = Counter(to_hex(patch.get_facecolor()).upper() for _, patch in squares)
    assert colours == {VERDICT_COLOURS[name].upper(): count for name, count in Counter(numbers["verdict"]).items()}


# What is committed


def test_the_committed_page_follows_from_the_committed_runs():
    parts, causes = parts_in(REFERENCE), causes_in(REFERENCE)
    numbers, claims = gather(parts, causes), claims_of_all(parts)
    assert (REFERENCE / "README.md").read_text() == page(REFERENCE, parts, causes, numbers, claims)
    assert (REFERENCE / "numbers.md").read_text() == text_of_numbers(numbers)
    assert (REFERENCE / "numbers.csv").read_text() == numbers.to_csv(index=False, float_format="%.6g")
    assert (REFERENCE / "claims.csv").read_text() == claims.to_csv(index=False)


def test_every_committed_cause_explains_something_and_its_evidence_is_there():
    causes = causes_in(REFERENCE)
    found = set(gather(parts_in(REFERENCE), causes)["cause"])
    for cause in causes:
        assert cause.name in found and cause.status in STATUSES and cause.says.endswith(".")
        assert (REFERENCE / cause.evidence).is_file()
