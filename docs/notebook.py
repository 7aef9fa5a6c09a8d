"""Run a notebook: execute its cells in order and write it with what they print and draw.

    python docs/notebook.py docs/tutorial.ipynb              (its outputs anew, in its place)
    python docs/notebook.py docs/tutorial.ipynb other.ipynb

It needs no Jupyter, and knows text and matplotlib's figures only. The cells run in the current folder.
"""

import base64
import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt

PIXELS_PER_INCH = 80


def outputs(source: str, name: str, namespace: dict[str, Any]) -> list[dict[str, Any]]:
    """What a cell prints, and the figures that it leaves open, as a notebook has them."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(source, name, "exec"), namespace)
    found: list[dict[str, Any]] = []
    if printed.getvalue():
        found.append({"name": "stdout", "output_type": "stream", "text": printed.getvalue().splitlines(keepends=True)})
    for number in plt.get_fignums():
        drawn = io.BytesIO()
        plt.figure(number).savefig(drawn, dpi=PIXELS_PER_INCH, bbox_inches="tight", metadata={"Software": None})
        picture = {"image/png": base64.b64encode(drawn.getvalue()).decode()}
        found.append({"data": picture, "metadata": {}, "output_type": "display_data"})
    plt.close("all")
    return found


def run(notebook: dict[str, Any]) -> None:
    """Give every cell of code the outputs that it has now."""
    matplotlib.use("agg")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(code, 1):
        cell["outputs"] = outputs("".join(cell["source"]), f"cell {number}", namespace)
        cell["execution_count"] = number


if __name__ == "__main__":
    read, *written = map(Path, sys.argv[1:])
    notebook = json.loads(read.read_text())
    run(notebook)
    (written[0] if written else read).write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
