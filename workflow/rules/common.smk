# The configuration, checked before anything else, and what follows from it.
import json
import re
import shlex

import yaml
from snakemake.cli import parse_args
from snakemake.settings.types import DeploymentMethod

from gped.codehash import code_hash
from gped import resources as needs
from gped.configuration import ConfigurationError, check
from gped.matrix import PUBLISHED, TIDY, Matrix, chosen_models
from gped.names import StudentId

from workflow.scripts import manifest

SCRIPTS = Path(workflow.basedir) / "workflow/scripts"
CONFIGURED = dict(config)  # with null for the models that are left out
config["models"] = chosen_models(config)
try:
    check(
        config,
        yaml.safe_load(
            (Path(workflow.basedir) / "workflow/schemas/config.schema.yaml").read_text()
        ),
    )
    manifest.refuse_another_preset(config, workflow.configfiles)
except ConfigurationError as error:
    raise WorkflowError(f"The configuration cannot be run.\n{error}")

RUN = f"results/{config['run']}"
MATRIX = Matrix(config)
CELLS = {cell.path: cell for cell in [*MATRIX.cells(), *MATRIX.ablated_cells()]}
CODE = {
    stage: code_hash(SCRIPTS / f"{stage}.py")
    for stage in (
        "data",
        "teacher",
        "students",
        "measure",
        "render",
        "draw",
        "compare",
        "claims",
        "ablations",
        "summary",
    )
}


# Jobs find the library of this checkout and, unless Snakemake makes their environments, the Python that runs Snakemake.
shell.prefix(
    f"export PYTHONPATH={shlex.quote(workflow.basedir)}; "
    + (
        ""
        if DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method
        else f"export PATH={shlex.quote(str(Path(sys.executable).parent))}:$PATH; "
    )
)


GPUS = 1 if config["device"] == "cuda" else 0


wildcard_constraints:
    cell="|".join(map(re.escape, CELLS)) or "none",


def settings(values):
    """Settings as a job's argument; they are also what tells whether it must run again."""
    return json.dumps(values, sort_keys=True)


def set_files(wildcards):
    """The decoded sets that a cell reads."""
    return [
        f"{RUN}/data/{name}.npz" for name in MATRIX.sets(CELLS[wildcards.cell]).values()
    ]


def set_arguments(wildcards):
    """The same as arguments of a job: what for, and which."""
    return [
        f"{what}={RUN}/data/{name}.npz"
        for what, name in MATRIX.sets(CELLS[wildcards.cell]).items()
    ]


def students_of(batch):
    """The students whose slugs these are."""
    return [StudentId.from_slug(slug) for slug in batch]


onstart:
    try:
        manifest.start(RUN, CONFIGURED, workflow.configfiles)
    except OSError as error:
        raise WorkflowError(
            f"{RUN} cannot be written to: {error.strerror}. Free or unlock it, then run the same command again."
        )


onsuccess:
    manifest.finish(RUN, succeeded=True)


onerror:
    try:
        manifest.finish(RUN, succeeded=False)
    except OSError as error:
        print(f"{RUN} cannot be written to: {error.strerror}.")
    print(
        "Some job failed. Its log, named above, says why; what is finished stays, and the same command goes on."
    )


def experiment_of(name):
    """Where the report lists a table or figure."""
    experiments = {
        ("exp1",): "Experiment 1: base students",
        (
            "masking",
            "robustness",
            "estimators",
        ): "Experiment 2: robustness to uncertainty",
        ("tradeoff",): "Experiment 3: student architectures",
    }
    for prefixes, experiment in experiments.items():
        if name.startswith(prefixes):
            return experiment
    return "Experiment 4: downstream tasks"


def labels_of(name):
    """What tells the tables or figures of an experiment apart in the report."""
    kinds = {
        "exp1": "base students",
        "estimators": "U_o and U_s",
        "test_metrics": "test metrics",
        "ood_auroc": "out-of-distribution detection",
        "ndcg": "ranking by uncertainty",
        "masking": "masked images",
        "robustness": "robustness",
        "tradeoff_nll": "NLL against cost",
        "tradeoff_accuracy": "accuracy against cost",
        "tradeoff_entropy": "entropy error against cost",
        "comparison": "GPED and EnD²",
        "joint": "expected entropies",
    }
    words = {
        "fcnn_mnist": "FCNN, MNIST's role",
        "_cnn_mnist": "CNN, MNIST's role",
        "cnn_cifar10": "CNN, CIFAR-10's role",
        "_us": "U_s",
        "_uo": "U_o",
        "_base": "base students",
        "_large": "largest students",
    }
    what = next(label for kind, label in kinds.items() if name.startswith(kind))
    which = ", ".join(label for word, label in words.items() if word in name)
    return {"shows": what, "for": which or "all models"}


def measured_files(wildcards):
    """The references, predictions and labels that a table is computed from."""
    for cell, students in MATRIX.needs(wildcards.table):
        yield f"{RUN}/data/{cell.dataset}-test.npz"
        yield f"{RUN}/cells/{cell.path}/reference.npz"
        yield from (
            f"{RUN}/cells/{cell.path}/students/{student.slug}.npz"
            for student in students
        )


def figure_files(wildcards):
    """What a figure is drawn from."""
    figure = wildcards.figure
    if figure == "masking":
        role = MATRIX.masked_roles[0]
        return [f"{RUN}/data/{MATRIX.models[role]['dataset']}-test.npz"]
    if figure == "comparison_gped_end2":
        return [f"{RUN}/tables/{part}.csv" for part in MATRIX.parts("accuracy")]
    if figure == "joint_entropy":
        return [
            f"{RUN}/cells/{cell.path}/{name}"
            for cell, students in MATRIX.needs("accuracy_us_large")
            if cell.seed == config["seeds"][0]
            for name in (
                "reference.npz",
                *(f"students/{student.slug}.npz" for student in students),
            )
        ]
    kind, what, role = re.fullmatch(
        rf"(robustness|tradeoff)_?(nll|accuracy|entropy)?_({'|'.join(MATRIX.models)})",
        figure,
    ).groups()
    if kind == "robustness":
        return [f"{RUN}/tables/estimators_{role}.csv"]
    target = "entropy" if what == "entropy" else "predictive"
    cells = [cell for cell, _ in MATRIX.needs(f"tradeoff_{target}_{role}")]
    return [
        f"{RUN}/tables/tradeoff_{target}_{role}.csv",
        *(f"{RUN}/cells/{cell.path}/reference.npz" for cell in cells),
        f"{RUN}/data/{cells[0].dataset}-test.npz",
    ]


# The summary shows the published numbers where the run has them, and otherwise the last of the paper's figures that it
# makes: with experiment 4, what students say of expected entropies.
MAIN_FIGURE = (
    MATRIX.figures()[-1]
    if MATRIX.figures() and not MATRIX.is_on_the_papers_data
    else "published_vs_reproduced"
)


def what_was_run():
    """What the summary tells of the run."""
    models = [
        {
            "name": MATRIX.focus(role)[0].model,
            "dataset": model["dataset"],
            "train_sizes": sorted({cell.train_size for cell in cells}),
            "masks": ", ".join(map(str, sorted({cell.mask for cell in cells}))),
            "steps": model["chain"]["steps"],
            "chains": len(cells),
            "students": sum(len(MATRIX.students(cell)) for cell in cells),
        }
        for role, model in MATRIX.models.items()
        for cells in [[cell for cell in MATRIX.cells() if cell.role == role]]
    ]
    shown = (
        {"shows": "published against reproduced", "for": "all numbers"}
        if MAIN_FIGURE == "published_vs_reproduced"
        else labels_of(MAIN_FIGURE)
    )
    return {
        "run": config["run"],
        "seeds": config["seeds"],
        "experiments": config["experiments"],
        "papers_data": MATRIX.is_on_the_papers_data,
        "models": models,
        "caption": f"{shown['shows'].capitalize()}: {shown['for']}",
    }


def refuse_unknown_targets():
    """Say what may have been meant, before Snakemake says that there is no rule.

    The targets are read from the command line, because Snakemake tells the workflow of them only later.
    """
    if Path(sys.argv[0]).name not in ("snakemake", "__main__.py"):
        return
    names = [each.name for each in workflow.rules if each.name[:9] != "students_"]
    for target in parse_args(sys.argv[1:])[1].targets:
        if target == "ablations" and not MATRIX.ablations():
            raise WorkflowError(
                "ablations: none of those in the configuration can be measured with these models. Name others."
            )
        if workflow.is_rule(target) or Path(target).exists():
            continue
        if not any(each.is_producer(target) for each in workflow.rules):
            known = rules.all_tables.input if "/" in target else names
            raise WorkflowError(f"There is no target {target}.{meant(target, known)}")
