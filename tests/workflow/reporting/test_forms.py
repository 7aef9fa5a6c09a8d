"""The forms of a table: published values beside ours, Markdown, LaTeX, pages."""

import numpy as np
import pandas as pd
import pytest

from workflow.reporting.forms import HEADINGS, as_text, latex, markdown, page
from workflow.reporting.frames import KEY_COLUMNS
from workflow.reporting.published import PUBLISHED_TABLES, published


def test_published_values_stand_beside_ours_on_the_papers_data():
    theirs = published("exp1")
    table, note = as_text(theirs.assign(teacher_nll=theirs["teacher_nll"] + 0.1), theirs, told=[])
    assert note == "Reproduced (published)."
    assert table["Teacher NLL"].tolist() == ["0.152 (0.052)", "0.122 (0.022)", "0.771 (0.671)"]


@pytest.mark.parametrize("name", PUBLISHED_TABLES)
def test_every_published_number_finds_its_place(name):
    theirs = published(name)
    table, _ = as_text(theirs, theirs, told=["estimator", "student"])
    numbers = [column for column in theirs if column not in KEY_COLUMNS and not column.endswith("_std")]
    assert numbers
    assert len(table) == len(theirs)
    assert all(table[HEADINGS[number]].str.fullmatch(r"(\d\.\d{3})( ± \d\.\d{3})? \(\1\)").all() for number in numbers)
    assert len(table.columns) == len([column for column in theirs if column not in ("estimator", "student")]) - len(
        [column for column in theirs if column.endswith("_std")]
    )


def test_published_values_are_found_by_their_keys_whatever_the_order_of_rows():
    theirs = published("estimators")
    mixed = theirs.sample(frac=1, random_state=0)
    table, _ = as_text(mixed, theirs, told=[])
    assert table["Entropy MAE (U_s)"].str.fullmatch(r"(\d\.\d{3}) \(\1\)").all()


def test_spreads_and_missing_values_are_shown():
    ours = pd.DataFrame(
        {
            "model": ["CNN"] * 2,
            "dataset": ["MNIST"] * 2,
            "teacher_nll": [0.5, np.nan],
            "teacher_nll_seed_std": [0.01, np.nan],
        }
    )
    theirs = pd.DataFrame({"model": ["FCNN"], "dataset": ["MNIST"], "teacher_nll": [1.0]})
    table, _ = as_text(ours, theirs, told=[])
    assert list(table) == ["Model", "Data", "Teacher NLL"]
    assert table["Teacher NLL"].tolist() == ["0.500 ± 0.010", "–"]


def test_other_data_than_the_papers_are_a_demonstration_and_stand_beside_nothing():
    theirs = published("exp1")
    ours = theirs.assign(dataset="MNIST5k")
    table, note = as_text(ours, theirs, told=[])
    assert note == "On MNIST5k: a demonstration, not to be compared with the paper's numbers."
    assert not table["Teacher NLL"].str.contains(r"\(").any()


def test_a_table_of_ones_own_has_its_columns_in_words_but_those_that_its_title_tells():
    ours = pd.DataFrame(
        {
            "model": ["CNN"],
            "dataset": ["MNIST"],
            "target": ["entropy"],
            "lambda": [1e-3],
            "error_before": [0.25],
            "params": [1000],
            "widths": ["10-20"],
            "is_wide": [True],
        }
    )
    table, note = as_text(ours, None, told=["target"])
    assert note == ""
    assert table.iloc[0].to_dict() == {
        "Model": "CNN",
        "Data": "MNIST",
        "λ": "0.001",
        "Error before": "0.250",
        "Parameters": "1000",
        "Widths": "10-20",
        "Is wide": "True",
    }


def test_the_same_table_is_written_as_markdown_latex_and_html():
    table = pd.DataFrame({"Model": ["CNN"], "EnD² NLL": ["0.5 ± 0.1"]})
    assert "| CNN | 0.5 ± 0.1 |" in markdown(table, "A table", "A note.")
    tex = latex(table, "A table", "A note.")
    assert r"CNN & 0.5 $\pm$ 0.1 \\" in tex and r"EnD\textsuperscript{2}" in tex
    assert "<td>0.5 ± 0.1</td>" in page(table, "A table", "A note.")


def test_a_page_shows_signs_that_html_would_take_for_its_own():
    written = page(pd.DataFrame({"a < b": ["x & y"]}), "1 < 2", "3 > 2")
    assert "<th>a &lt; b</th>" in written and "<td>x &amp; y</td>" in written
    assert "<caption>1 &lt; 2</caption>" in written and "<p>3 &gt; 2</p>" in written


def test_sentences_are_wrapped_and_carry_the_head_of_their_column_for_phones():
    table = pd.DataFrame({"claim": ["A long sentence."], "verdict": ["holds"], "evidence": ["a < b"]})
    written = page(table, "Claims", "", prose=True)
    assert '<td data-head="evidence">a &lt; b</td>' in written and "class=prose" in written
    assert "data-head=" not in page(table, "Claims", "").split("<tbody>")[1]


def test_a_long_cell_among_short_ones_is_wrapped():
    written = page(pd.DataFrame({"number": ["0.5"], "reason": ["word " * 20]}), "A table", "")
    assert "<td>0.5</td><td class=long>word" in written


def test_methods_and_measures_have_their_own_spelling_wherever_they_stand():
    key = {"model": "CNN", "dataset": "MNIST"}
    rows = pd.DataFrame([{**key, "method": method, "masked": True, "end2_fpr95": 0.5} for method in ("gped", "end2")])
    table, _ = as_text(rows, None, told=[])
    assert list(table) == ["Model", "Data", "Method", "Masked as the test set", "EnD² FPR95"]
    assert table["Method"].tolist() == ["GPED", "EnD²"]
