"""Claims about experiment 4: GPED against EnD², and larger students."""

import pandas as pd

from workflow.reporting.findings.finding import GRID, Find, Finding, Frames, LackingError, chains_of, leads, table_of


def larger_students(frames: Frames) -> Finding:
    """GPED's largest student is nearer to the ensemble than its base student."""
    table = table_of(frames, "test_metrics")
    gap = table.assign(gap=table["nll_gped"] - table["nll_ensemble"])
    gap = gap.pivot_table(index=[*GRID, "estimator"], columns="student", values="gap").dropna()
    if not {"base", "large"} <= set(gap):
        raise LackingError("base and largest students in the table test_metrics", "test_metrics")
    means = f"{gap['base'].mean():.3f} with base, {gap['large'].mean():.3f} with largest students"
    return leads(gap["base"] - gap["large"], chains_of(table), f"mean NLL gap of GPED {means}")


def gped_against_end2(name: str, pairs: list[tuple[str, str]], sign: int, only: dict[str, str] | None = None) -> Find:
    """GPED beats EnD², in columns where less (sign −1) or more (+1) is better."""

    def find(frames: Frames) -> Finding:
        table = table_of(frames, name)
        for key, value in (only or {}).items():
            table = table[table[key] == value]
        lead = pd.concat([sign * (table[gped] - table[end2]) for gped, end2 in pairs]).dropna()
        if lead.empty:
            raise LackingError(f"numbers in the table {name}", name)
        return leads(lead, chains_of(table), f"GPED is ahead by {lead.mean():+.3f} on average")

    return find


def gped_is_more_accurate(frames: Frames) -> Finding:
    """GPED's accuracy beats EnD²'s."""
    table = table_of(frames, "accuracy")
    wide = table.pivot(index=[*GRID, "estimator", "student"], columns="method", values="accuracy")
    lead = wide["gped"] - wide["end2"]
    return leads(lead, chains_of(table), f"GPED is ahead by {lead.mean():+.4f} on average")
