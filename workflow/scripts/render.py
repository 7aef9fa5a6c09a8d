"""Render one of the paper's tables as Markdown, LaTeX and HTML, with the published values where they compare."""

import html
from pathlib import Path

import pandas as pd

from gped.matrix import PAPER_SETS
from workflow.scripts import jobs

KEYS = {
    "model": "Model",
    "dataset": "Data",
    "ood_dataset": "OOD data",
    "train_size": "Training images",
    "masking_rate": "Masking rate",
    "uncertainty": "Uncertainty",
}
NUMBERS = {
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
    "ensemble": "Ensemble",
    "gped": "GPED",
    "end2": "EnD²",
    "gped_mean": "GPED",
    "end2_mean": "EnD²",
}
OF = {"us": "U_s", "uo": "U_o", "base": "base students", "large": "largest students"}
TITLES = {
    "exp1": "Distilling posterior expectations with students of the teacher's size, all training images, no masks",
    "estimators": "U_o and U_s over training sizes and masking rates",
    "test_metrics": "In-distribution test metrics",
    "ood_auroc": "AUROC for out-of-distribution detection",
    "ndcg": "nDCG@20 of 100 random test inputs, mean ± standard deviation over 500 trials",
}
LATEX = {
    "%": r"\%",
    "±": r"$\pm$",
    "EnD²": r"EnD\textsuperscript{2}",
    "U_o": "$U_o$",
    "U_s": "$U_s$",
    "–": "--",
}


def title(table: str) -> str:
    """What a table shows."""
    kind = next(kind for kind in TITLES if table.startswith(kind))
    words = [OF[word] for word in table.removeprefix(kind).split("_") if word in OF]
    return TITLES[kind] + (f": {', '.join(words)}" if words else "")


def beside_published(ours: pd.DataFrame, published: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """The table as text: 0.052 (0.053) where the paper has a value for the same data, and what its numbers mean."""
    keys = [column for column in ours if column in published and column not in NUMBERS and not column.endswith("_std")]
    numbers = [column for column in ours if column in NUMBERS]
    comparable = set(ours["dataset"]) <= PAPER_SETS
    merged = ours.merge(published, on=keys, how="left", suffixes=("", "_published")) if comparable else ours
    table = pd.DataFrame({KEYS[key]: ours[key].map(_plain) for key in keys if key in KEYS})
    for number in numbers:
        spread = number.removesuffix("_mean") + "_std" if number.endswith("_mean") else f"{number}_seed_std"
        text = ours[number].map(_number)
        if spread in ours:
            text += ours[spread].map(lambda value: f" ± {_number(value)}" if pd.notna(value) else "")
        if comparable:
            text += merged[f"{number}_published"].map(lambda value: f" ({_number(value)})" if pd.notna(value) else "")
        table[NUMBERS[number]] = text
    if comparable:
        return table, "Reproduced (published)."
    return table, demonstration(ours)


def demonstration(ours: pd.DataFrame) -> str:
    """What is said of numbers on other data than the paper's; nothing of those on its own."""
    sets = set(ours["dataset"])
    if sets <= PAPER_SETS:
        return ""
    return f"On {', '.join(sorted(sets))}: a demonstration, not to be compared with the paper's numbers."


def _number(value: float) -> str:
    return "–" if pd.isna(value) else f"{value:.3f}"


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


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


STYLE = """
body { font: 15px/1.4 system-ui, sans-serif; margin: 1em; color: #222; background: #fff; }
div { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding-bottom: .5em; }
th { border-bottom: 2px solid #222; text-align: left; padding: .3em .9em .3em 0; vertical-align: bottom; }
td { border-bottom: 1px solid #ddd; padding: .25em .9em .25em 0; white-space: nowrap; }
"""


def page(table: pd.DataFrame, heading: str, note: str) -> str:
    """The table as a page of its own, for the report."""

    def row(tag: str, cells: object) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"  # type: ignore[attr-defined]

    body = "\n".join(row("td", cells) for cells in table.itertuples(index=False))
    name = html.escape(heading)
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{name}</title><style>{STYLE}</style>\n'
        f"<div><table><caption>{name}</caption>\n<thead>{row('th', table.columns)}</thead>\n"
        f"<tbody>\n{body}\n</tbody></table></div><p>{html.escape(note)}</p></html>\n"
    )


def main() -> None:
    """Write the three files in --output."""
    job = jobs.arguments(__doc__, "table", "numbers", "output+")
    kind = next(kind for kind in TITLES if job.table.startswith(kind))
    table, note = beside_published(pd.read_csv(job.numbers), pd.read_csv(jobs.PUBLISHED / f"{kind}.csv"))
    heading = title(job.table)
    for suffix, form in ((".md", markdown), (".tex", latex), (".html", page)):
        path = next(path for path in job.output if Path(path).suffix == suffix)
        jobs.save_text(path, form(table, heading, note))


if __name__ == "__main__":
    jobs.run(main)
