"""The target bdk on embedded digits, from the command to the table: every number again, from what is stored."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import yaml
from safetensors.numpy import load_file

import gped
from gped.data.images import ImageSet
from gped.data.manipulations import nested_subsample
from gped.support.randomness import drawing_from
from tests.helpers import NOTHING, ROOT, copy_of_the_project, jobs_in, snakemake
from tests.naive import metrics as naive

pytestmark = pytest.mark.slow

TOLD = yaml.safe_load((ROOT / "tests/tiny_bdk.yaml").read_text())
MODEL, BDK = TOLD["models"]["fcnn_mnist"], TOLD["bdk"]
(SEED,), DATA_SEED = TOLD["seeds"], TOLD["data_seed"]
ASKED = ("--configfile", "tests/tiny_bdk.yaml", "--config", "preset=bdk")
PARAMETERS = 784 * 400 + 400 + 400 * 400 + 400 + 400 * 10 + 10


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    folder = copy_of_the_project(tmp_path_factory.mktemp("bdk"))
    result = snakemake(folder, "bdk", *ASKED)
    assert result.returncode == 0, result.stdout[-5000:]
    return folder


@pytest.fixture(scope="module")
def run(project) -> Path:
    return project / "results/tiny_bdk"


@pytest.fixture(scope="module")
def cell(run) -> Path:
    return run / f"cells/fcnn-MNIST5k/n300-m0-s{SEED}"


@pytest.fixture(scope="module")
def train(run) -> ImageSet:
    return ImageSet.load(run / "data/MNIST5k-train.npz")


@pytest.fixture(scope="module")
def test(run) -> ImageSet:
    return ImageSet.load(run / "data/MNIST5k-test.npz")


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def says(file: Path, images: np.ndarray) -> np.ndarray:
    """What the network in a file says, by multiplying matrices."""
    tensors, x = load_file(file), images.reshape(len(images), -1) / 255
    layers = sorted({int(name.split(".")[0]) for name in tensors})
    for number in layers:
        x = x @ tensors[f"{number}.weight"].astype(np.float64).T + tensors[f"{number}.bias"]
        x = np.maximum(x, 0) if number != layers[-1] else x
    return softmax(x)


def arrays(file: Path) -> dict[str, np.ndarray]:
    with np.load(file) as content:
        return dict(content)


def teacher_of(cell: Path, method: str) -> np.ndarray:
    names = {"SGD": "ensembles/sgd", "MC dropout": "ensembles/dropout", "deep ensemble": "ensembles/ensemble"}
    return arrays(cell / f"{names.get(method, 'reference')}.npz")["test/predictive"]


def student_of(cell: Path, method: str) -> np.ndarray:
    names = {"SGD": "ensembles/sgd-student", "MC dropout": "ensembles/dropout-student"}
    names |= {"deep ensemble": "ensembles/ensemble-student", "SGLD": "students/predictive-us-h4-k1x1"}
    return arrays(cell / f"{names[method]}.npz")["test/probabilities"]


def test_every_number_in_the_table_follows_from_what_is_stored(run, cell, test):
    table = pd.read_csv(run / "tables/bdk.csv")
    methods = ["SGD", "MC dropout", "deep ensemble", "SGLD"]
    assert list(zip(table["method"], table["model"], strict=True)) == [
        (method, model) for method in methods for model in ("teacher", "student")
    ]
    latency = json.loads((cell / "latency.json").read_text())
    names = {"SGD": "sgd", "MC dropout": "dropout", "deep ensemble": "ensemble", "SGLD": "chain"}
    passes = {"SGD": 1, "MC dropout": BDK["draws"], "deep ensemble": BDK["members"], "SGLD": 10}
    for row in table.itertuples():
        p = (teacher_of if row.model == "teacher" else student_of)(cell, row.method)
        assert p.shape == (1000, 10)
        assert row.test_error == pytest.approx(100 - 100 * naive.accuracy(p, test.labels), rel=1e-4)
        assert row.log_likelihood == pytest.approx(-naive.nll(p, test.labels), rel=1e-4)
        assert row.ece == pytest.approx(100 * naive.ece(p, test.labels), rel=1e-4)
        asked = passes[row.method] if row.model == "teacher" else 1
        stored = 1 if row.method == "MC dropout" else asked
        times = latency[names[row.method]]
        assert row.draws == asked and row.megabytes == pytest.approx(stored * PARAMETERS * 4 / 1e6, rel=1e-4)
        assert times["torch"] > 0 and times["onnx"] > 0
        assert row.torch_ms == pytest.approx(asked * times["torch"], rel=1e-4)
        assert row.onnx_ms == pytest.approx(asked * times["onnx"], rel=1e-4)
        assert np.isnan(row.published_test_error)
    students = table[table["model"] == "student"].set_index("method")
    for method in methods:
        p, q = teacher_of(cell, method), student_of(cell, method).astype(np.float64)
        assert students["kl"][method] == pytest.approx((p * np.log(p / q)).sum(1).mean(), rel=1e-3)


def test_the_table_is_there_in_all_its_forms_and_tells_its_lengths(run):
    for form in ("md", "tex", "html"):
        text = (run / f"tables/bdk.{form}").read_text()
        assert all(word in text for word in ("deep ensemble", "MC dropout", "SGLD", "a demonstration"))
        for length in ("T = 120", "burn-in 20", "25 updates", "6 epochs", "N = 300", "Seed 3"):
            assert length in text, (form, length)


def test_the_settings_with_the_likeliest_labels_outside_d_are_chosen(cell, train):
    in_d = nested_subsample(train.labels, 300, data_seed=DATA_SEED)
    others = np.array([number for number in range(len(train)) if number not in set(in_d.tolist())])
    assert len(others) == len(train) - 300
    tried = {}
    for path in sorted((cell / "networks").glob("tried-*.json")):
        told, p = json.loads(path.read_text()), says(path.with_suffix(".safetensors"), train.images[others])
        assert told["nll"] == pytest.approx(naive.nll(p, train.labels[others]), rel=1e-4)
        assert told["error"] == pytest.approx(100 - 100 * naive.accuracy(p, train.labels[others]), abs=0.06)
        tried[told["weight_decay"], told["dropout"]] = told["nll"]
    assert set(tried) == {(decay, rate) for decay in BDK["weight_decays"] for rate in (0, *BDK["dropouts"])}
    for name in ("plain-0", "plain-1", "dropout-0"):
        told = json.loads((cell / f"networks/{name}.json").read_text())
        alike = {key: nll for key, nll in tried.items() if (key[1] > 0) == name.startswith("dropout")}
        assert (told["weight_decay"], told["dropout"]) == min(alike, key=alike.get)


def test_the_ensemble_says_the_mean_of_its_networks_which_differ_and_sgd_what_its_one_says(cell, test):
    first, second = (says(cell / f"networks/plain-{number}.safetensors", test.images) for number in range(2))
    assert np.abs(first - second).max() > 0.01
    np.testing.assert_allclose(teacher_of(cell, "deep ensemble"), (first + second) / 2, atol=1e-5)
    np.testing.assert_allclose(teacher_of(cell, "SGD"), first, atol=1e-5)


def test_monte_carlo_dropout_says_the_mean_of_draws_with_units_dropped_after_every_hidden_layer(cell, test):
    tensors = load_file(cell / "networks/dropout-0.safetensors")
    layers = sorted({int(name.split(".")[0]) for name in tensors})
    matrices, biases = ([torch.from_numpy(tensors[f"{n}.{name}"]) for n in layers] for name in ("weight", "bias"))
    rate = json.loads((cell / "networks/dropout-0.json").read_text())["dropout"]
    total = torch.zeros(1000, 10)
    for draw in range(BDK["draws"]):
        with drawing_from(gped.stream(SEED, f"Monte Carlo dropout {draw}")):
            x = torch.from_numpy(test.images.reshape(1000, -1) / 255).float()
            for matrix, bias in zip(matrices[:-1], biases[:-1], strict=True):
                x = torch.nn.functional.dropout(torch.relu(x @ matrix.T + bias), rate)
            total += torch.softmax(x @ matrices[-1].T + biases[-1], 1)
    np.testing.assert_allclose(teacher_of(cell, "MC dropout"), total / BDK["draws"], atol=1e-5)
    assert (
        np.abs(teacher_of(cell, "MC dropout") - says(cell / "networks/dropout-0.safetensors", test.images)).max() > 0.01
    )


def test_a_teachers_student_is_that_of_bayesian_dark_knowledge_with_the_chains_settings(cell, train):
    def network(number: int) -> gped.Network:
        plain = gped.Network(gped.FCNN_MNIST, 10, gped.stream(0, "any"))
        tensors = load_file(cell / f"networks/plain-{number}.safetensors")
        plain.load_state_dict({name: torch.from_numpy(tensor) for name, tensor in tensors.items()})
        return plain

    ensemble = gped.Ensemble(
        [network(0), network(1)], torch.from_numpy(train.images), steps=25, reading_size=50, seed=SEED
    )
    told = {"learning_rate": 2e-3, "halving_every": 10, "input_noise": 0.01, "seed": SEED}
    (expected,) = gped.distill(ensemble, [gped.bayesian_dark_knowledge(gped.FCNN_MNIST, 10, **told)])
    student = gped.load_student(cell / "ensembles/ensemble-student.safetensors")
    assert student.updates == expected.updates == 25
    assert all(map(torch.equal, student.network.parameters(), expected.network.parameters()))
    assert gped.load_student(cell / "students/predictive-us-h4-k1x1.safetensors").updates == 25


def test_nothing_is_left_to_do_and_a_change_runs_again_what_depends_on_it(project):
    assert NOTHING in snakemake(project, "-n", "bdk", *ASKED).stdout
    (project / "more.yaml").write_text("bdk: {draws: 7}\n")
    asked = ("--configfile", "tests/tiny_bdk.yaml", "more.yaml", "--config", "preset=bdk")
    manifest = project / "results/tiny_bdk/manifest.json"
    kept = manifest.read_text()
    manifest.unlink()  # which would refuse another list of files
    counts = jobs_in(snakemake(project, "-n", "bdk", *asked).stdout)
    manifest.write_text(kept)
    assert counts == {"ensemble": 1, "latency": 1, "tabulate_bdk": 1, "bdk": 1}


def test_without_its_section_the_target_gets_a_sentence(project):
    result = snakemake(project, "-n", "bdk")
    assert result.returncode and "Traceback" not in result.stdout
    assert "bdk: the configuration has no section of that name. Add --config preset=bdk" in result.stdout
