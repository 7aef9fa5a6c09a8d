"""A run's configuration, checked by schema and by meaning before anything runs: one sentence for each mistake."""

from collections.abc import Iterator
from typing import Any

from gped import data
from gped.support.suggestions import meant
from workflow.experiments.models import MODELS
from workflow.experiments.names import Cell


class ConfigurationError(ValueError):
    """A configuration that cannot be run. The message has one line for each mistake."""


def check(config: dict[str, Any], schema: dict[str, Any]) -> None:
    """Raise a `ConfigurationError` that names each wrong key and what it may be."""
    import jsonschema

    errors = jsonschema.Draft202012Validator(schema).iter_errors(config)
    mistakes = [_sentence(error) for error in sorted(errors, key=lambda error: error.json_path)]
    if not mistakes:
        mistakes = list(_mistakes(config))
    if mistakes:
        raise ConfigurationError("\n".join(mistakes))


def _sentence(error: Any) -> str:
    """A schema error as a sentence."""
    where = error.json_path.removeprefix("$").removeprefix(".") or "the configuration"
    value, limit = error.instance, error.validator_value
    if error.validator == "additionalProperties":
        known = list(error.schema["properties"])
        unknown = [key for key in value if key not in known]
        hints = "".join(dict.fromkeys(meant(str(key), known, listing=False) for key in unknown))
        return f"{where}: unknown key {', '.join(map(str, unknown))}.{hints} Known are {', '.join(known)}."
    if error.validator == "required":
        missing = [key for key in limit if key not in value]
        return f"{where}: {', '.join(missing)} is missing."
    reasons = {
        "type": f"must be of type {limit}",
        "minItems": "must not be empty",
        "minProperties": "must not be empty",
        "uniqueItems": "must not have an entry twice",
        "minimum": f"must be at least {limit}",
        "maximum": f"must be at most {limit}",
        "exclusiveMinimum": f"must be greater than {limit}",
        "exclusiveMaximum": f"must be less than {limit}",
        "pattern": "must be a number of epochs or steps, such as '200 epochs'"
        if "epochs" in str(limit)
        else "must be a name of letters, digits, dots, dashes and underscores",
    }
    return f"{where}: {value!r} {reasons.get(error.validator, error.message)}.{_hint(error)}"


def _hint(error: Any) -> str:
    """What is usually behind a number that was read as text."""
    if error.validator != "type" or not isinstance(error.instance, str):
        return ""
    try:
        number = float(error.instance)
    except ValueError:
        return ""
    if "e" in error.instance.lower():
        return f" YAML takes it for text: write {number:.1e}."
    return " Lists of numbers on the command line are read as text: write them into a file, and add --configfile."


def _mistakes(config: dict[str, Any]) -> Iterator[str]:
    """What the schema cannot see."""
    for name in config["data"]["unofficial"]:
        if name not in data.OFFICIAL:
            yield f"data.unofficial: {name!r} is no official set; those are {', '.join(data.OFFICIAL)}."
    for name in config["data"]["optional"]:
        if not any(name in model["ood"] for model in config["models"].values()):
            yield f"data.optional: {name!r} is not among the out-of-distribution sets of any model."
    for role, model in config["models"].items():
        yield from (f"models.{role}.{mistake}" for mistake in _model_mistakes(role, model, config))


def _model_mistakes(role: str, model: dict[str, Any], config: dict[str, Any]) -> Iterator[str]:
    shape, sets_are_known = MODELS[role].architecture.input_shape, True
    for key, name, split in (("dataset", model["dataset"], "train"), *(("ood", name, "test") for name in model["ood"])):
        try:
            entry = data.entry_of(name, split)
        except ValueError as error:
            sets_are_known = False
            yield f"{key}: {error}"
            continue
        if entry.shape != shape:
            yield f"{key}: {name} has images of shape {entry.shape}, but the model reads {shape}."
    if not sets_are_known:
        return
    available = data.entry_of(model["dataset"]).splits["train"]
    chain, focus, thinning = model["chain"], model["focus"], model["students"]["thinning"]
    for size in model["train_sizes"]:
        if size > available:
            yield f"train_sizes: {size} is more than the {available} training images of {model['dataset']}."
    for mask in model["masks"]:
        if mask >= shape[1]:
            yield f"masks: a mask of {mask} pixels does not fit into images of {shape[1]}×{shape[2]}."
    rates = [Cell(role, model["dataset"], 1, mask, 0).masking_rate for mask in model["masks"]]
    if len(set(rates)) < len(rates):
        yield f"masks: {model['masks']} have the masking rates {rates} in the tables, which must all differ."
    if focus["train_size"] > available:
        yield f"focus.train_size: {focus['train_size']} is more than the {available} training images."
    if focus["mask"] >= shape[1]:
        yield f"focus.mask: a mask of {focus['mask']} pixels does not fit into images of {shape[1]}×{shape[2]}."
    if config["experiments"] and {1, 2} & set(config["experiments"]) and 0 not in model["masks"]:
        yield "masks: experiments 1 and 2 need the cells without a mask, so 0 must be among the masks."
    if chain["burn_in"] >= chain["steps"]:
        yield f"chain.burn_in: {chain['burn_in']} must be less than the {chain['steps']} steps."
    for key in ("reference_every", "ood_every"):
        if chain["steps"] // chain[key] == chain["burn_in"] // chain[key]:
            yield f"chain.{key}: no multiple of {chain[key]} lies between the burn-in and the last step."
    if chain["noise"] == "native" and config["device"] != "cpu":
        yield f"chain.noise: native noise is for the CPU, but device is {config['device']!r}. Use noise: torch."
    if chain["batch_size"] > min(model["train_sizes"]):
        yield f"chain.batch_size: {chain['batch_size']} is more than the smallest training size."
    smallest = min(thinning.values())
    for target, value in thinning.items():
        if value % smallest:
            yield f"students.thinning.{target}: {value} must be a multiple of the smallest thinning, {smallest}."
        if chain["steps"] // value == chain["burn_in"] // value:
            yield f"students.thinning.{target}: no multiple of {value} lies between the burn-in and the last step."
    for key in ("k1", "k2"):
        if 1 not in model["search"][key]:
            yield f"search.{key}: 1 must be among the multipliers, because the base student has the teacher's size."
        elif any(k < 1 for k in model["search"][key]):
            yield from _too_narrow(role, key, min(model["search"][key]))


def _too_narrow(role: str, key: str, multiplier: float) -> Iterator[str]:
    try:
        MODELS[role].architecture.scaled(**{key: multiplier})
    except ValueError as error:
        yield f"search.{key}: {multiplier}: {error}"
