"""Tables as files, in all their forms."""

from collections.abc import Callable
from typing import Any

import pandas as pd

from gped.support.files import write_text
from workflow.experiments.paths import Paths
from workflow.reporting import ablation_table
from workflow.reporting.forms import as_text, latex, markdown, page
from workflow.reporting.published import PUBLISHED_TABLES, published

Form = Callable[[pd.DataFrame, pd.DataFrame, str, str], str]
FORMS: dict[str, Form] = {
    "csv": lambda numbers, text, title, note: tidy(numbers),
    "md": lambda numbers, text, title, note: markdown(text, title, note),
    "tex": lambda numbers, text, title, note: latex(text, title, note),
    "html": lambda numbers, text, title, note: page(text, title, note),
}
"""By the endings of their files: from the numbers, their text, a title and a note."""
OWN_FORMS: dict[tuple[str, str], Form] = {
    ("ablations", "md"): lambda numbers, text, title, note: ablation_table.as_markdown(numbers, title),
}
"""Of tables that are read in another shape than they are written."""


def tidy(numbers: pd.DataFrame) -> str:
    """The numbers without what is only for readers."""
    written = [name for name in numbers if not name.startswith("beside_")]
    return numbers[written].to_csv(index=False, float_format="%.6g")


def write_table(paths: Paths, table: dict[str, Any], numbers: pd.DataFrame, told: list[str]) -> None:
    """Write a table.

    Args:
        paths: Of the run.
        table: Its name, its file's name, its title, and its forms.
        numbers: All its columns.
        told: Those that the title tells.
    """
    name = table["name"]
    text, note = as_text(numbers, published(name) if name in PUBLISHED_TABLES else None, told)
    for form in table["forms"]:
        content = OWN_FORMS.get((name, form), FORMS[form])(numbers, text, table["title"], note)
        write_text(paths.table(table["file"], form), content)
