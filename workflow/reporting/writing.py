"""Tables as files, in all their forms."""

from collections.abc import Callable
from typing import Any

import pandas as pd

from gped.support.files import write_text
from workflow.experiments.paths import Paths
from workflow.reporting import ablation_table
from workflow.reporting.forms import as_text, latex, markdown, page
from workflow.reporting.published import PUBLISHED_TABLES, published

FORMS: dict[str, Callable[[pd.DataFrame, pd.DataFrame, str, str], str]] = {
    "csv": lambda numbers, text, title, note: numbers.to_csv(index=False, float_format="%.6g"),
    "md": lambda numbers, text, title, note: markdown(text, title, note),
    "tex": lambda numbers, text, title, note: latex(text, title, note),
    "html": lambda numbers, text, title, note: page(text, title, note),
}
"""By the endings of their files."""
LAYOUTS = {"ablations": ablation_table.as_text}
"""Of tables that are not read as they are written."""


def write_table(paths: Paths, table: dict[str, Any], numbers: pd.DataFrame, told: list[str]) -> None:
    """Write a table.

    Args:
        paths: Of the run.
        table: Its name, its file's name, its title, and its forms.
        numbers: All its columns.
        told: Those that the title tells.
    """
    name = table["name"]
    if name in LAYOUTS:
        text, note = LAYOUTS[name](numbers)
    else:
        text, note = as_text(numbers, published(name) if name in PUBLISHED_TABLES else None, told)
    for form in table["forms"]:
        write_text(paths.table(table["file"], form), FORMS[form](numbers, text, table["title"], note))
