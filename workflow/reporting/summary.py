"""The page that the report opens with: what was run, on what, the claims with their verdicts, and the main figure."""

import base64
import html
from typing import Any

import pandas as pd

from workflow.experiments.paper import PAPER_STEPS
from workflow.reporting.comparison import in_words
from workflow.reporting.forms import SCALE

# Every rule is for this page alone: Snakemake's report, which shows it, has its own.
STYLE = """
.gped { font: 15px/1.45 system-ui, sans-serif; color: #1f2328; background: #fff; max-width: 60rem; padding: 0.5rem; }
.gped h1 { font-size: 1.5rem; font-weight: 600; margin: 0 0 0.5rem; }
.gped h2 { font-size: 1.15rem; font-weight: 600; margin: 1.5rem 0 0.5rem; }
.gped p { margin: 0.5rem 0; }
.gped .wide { overflow-x: auto; }
.gped table { border-collapse: collapse; width: 100%; }
.gped th, .gped td { text-align: left; vertical-align: top; padding: 0.3rem 0.6rem; border-bottom: 1px solid #d8dee4; }
.gped th { font-weight: 600; }
.gped .claims td:first-child { width: 38%; }
.gped .verdict { white-space: nowrap; font-weight: 600; }
.gped .holds { color: #1a7f37; } .gped .partly { color: #9a6700; } .gped .fails { color: #cf222e; }
.gped .unmeasured { color: #59636e; font-weight: 400; }
.gped img { max-width: 100%; height: auto; margin-top: 0.5rem; }
@media (max-width: 40rem) {
  .gped .claims thead { display: none; }
  .gped .claims tr { display: block; border-bottom: 1px solid #d8dee4; padding: 0.4rem 0; }
  .gped .claims td, .gped .claims td:first-child { display: block; width: auto; border: 0; padding: 0.1rem 0; }
}
"""
HEAD = f'<meta charset="utf-8">{SCALE}'
"""For those who open the page by itself; in the report, which says the same, it does nothing."""
LOOKS = {"holds": "holds", "holds partly": "partly", "does not hold": "fails", "not measured": "unmeasured"}
"""Verdicts, and how they look."""
LINKS = (  # every run has these files beside its summary
    '<a href="tables/claims.html">the claims in full</a>, <a href="tables/published_vs_reproduced.html">all numbers '
    'beside the published ones</a>, <a href="tables/">tables</a>, <a href="figures/">figures</a>, and <a '
    'href="report.html">the report</a>, once <code>snakemake report</code> has made it'
)


def introduction(settings: dict[str, Any], compared: pd.DataFrame) -> list[str]:
    """What a reader should know before any number, as sentences."""
    models = settings["models"]
    sets = sorted({model["dataset"] for model in models})
    on = " and ".join(sets)
    if not settings["papers_data"]:
        first = (
            f"This run, {settings['run']}, is a demonstration on {on}, which are not the paper's data: it shows how "
            "everything works, and its numbers cannot be compared with the published ones."
        )
    else:
        first = f"This run, {settings['run']}, is on the paper's data, {on}."
        lengths = sorted({model["steps"] for model in models})
        if lengths != [PAPER_STEPS]:
            told = " or ".join(f"{steps:,}" for steps in lengths)
            first += f" Its chains have {told} steps, the published ones {PAPER_STEPS:,}."
        first += f" {in_words(compared)}"
    return [
        "A Bayesian neural network is an ensemble of networks that a long chain, the teacher, samples. Here small "
        "students learn what the whole ensemble says: its predictive distribution and its expected entropy.",
        first,
    ]


def judged(claims: pd.DataFrame) -> str:
    """Every claim with its verdict, and how often each verdict was given."""
    counts = claims["verdict"].value_counts().reindex(list(LOOKS), fill_value=0)
    counted = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    rows = [
        f'<tr><td>{html.escape(row.claim)}</td><td class="verdict {LOOKS[row.verdict]}">{row.verdict}</td>'
        f"<td>{html.escape(_evidence(row))}</td></tr>"
        for row in claims.itertuples()
    ]
    return f"""<p>{counted}.</p>
<table class="claims"><thead><tr><th>Claim</th><th>Verdict</th><th>Evidence in this run</th></tr></thead>
<tbody>{"".join(rows)}</tbody></table>"""


def unjudged(claims: pd.DataFrame) -> str:
    """Every claim with what was counted, which on other data than the paper's is no verdict."""
    rows = [
        f"<tr><td>{html.escape(row.claim)}</td><td>{html.escape(_evidence(row))}</td></tr>"
        for row in claims.itertuples()
    ]
    return f"""<p>Not judged (demonstration data). What a run on the paper’s data is judged by, counted here:</p>
<table class="claims"><thead><tr><th>Claim</th><th>In this run</th></tr></thead>
<tbody>{"".join(rows)}</tbody></table>"""


def _evidence(row: Any) -> str:
    return ": ".join(filter(None, (row.reproduced, row.evidence)))


def summary(settings: dict[str, Any], claims: pd.DataFrame, compared: pd.DataFrame, figure: bytes | None) -> str:
    """The page; without a figure if the run has none."""
    text = html.escape
    models = [
        f"<tr><td>{text(model['name'])}</td><td>{text(model['dataset'] + model['place'])}</td>"
        f"<td>{', '.join(f'{n:,}' for n in model['train_sizes'])}</td><td>{text(model['masks'])}</td>"
        f"<td>{model['steps']:,}</td><td>{model['chains']}</td><td>{model['students']}</td></tr>"
        for model in settings["models"]
    ]
    heads = ("Model", "Data", "Training images", "Masks (pixels)", "Steps", "Chains", "Students")
    shown = ""
    if figure:
        caption, picture = text(settings["caption"]), base64.b64encode(figure).decode()
        shown = f'<h2>{caption}</h2>\n<img alt="{caption}" src="data:image/png;base64,{picture}">\n'
    return f"""{HEAD}<style>{STYLE}</style>
<div class="gped">
<h1>Generalized Bayesian posterior expectation distillation</h1>
{"".join(f"<p>{text(sentence)}</p>" for sentence in introduction(settings, compared))}
<h2>What was run</h2>
<div class="wide"><table><thead><tr>{"".join(f"<th>{head}</th>" for head in heads)}</tr></thead>
<tbody>{"".join(models)}</tbody></table></div>
<p>Seeds: {", ".join(map(str, settings["seeds"]))}. Experiments: {", ".join(map(str, settings["experiments"]))}.</p>
<p>Beside this page: {LINKS}.</p>
<h2>The paper’s claims</h2>
{judged(claims) if settings["papers_data"] else unjudged(claims)}
{shown}</div>
"""
