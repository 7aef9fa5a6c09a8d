"""A wrong configuration gets one sentence with the key and what it may be."""

import copy
from typing import Any

import pytest
import yaml

from tests.helpers import ROOT, configuration
from workflow.experiments.configuration import ConfigurationError, check, preset_file
from workflow.experiments.matrix import chosen_models
from workflow.experiments.models import MODELS

NAN, INFINITY = float("nan"), float("inf")
SCHEMA = yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text())


def changed(keys: str, value: object) -> dict[str, Any]:
    """The default configuration with another value of one key."""
    config = copy.deepcopy(configuration())
    *path, last = keys.split(".")
    place = config
    for key in path:
        place = place[key]
    place[last] = value
    return config


@pytest.mark.parametrize("preset", [None, "reduced", "paper", "bdk"])
def test_every_preset_is_valid(preset):
    config = configuration(preset)
    check(config | {"models": chosen_models(config)}, SCHEMA)


def test_the_schema_explains_every_key_and_allows_no_unknown_one_anywhere():
    def objects(node):
        if isinstance(node, dict):
            if node.get("type") == "object":
                yield node
            for value in node.values():
                yield from objects(value)

    assert all(node["additionalProperties"] is False for node in objects(SCHEMA))
    keys = [(name, value) for node in objects(SCHEMA) for name, value in node["properties"].items()]
    assert len(keys) > 50
    groups = {"properties", "$ref"}  # whose own keys are explained
    assert not [name for name, value in keys if "description" not in value and not groups & value.keys()]
    assert {name for name, value in keys if "description" not in value and "$ref" in value} == set(MODELS)


def test_every_number_is_bounded_on_both_sides():
    def numbers(node):
        if isinstance(node, dict):
            if node.get("type") in ("integer", "number"):
                yield node
            for value in node.values():
                yield from numbers(value)

    found = list(numbers(SCHEMA))
    assert len(found) > 10
    for node in found:
        assert {"minimum", "exclusiveMinimum"} & node.keys() and {"maximum", "exclusiveMaximum"} & node.keys(), node


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        ("seedz", [1], r"the configuration: unknown key seedz\. Did you mean seeds\?"),
        ("models.cnn_mnist.chian", {}, r"models\.cnn_mnist: unknown key chian\. Did you mean chain\?"),
        ("models.resnet", {}, r"models: unknown key resnet\. Known are fcnn_mnist, cnn_mnist, cnn_cifar10"),
        ("students_per_job", "many", r"students_per_job: 'many' must be of type integer"),
        ("seeds", [], r"seeds: \[\] must not be empty"),
        ("seeds", [1, 1], r"seeds: \[1, 1\] must not have an entry twice"),
        ("experiments", [5], r"experiments\[0\]: 5 must be at most 4"),
        ("seeds", ["0", "1"], r"seeds\[0\]: '0' must be of type integer\. .*write them into a file"),
        (
            "models.cnn_mnist.chain.step_size",
            "1e-4",
            r"must be of type number\. YAML takes it for text: write 1\.0e-04",
        ),
        ("models.cnn_mnist.masks", [0, 1], r"masks: \[0, 1\] have the masking rates \[0\.0, 0\.0\] in the tables"),
        ("models", None, r"models: None must be of type object"),
        ("run", "../outside", r"run: '../outside' must be a name of at most 100 letters"),
        ("models.cnn_mnist.masks", [], r"models\.cnn_mnist\.masks: \[\] must not be empty"),
        ("models.cnn_mnist.masks", [0, 28], r"masks: a mask of 28 pixels does not fit into images of 28×28"),
        ("models.cnn_mnist.masks", [0, 10**400], r"masks\[1\]: 10{59}… must be at most 1000\."),
        ("models.cnn_mnist.masks", [0, -1], r"masks\[1\]: -1 must be at least 0"),
        ("models.cnn_mnist.masks", [5], r"masks: experiment 1 needs the cells without a mask"),
        ("models.cnn_mnist.train_sizes", [9000], r"train_sizes: 9000 is more than the 4000 training images of MNIST5k"),
        ("models.cnn_mnist.focus.train_size", 9000, r"focus\.train_size: 9000 is more than the 4000"),
        (
            "models.cnn_mnist.dataset",
            "mnist",
            r"models\.cnn_mnist\.dataset: there is no set 'mnist'\. Did you mean MNIST or ",
        ),
        ("models.cnn_mnist.dataset", "Letters", r"dataset: Letters has no split 'train'"),
        (
            "models.cnn_mnist.dataset",
            "PhotoLetters",
            r"has images of shape \(3, 32, 32\), but the model reads \(1, 28, 28\)",
        ),
        ("models.cnn_mnist.ood", ["Textures"], r"ood: Textures has images of shape \(3, 32, 32\)"),
        ("models.cnn_mnist.chain.burn_in", 600, r"chain\.burn_in: 600 must be less than the 600 steps"),
        ("models.cnn_mnist.chain.reference_every", 900, r"chain\.reference_every: no multiple of 900"),
        (
            "models.cnn_mnist.chain.batch_size",
            501,
            r"cnn_mnist\.train_sizes: 500 is less than chain\.batch_size, 501\. Raise the one or lower the other",
        ),
        ("models.cnn_mnist.chain.step_size", 0, r"step_size: 0 must be greater than 0"),
        ("models.cnn_mnist.students.dropout", 1, r"students\.dropout: 1 must be less than 1"),
        ("models.cnn_mnist.students.halving", "often", r"halving: 'often' must be a number of epochs or steps"),
        (
            "models.cnn_mnist.students.thinning",
            {"predictive": 4, "entropy": 6, "joint": 4},
            r"thinning\.entropy: 6 must be a multiple of 4, that of joint, because they listen to the same chains",
        ),
        ("models.cnn_mnist.students.thinning.median", 4, r"thinning: unknown key median\."),
        ("models.cnn_mnist.search.k1", [0.5, 2], r"search\.k1: 1 must be among the multipliers"),
        ("models.cnn_mnist.search.k1", [0.01, 1], r"search\.k1: 0\.01: .*must all be at least 1"),
        (
            "models.cnn_mnist.students.thinning",
            {"predictive": 4, "entropy": 6, "joint": 2},  # without experiment 4, chains have readings every 4 steps
            r"thinning\.entropy: 6 must be a multiple of 4, that of predictive",
        ),
        ("models.cnn_mnist.chain.step_size", NAN, r"step_size: nan must be a finite number\.$"),
        ("models.cnn_mnist.chain.prior_precision", INFINITY, r"prior_precision: inf must be a finite number"),
        ("models.cnn_mnist.students.dropout", NAN, r"dropout: nan must be a finite number"),
        ("models.cnn_mnist.search.k1", [1, INFINITY], r"search\.k1\[1\]: inf must be a finite number"),
        ("models.cnn_mnist.chain.steps", 600.0, r"steps: 600\.0 must be of type integer\. Write 600\."),
        ("models.cnn_mnist.chain.steps", 10**400, r"steps: 10{59}… must be at most 1000000000\."),
        ("models.cnn_mnist.search.k2", [1, 10**400], r"search\.k2\[1\]: 10{59}… must be at most 1000000\."),
        (
            "models.cnn_mnist.search.k2",
            [1, 5000],
            r"search: the largest student, of multipliers 2 and 5000, has 260 million parameters\.",
        ),
        ("models.cnn_mnist.students.halving", f"{'9' * 400} steps", r"halving: '9{59}… must be a number of epochs or"),
        ("models.cnn_mnist.students.halving", "0 epochs", r"students\.halving: '0 epochs' must be longer than nothing"),
        (
            "models.cnn_mnist.students.halving",
            "9 steps\n",
            r"halving: '9 steps\\n' must be a number of epochs or steps",
        ),
        ("models.cnn_mnist.students.end2.smoothing", 0, r"end2\.smoothing: 0 must be at least 1e-12"),
        ("models.cnn_mnist.students.end2.temperature", 1e-3, r"end2\.temperature: 0\.001 must be at least 0\.1"),
        ("models.cnn_mnist.focus.train_size", 40, r"focus\.train_size: 40 is less than chain\.batch_size, 50"),
        ("models.cnn_mnist.train_sizes", [5], r"train_sizes: 5 images cannot be of all 10 classes"),
        (
            "models.cnn_mnist.chain.reading_size",
            4001,
            r"chain\.reading_size: 4001 is more than the 4000 training images",
        ),
        (
            "models.cnn_mnist.chain.step_size",
            0.4,
            r"step_size: with 0\.4 the chain diverges whatever the data: times the",
        ),
        (
            "models.cnn_mnist.pruning.fine_tuning",
            "1 steps",
            r"fine_tuning: '1 steps' is 1 steps of the chain, in which a student of the predictive with a thinning of",
        ),
        (
            "models.cnn_mnist.pruning.strengths",
            [1e-3, 2e-3, 1.0000001e-3],
            r"pruning\.strengths: 0\.001 and 0\.0010000001 are the same in the names of files",
        ),
        (
            "models.cnn_mnist.search.k2",
            [1, 1.0000001],
            r"search\.k2: 1 and 1\.0000001 are the same in the names of files",
        ),
        ("run", "reference", r"run: 'reference' is where the results that come with gped are: choose another name"),
        ("container", "a{b}", r"container: 'a\{b\}' must be a path or address without spaces and braces"),
        ("run", "x\n", r"run: 'x\\n' must be a name of at most 100 letters"),
        ("run", "x" * 101, r"run: 'x{59}… must be a name of at most 100 letters"),
        ("run", 7, r"run: 7 must be of type string\. Put it in quotes\."),
        ("device", "gpu", r"^device: 'gpu' must be one of cpu, cuda\.$"),
        ("data.root", "", r"data\.root: '' must be a path"),
        ("data.root", "a\x00b", r"data\.root: 'a\\x00b' must be a path"),
        ("data.unofficial", ["Emnist"], r"data\.unofficial: 'Emnist' is no official set"),
        ("data.optional", ["LSUN"], r"data\.optional: 'LSUN' is not among the out-of-distribution sets"),
    ],
)
def test_a_mistake_is_named_with_its_key_and_the_remedy(keys, value, message):
    with pytest.raises(ConfigurationError, match=message):
        check(changed(keys, value), SCHEMA)


def test_native_noise_is_refused_for_a_gpu():
    config = configuration() | {"device": "cuda"}
    config["models"]["cnn_mnist"]["chain"]["noise"] = "native"
    with pytest.raises(
        ConfigurationError, match=r"models\.cnn_mnist\.chain\.noise: native noise is for the CPU, but"
    ) as error:
        check(config, SCHEMA)
    assert "fcnn_mnist" not in str(error.value)  # whose noise is torch's


def test_a_missing_key_is_named():
    config = configuration()
    del config["models"]["cnn_mnist"]["chain"]["steps"]
    with pytest.raises(ConfigurationError, match=r"models\.cnn_mnist\.chain: steps is missing"):
        check(config, SCHEMA)


def test_all_mistakes_are_told_at_once():
    config = configuration() | {"seeds": [], "students_per_job": 0}
    with pytest.raises(ConfigurationError) as error:
        check(config, SCHEMA)
    assert len(str(error.value).splitlines()) == 2


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        ("run", "x" * 100),
        ("data.root", "~/my {data}, here"),
        ("models.cnn_mnist.chain.step_size", 0.39),
        ("models.cnn_mnist.pruning.fine_tuning", "2 steps"),
        ("models.cnn_mnist.students.end2.smoothing", 1e-12),
        ("models.cnn_mnist.students.thinning", {"predictive": 8, "entropy": 4, "joint": 2}),
        ("models.cnn_mnist.pruning.strengths", [1.00001e-3, 1.00002e-3]),
        ("models.cnn_mnist.pruning.strengths", []),
        ("models.cnn_mnist.focus.train_size", 50),
    ],
)
def test_what_is_just_right_is_accepted(keys, value):
    check(changed(keys, value), SCHEMA)


def test_fine_tuning_counts_only_where_something_is_pruned():
    config = configuration() | {"experiments": [1, 2, 4]}
    config["models"]["cnn_mnist"]["pruning"]["fine_tuning"] = "1 steps"
    check(config, SCHEMA)
    with pytest.raises(ConfigurationError, match="fine_tuning"):
        check(config | {"experiments": [3]}, SCHEMA)


def test_a_key_that_is_missing_is_named_once():
    config = configuration() | {"data": {}}
    with pytest.raises(ConfigurationError) as error:
        check(config, SCHEMA)
    assert str(error.value) == "data: root, unofficial, optional, ood_limit is missing."


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (["paper"], r"There is no preset \['paper'\]\. Did you mean paper\?"),
        ("reducd", r"There is no preset reducd\. Did you mean reduced\?"),
        (None, r"There is no preset None\. There is bdk, paper, reduced\."),
        ({"paper": 1}, r"There is no preset \{'paper': 1\}\."),
    ],
)
def test_a_preset_that_is_not_there_gets_a_sentence(name, message):
    folder = ROOT / "workflow/presets"
    assert preset_file("paper", folder) == folder / "paper.yaml"
    with pytest.raises(ConfigurationError, match=message):
        preset_file(name, folder)
