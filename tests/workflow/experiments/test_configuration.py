"""A wrong configuration gets one sentence with the key and what it may be."""

import copy

import pytest
import yaml

from tests.helpers import ROOT, configuration
from workflow.experiments.configuration import ConfigurationError, check
from workflow.experiments.models import MODELS

SCHEMA = yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text())


@pytest.mark.parametrize("preset", [None, "reduced", "paper"])
def test_every_preset_is_valid(preset):
    check(configuration(preset), SCHEMA)


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
        ("run", "../outside", r"run: '../outside' must be a name of letters"),
        ("models.cnn_mnist.masks", [], r"models\.cnn_mnist\.masks: \[\] must not be empty"),
        ("models.cnn_mnist.masks", [0, 28], r"masks: a mask of 28 pixels does not fit into images of 28×28"),
        ("models.cnn_mnist.masks", [0, -1], r"masks\[1\]: -1 must be at least 0"),
        ("models.cnn_mnist.masks", [5], r"masks: experiments 1 and 2 need the cells without a mask"),
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
        ("models.cnn_mnist.chain.batch_size", 501, r"chain\.batch_size: 501 is more than the smallest training size"),
        ("models.cnn_mnist.chain.step_size", 0, r"step_size: 0 must be greater than 0"),
        ("models.cnn_mnist.students.dropout", 1, r"students\.dropout: 1 must be less than 1"),
        ("models.cnn_mnist.students.halving", "often", r"halving: 'often' must be a number of epochs or steps"),
        (
            "models.cnn_mnist.students.thinning",
            {"predictive": 4, "entropy": 6, "joint": 4},
            r"thinning\.entropy: 6 must be a multiple of the smallest thinning, 4",
        ),
        ("models.cnn_mnist.students.thinning.median", 4, r"thinning: unknown key median\."),
        ("models.cnn_mnist.search.k1", [0.5, 2], r"search\.k1: 1 must be among the multipliers"),
        ("models.cnn_mnist.search.k1", [0.01, 1], r"search\.k1: 0\.01: .*must all be at least 1"),
        ("data.unofficial", ["Emnist"], r"data\.unofficial: 'Emnist' is no official set"),
        ("data.optional", ["LSUN"], r"data\.optional: 'LSUN' is not among the out-of-distribution sets"),
    ],
)
def test_a_mistake_is_named_with_its_key_and_the_remedy(keys, value, message):
    config = copy.deepcopy(configuration())
    *path, last = keys.split(".")
    place = config
    for key in path:
        place = place[key]
    place[last] = value
    with pytest.raises(ConfigurationError, match=message):
        check(config, SCHEMA)


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
