"""Progress is told in plain lines where there is no terminal."""

import logging

from gped.support import progress


def test_lines_tell_position_share_rate_and_time_left(caplog, monkeypatch):
    clock = iter(range(0, 1000, 20))
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(clock)))
    with caplog.at_level(logging.INFO, logger="gped"):
        assert list(progress.progress([10, 20, 30, 40], "chain", 40, "step", position=lambda item: item)) == [
            10,
            20,
            30,
            40,
        ]
    lines = [record.getMessage() for record in caplog.records]
    assert lines[0] == "chain: step 20 of 40 (50 %), 0.5 a second, 0:00:40 left"
    assert lines[-1] == "chain: steps 1 to 40 in 0:01:40"


def test_resumed_work_counts_its_rate_from_where_it_resumed(caplog, monkeypatch):
    clock = iter(range(0, 1000, 20))
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(clock)))
    with caplog.at_level(logging.INFO, logger="gped"):
        list(progress.progress(range(21, 41), "chain", 40, "step", int, start=20, note=lambda: ", loss 0.5"))
    lines = [record.getMessage() for record in caplog.records]
    assert lines[0] == "chain: step 22 of 40 (55 %), 0.05 a second, 0:06:00 left, loss 0.5"
    assert lines[-1].startswith("chain: steps 21 to 40 in ")
