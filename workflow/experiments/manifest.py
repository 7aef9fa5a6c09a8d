"""What a run leaves beside its results: its configuration, versions, data checksums and timings."""

import csv
import hashlib
import json
import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import yaml

from gped.support.files import write_text
from workflow.experiments.configuration import ConfigurationError

FILE = "manifest.json"
PACKAGES = (
    "torch",
    "torchvision",
    "numpy",
    "scipy",
    "scikit-learn",
    "mlxtend",
    "pillow",
    "matplotlib",
    "seaborn",
    "pandas",
    "snakemake",
)


def refuse_another_preset(config: dict[str, Any], configfiles: list[Any]) -> None:
    """One run, one preset: another preset of the same name would overwrite its results."""
    run = Path("results") / config["run"]
    if not (run / FILE).is_file() or _is_own(run, configfiles):
        return
    before = _read(run)["configuration_files"]
    now = [Path(file).name for file in configfiles]
    if before != now:
        raise ConfigurationError(
            f"run: {run} was made with {', '.join(before)}, but this is {', '.join(now)}. Give this one another name "
            f"(run: …), or move {run} away."
        )


def _is_own(run: Path, configfiles: list[Any]) -> bool:
    """Whether a run is repeated from the configuration that it left."""
    return (run / "config.yaml").resolve() in (Path(file).resolve() for file in configfiles)


def start(run: str, config: dict[str, Any], configfiles: list[Any]) -> None:
    """Write the resolved configuration, and what it will be run with."""
    folder = Path(run)
    folder.mkdir(parents=True, exist_ok=True)
    if not _is_own(folder, configfiles):
        (folder / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
        _update(folder, configuration_files=[Path(file).name for file in configfiles])
    now = datetime.now(UTC).isoformat(timespec="seconds")
    _update(
        folder,
        first_started=_read(folder).get("first_started", now),
        started=now,
        ended=None,
        process=[platform.node(), os.getpid()],  # as long as it runs: what `gped status` looks for
        gped=_version("gped"),
        **_commit(),
        python=platform.python_version(),
        platform=f"{platform.system()} {platform.machine()}",
        processor=_processor(),
        versions={package: _version(package) for package in PACKAGES},
    )


def finish(run: str, succeeded: bool) -> None:
    """Add what the run has shown: checksums of the images, the time that each job took, and whether all are done."""
    folder = Path(run)
    checksums = {}
    for path in sorted(folder.glob("data/*.npz")):
        with path.open("rb") as file:
            checksums[path.stem] = hashlib.file_digest(file, "sha256").hexdigest()
    rows = []
    for path in sorted(folder.glob("benchmarks/**/*.tsv")):
        with path.open() as file:
            for row in csv.DictReader(file, delimiter="\t"):
                job = path.relative_to(folder / "benchmarks").with_suffix("")
                rows.append((str(job), row["s"], row["cpu_time"], row["max_rss"]))
    with (folder / "timings.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("job", "seconds", "cpu_seconds", "memory_mb"), *rows])
    now = datetime.now(UTC).isoformat(timespec="seconds")
    ended = {"ended": now, "succeeded": succeeded} | ({"finished": now} if succeeded else {})
    _update(folder, data_sha256=checksums, process=None, **ended)


def _commit() -> dict[str, Any]:
    """The commit of this checkout, and whether its files are as committed; nothing where it is not one."""
    root = Path(__file__).parents[2]
    try:
        commit = _git(root, "rev-parse", "HEAD")
        changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.CalledProcessError):
        return {"commit": None, "clean": None}
    return {"commit": commit, "clean": not changed}


def _git(root: Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _processor() -> str:
    """The processor as it calls itself."""
    information = Path("/proc/cpuinfo")
    lines = information.read_text().splitlines() if information.is_file() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _update(folder: Path, **values: Any) -> None:
    kept = {key: value for key, value in (_read(folder) | values).items() if key != "process" or value}
    write_text(folder / FILE, json.dumps(kept, indent=2) + "\n")


def _read(folder: Path) -> dict[str, Any]:
    path = folder / FILE
    return json.loads(path.read_text()) if path.is_file() else {}
