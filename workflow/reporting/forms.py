"""The forms of a table: Markdown, LaTeX and a page of its own, with the published values where they compare."""

import html

import pandas as pd

from workflow.experiments.paper import PAPER_SETS
from workflow.reporting.frames import KEY_COLUMNS

METHODS = {"ensemble": "Ensemble", "gped": "GPED", "end2": "EnD²"}
MEASURES = {"auroc": "AUROC", "aupr": "AUPR", "fpr95": "FPR95"}
HEADINGS = {
    "model": "Model",
    "dataset": "Data",
    "ood_dataset": "OOD data",
    "train_size": "Training images",
    "masking_rate": "Masking rate",
    "uncertainty": "Uncertainty",
    "teacher_nll": "Teacher NLL",
    "student_nll": "Student NLL",
    "entropy_mae": "Entropy MAE",
    "student_nll_uo": "Student NLL (U_o)",
    "student_nll_us": "Student NLL (U_s)",
    "entropy_mae_uo": "Entropy MAE (U_o)",
    "entropy_mae_us": "Entropy MAE (U_s)",
    "nll_ensemble": "Ensemble NLL",
    "nll_gped": "GPED NLL",
    "nll_end2": "EnD² NLL",
    "entropy_mae_gped": "GPED entropy MAE",
    "entropy_mae_end2": "EnD² entropy MAE",
    **METHODS,
    **{f"{method}_{one}": f"{METHODS[method]} {MEASURES[one]}" for method in METHODS for one in MEASURES},
    "masked": "Masked as the test set",
    "gped_mean": "GPED",
    "end2_mean": "EnD²",
    "nll": "NLL",
    "ece": "ECE",
    "aurc": "AURC",
    "macs": "Multiply-adds",
    "params": "Parameters",
    "lambda": "λ",
    "k1": "K1",
    "k2": "K2",
    "constant_mae": "Best constant's MAE",
    "correlation_uo": "Correlation (U_o)",
    "correlation_us": "Correlation (U_s)",
    "beside_constant_mae": "Best constant's MAE",
    "beside_correlation": "Correlation",
    "beside_correlation_uo": "Correlation (U_o)",
    "beside_correlation_us": "Correlation (U_s)",
    "beside_correlation_gped": "GPED correlation",
    "beside_correlation_end2": "EnD² correlation",
}
"""Of columns that are not simply their names in words."""
DEAD = "†"
"""Marks the error of a student that is no better than a constant."""
LATEX = {
    "%": r"\%",
    "±": r"$\pm$",
    "EnD²": r"EnD\textsuperscript{2}",
    "U_o": "$U_o$",
    "U_s": "$U_s$",
    "–": "--",
    "λ": r"$\lambda$",
    "η": r"$\eta$",
    "τ": r"$\tau$",
    "†": r"$\dagger$",
}


def as_text(ours: pd.DataFrame, published: pd.DataFrame | None, told: list[str]) -> tuple[pd.DataFrame, str]:
    """The table as text, and what is to be said of its numbers.

    Args:
        ours: The table's numbers.
        published: The paper's, if it has the table: 0.052 (0.053) where it has a value for the same data.
        told: Columns that the title tells, and which are not repeated.
    """
    comparable = published is not None and set(ours["dataset"]) <= PAPER_SETS
    theirs = _published_beside(ours, published) if comparable and published is not None else {}
    table = pd.DataFrame(index=ours.index)
    for name in ours:
        if name in told or name.endswith("_std"):
            continue
        measured = name not in KEY_COLUMNS and pd.api.types.is_float_dtype(ours[name])
        text = ours[name].map(_number if measured else _plain)
        text = text.replace(METHODS) if name == "method" else text
        spread = f"{name.removesuffix('_mean')}_std" if name.endswith("_mean") else f"{name}_seed_std"
        if spread in ours:
            text += ours[spread].map(lambda value: f" ± {_number(value)}" if pd.notna(value) else "")
        if name.startswith("entropy_mae") and "beside_constant_mae" in ours:
            text += (ours[name] >= ours["beside_constant_mae"]).map({True: DEAD, False: ""})
        if name in theirs:
            text += theirs[name].map(lambda value: f" ({_number(value)})" if pd.notna(value) else "")
        table[HEADINGS.get(name, name.replace("_", " ").capitalize())] = text
    note = "Reproduced (published)." if comparable else demonstration(ours)
    if any(table[name].str.contains(DEAD).any() for name in table):
        note += f" {DEAD} No better than the best constant."
    return table, note


def _published_beside(ours: pd.DataFrame, published: pd.DataFrame) -> dict[str, pd.Series]:
    """For each column of numbers that the paper has, its values for our rows."""
    shared = [name for name in ours if name in published]
    keys = [name for name in shared if name in KEY_COLUMNS]
    merged = ours[keys].merge(published, on=keys, how="left")
    return {name: merged[name].set_axis(ours.index) for name in shared if name not in keys}


def demonstration(ours: pd.DataFrame) -> str:
    """What is said of numbers on other data than the paper's; nothing of those on its own."""
    sets = set(ours["dataset"])
    if sets <= PAPER_SETS:
        return ""
    return f"On {', '.join(sorted(sets))}: a demonstration, not to be compared with the paper's numbers."


def _number(value: float) -> str:
    return "–" if pd.isna(value) else f"{value:.3f}"


def _plain(value: object) -> str:
    if isinstance(value, float):
        return "–" if pd.isna(value) else f"{value:g}"
    return str(value)


def markdown(table: pd.DataFrame, heading: str, note: str) -> str:
    """The table as GitHub-flavoured Markdown."""
    lines = ["| " + " | ".join(cells) + " |" for cells in (table.columns, *table.itertuples(index=False))]
    lines.insert(1, "|" + "---|" * len(table.columns))
    return f"**{heading}**\n\n" + "\n".join(lines) + f"\n\n{note}\n"


def latex(table: pd.DataFrame, heading: str, note: str) -> str:
    """The table for a paper that uses booktabs."""

    def clean(text: str) -> str:
        for plain, tex in LATEX.items():
            text = text.replace(plain, tex)
        return text

    rows = [" & ".join(map(clean, map(str, row))) + r" \\" for row in table.itertuples(index=False)]
    head = " & ".join(map(clean, table.columns)) + r" \\"
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{clean(heading)}. {clean(note)}}}",
            rf"\begin{{tabular}}{{{'l' * len(table.columns)}}}",
            r"\toprule",
            head,
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


LONG = 60
"""From so many signs on, a cell is wrapped."""
SCALE = '<meta name="viewport" content="width=device-width">'
"""So that a phone shows a page at its own width, and not a small picture of a wide one."""
STYLE = """
body { font: 15px/1.4 system-ui, sans-serif; margin: 1em; color: #222; background: #fff; }
div { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding-bottom: .5em; }
th { border-bottom: 2px solid #222; text-align: left; padding: .3em .9em .3em 0; vertical-align: bottom; }
td { border-bottom: 1px solid #ddd; padding: .25em .9em .25em 0; white-space: nowrap; }
td.long { white-space: normal; min-width: 20em; }
.prose { max-width: 80rem; }
.prose th { vertical-align: top; }
.prose td { white-space: normal; vertical-align: top; overflow-wrap: anywhere; }
.prose td:nth-child(2) { white-space: nowrap; font-weight: 600; }
@media (max-width: 40rem) {
  .prose thead { display: none; }
  .prose tr { display: block; border-bottom: 1px solid #ddd; padding: .4em 0; }
  .prose td { display: block; border: 0; padding: .1em 0; }
  .prose td:first-child { font-weight: 600; }
  .prose td:nth-child(n+3):not(:empty)::before { content: attr(data-head) ": "; color: #59636e; }
}
"""


def page(table: pd.DataFrame, heading: str, note: str, prose: bool = False) -> str:
    """The table as a page of its own, for the report.

    Args:
        table: As text.
        heading: What it shows.
        note: What is to be said of it.
        prose: Whether its cells are sentences, which are wrapped, and on a phone stand below each other; the second
            column, which is short, stands out.
    """
    clean, name = [html.escape(str(head)) for head in table.columns], html.escape(heading)
    cells = ([html.escape(str(cell)) for cell in row] for row in table.itertuples(index=False))
    heads = [f' data-head="{head}"' if prose else "" for head in clean]
    rows = [
        "".join(
            f"<td{head or ' class=long' * (len(cell) > LONG)}>{cell}</td>"
            for head, cell in zip(heads, row, strict=True)
        )
        for row in cells
    ]
    body = "\n".join(f"<tr>{row}</tr>" for row in rows)
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8">{SCALE}<title>{name}</title><style>{STYLE}</style>\n'
        f"<div{' class=prose' * prose}><table><caption>{name}</caption>\n"
        f"<thead><tr>{''.join(f'<th>{head}</th>' for head in clean)}</tr></thead>\n"
        f"<tbody>\n{body}\n</tbody></table></div><p>{html.escape(note)}</p></html>\n"
    )
