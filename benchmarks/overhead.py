"""The workflow's own overhead: start-up times, and the share of a run that is spent outside chains and students.

python benchmarks/overhead.py results/demo --cores 2
"""

import argparse
import json
import re
import resource
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parent.parent


def startup() -> pd.DataFrame:
    """CPU seconds until something can begin."""
    commands = {
        "import gped": [sys.executable, "-c", "import gped"],
        "import torch": [sys.executable, "-c", "import torch"],
        "a chain's job, until its arguments are read": [sys.executable, "-m", "workflow.scripts.teacher", "--help"],
        "a table's job, until its arguments are read": [sys.executable, "-m", "workflow.scripts.measure", "--help"],
        "dry-run of the default configuration": [sys.executable, "-m", "snakemake", "-n", "--quiet", "all"],
    }
    rows = []
    for what, command in commands.items():
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        rows.append({"what": what, "CPU seconds": seconds})
    return pd.DataFrame(rows)


def outside(run: Path, cores: int) -> pd.DataFrame:
    """Where the cores' time went in a finished run: steps of chains, updates of students, jobs around them, idle."""
    manifest = json.loads((run / "manifest.json").read_text())
    started, finished = (datetime.fromisoformat(manifest[key]) for key in ("started", "finished"))
    available = cores * (finished - started).total_seconds()
    jobs = pd.read_csv(run / "timings.csv")["seconds"].sum()
    inside = {"chain": 0.0, "distilling": 0.0}
    for log in run.glob("logs/**/*.log"):
        for what, hours, minutes, seconds in re.findall(
            r"(\w+): steps \d+ to \d+ in (\d+):(\d+):(\d+)", log.read_text()
        ):
            inside[what] += 3600 * int(hours) + 60 * int(minutes) + int(seconds)
    rows = {
        "steps of chains": inside["chain"],
        "updates of students": inside["distilling"],
        "other work of jobs: imports, data, predictions, tables, figures": jobs - sum(inside.values()),
        "Snakemake and idle cores": available - jobs,
    }
    return pd.DataFrame([{"where": k, "core seconds": v, "share": v / available} for k, v in rows.items()])


def main() -> None:
    """Print where the time of a run went."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--cores", type=int, required=True)
    arguments = parser.parse_args()
    print(outside(arguments.run, arguments.cores).to_string(index=False, float_format="%.2f"))


if __name__ == "__main__":
    main()
