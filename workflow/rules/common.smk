# The configuration, checked before anything else, and what follows from it.
import re
import shlex
from functools import cache

import yaml
from snakemake.cli import parse_args
from snakemake.settings.types import DeploymentMethod, SharedFSUsage

from gped.support.codehash import code_hash
from gped.support.suggestions import meant
from workflow.experiments import bdk, manifest, resources as needs, settings
from workflow.experiments.ablations import ablations
from workflow.experiments.configuration import check
from workflow.experiments.matrix import chosen_models
from workflow.experiments.paths import FIGURE_FORMS, PAGE_FORMS, TABLE_FORMS, Jobs
from workflow.experiments.plan import Plan, as_text
from workflow.experiments.tables import ABLATIONS
from workflow.jobs.job import BESIDE

ROOT = Path(workflow.basedir)
CONFIGURED = dict(config)  # with null for the models that are left out
config["models"] = chosen_models(config)
try:
    check(
        config,
        yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text()),
    )
    manifest.refuse_another_preset(config, workflow.configfiles)
except ConfigurationError as error:
    raise WorkflowError(f"The configuration cannot be run.\n{error}")

PLAN = Plan(config)
MATRIX = PLAN.matrix
PATHS = PLAN.paths
CELLS = PLAN.cells
GPUS = 1 if config["device"] == "cuda" else 0

# Jobs find the library of this checkout and, unless Snakemake makes their environments, the Python that runs Snakemake.
# Besides their log they can speak where Snakemake does, if the disk of the log is full.
shell.prefix(
    f"exec 3>&2; export {BESIDE}=3 PYTHONPATH={shlex.quote(workflow.basedir)}; "
    + (
        ""
        if workflow.deployment_settings.deployment_method
        & {DeploymentMethod.CONDA, DeploymentMethod.APPTAINER}
        else f"export PATH={shlex.quote(str(Path(sys.executable).parent))}:$PATH; "
    )
)


container: config["container"]


wildcard_constraints:
    cell="|".join(map(re.escape, CELLS)) or "none",


@cache
def code(stage):
    """What tells whether the code of a stage has changed; every rule asks for it."""
    return code_hash(ROOT / f"workflow/scripts/{stage}.py")


def first_cell(wildcards, shared):
    """The cell of a job, or the first of those that share it, which have all but their masks in common."""
    return CELLS[shared.cells[0].format(**dict(wildcards.items()))]


def constraints(shared):
    """What the wildcards of a rule may be."""
    return {
        name: "|".join(map(re.escape, dict.fromkeys(values)))
        for name, values in shared.wildcards.items()
    }


def set_files(cell):
    """The decoded sets that a cell reads."""
    return [PATHS.images(*one) for one in MATRIX.sets(cell).values()]


def set_arguments(cell, input):
    """The same as arguments of a job: what for, and where it is, which with storage is not where it seems."""
    files = dict(zip(set_files(cell), input))
    return [
        f"{what}={files[PATHS.images(*one)]}" for what, one in MATRIX.sets(cell).items()
    ]


def told_of(shared):
    """The cells of a job, as its message names them."""
    more = f" and {len(shared.cells) - 1} more" if len(shared.cells) > 1 else ""
    return shared.cells[0].replace("{", "{wildcards.") + more


def measured_files(measurement):
    """The references, predictions and labels that tables are computed from."""
    for need in measurement.needs:
        yield PATHS.images(need.cell.dataset, "test")
        yield PATHS.reference(need.cell.path)
        for student in need.students:
            yield PATHS.predictions(need.cell.path, student.slug)


def reported(table, part, form):
    """A table's file, which the report shows if it is a page."""
    path = PATHS.table(table.file(part), form)
    if form != "html":
        return path
    return report(
        path,
        caption="../report/table.rst",
        category="Tables",
        subcategory=PLAN.experiment(table.experiments[0]),
        labels={"shows": table.shows, "for": part.of or "all models"},
    )


# A job that runs elsewhere and shares no files with us writes down for itself what the start of a run writes down here.
if (
    workflow.remote_exec
    and SharedFSUsage.INPUT_OUTPUT not in workflow.storage_settings.shared_fs_usage
):
    PLAN.write()


onstart:
    try:
        manifest.start(PATHS.run, CONFIGURED, workflow.configfiles)
        PLAN.write()
        PLAN.write_jobs({file for job in workflow.dag.jobs for file in job.output})
    except OSError as error:
        raise WorkflowError(
            f"{PATHS.run} cannot be written to: {error.strerror or error}. Free or unlock it, then run the same command"
            " again."
        )


onsuccess:
    manifest.finish(PATHS.run, succeeded=True)


onerror:
    try:
        manifest.finish(PATHS.run, succeeded=False)
    except OSError as error:
        print(f"{PATHS.run} cannot be written to: {error.strerror or error}.")
    print(
        "Some job failed. Its log, shown and named above, says why; what is finished stays, and the same command goes on."
    )


def refuse_unknown_targets():
    """Say what may have been meant, before Snakemake says that there is no rule.

    The targets are read from the command line, because Snakemake tells the workflow of them only later.
    """
    if Path(sys.argv[0]).name not in ("snakemake", "__main__.py"):
        return
    names = [
        each.name
        for each in workflow.rules
        if not each.name.startswith(("teacher", "students_", "measure_"))
    ]
    for target in parse_args(sys.argv[1:])[1].targets:
        if target == "ablations" and not ablations(MATRIX):
            raise WorkflowError(
                "ablations: none of those in the configuration can be measured with these models. Name others."
            )
        if target == "bdk" and "bdk" not in config:
            raise WorkflowError(
                "bdk: the configuration has no section of that name. Add --config preset=bdk, or write one."
            )
        if workflow.is_rule(target) or Path(target).exists():
            continue
        if not any(each.is_producer(target) for each in workflow.rules):
            known = rules.all_tables.input if "/" in target else names
            raise WorkflowError(f"There is no target {target}.{meant(target, known)}")
