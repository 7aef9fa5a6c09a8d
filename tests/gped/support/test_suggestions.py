"""What a person may have meant who typed a name that is not there."""

import pytest

from gped.support.suggestions import meant, missing

SETS = ["MNIST", "CIFAR10", "KMNIST", "notMNIST", "SVHN", "TIM", "LSUN", "MNIST5k", "Textures"]


@pytest.mark.parametrize(
    ("typed", "suggested"),
    [("cifar10", "CIFAR10"), ("textures", "Textures"), ("TEXTURE", "Textures"), ("sVhN", "SVHN"), ("lsum", "LSUN")],
)
def test_suggestions_ignore_case(typed, suggested):
    assert meant(typed, SETS) == f" Did you mean {suggested}?"


def test_the_nearest_comes_first_and_there_are_at_most_three():
    assert meant("mnist", SETS).startswith(" Did you mean MNIST or ")
    assert meant("mnist", SETS).count(" or ") <= 2


def test_a_name_like_no_other_gets_all_there_is_if_that_is_little():
    assert meant("zebra", ["b", "a", "a"]) == " There is a, b."
    assert meant("zebra", SETS) == ""
    assert meant("zebra", []) == ""


def test_suggestions_are_paths_that_can_be_copied(tmp_path):
    (tmp_path / "Pictures").mkdir()
    (tmp_path / "Pictures/cats.safetensors").touch()
    (tmp_path / "Pictures/cats.txt").touch()
    (tmp_path / ".pictures").mkdir()
    assert meant("demo1", ["demo", "paper"], "results/") == " Did you mean results/demo?"
    assert missing(tmp_path / "pictures" / "cats.txt") == f" Did you mean {tmp_path}/Pictures?"
    wrong = tmp_path / "Pictures" / "CAT.safetensors"
    assert missing(wrong, "*.safetensors") == f" Did you mean {tmp_path}/Pictures/cats.safetensors?"
