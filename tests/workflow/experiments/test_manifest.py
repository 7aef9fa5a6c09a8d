"""What a run leaves beside its results, and that no other run takes its place."""

import json
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.helpers import ROOT, configuration
from workflow.experiments import manifest
from workflow.experiments.configuration import ConfigurationError

RUN = Path("results/demo")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def start(*files: str) -> dict:
    manifest.start(str(RUN), configuration(), list(files))
    return json.loads((RUN / "manifest.json").read_text())


def test_a_run_says_with_what_it_is_made():
    told = start("mine.yaml", "/somewhere/config.yaml")
    assert told["configuration_files"] == ["mine.yaml", "config.yaml"]
    assert told["versions"]["torch"] and told["python"].startswith("3.")
    assert yaml.safe_load((RUN / "config.yaml").read_text()) == configuration()
    assert told["processor"] and told["gped"]


def test_a_run_names_the_commit_of_its_checkout_where_there_is_one():
    asked = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, text=True)
    told = start("config.yaml")
    assert told["commit"] == (asked.stdout.strip() or None)
    assert (told["clean"] is None) == (told["commit"] is None)


@pytest.fixture
def checkout(folder, monkeypatch) -> Path:
    """A checkout of two committed files, from which the manifest seems to come."""
    root = folder / "checkout"
    (root / "workflow/experiments").mkdir(parents=True)
    for name in ("manifest.py", "other.py"):
        (root / "workflow/experiments" / name).write_text("pass\n")
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    for command in (("init", "-q"), ("add", "."), (*identity, "commit", "-q", "-m", "first")):
        subprocess.run(["git", "-C", root, *command], check=True)
    monkeypatch.setattr(manifest, "__file__", str(root / "workflow/experiments/manifest.py"))
    return root


def test_a_run_says_whether_its_files_are_as_committed(checkout):
    asked = subprocess.run(["git", "-C", checkout, "rev-parse", "HEAD"], capture_output=True, text=True).stdout
    told = start("config.yaml")
    assert (told["commit"], told["clean"]) == (asked.strip(), True)
    (checkout / "results").mkdir()
    (checkout / "results/of_a_run.csv").write_text("1\n")
    assert start("config.yaml")["clean"] is True  # what a run makes is not the code's
    (checkout / "workflow/experiments/other.py").write_text("pass  # changed\n")
    assert start("config.yaml")["clean"] is False
    subprocess.run(["git", "-C", checkout, "add", "."], check=True)
    assert start("config.yaml")["clean"] is False  # staged is not committed


def test_a_run_of_files_that_are_no_checkout_says_so(checkout):
    (checkout / ".git").rename(checkout / "elsewhere")
    told = start("config.yaml")
    assert (told["commit"], told["clean"]) == (None, None)


def test_a_run_that_is_started_again_remembers_when_it_was_first():
    first = start("config.yaml")
    path = RUN / "manifest.json"
    path.write_text(json.dumps(first | {"first_started": "2020-01-01T00:00:00+00:00"}))
    again = start("config.yaml")
    assert again["first_started"] == "2020-01-01T00:00:00+00:00" < again["started"]


def test_only_a_run_that_succeeded_is_finished_and_all_have_their_timings_and_checksums():
    start("config.yaml")
    (RUN / "data").mkdir()
    (RUN / "data/MNIST-test.npz").write_bytes(b"images")
    (RUN / "benchmarks/cell").mkdir(parents=True)
    (RUN / "benchmarks/cell/teacher.tsv").write_text("s\tcpu_time\tmax_rss\n1.5\t1.25\t300\n")
    manifest.finish(str(RUN), succeeded=False)
    told = json.loads((RUN / "manifest.json").read_text())
    assert "finished" not in told and told["ended"] and not told["succeeded"]
    assert set(told["data_sha256"]) == {"MNIST-test"} and len(told["data_sha256"]["MNIST-test"]) == 64
    assert (RUN / "timings.csv").read_text().split() == [
        "job,seconds,cpu_seconds,memory_mb",
        "cell/teacher,1.5,1.25,300",
    ]
    manifest.finish(str(RUN), succeeded=True)
    finished = json.loads((RUN / "manifest.json").read_text())
    assert finished["finished"] == finished["ended"] >= told["started"] and finished["succeeded"]
    again = start("config.yaml")
    assert again["ended"] is None and again["finished"] == finished["finished"]


def test_another_list_of_files_for_the_same_name_is_refused():
    start("config.yaml", "mine.yaml")
    manifest.refuse_another_preset(configuration(), ["config.yaml", "mine.yaml"])
    with pytest.raises(
        ConfigurationError, match=r"results/demo was made with config\.yaml, mine\.yaml, but this is con"
    ):
        manifest.refuse_another_preset(configuration(), ["config.yaml"])


def test_a_run_may_be_repeated_from_the_configuration_that_it_left():
    start("config.yaml", "mine.yaml")
    left = (RUN / "config.yaml").read_text()
    manifest.refuse_another_preset(configuration(), ["config.yaml", RUN / "config.yaml"])
    told = start("config.yaml", str(RUN / "config.yaml"))
    assert told["configuration_files"] == ["config.yaml", "mine.yaml"]
    assert (RUN / "config.yaml").read_text() == left
