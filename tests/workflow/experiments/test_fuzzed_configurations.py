"""Configurations changed at random: each is refused with a sentence, or its jobs can begin."""

import copy
import datetime
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import gped
from gped import data
from gped.distillation import update
from gped.students.learner import learners_of
from gped.support.threads import threads
from tests.helpers import ROOT, configuration
from workflow.experiments import resources
from workflow.experiments.configuration import ConfigurationError, check
from workflow.experiments.matrix import chosen_models
from workflow.experiments.models import MODELS
from workflow.experiments.paths import FIGURE_FORMS, Jobs
from workflow.experiments.plan import Plan, as_text
from workflow.jobs import cell_inputs
from workflow.scripts.students import specification

SCHEMA = yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text())
MUTANTS = 400
SENTENCE = re.compile(r"(the configuration|[\w.\[\]]+): \S.*[.?]")
Place = tuple[str | int, ...]

NAN, INFINITY, LONG = float("nan"), float("inf"), "9" * 400
# What somebody may write in the place of a whole number, a number, a text or a list.
ODD: dict[type, list[Any]] = {
    int: [-1, 0, 1, 2.0, 600.0, 0.5, NAN, INFINITY, 10**12, 10**400, True, None, "3", "x", [1]],
    float: [-1.0, 0, 1, 2, 1e-300, 1e300, NAN, NAN, INFINITY, -INFINITY, 10**400, False, None, "1e-3", "nan", [0.1]],
    str: [None, "", "x\n", "{run}", "a b", "x" * 300, f"{LONG} steps", "0 steps", 7, 2020.5, [], {}, ["paper"]],
    list: [None, [], {}, [[]], 1, "x", [1, 1], [1, 1.0000001], [1, INFINITY], [1, NAN], [0, 10**400], [5], [True]],
    dict: [None, [], {}, {1: 2}, "x", 1, datetime.date(2020, 2, 29)],
    bool: [None, 0, 1, "no", "off", []],
}


def places(node: Any, above: Place = ()) -> Iterator[Place]:
    """Of everything in a configuration, the innermost values last."""
    for key in node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ():
        yield (*above, key)
        yield from places(node[key], (*above, key))


def words(value: str) -> list[str]:
    """What else a text may be."""
    if value in data.OFFICIAL | data.EMBEDDED:
        return [*data.OFFICIAL, *data.EMBEDDED, value.lower()]
    if re.fullmatch(r"\S+ (steps|epochs)", value):
        return ["1 steps", "3 steps", "9 steps", "40 steps", "0.5 epochs", "1000 epochs", "90000 epochs", "7 step"]
    every = [choice for node in nodes(SCHEMA) for choice in node.get("enum", ()) if value in node["enum"]]
    return every or [value, value.upper(), f"{value}{{", f"{value}/x"]


def nodes(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
        for value in node.values():
            yield from nodes(value)


def near(value: Any, generator: random.Random) -> Any:
    """Something of the same kind, which may well be right."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return generator.choice(
            [value + 1, value - 1, value // 2, 2 * value, 3 * value, 10 * value, 0, 1, 2, 4, 15, 27]
        )
    if isinstance(value, float):
        return value * generator.choice([0.1, 0.5, 1.0000001, 3.7, 1000, 1e9, 1e-9, 1e-300])
    if isinstance(value, str):
        return generator.choice(words(value))
    if isinstance(value, list) and value:
        more = near(generator.choice(value), generator)
        if generator.random() < 0.3:
            more = generator.choice(ODD[kind(value[0])])
        return generator.choice([value[1:], value[:-1], value[::-1], value[:1], [*value, more], [more, *value[1:]]])
    return value


def kind(value: Any) -> type:
    return type(value) if type(value) in ODD else str


right = cache(configuration)  # because YAML is slow to read


def mutant(generator: random.Random) -> dict[str, Any]:
    """A right configuration, changed in one to three places."""
    config = copy.deepcopy(generator.choice([right(None), right("tiny"), right("tiny"), right("tiny")]))
    if generator.random() < 0.5:
        config["experiments"] = generator.choice([[1], [2], [3], [4], [1, 3], [2, 4], [3, 4]])
    for _ in range(generator.choice([1, 1, 1, 2, 3])):
        everywhere = list(places(config))
        deepest = [place for place in everywhere if len(place) > 2]
        *path, last = generator.choice(deepest if generator.random() < 0.8 else everywhere)
        parent = config
        for key in path:
            parent = parent[key]
        how = generator.random()
        if how < 0.5:
            parent[last] = near(parent[last], generator)
        elif how < 0.9:
            parent[last] = generator.choice(ODD[kind(parent[last])])
        elif how < 0.95:
            del parent[last]
        elif isinstance(parent, dict):
            parent[f"{last}s"] = parent[last]
    config["models"] = chosen_models(config) if "models" in config else {}  # as the rules do
    return config


@cache
def images(name: str, split: str) -> gped.data.ImageSet:
    """As many images of this shape as the set has, of ten classes. What they show is no matter."""
    entry = data.entry_of(name, split)
    count = entry.splits[split]
    pixels = np.random.default_rng(0).integers(0, 256, (count, *entry.shape), np.uint8)
    return gped.data.ImageSet(name, pixels, np.arange(count) % 10, "random")


class _Sets:
    """In the place of files."""

    @staticmethod
    def load(path: str) -> gped.data.ImageSet:
        return images(*Path(path).stem.rsplit("-", 1))


def begin(config: dict[str, Any], generator: random.Random) -> None:
    """What Snakemake and the first steps of jobs do: all is planned, and in some cell a chain and students begin."""
    plan = Plan(config)
    told = {job: json.loads(as_text(values)) for job, values in plan.all_settings().items()}
    batches = list(plan.batches().values())
    made = Counter(
        [
            *(file for one in batches for cell in one.every for file in files_of(plan, cell, one.students)),
            *(file for one in plan.chains().values() for cell in one.every for file in plan.paths.chain_files(cell)),
            *(
                plan.paths.table(file, f)
                for m in plan.measurements.values()
                for t, p in m.parts
                for file in [t.file(p)]
                for f in t.forms
            ),
            *(plan.paths.figure(name, form) for name in plan.figures for form in FIGURE_FORMS),
        ]
    )
    assert made.most_common(1)[0][1] == 1  # Snakemake takes no output of two rules
    assert max(len(part.encode()) for file in made for part in Path(file).parts) < 200  # file systems take 255 bytes
    for shared in batches:
        assert resources.student_minutes(plan.matrix, plan.cells[shared.every[0]], shared.students) > 0
        assert resources.student_megabytes(plan.cells[shared.every[0]], shared.students) > 0
    path = generator.choice(list(plan.cells))
    settings = told[Jobs.teacher(path)]
    sets = {what: plan.paths.images(*one) for what, one in plan.matrix.sets(plan.cells[path]).items()}
    inputs = cell_inputs.prepare(settings["inputs"], sets)
    chain = chain_of(settings, inputs)
    chain.step()
    reading = chain.read()
    chain.t = 0
    batch = generator.choice([one.students for one in batches if path in one.every] or [()])
    if batch:
        jobs = [told[Jobs.student(path, student.slug)] for student in batch]
        specs = [specification(jobs[0]["training"], job["student"], inputs.classes) for job in jobs]
        for learner in learners_of([generator.choice(specs)], chain).values():
            update(learner, reading, chain.inputs[reading.indices])
            assert learner.failure is None


def files_of(plan: Plan, cell: str, batch: Any) -> list[str]:
    return [file for student in batch for file in plan.paths.student_files(cell, student.slug)]


def chain_of(settings: dict[str, Any], inputs: cell_inputs.CellInputs) -> gped.Chain:
    """As the job makes it."""
    names = ("steps", "burn_in", "thinning", "further_steps", "batch_size", "reading_size", "seed", "noise")
    return gped.Chain(
        gped.Network(MODELS[settings["role"]].architecture, inputs.classes, gped.stream(0, "θ")),
        inputs.labelled,
        inputs.labels,
        inputs.unlabelled,
        gped.SGLD(settings["step_size"], settings["prior_precision"]),
        references={
            name: gped.Reference(one, settings["reference_every" if name == "test" else "ood_every"])
            for name, one in inputs.evaluated.items()
        },
        **{name: settings[name] for name in names},
    )


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_a_configuration_is_refused_with_a_sentence_or_its_jobs_can_begin(part, monkeypatch):
    monkeypatch.setattr(cell_inputs, "ImageSet", _Sets)
    generator = random.Random(part)
    refused, begun = 0, 0
    for number in range(MUTANTS // 4):
        config = mutant(generator)
        try:
            check(config, SCHEMA)
        except ConfigurationError as error:
            assert str(error) and all(SENTENCE.fullmatch(line) for line in str(error).split("\n")), (number, str(error))
            refused += 1
            continue
        try:
            with threads(1):
                begin(config, generator)
        except Exception as error:
            raise AssertionError(f"mutant {number} of part {part} was accepted: {json.dumps(config)}") from error
        begun += 1
    assert refused > 25 and begun > 15  # both are tried


@pytest.mark.slow
def test_every_value_replaced_by_every_odd_one_is_refused_with_a_sentence_or_all_is_planned():
    """At random some are never met. One model stands for all, and is only planned."""
    base = copy.deepcopy(right("tiny"))
    base["models"] = {role: base["models"][role] for role in ("fcnn_mnist",)}
    refused, planned = 0, 0
    for *path, last in places(base):
        config = copy.deepcopy(base)
        parent = config
        for key in path:
            parent = parent[key]
        for odd in ODD[kind(parent[last])]:
            parent[last] = odd
            try:
                check(config, SCHEMA)
            except ConfigurationError as error:
                assert all(SENTENCE.fullmatch(line) for line in str(error).split("\n")), (*path, last, odd, str(error))
                refused += 1
                continue
            Plan(config).all_settings()
            planned += 1
    assert refused > 300 and planned > 50
