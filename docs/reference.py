"""Writes the page of the whole reproduction, with its tables and its map, from the runs in results/reference.

python -m docs.reference
"""

from pathlib import Path

from gped.support.files import replacing, write_text
from workflow.reporting.reference import (
    causes_in,
    claims_of_all,
    gather,
    page,
    parts_in,
    robustness_of_all,
    text_of_numbers,
)
from workflow.reporting.verdict_map import verdict_map

FOLDER = Path(__file__).parents[1] / "results/reference"

parts, causes = parts_in(FOLDER), causes_in(FOLDER)
numbers, claims = gather(parts, causes), claims_of_all(parts)
write_text(FOLDER / "numbers.csv", numbers.to_csv(index=False, float_format="%.6g"))
write_text(FOLDER / "numbers.md", text_of_numbers(numbers))
write_text(FOLDER / "claims.csv", claims.to_csv(index=False))
for name, figure in (("map", verdict_map(numbers)), *robustness_of_all(parts)):
    with replacing(FOLDER / f"{name}.png") as part:
        figure.savefig(part, format="png", dpi=200)
write_text(FOLDER / "README.md", page(FOLDER, parts, causes, numbers, claims))
