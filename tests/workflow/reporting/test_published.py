"""The published numbers are those of the paper, to the last digit.

They were read off the LaTeX of the paper's 16 tables by one script and confirmed by another; what is in text.csv stands
in its text and the captions of its figures; what is in bdk.csv, in Balan et al., Bayesian Dark Knowledge (NIPS 2015).
Nobody has a reason to change them: a checksum says whether somebody did.
"""

import hashlib
import re
from collections import Counter
from decimal import Decimal

import pandas as pd
import pytest

from tests.helpers import SHARED
from workflow.reporting.published import FOLDER

SHA256 = {
    "bdk": "9efa91290ed02c8308c2e68307727c962fc0aceb26364ceb5696d05086ef3b7f",
    "estimators": "60c7145e3dca2b5da8c817a19da0917e82f79ad346e6514215b2e5441451bd8f",
    "exp1": "1dfa6a0a1c4e387d08404db1df91900a74c186f50591ba3daf1e4d2f69936c80",
    "ndcg": "c338a5c7cad57a1b18b961a2ba75a5379db086f8598eccf057fc38ccba5985a0",
    "ood_auroc": "0432c4388c20a653e90e636b8a9a34673829fec98fe66e73e9b2c688c31ed9b6",
    "test_metrics": "81c5c1c20577c22488694685259920d1c2e0f355610e2287cffd0d864a2204a1",
    "text": "f43a828e3ec9fdac302d6466a2f95d2b3e8915fc7a2bcc730c52082da97cb5b5",
}
PUBLISHED, PAPER = SHARED.parent / "published", SHARED.parent / "paper" / "gped-uai2020.tex"
OUTSIDE = SHARED.parent / "outside"
CAPTIONS = {  # with which the captions of the tables begin, and how many tables there are
    "exp1": ("Results of posterior distillation", 1),
    "estimators": ("Performance comparison between", 3),
    "test_metrics": ("In-distribution Test set metrics", 4),
    "ood_auroc": ("AUROC for OOD Detection", 4),
    "ndcg": ("nDCG@20", 4),
}


def test_there_are_no_other_files_of_published_numbers():
    assert {path.name for path in FOLDER.iterdir()} == {f"{name}.csv" for name in SHA256}


@pytest.mark.parametrize("name", SHA256)
def test_published_numbers_are_as_they_were_read_off_the_papers_tables(name):
    content = (FOLDER / f"{name}.csv").read_bytes()
    assert hashlib.sha256(content).hexdigest() == SHA256[name], "a number of the paper has been changed"
    others = OUTSIDE / "bdk_mnist.csv" if name == "bdk" else PUBLISHED / f"{name}.csv"
    if others.parent.is_dir():
        assert content == others.read_bytes()


@pytest.mark.parametrize("name", CAPTIONS)
def test_published_numbers_are_those_in_the_papers_latex(name):
    if not PAPER.is_file():
        pytest.skip(f"the paper is not at {PAPER}")
    caption, count = CAPTIONS[name]
    latex = "\n".join(line for line in PAPER.read_text().splitlines() if not line.lstrip().startswith("%"))
    tables = re.findall(r"\\begin\{table\*?\}.*?\\end\{table\*?\}", latex, re.DOTALL)
    tables = [table for table in tables if rf"\caption{{{caption}" in table]
    assert len(tables) == count
    bodies = [table.split(r"\midrule", 1)[1].split(r"\bottomrule")[0] for table in tables]
    printed = Counter(Decimal(number).normalize() for body in bodies for number in re.findall(r"\d\.\d+", body))
    frame = pd.read_csv(FOLDER / f"{name}.csv", dtype=str)
    numbers = [cell for cell in frame.to_numpy().ravel() if re.fullmatch(r"\d\.\d+", cell)]
    ours = Counter(Decimal(number).normalize() for number in numbers)
    assert printed == ours
