"""A student in the making: when it listens, how fast it learns, what becomes of it, and what it cannot learn from."""

import pytest
import torch

import gped
from gped.students.adam import Adam
from tests.helpers import COMMON, PREDICTIVE, TINY_CONV, TINY_DENSE, bytes_of, spec


def test_the_learning_rate_is_halved_by_steps_after_the_burn_in_and_starts_again_after_pruning(make_chain, monkeypatch):
    spec = gped.StudentSpec(
        TINY_DENSE,
        (PREDICTIVE,),
        likelihood=gped.Categorical(3),
        steps=40,
        thinning=2,
        learning_rate=0.08,
        halving_every=15,
        pruning=gped.GroupLasso(0.0, fine_tuning_steps=20, fine_tuning_rate=0.01),
    )
    used = []
    monkeypatch.setattr(Adam, "step", lambda self, gradients, rate: used.append(rate))
    gped.distill(make_chain(), [spec])
    rates = dict(zip(range(12, 61, 2), used, strict=True))
    assert rates[12] == rates[24] == 0.08  # counted from the burn-in, which is 10
    assert rates[26] == rates[38] == 0.04
    assert rates[40] == 0.02
    assert rates[42] == rates[54] == 0.01
    assert rates[56] == rates[60] == 0.005


def test_a_student_that_diverges_is_named_and_does_not_take_the_others_with_it(make_chain, tmp_path):
    good = gped.joint(TINY_DENSE, classes=3, steps=60, thinning=2)
    bad = gped.joint(TINY_DENSE, classes=3, steps=60, thinning=2, learning_rate=1e20)
    with pytest.raises(
        gped.StudentDivergedError, match=r"student 1 diverged at step \d+.*rate of 1e\+20.*smaller"
    ) as error:
        gped.distill(make_chain(), [good, bad])
    survivor, lost = error.value.students
    assert lost is None
    (alone,) = gped.distill(make_chain(), [good])
    assert bytes_of(survivor, tmp_path) == bytes_of(alone, tmp_path)


def test_an_expectation_that_is_not_finite_is_named(make_chain):
    rare = gped.Expectation("rare", lambda p: 1 / (p[:, 1] > p[:, [0, 2]].amax(1)).logical_not(), gped.Linear())
    spec = gped.StudentSpec(TINY_DENSE, (gped.Target(rare, "us"),), 3, steps=60, thinning=2)
    with pytest.raises(gped.StudentDivergedError, match="its expectation 'rare' is not finite"):
        gped.distill(make_chain(), [spec])


def test_the_seed_decides_initialisation_and_dropout_both(make_chain):
    chain = make_chain()
    learners = [gped.Learner(gped.joint(TINY_DENSE, 3, **COMMON, dropout=0.5, seed=s), chain) for s in (0, 1)]
    first, second = (learner.network for learner in learners)
    assert not torch.equal(first.weighted[0].weight, second.weighted[0].weight)
    second.load_state_dict(first.state_dict())
    x = chain.inputs[:5]
    assert not torch.equal(first.train()(x), second.train()(x))


def test_a_student_stops_listening_at_its_last_step(make_chain):
    (student,) = gped.distill(make_chain(), [gped.joint(TINY_DENSE, classes=3, steps=40, thinning=2)])
    assert student.updates == 15


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"likelihood": 4}, "the student expects 4 classes, but the readings have 3"),
        ({"thinning": 3}, "thinning is 3, but there is a reading every 2 steps"),
        ({"steps": 62}, "listens until step 62, but the chain's last step T is 60"),
        ({"steps": 10}, "burn-in lasts until 10"),
        ({"architecture": TINY_CONV}, r"reads inputs of shape \(1, 10, 10\)"),
    ],
)
def test_a_student_that_does_not_suit_the_readings_is_refused_before_any_work(options, message, make_chain):
    chain = make_chain()
    with pytest.raises(ValueError, match=message):
        gped.distill(
            chain,
            [
                gped.StudentSpec(
                    **({"architecture": TINY_DENSE, "targets": (PREDICTIVE,), "likelihood": 3} | COMMON | options)
                )
            ],
        )
    assert chain.t == 0


def test_a_chain_that_has_already_spoken_is_refused(make_chain):
    chain = make_chain()
    next(iter(chain))
    with pytest.raises(ValueError, match="already passed"):
        gped.distill(chain, [spec(PREDICTIVE)])
