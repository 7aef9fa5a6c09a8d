# The configuration, checked before anything else, and what follows from it.
import re
import shlex

import yaml
from snakemake.cli import parse_args
from snakemake.settings.types import DeploymentMethod

from gped.support.codehash import code_hash
from workflow.experiments import manifest, resources as needs, settings
from workflow.experiments.ablations import ablations
from workflow.experiments.configuration import ConfigurationError, check
from workflow.experiments.matrix import chosen_models
from workflow.experiments.paths import FIGURE_FORMS, PAGE_FORMS, TABLE_FORMS, Jobs
from workflow.experiments.plan import Plan, as_text
from workflow.experiments.tables import ABLATIONS

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
shell.prefix(
    f"export PYTHONPATH={shlex.quote(workflow.basedir)}; "
    + (
        ""
        if DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method
        else f"export PATH={shlex.quote(str(Path(sys.executable).parent))}:$PATH; "
    )
)


wildcard_constraints:
    cell="|".join(map(re.escape, CELLS)) or "none",


def code(stage):
    """What tells whether the code of a stage has changed."""
    return code_hash(ROOT / f"workflow/scripts/{stage}.py")


def set_files(wildcards):
    """The decoded sets that a cell reads."""
    return [PATHS.images(*one) for one in MATRIX.sets(CELLS[wildcards.cell]).values()]


def set_arguments(wildcards):
    """The same as arguments of a job: what for, and which."""
    return [
        f"{what}={PATHS.images(*one)}"
        for what, one in MATRIX.sets(CELLS[wildcards.cell]).items()
    ]


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


onstart:
    try:
        manifest.start(PATHS.run, CONFIGURED, workflow.configfiles)
        PLAN.write()
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
        print(f"{PATHS.run} cannot be written to: {error.strerror}.")
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
        if not each.name.startswith(("students_", "measure_"))
    ]
    for target in parse_args(sys.argv[1:])[1].targets:
        if target == "ablations" and not ablations(MATRIX):
            raise WorkflowError(
                "ablations: none of those in the configuration can be measured with these models. Name others."
            )
        if workflow.is_rule(target) or Path(target).exists():
            continue
        if not any(each.is_producer(target) for each in workflow.rules):
            known = rules.all_tables.input if "/" in target else names
            raise WorkflowError(f"There is no target {target}.{meant(target, known)}")
