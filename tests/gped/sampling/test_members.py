"""Members that are made when they are asked for: from files, by dropout, by a function."""

import pickle

import pytest
import safetensors.torch
import torch
from torch import nn

import gped


def network(seed: int, dropout: float = 0.0) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(
            nn.Flatten(), nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Dropout(dropout), nn.Linear(8, 3)
        ).eval()


X = torch.randn(5, 6, generator=gped.stream(0, "x"))


def test_members_from_files_and_state_dicts_say_what_the_networks_said(tmp_path):
    networks = [network(seed) for seed in range(3)]
    safetensors.torch.save_file(networks[0].state_dict(), tmp_path / "0.safetensors")
    torch.save(networks[1].state_dict(), tmp_path / "1.pt")
    members = gped.Saved(
        [tmp_path / "0.safetensors", str(tmp_path / "1.pt"), networks[2].state_dict()], lambda: network(9)
    )
    assert len(members) == 3
    for number in (2, 0, 1, 1, 0):
        assert torch.equal(members[number](X), networks[number](X))
    with pytest.raises(IndexError):
        members[3]


class Evil:
    def __reduce__(self):
        return print, ("executed",)


def test_a_file_that_would_execute_code_is_not_read(tmp_path, capsys):
    path = tmp_path / "evil.pt"
    path.write_bytes(pickle.dumps(Evil()))
    with pytest.raises(ValueError, match=r"evil.pt holds more than tensors, or is damaged, and is not read"):
        gped.Saved([path], lambda: network(0))[0]
    torch.save({"weights": Evil()}, path)
    with pytest.raises(ValueError, match="is not read"):
        gped.Saved([path], lambda: network(0))[0]
    assert "executed" not in capsys.readouterr().out


def test_parameters_of_another_network_are_refused(tmp_path):
    safetensors.torch.save_file({"weight": torch.zeros(2, 2)}, tmp_path / "other.safetensors")
    with pytest.raises(ValueError, match=r"other.safetensors does not have the parameters of the factory's network"):
        gped.Saved([tmp_path / "other.safetensors"], lambda: network(0))[0]
    with pytest.raises(FileNotFoundError, match=r"there is no file .*missing.pt"):
        gped.Saved([tmp_path / "missing.pt"], lambda: network(0))


def test_dropout_members_differ_are_the_same_when_asked_again_and_average_to_what_dropout_says():
    dropping = network(0, dropout=0.5)
    members = gped.MonteCarloDropout(dropping, draws=4000)
    before = torch.random.get_rng_state()
    assert not torch.equal(members[0](X), members[1](X))
    assert torch.equal(members[0](X), members[0](X))
    assert torch.equal(torch.random.get_rng_state(), before), "the global generator was disturbed"
    assert not dropping[3].training, "the caller's network was changed"
    with torch.no_grad():  # the last layer is linear, so that the mean is what the network says without dropout
        mean = torch.stack([member(X) for member in members]).mean(0)
        torch.testing.assert_close(mean, dropping(X), atol=0.05, rtol=0)


def test_dropout_of_the_librarys_own_networks_makes_members_too():
    layout = gped.Architecture(input_shape=(6,), channels=(), kernel=0, hidden=(8,))
    own = gped.Network(layout, 3, gped.stream(0, "θ"), 0.5, gped.stream(0, "dropped"))
    members = gped.MonteCarloDropout(own, draws=4000)
    assert not torch.equal(members[0](X), members[1](X)) and torch.equal(members[0](X), members[0](X))
    with torch.no_grad():
        mean = torch.stack([member(X) for member in members]).mean(0)
        torch.testing.assert_close(mean, own.eval()(X), atol=0.05, rtol=0)
    state = own.dropout_generator.get_state()
    assert torch.equal(state, gped.stream(0, "dropped").get_state()), "the caller's network was changed"


def test_a_network_without_dropout_is_no_ensemble():
    with pytest.raises(ValueError, match="all its members would say the same"):
        gped.MonteCarloDropout(network(0))


def test_members_that_a_function_draws_are_asked_for_by_number():
    asked = []
    members = gped.Drawn(lambda number: asked.append(number) or network(number), 4)
    assert torch.equal(members[-1](X), network(3)(X)) and len(members[1:3]) == 2
    assert asked == [3, 1, 2]
    with pytest.raises(ValueError, match="draw 0 is a Tensor: it must be a function from inputs to outputs"):
        gped.Drawn(lambda number: X, 4)[0]


def test_the_parameters_of_one_member_are_not_taken_for_a_list(tmp_path):
    for one in (tmp_path / "a.pt", str(tmp_path / "a.pt"), network(0).state_dict()):
        with pytest.raises(ValueError, match="pass a list with one for each"):
            gped.Saved(one, lambda: network(0))


def test_members_that_normalise_by_the_batch_are_refused_however_they_are_made():
    def batchwise() -> nn.Module:
        return nn.Sequential(nn.BatchNorm1d(6, track_running_stats=False), nn.Dropout(0.5), nn.Linear(6, 3))

    for make in (
        lambda: gped.Saved([batchwise().state_dict()], batchwise),
        lambda: gped.MonteCarloDropout(batchwise()),
        lambda: gped.Drawn(lambda number: batchwise(), 2)[0],
    ):
        with pytest.raises(ValueError, match="what it says of an input depends on others"):
            make()
