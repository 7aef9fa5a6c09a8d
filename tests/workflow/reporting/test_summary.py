"""The page that the report opens with."""

import html

import pandas as pd

from tests.helpers import LONG, configuration, published_tables
from workflow.experiments.plan import Plan
from workflow.reporting.claims import judge
from workflow.reporting.comparison import compare
from workflow.reporting.summary import summary


def page(preset: str | None, tables: dict[str, pd.DataFrame]) -> str:
    settings = Plan(configuration(preset)).summarising()
    compared = compare(published_tables(), tables, LONG)
    return html.unescape(summary(settings, judge(published_tables("text"), tables), compared, b"PNG"))


def test_a_demonstration_says_that_it_is_one_and_counts_no_numbers():
    text = page(None, {})
    assert "This run, demo, is a demonstration on MNIST5k and PhotoLetters, which are not the paper's data" in text
    assert "of the 516 numbers" not in text


def test_a_run_on_the_papers_data_counts_its_numbers_and_tells_how_long_its_chains_are():
    text = page("reduced", published_tables())
    assert "on the paper's data, CIFAR10 and MNIST. Its chains have 50,000 steps, the published ones 1,000,000." in text
    assert "It makes 516 of the 516 numbers in the paper's tables: 516 within." in text
    assert "Its chains have" not in page("paper", published_tables())


def test_what_was_run_and_every_verdict_is_on_the_page():
    text = page("paper", published_tables())
    sizes, masks = "10,000, 20,000, 30,000, 60,000", "0, 5, 10, 15, 20, 25"
    row = ("FCNN", "MNIST", sizes, masks, "1,000,000", "24", str(24 * 4 + 2 * (36 + 11) - 2 + 8))
    assert "".join(f"<td>{cell}</td>" for cell in row) in text
    assert text.count('class="verdict') == 15
    assert 'class="verdict holds">holds' in text
