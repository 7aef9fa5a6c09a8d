"""Progress is told in plain lines where there is no terminal."""

import logging

from gped import progress


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
    assert lines[-1] == "chain: all 40 steps in 0:01:40"
