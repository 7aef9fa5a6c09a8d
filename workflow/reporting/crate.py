"""A finished run as an RO-Crate: its results with what they were made from, by what, and when, for people and machines.

It follows the profiles Workflow RO-Crate and Workflow Run Crate (https://www.researchobject.org/workflow-run-crate/).
"""

import hashlib
import json
import mimetypes
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from rocrate.model import ContextEntity, Entity
from rocrate.rocrate import ROCrate

ROOT = Path(__file__).parents[2]
LICENCE = "https://spdx.org/licenses/MIT"
WORKFLOW_PROFILE = "https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE"
RUN_PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
}
FORMATS = {"md": "text/markdown", "tex": "application/x-tex", "yaml": "application/yaml"}


def crate_of(notes: Path, settings: dict[str, Any], results: dict[str, Path], images: Iterable[Path]) -> ROCrate:
    """Describe a run.

    Args:
        notes: The folder of its configuration and manifest.
        settings: As `workflow.experiments.plan.Plan.packing` gives them.
        results: The tables, figures and pages that it made, by their places in the crate.
        images: The sets that it read, which do not: they are told by name and checksum.
    """
    crate = ROCrate(version="1.1")  # the one that the profiles build on
    crate.metadata.extra_terms["sha256"] = "http://schema.org/sha256"  # which it has not yet
    manifest = json.loads((notes / "manifest.json").read_text())
    made = [_add(crate, path, Path(place), settings["titles"]) for place, path in results.items()]
    newest = max(path.stat().st_mtime for path in results.values())
    ended = datetime.fromtimestamp(newest, UTC).isoformat(timespec="seconds")

    licence = _say(crate, LICENCE, "CreativeWork", name="MIT License", url=LICENCE)
    told = {
        "name": "gped: generalized Bayesian posterior expectation distillation",
        "version": manifest["gped"],
        "license": licence,
        "encodingFormat": "text/plain",
        "sha256": _sha256(ROOT / "Snakefile"),
        "conformsTo": _say(crate, WORKFLOW_PROFILE, "CreativeWork", name="ComputationalWorkflow", version="1.0"),
    }
    language = {"lang": "snakemake", "lang_version": manifest["versions"]["snakemake"]}
    workflow = crate.add_workflow(
        ROOT / "Snakefile", "Snakefile", properties=told, main=True, record_size=True, **language
    )
    if manifest["commit"]:
        changed = "" if manifest["clean"] else ", with changes that are not committed"
        workflow["description"] = f"Commit {manifest['commit']}{changed}"

    how = {
        "config.yaml": "Configuration",
        "manifest.json": "Commit, versions, processor and times",
        "timings.csv": "Times",
    }
    configuration, *_ = [_add(crate, notes / name, Path(name), how) for name in how if (notes / name).is_file()]
    for name, title in {"LICENSE": "Licence", "CITATION.cff": "How to cite"}.items():
        _add(crate, ROOT / name, Path(name), {name: title})
    sets = [_set(crate, path) for path in images]
    run_of_it = crate.add_action(
        workflow,
        identifier="#run",
        object=[configuration, *sets],
        result=made,
        properties={
            "name": f"The run {settings['run']}",
            "startTime": manifest["first_started"],
            "endTime": ended,
            "actionStatus": "http://schema.org/CompletedActionStatus",
            "description": f"Python {manifest['python']} on {manifest['platform']}, {manifest['processor']}",
        },
    )
    root = crate.root_dataset
    root["name"], root["description"] = f"gped: the run {settings['run']}", settings["description"]
    root["datePublished"], root["license"], root["citation"] = ended, licence, _paper(crate)
    root["mentions"] = run_of_it
    root["conformsTo"] = [
        *(_say(crate, url, "CreativeWork", name=name, version="0.5") for url, name in RUN_PROFILES.items()),
        _say(
            crate,
            "https://w3id.org/workflowhub/workflow-ro-crate/1.0",
            "CreativeWork",
            name="Workflow RO-Crate",
            version="1.0",
        ),
    ]
    return crate


def _say(crate: ROCrate, identifier: str, kind: str, **properties: Any) -> Entity:
    """Describe something that is not in the crate."""
    return crate.add(ContextEntity(crate, identifier, properties={"@type": kind, **properties}))


def _add(crate: ROCrate, path: Path, place: Path, titles: dict[str, str]) -> Entity:
    """Put a file into the crate. Titles are by place, with or without the name's ending."""
    form = path.suffix.removeprefix(".")
    kind = FORMATS.get(form) or mimetypes.guess_type(path.name)[0] or "text/plain"
    name = titles.get(str(place)) or titles.get(str(place.with_suffix(""))) or place.name
    told = {"name": name, "encodingFormat": kind, "sha256": _sha256(path)}
    return crate.add_file(path, place, properties=told, record_size=True)


def _set(crate: ROCrate, path: Path) -> Entity:
    """Describe a set of images: which it is, where it came from, and what its file has for a checksum."""
    with np.load(path, allow_pickle=False) as file:
        source, count = str(file["source"]), len(file["labels"])
    about = f"{count} images from {source}" if count else source
    return _say(crate, f"#{path.stem}", "Dataset", name=path.stem, description=about, sha256=_sha256(path))


def _paper(crate: ROCrate) -> Entity:
    """The paper that is reproduced, as CITATION.cff has it."""
    paper = yaml.safe_load((ROOT / "CITATION.cff").read_text())["preferred-citation"]
    names = [f"{one['given-names']} {one['family-names']}" for one in paper["authors"]]
    authors = [_say(crate, f"#{name.replace(' ', '_')}", "Person", name=name) for name in names]
    told = {"name": paper["title"], "author": authors, "datePublished": str(paper["year"])}
    return _say(crate, "#paper", "ScholarlyArticle", **told, isPartOf=paper["collection-title"])


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
