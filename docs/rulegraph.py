"""Draw which of the workflow's rules needs what from which: reads Snakemake's rule graph, writes an SVG.

    snakemake all_tables --rulegraph | python docs/rulegraph.py > docs/rulegraph.svg

The rules that train students differ only in which students they train, and are drawn as one; so are those that run
chains, and those that measure.
"""

import re
import sys

from graph import Edge, svg

TARGET = "all_tables"  # needs everything, and is not drawn
MANY = ("teacher", "students", "measure")
WHAT = {
    "data": "fetch, check, decode images",
    "teacher": "run the chain, record readings",
    "students": "learn from readings, predict",
    "measure": "tables from predictions",
    "tidy": "join the parts of a table",
    "draw": "figures: PDF and PNG",
    "compare": "published numbers beside ours",
    "claims": "a verdict on each claim",
    "summarise": "the run on one page",
}


def edges_of(dot: str) -> list[Edge]:
    """The edges between rules, from the one that makes files to the one that reads them."""
    named = re.findall(r'(\d+)\[label = "([^"]+)"', dot)
    rules = {number: next((many for many in MANY if name.startswith(f"{many}_")), name) for number, name in named}
    edges = {(rules[maker], rules[reader]) for maker, reader in re.findall(r"(\d+) -> (\d+)", dot)}
    # A figure may be drawn from a table that is made of others: both are left to one box.
    return sorted((one, other) for one, other in edges if TARGET not in (one, other) and one != other)


if __name__ == "__main__":
    sys.stdout.write(svg(f"The rules of the workflow, as {TARGET} needs them", edges_of(sys.stdin.read()), WHAT))
