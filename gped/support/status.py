"""How far a run of jobs is, told from its files: by anyone, from any machine that sees the folder.

A run says once, in its file jobs.json, what there is to do: for each job its `name`, the `kind` of things that
it makes, its `work` in minutes of some core, one of the `outputs` for each thing, the `log` in which it tells of its
progress, both relative to the folder, and the `steps` that it makes. When it ends it says so in its file
manifest.json: `ended` is when, or null as long as it goes on, and `succeeded` whether all is well; `process`, if it is
there, is the host and the number of the process that runs it, which may have been killed before it could say so.
"""

import json
import os
import platform
import re
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from gped.support.files import write_text
from gped.support.suggestions import meant

FILE, END = "jobs.json", "manifest.json"
PROGRESS = re.compile(
    r"(?:chain|distilling|training): (?:step (\d+) of (\d+) |steps \d+ to (\d+) in )(.*)|resumed from step (\d+)"
)


@dataclass(frozen=True)
class Job:
    """One job of a run, finished or not; see above."""

    name: str
    kind: str
    work: float
    outputs: Sequence[str]
    log: str
    steps: int


def write_jobs(run: Path, jobs: Sequence[Job]) -> None:
    """Leave in the run's folder what `status` needs to know."""
    write_text(run / FILE, json.dumps([asdict(job) for job in jobs], indent=1) + "\n")


def status(run: Path) -> str:
    """What a person wants to know of a run, in a few lines."""
    if not (run / FILE).is_file():
        runs = (path.parent.name for path in run.parent.glob(f"*/{FILE}"))
        raise FileNotFoundError(
            f"{run} is not the folder of a run: it has no {FILE}.{meant(run.name, runs, f'{run.parent}/')}"
        )
    try:
        jobs = [Job(**job) for job in json.loads((run / FILE).read_text())]
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"{run / FILE} is not a list of jobs ({error}). Start the run again to write it anew."
        ) from error
    work = sum(job.work for job in jobs)
    share = sum(job.work * _share(run, job) for job in jobs) / work if work else 1.0
    counts = []
    for kind in dict.fromkeys(job.kind for job in jobs):
        there = [(run / path).exists() for job in jobs if job.kind == kind for path in job.outputs]
        counts.append(f"{sum(there)} of {len(there)} {kind}")
    end = {None: "", True: "the run has ended", False: "the run has ended, but not all went well: see its logs"}
    told = [f"{100 * share:.0f} % of the work done", ", ".join(counts), end[succeeded(run)]]
    lines = [f"{run}: {'; '.join(filter(None, told))}"]
    # A job makes its log when it starts.
    lines += [f"  {_line(run, job)}" for job in jobs if (run / job.log).exists() and not _is_done(run, job)]
    return "\n".join(lines)


def succeeded(run: Path) -> bool | None:
    """Whether all went well in a run that has ended; None as long as it goes on."""
    try:
        manifest = json.loads((run / END).read_text())
        if manifest["ended"]:
            return bool(manifest["succeeded"])
        host, number = manifest.get("process") or ("", 0)
        return False if host == platform.node() and not _is_alive(number) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None  # from whatever it is made, it does not say


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)  # which only asks
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        return True
    return True


def _is_done(run: Path, job: Job) -> bool:
    return all((run / path).exists() for path in job.outputs)


def _said(run: Path, job: Job) -> re.Match[str] | None:
    """A job's newest line of progress."""
    log = run / job.log
    lines = log.read_text().splitlines() if log.exists() else []
    return next(filter(None, (PROGRESS.search(line) for line in reversed(lines))), None)


def _share(run: Path, job: Job) -> float:
    """How much of a job is done."""
    if _is_done(run, job):
        return 1.0
    said = _said(run, job)
    return min(1.0, int(said[1] or said[3] or said[5]) / job.steps) if said else 0.0


def _line(run: Path, job: Job) -> str:
    """One line for a person about a job that runs."""
    said = _said(run, job)
    if said is None:
        return f"{job.name}: started"
    quiet = time.time() - (run / job.log).stat().st_mtime
    warning = f"; silent for {quiet / 60:.0f} minutes" if quiet > 300 else ""
    if said[3]:
        return f"{job.name}: all steps made, writing results{warning}"
    if said[5]:
        return f"{job.name}: {said[0]}{warning}"
    return f"{job.name}: step {said[1]} of {said[2]} {said[4]}{warning}"
