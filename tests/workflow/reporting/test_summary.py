"""The page that the report opens with."""

import html
import re

import pandas as pd

from tests.helpers import LONG, configuration, published_tables
from workflow.experiments.plan import Plan
from workflow.reporting.claims import CLAIMS, judge
from workflow.reporting.comparison import compare
from workflow.reporting.summary import summary


def page(preset: str | None, tables: dict[str, pd.DataFrame]) -> str:
    plan = Plan(configuration(preset))
    claims = judge(published_tables("text"), tables, 1, plan.judging()["stand_ins"])
    return html.unescape(summary(plan.summarising(), claims, compare(tables, LONG, 1), b"PNG"))


def test_a_demonstration_says_once_that_it_judges_nothing_and_counts_no_published_numbers():
    names = {"MNIST": "MNIST5k", "CIFAR10": "PhotoLetters"}
    text = page(None, {name: frame.replace(names) for name, frame in published_tables().items()})
    assert "This run, demo, is a demonstration on MNIST5k and PhotoLetters, which are not the paper's data" in text
    assert "numbers in the paper's tables" not in text
    assert len(re.findall("not judged", text, re.IGNORECASE)) == 1 and "Not judged (demonstration data)" in text
    assert "not measured" not in text and 'class="verdict' not in text
    assert (
        "needs numbers on" not in text and "on CIFAR-10 and on MNIST: NLL gap 0.261" in text
    )  # what was counted is told
    assert "<td>PhotoLetters (in CIFAR10's place)</td>" in text


def test_a_run_on_the_papers_data_counts_its_numbers_and_tells_how_long_its_chains_are():
    text = page("reduced", published_tables())
    assert "on the paper's data, CIFAR10 and MNIST. Its chains have 50,000 steps, the published ones 1,000,000." in text
    assert "(516 with repetitions) it makes 462: 462 agree, 0 are better and 0 worse. 0 of the 462 differences" in text
    assert "Its chains have" not in page("paper", published_tables())


def test_a_run_without_figures_has_a_summary_without_one():
    plan = Plan(configuration())
    claims = judge(published_tables("text"), {}, 1, plan.judging()["stand_ins"])
    text = summary(plan.summarising() | {"figure": None, "caption": ""}, claims, compare({}, LONG, 1), None)
    assert "<img" not in text and "<h2></h2>" not in text and text.endswith("</table>\n</div>\n")
    assert page(None, {}).count("<img") == 1


def test_what_was_run_and_every_verdict_is_on_the_page():
    text = page("paper", published_tables())
    sizes, masks = "10,000, 20,000, 30,000, 60,000", "0, 5, 10, 15, 20, 25"
    row = ("FCNN", "MNIST", sizes, masks, "1,000,000", "24", str(24 * 4 + 2 * (36 + 11) - 2 + 8))
    assert "".join(f"<td>{cell}</td>" for cell in row) in text
    assert text.count('class="verdict') == len(CLAIMS)
    assert 'class="verdict holds">holds' in text


def test_the_page_leads_to_the_tables_the_figures_and_the_report_beside_it():
    links = re.findall('href="([^"]+)"', page("paper", {}))
    assert links == ["tables/claims.html", "tables/published_vs_reproduced.html", "tables/", "figures/", "report.html"]
