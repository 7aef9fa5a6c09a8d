"""The whole reproduction on one page: of each published number the longest run that makes it, and why it differs."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from matplotlib.figure import Figure

from workflow.experiments.tables import TABLES
from workflow.reporting.claims import judge, read
from workflow.reporting.comparison import ROW_KEYS, VERDICTS, counted, counts, in_words, repeats, text_of
from workflow.reporting.drawings import draw
from workflow.reporting.findings.finding import Frames
from workflow.reporting.forms import markdown
from workflow.reporting.frames import KEY_COLUMNS
from workflow.reporting.predictions import outcomes
from workflow.reporting.published import PUBLISHED_TABLES, published

KEYS = ["table", *ROW_KEYS, "quantity"]
STATUSES = ("tested", "suspected")
"""How much is known of a cause: a run decided it, or a run points to it."""
UNKNOWN = "unknown"
"""The cause of a number that no cause explains."""


@dataclass(frozen=True)
class Part:
    """One run of the reproduction, as it is committed.

    Args:
        folder: Its folder; the name of the part is the folder's.
    """

    folder: Path

    def __str__(self) -> str:
        return self.folder.name

    def table(self, name: str) -> pd.DataFrame | None:
        """A table of the run, if it has it."""
        path = self.folder / f"tables/{name}.csv"
        return pd.read_csv(path, keep_default_na=name != "claims") if path.is_file() else None

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """All tables of the run, by name."""
        names = (path.stem for path in sorted(self.folder.glob("tables/*.csv")))
        return {name: table for name in names if (table := self.table(name)) is not None}

    @property
    def steps(self) -> list[int]:
        """How long its chains are, from the shortest."""
        return sorted({model["chain"]["steps"] for model in self.config["models"].values() if model})

    @property
    def seeds(self) -> int:
        """How many seeds every cell has."""
        return len(self.config["seeds"])

    @property
    def config(self) -> dict[str, Any]:
        """The configuration."""
        return yaml.safe_load((self.folder / "config.yaml").read_text())

    @property
    def manifest(self) -> dict[str, Any]:
        """Commit, versions, machine and times."""
        return json.loads((self.folder / "manifest.json").read_text())


@dataclass(frozen=True)
class Cause:
    """Why some numbers differ.

    Args:
        name: In a few words.
        status: One of `STATUSES`.
        says: In a sentence or two.
        evidence: Where to read more, from the folder of the reference.
        only: What the numbers have in common: columns of the comparison, and the values that they may have there; as
            "steps below", that chains are shorter than so much.
    """

    name: str
    status: str
    says: str
    evidence: str
    only: dict[str, Any]

    def explains(self, rows: pd.DataFrame) -> pd.Series:
        """Of which rows it may be the cause."""
        chosen = pd.Series(True, rows.index)
        for column, values in self.only.items():
            if column == "steps below":
                chosen &= rows["steps"] < values
            else:
                chosen &= rows[column].isin(values if isinstance(values, list) else [values])
        return chosen


def parts_in(folder: Path) -> list[Part]:
    """All runs of the reproduction, by name."""
    return [Part(path.parent) for path in sorted(folder.glob("*/manifest.json"))]


def causes_in(folder: Path) -> list[Cause]:
    """What is known of why numbers differ, the more special before the more general."""
    return [Cause(**one) for one in yaml.safe_load((folder / "causes.yaml").read_text())]


def gather(parts: list[Part], causes: list[Cause]) -> pd.DataFrame:
    """All published numbers: of each the longest run that makes it, then that of the most seeds.

    Every number that does not agree has a cause, the first that explains it.
    """
    every = {str(part): table for part in parts if (table := part.table("published_vs_reproduced")) is not None}
    rows = pd.concat([table.assign(part=name, place=range(len(table))) for name, table in every.items()])
    longest = rows.sort_values(["steps", "seeds"], ascending=False, na_position="last", kind="stable")
    chosen = longest.drop_duplicates(KEYS).sort_values("place", ignore_index=True).drop(columns="place")
    chosen["part"] = chosen["part"].where(chosen["reproduced"].notna(), "")
    chosen["repeats"] = repeats(chosen)  # which row of a number counts depends on which rows are made
    differs = chosen["verdict"].isin(["better", "worse"])
    chosen["cause"] = ""
    chosen.loc[differs, "cause"] = UNKNOWN
    for cause in causes:
        chosen.loc[differs & (chosen["cause"] == UNKNOWN) & cause.explains(chosen), "cause"] = cause.name
    return chosen


def united(parts: list[Part]) -> Frames:
    """The tables that claims are about, from all runs: of each row the longest run that makes it."""
    frames: Frames = {}
    longest_first = sorted(parts, key=lambda part: (part.steps[-1], part.seeds), reverse=True)
    for name in (table.name for table in TABLES):
        tables = [table for part in longest_first if (table := part.table(name)) is not None]
        if tables:
            rows = pd.concat(tables, ignore_index=True)
            frames[name] = rows.drop_duplicates([key for key in rows if key in KEY_COLUMNS], ignore_index=True)
    return frames


def robustness_of_all(parts: list[Part]) -> Iterator[tuple[str, Figure]]:
    """The figures of experiment 2, by name, of each model of which the runs together make cells with several masks."""
    for (model, dataset), rows in united(parts)["estimators"].groupby(["model", "dataset"], sort=False):
        if rows["masking_rate"].nunique() > 1:
            numbers = StringIO(rows.to_csv(index=False))
            yield (
                f"robustness_{model}_{dataset}".lower(),
                draw("robustness", {"numbers": numbers}, {"title": f"{model} on {dataset}"}),
            )


def claims_of_all(parts: list[Part]) -> pd.DataFrame:
    """Every claim, judged on the numbers of all runs together; one that they cannot judge, with what it lacks."""
    theirs = {name: published(name) for name in (*PUBLISHED_TABLES, "text")}
    judging = [part for part in parts if part.table("claims") is not None]
    return read(judge(theirs, united(judging), min(part.seeds for part in judging)))


def of_causes(numbers: pd.DataFrame, causes: list[Cause]) -> pd.DataFrame:
    """How many numbers, each counted once, differ for which cause."""
    once = counted(numbers)
    rows = []
    for cause in causes:
        part = once[once["cause"] == cause.name]
        rows.append(
            {
                "cause": cause.name,
                "numbers": len(part),
                "of them worse": (part["verdict"] == "worse").sum(),
                "status": cause.status,
                "why": cause.says,
                "evidence": f"[{Path(cause.evidence).name}]({cause.evidence})",
            }
        )
    unknown = once[once["cause"] == UNKNOWN]
    rows.append(
        {"cause": UNKNOWN, "numbers": len(unknown), "of them worse": (unknown["verdict"] == "worse").sum()}
        | {"status": UNKNOWN, "why": "", "evidence": ""}
    )
    return pd.DataFrame(rows).astype(str)


def of_parts(parts: list[Part], numbers: pd.DataFrame) -> pd.DataFrame:
    """What each run was, and what made it."""
    rows = []
    for part in parts:
        manifest = part.manifest
        rows.append(
            {
                "run": f"[{part}]({part}/)",
                "preset": part.config["preset"],
                "steps": ", ".join(f"{one:,}" for one in part.steps),
                "seeds": part.seeds,
                "numbers": (counted(numbers)["part"] == str(part)).sum(),
                "gped": manifest.get("gped") or "not recorded",
                "commit": (manifest.get("commit") or "not recorded")[:12],
                "processor": manifest.get("processor") or "not recorded",
                "finished": manifest.get("finished", "not finished")[:10],
            }
        )
    return pd.DataFrame(rows).astype(str)


def page(folder: Path, parts: list[Part], causes: list[Cause], numbers: pd.DataFrame, claims: pd.DataFrame) -> str:
    """The page, as Markdown, with the figures of all runs."""
    meanings = "; ".join(f"*{name}*: {meaning}" for name, meaning in VERDICTS.items())
    figures = [path.relative_to(folder) for part in parts for path in sorted(part.folder.glob("figures/*.png"))]
    shown = "\n\n".join(
        f"**{path.parts[0]}: {path.stem.replace('_', ' ')}**\n\n![{path.stem}]({path})" for path in figures
    )
    drawn = [f"![{path.stem}]({path.name})" for path in sorted(folder.glob("robustness_*.png"))]
    together = ["**All runs together: robustness to uncertainty; blank cells were not run**", *drawn] if drawn else []
    told = in_words(numbers).replace(" it makes", " these runs make")
    return "\n".join(
        [
            "# The reproduction",
            "",
            f"{told} {meanings}. Every number: [numbers.md](numbers.md), [numbers.csv](numbers.csv). In two screens: "
            "[docs/reference.md](../../docs/reference.md).",
            "",
            "![Every published number by its verdict](map.png)",
            "",
            markdown(counts(numbers), "By table", ""),
            markdown(of_causes(numbers, causes), "Why numbers differ", CAUSES),
            markdown(of_parts(parts, numbers), "The runs", RUNS),
            markdown(claims, "The paper's claims", CLAIMS),
            markdown(
                outcomes({str(part): (part.tables, part.seeds, part.steps[0]) for part in parts}),
                "What was predicted, and what came",
                PREDICTIONS,
            ),
            "## Figures\n",
            "\n\n".join([*together, shown]),
            "",
        ]
    )


def text_of_numbers(numbers: pd.DataFrame) -> str:
    """Every number, as Markdown."""
    return markdown(text_of(numbers), f"Number by number: all {len(numbers)}", NUMBERS)


CAUSES = (
    "A cause is *tested* if a run was made to decide it, *suspected* if a run points to it, and *unknown* if nothing "
    "does. Each number has the first cause in this list that applies to it."
)
RUNS = "Of a number that several runs make, the one of the longest chain counts, then that of the most seeds."
CLAIMS = (
    "In how many cases a claim is true, in the numbers of all runs together: of those that several runs make, the "
    "longest's. Each run's own claims stand in its tables. A claim that cannot be judged yet says what it lacks. Ties "
    "count for nobody; in brackets is how many chains stand behind a count."
)
PREDICTIONS = (
    "The predictions were written down before the runs ([docs/predictions.md](../../docs/predictions.md)), and so was "
    "the code that counts them."
)
NUMBERS = "How verdicts are given stands in the page of each run, published_vs_reproduced."
