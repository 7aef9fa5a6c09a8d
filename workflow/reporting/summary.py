"""The page that the report opens with: what was run, on what, the claims with their verdicts, and the main figure."""

import base64
import html
from typing import Any

import pandas as pd

from workflow.experiments.paper import PAPER_STEPS

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
LOOKS = {"holds": "holds", "holds partly": "partly", "does not hold": "fails", "not measured": "unmeasured"}
"""Verdicts, and how they look."""


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
            counted = " or ".join(f"{steps:,}" for steps in lengths)
            first += f" Its chains have {counted} steps, the published ones {PAPER_STEPS:,}."
        made = compared[compared["verdict"] != "not produced"]
        counts = made["verdict"].value_counts()
        counted = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
        first += f" It makes {len(made)} of the {len(compared)} numbers in the paper's tables: {counted}."
    return [
        "A Bayesian neural network is an ensemble of networks that a long chain, the teacher, samples. Here small "
        "students learn what the whole ensemble says: its predictive distribution and its expected entropy.",
        first,
    ]


def summary(settings: dict[str, Any], claims: pd.DataFrame, compared: pd.DataFrame, figure: bytes) -> str:
    """The page."""
    text = html.escape
    models = [
        f"<tr><td>{text(model['name'])}</td><td>{text(model['dataset'])}</td>"
        f"<td>{', '.join(f'{n:,}' for n in model['train_sizes'])}</td><td>{text(model['masks'])}</td>"
        f"<td>{model['steps']:,}</td><td>{model['chains']}</td><td>{model['students']}</td></tr>"
        for model in settings["models"]
    ]
    verdicts = [
        f'<tr><td>{text(row.claim)}</td><td class="verdict {LOOKS[row.verdict]}">{text(row.verdict)}</td>'
        f"<td>{text(': '.join(filter(None, (row.reproduced, row.evidence))))}</td></tr>"
        for row in claims.itertuples()
    ]
    heads = ("Model", "Data", "Training images", "Masks (pixels)", "Steps", "Chains", "Students")
    counted = {verdict: int((claims["verdict"] == verdict).sum()) for verdict in LOOKS}
    caption, picture = text(settings["caption"]), base64.b64encode(figure).decode()
    return f"""<style>{STYLE}</style>
<div class="gped">
<h1>Generalized Bayesian posterior expectation distillation</h1>
{"".join(f"<p>{text(sentence)}</p>" for sentence in introduction(settings, compared))}
<h2>What was run</h2>
<div class="wide"><table><thead><tr>{"".join(f"<th>{head}</th>" for head in heads)}</tr></thead>
<tbody>{"".join(models)}</tbody></table></div>
<p>Seeds: {", ".join(map(str, settings["seeds"]))}. Experiments: {", ".join(map(str, settings["experiments"]))}.</p>
<h2>The paper’s claims</h2>
<p>{text(", ".join(f"{count} {verdict}" for verdict, count in counted.items() if count))}.</p>
<table class="claims"><thead><tr><th>Claim</th><th>Verdict</th><th>Evidence in this run</th></tr></thead>
<tbody>{"".join(verdicts)}</tbody></table>
<h2>{caption}</h2>
<img alt="{caption}" src="data:image/png;base64,{picture}">
</div>
"""
