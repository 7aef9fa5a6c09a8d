"""A run's configuration, checked by schema and by meaning before anything runs: one sentence for each mistake."""

import math
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from gped import data
from gped.networks import cost
from gped.support.suggestions import meant
from workflow.experiments import bdk, settings
from workflow.experiments.matrix import Matrix
from workflow.experiments.models import MODELS
from workflow.experiments.names import Cell, StudentId

CLASSES = 10  # of every set that there is for training
PARAMETERS = 10**8  # of the largest student: the paper's largest has 6 million


class ConfigurationError(ValueError):
    """A configuration that cannot be run. The message has one line for each mistake."""


def preset_file(name: Any, folder: Path) -> Path:
    """The file of a preset."""
    presets = {path.stem: path for path in folder.glob("*.yaml")}
    if not isinstance(name, str) or name not in presets:
        raise ConfigurationError(f"There is no preset {_shown(name)}.{meant(str(name), presets)}")
    return presets[name]


def check(config: dict[str, Any], schema: dict[str, Any]) -> None:
    """Raise a `ConfigurationError` that names each wrong key and what it may be."""
    import jsonschema

    draft = jsonschema.Draft202012Validator
    types = draft.TYPE_CHECKER.redefine_many({"integer": _is_integer, "number": _is_number})
    errors = jsonschema.validators.extend(draft, type_checker=types)(schema).iter_errors(config)
    mistakes = list(dict.fromkeys(_sentence(error) for error in sorted(errors, key=lambda error: error.json_path)))
    if not mistakes:
        mistakes = list(_mistakes(config))
    if mistakes:
        raise ConfigurationError("\n".join(mistakes))


def _is_integer(checker: Any, value: Any) -> bool:
    """Not 600.0, which is one to JSON, but with which nobody can count steps."""
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(checker: Any, value: Any) -> bool:
    """Not infinity and what is not a number, which pass every bound."""
    return _is_integer(checker, value) or (isinstance(value, float) and math.isfinite(value))


def _sentence(error: Any) -> str:
    """A schema error as a sentence."""
    where = error.json_path.removeprefix("$").removeprefix(".") or "the configuration"
    value, limit = error.instance, error.validator_value
    wanted = "a finite number" if limit == "number" and isinstance(value, float) else f"of type {limit}"
    if error.validator == "additionalProperties":
        known = list(error.schema["properties"])
        unknown = [key for key in value if key not in known]
        hints = "".join(dict.fromkeys(meant(str(key), known, listing=False) for key in unknown))
        return f"{where}: unknown key {', '.join(map(_shown, unknown))}.{hints} Known are {', '.join(known)}."
    if error.validator == "required":
        missing = [key for key in limit if key not in value]
        return f"{where}: {', '.join(missing)} is missing."
    reasons = {
        "type": f"must be {wanted}",
        "enum": f"must be one of {', '.join(map(str, limit))}" if isinstance(limit, list) else "",
        "minItems": "must not be empty",
        "minProperties": "must not be empty",
        "uniqueItems": "must not have an entry twice",
        "minimum": f"must be at least {limit}",
        "maximum": f"must be at most {limit}",
        "exclusiveMinimum": f"must be greater than {limit}",
        "exclusiveMaximum": f"must be less than {limit}",
        "pattern": f"must be {error.schema.get('$comment')}",
    }
    return f"{where}: {_shown(value, quoted=True)} {reasons.get(error.validator, error.message)}.{_hint(error)}"


def _shown(value: Any, quoted: bool = False) -> str:
    """A value for a message, which nobody wants to read in full if it is long."""
    text = repr(value) if quoted or not isinstance(value, str) else value
    return text if len(text) <= 80 else f"{text[:60]}…"


def _hint(error: Any) -> str:
    """What is usually behind a number of the wrong type, or one that was read as text."""
    value, wanted = error.instance, error.validator_value
    if error.validator != "type":
        return ""
    if isinstance(value, float) and value.is_integer() and wanted == "integer":
        return f" Write {value:.0f}."
    if isinstance(value, int | float) and wanted == "string":
        return " Put it in quotes."
    try:
        number = float(value) if isinstance(value, str) else math.nan
    except ValueError:
        return ""
    if not math.isfinite(number):
        return ""
    if "e" in value.lower():
        return f" YAML takes it for text: write {number:.1e}."
    return " Lists of numbers on the command line are read as text: write them into a file, and add --configfile."


def _mistakes(config: dict[str, Any]) -> Iterator[str]:
    """What the schema cannot see."""
    if config["run"] == "reference":
        yield "run: 'reference' is where the results that come with gped are: choose another name."
    for name in config["data"]["unofficial"]:
        if name not in data.OFFICIAL:
            yield f"data.unofficial: {name!r} is no official set; those are {', '.join(data.OFFICIAL)}."
    for name in config["data"]["optional"]:
        if not any(name in model["ood"] for model in config["models"].values()):
            yield f"data.optional: {name!r} is not among the out-of-distribution sets of any model."
    for role, model in config["models"].items():
        unknown = list(_set_mistakes(role, model))
        # The size of a set tells whether others are right, so that a wrong name alone is told.
        for mistake in unknown or _model_mistakes(role, model, config):
            yield f"models.{role}.{mistake}"
    if "bdk" in config:
        yield from _bdk_mistakes(config)


def _bdk_mistakes(config: dict[str, Any]) -> Iterator[str]:
    """What the section needs of the others."""
    if bdk.ROLE not in config["models"]:
        yield f"bdk: sets networks beside the model {bdk.ROLE}, which must be among the models."
    if not {1, 2} & set(config["experiments"]):
        yield "bdk: sets networks beside the chain of experiment 1, so 1 must be among the experiments."


def _set_mistakes(role: str, model: dict[str, Any]) -> Iterator[str]:
    shape = MODELS[role].architecture.input_shape
    for key, name, split in (("dataset", model["dataset"], "train"), *(("ood", name, "test") for name in model["ood"])):
        try:
            entry = data.entry_of(name, split)
        except ValueError as error:
            yield f"{key}: {error}"
            continue
        if entry.shape != shape:
            yield f"{key}: {name} has images of shape {entry.shape}, but the model reads {shape}."


def _model_mistakes(role: str, model: dict[str, Any], config: dict[str, Any]) -> Iterator[str]:
    yield from _cell_mistakes(role, model, config["experiments"])
    if role == bdk.ROLE and "bdk" in config:
        yield from _held_out_mistakes(model)
    yield from _chain_mistakes(model, config["device"])
    yield from _thinning_mistakes(model["chain"], model["students"]["thinning"])
    yield from _search_mistakes(role, model["search"])
    yield from _pruning_mistakes(role, model, config)
    for key, duration in (
        ("students.halving", model["students"]["halving"]),
        ("pruning.fine_tuning", model["pruning"]["fine_tuning"]),
    ):
        if float(duration.split()[0]) == 0:
            yield f"{key}: {duration!r} must be longer than nothing."


def _cell_mistakes(role: str, model: dict[str, Any], experiments: list[int]) -> Iterator[str]:
    """Training sizes and masks."""
    _, height, width = MODELS[role].architecture.input_shape
    available = data.entry_of(model["dataset"]).splits["train"]
    focus, batch_size = model["focus"], model["chain"]["batch_size"]
    for key, size in (
        *(("train_sizes", size) for size in model["train_sizes"]),
        ("focus.train_size", focus["train_size"]),
    ):
        if size > available:
            yield f"{key}: {size} is more than the {available} training images of {model['dataset']}."
        if size < CLASSES:
            yield f"{key}: {size} images cannot be of all {CLASSES} classes: there must be at least {CLASSES}."
        elif size < batch_size:
            yield f"{key}: {size} is less than chain.batch_size, {batch_size}. Raise the one or lower the other."
    for key, mask in (*(("masks", mask) for mask in model["masks"]), ("focus.mask", focus["mask"])):
        if mask >= height:
            yield f"{key}: a mask of {mask} pixels does not fit into images of {height}×{width}."
    rates = [Cell(role, model["dataset"], 1, mask, 0).masking_rate for mask in model["masks"]]
    if len(set(rates)) < len(rates):
        yield f"masks: {model['masks']} have the masking rates {rates} in the tables, which must all differ."
    if 1 in experiments and 0 not in model["masks"]:
        yield "masks: experiment 1 needs the cells without a mask, so 0 must be among the masks."
    if (size := model["chain"]["reading_size"]) > available:
        yield f"chain.reading_size: {size} is more than the {available} training images that D' has."


def _held_out_mistakes(model: dict[str, Any]) -> Iterator[str]:
    """Images on which the settings of bdk are tried."""
    size, available = max(model["train_sizes"]), data.entry_of(model["dataset"]).splits["train"]
    if size == available:
        yield f"train_sizes: {size} leaves no training images outside D, on which bdk tries its settings. Lower it."


def _chain_mistakes(model: dict[str, Any], device: str) -> Iterator[str]:
    chain = model["chain"]
    if chain["burn_in"] >= chain["steps"]:
        yield f"chain.burn_in: {chain['burn_in']} must be less than the {chain['steps']} steps."
    for key in ("reference_every", "ood_every"):
        if not _has_multiple(chain[key], chain["burn_in"], chain["steps"]):
            yield f"chain.{key}: no multiple of {chain[key]} lies between the burn-in and the last step."
    if chain["noise"] == "native" and device != "cpu":
        yield f"chain.noise: native noise is for the CPU, but device is {device!r}. Use noise: torch."
    # A step takes θ to (1 − ητ/2) θ and something more, which grows without bound where that factor exceeds 1.
    if chain["step_size"] * chain["prior_precision"] >= 4:
        yield (
            f"chain.step_size: with {chain['step_size']:g} the chain diverges whatever the data: times the prior "
            f"precision, {chain['prior_precision']:g}, it must be less than 4."
        )


def _has_multiple(step: int, after: int, until: int) -> bool:
    return until // step > after // step


def _thinning_mistakes(chain: dict[str, Any], thinning: dict[str, int]) -> Iterator[str]:
    ordered = sorted(thinning, key=lambda target: thinning[target])
    for smaller, target in pairwise(ordered):
        if thinning[target] % thinning[smaller]:
            yield (
                f"students.thinning.{target}: {thinning[target]} must be a multiple of {thinning[smaller]}, that of "
                f"{smaller}, because they listen to the same chains."
            )
    for target, value in thinning.items():
        if not _has_multiple(value, chain["burn_in"], chain["steps"]):
            yield f"students.thinning.{target}: no multiple of {value} lies between the burn-in and the last step."


def _search_mistakes(role: str, search: dict[str, list[float]]) -> Iterator[str]:
    base = MODELS[role].architecture
    for key in ("k1", "k2"):
        yield from _same_names(f"search.{key}", ((k, StudentId("joint", "us", 1, k, k)) for k in search[key]))
        if 1 not in search[key]:
            yield f"search.{key}: 1 must be among the multipliers, because the base student has the teacher's size."
            continue
        try:
            base.scaled(**{key: min(search[key])})
        except ValueError as error:
            yield f"search.{key}: {min(search[key])}: {error}"
    parameters = cost.parameters(base.scaled(max(1, *search["k1"]), max(1, *search["k2"])), CLASSES)
    if parameters > PARAMETERS:
        yield (
            f"search: the largest student, of multipliers {max(search['k1']):g} and {max(search['k2']):g}, has "
            f"{parameters / 1e6:,.0f} million parameters. Lower them: {PARAMETERS / 1e6:.0f} million are the most."
        )


def _same_names(key: str, students: Iterable[tuple[float, StudentId]]) -> Iterator[str]:
    """Values that differ, but not in the names of the students that have them."""
    named: dict[str, float] = {}
    for value, student in students:
        if student.slug in named:
            other = named[student.slug]
            yield f"{key}: {other!r} and {value!r} are the same in the names of files. Leave one of them out."
        named[student.slug] = value


def _pruning_mistakes(role: str, model: dict[str, Any], config: dict[str, Any]) -> Iterator[str]:
    pruning, matrix = model["pruning"], Matrix(config)
    students = ((strength, StudentId("joint", "us", 1, 1, 1, strength)) for strength in pruning["strengths"])
    yield from _same_names("pruning.strengths", students)
    (cell, *_) = matrix.focus(role)
    if not matrix.is_pruned(cell):
        return
    steps, further = model["chain"]["steps"], settings.fine_tuning_steps(matrix, cell)
    for target in ("predictive", "entropy"):
        thinning = model["students"]["thinning"][target]
        if not _has_multiple(thinning, steps, steps + further):
            yield (
                f"pruning.fine_tuning: {pruning['fine_tuning']!r} is {further} steps of the chain, in which a student "
                f"of the {target} with a thinning of {thinning} hears nothing. Make it longer."
            )
