"""Which figures a run has, and what each is drawn from."""

import inspect

import pytest

from tests.helpers import configuration
from workflow.experiments.figures import Figure
from workflow.experiments.plan import Plan
from workflow.reporting.drawings import DRAWINGS

CONFIGURATIONS = {
    "default": configuration(),
    "tiny": configuration("tiny"),
    "paper": configuration("paper"),
    "experiment 1": configuration() | {"experiments": [1]},
    "experiment 3": configuration() | {"experiments": [3]},
    "experiment 4": configuration() | {"experiments": [4]},
}


@pytest.fixture(params=CONFIGURATIONS)
def plan(request) -> Plan:
    return Plan(CONFIGURATIONS[request.param])


def of_the_paper(plan: Plan) -> list[str]:
    return [name for name, figure in plan.figures.items() if figure.experiment]


def test_the_default_run_has_every_figure_of_the_paper():
    plan = Plan(configuration())
    assert len(of_the_paper(plan)) == 15
    assert set(plan.figures) == set(of_the_paper(plan))  # it makes no number that could stand beside a published one
    assert set(Plan(configuration("paper")).figures) - set(of_the_paper(plan)) == {
        "published_vs_reproduced",
        "schedule",
    }


def test_published_numbers_are_drawn_where_some_are_made():
    config = configuration("paper")
    assert "published_vs_reproduced" not in Plan(config | {"experiments": [3]}).figures
    config["models"]["fcnn_mnist"] |= {"dataset": "MNIST5k", "train_sizes": [4000]}
    assert "published_vs_reproduced" in Plan(config).figures


def test_the_figure_of_masks_shows_those_of_the_run():
    def shown(**masks: tuple[int, list[int]]) -> int | None:
        config = configuration()
        for role, (focus, sides) in masks.items():
            config["models"][role] |= {"focus": {"train_size": 4000, "mask": focus}, "masks": sides}
        figure = Plan(config).figures.get("masking")
        return figure and figure.options["side"]

    assert shown() == 15
    assert shown(fcnn_mnist=(20, [0, 5])) == 20
    assert shown(fcnn_mnist=(0, [0, 5, 3])) == 5
    assert shown(fcnn_mnist=(0, [0]), cnn_mnist=(7, [0])) == 7
    assert shown(fcnn_mnist=(0, [0]), cnn_mnist=(0, [0])) is None
    assert "a random square of 15 pixels, 29 % of each image" in Plan(configuration()).figures["masking"].caption


def test_figures_say_which_model_on_which_data_and_whose_place_these_take():
    figures = Plan(configuration()).figures
    assert figures["robustness_cnn_cifar10"].options["title"] == "CNN on PhotoLetters (in CIFAR10's place)"
    assert figures["tradeoff_nll_fcnn_mnist"].options["title"] == "FCNN on MNIST5k (in MNIST's place)"
    assert figures["joint_entropy"].options["titles"][1] == "CNN on MNIST5k\n(in MNIST's place)"
    assert Plan(configuration("paper")).figures["joint_entropy"].options["titles"] == [
        "FCNN on MNIST",
        "CNN on MNIST",
        "CNN on CIFAR10",
    ]


def test_a_model_that_is_left_out_leaves_no_trace():
    config = configuration()
    config["models"]["cnn_mnist"] = None
    plan = Plan(config)
    assert not any("_cnn_mnist" in name for name in plan.figures)
    assert not any("cnn-MNIST5k" in file.replace("fcnn", "") for f in plan.figures.values() for file in f.files())


def test_every_figure_has_a_drawing_that_takes_what_it_is_drawn_from(plan):
    for figure in plan.figures.values():
        given = {*figure.inputs, *figure.options}
        inspect.signature(DRAWINGS[figure.drawing]).bind(**dict.fromkeys(given))


def test_every_drawing_is_some_figure():
    assert {figure.drawing for figure in Plan(configuration("paper")).figures.values()} == set(DRAWINGS)


def test_every_file_that_a_figure_is_drawn_from_is_made_by_the_run(plan):
    paths = plan.paths
    made = {paths.table("published_vs_reproduced")}
    for cell in plan.cells.values():
        made |= {paths.reference(cell.path)}
        made |= {paths.predictions(cell.path, student.slug) for student in plan.matrix.students(cell)}
        made |= {paths.images(*one) for one in plan.matrix.sets(cell).values()}
    made |= {paths.table(file) for one in plan.measurements.values() for file in one.files}
    made |= {paths.table(table.name) for table in plan.tables}
    for figure in plan.figures.values():
        assert figure.files()
        assert set(figure.files()) <= made, figure.name


def test_a_figure_that_is_drawn_from_lists_and_dictionaries_names_each_of_their_files_once():
    inputs = {"numbers": "a", "panels": [{"one": "b", "other": "c"}, {"one": "b"}], "more": ["a", "d"]}
    assert Figure("x", "x", "x", "x", 1, inputs).files() == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("name", "figure"),
    [("default", "joint_entropy"), ("paper", "published_vs_reproduced"), ("experiment 1", "masking")],
)
def test_the_summary_shows_published_numbers_only_where_ours_can_be_compared(name, figure):
    plan = Plan(CONFIGURATIONS[name])
    assert plan.main_figure == figure and figure in plan.figures


def test_a_run_without_figures_has_none_in_its_summary():
    config = configuration() | {"experiments": [1]}
    config["models"] |= {"fcnn_mnist": None, "cnn_mnist": None}
    plan = Plan(config)
    assert not plan.figures
    assert (plan.summarising()["figure"], plan.summarising()["caption"]) == (None, "")
