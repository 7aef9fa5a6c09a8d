"""Progress is a bar on a terminal and in a notebook, and is told in plain lines where there is neither."""

import io
import logging
import subprocess
import sys
from types import ModuleType, SimpleNamespace

import pytest
import tqdm.auto

from gped.support import progress
from tests.helpers import ROOT


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


def test_lines_go_to_standard_error_where_nobody_has_set_up_a_log():
    """As in `python mine.py 2> said`. Work that is soon done says nothing."""
    code = (
        "from gped.support import progress; clock = iter(range(0, 1000, 20))\n"
        "for _ in progress.progress(range(3), 'quick', 3, 'step'): pass\n"
        "progress.time.monotonic = lambda: float(next(clock))\n"
        "for _ in progress.progress(range(4), 'chain', 4, 'step'): pass\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        "chain: step 2 of 4 (50 %), 0.05 a second, 0:00:40 left",
        "chain: step 4 of 4 (100 %), 0.05 a second, 0:00:00 left",
        "chain: steps 1 to 4 in 0:01:40",
    ]


@pytest.mark.parametrize("where", ["notebook", "terminal of IPython", "terminal", "file"])
def test_a_bar_is_drawn_where_somebody_sees_it(where, monkeypatch):
    class Bar(tqdm.std.tqdm):
        def __init__(self, *arguments, **options):
            shown[type(self).__name__] = not options["disable"]
            super().__init__(*arguments, **options, file=io.StringIO())

    class NotebookBar(Bar):
        pass

    shown = {}
    ipython = ModuleType("IPython")
    ipython.get_ipython = lambda: SimpleNamespace(config={"IPKernelApp": {}} if where == "notebook" else {})
    if where in ("notebook", "terminal of IPython"):
        monkeypatch.setitem(sys.modules, "IPython", ipython)
    else:
        monkeypatch.delitem(sys.modules, "IPython", raising=False)
    monkeypatch.setattr(tqdm, "tqdm", Bar)
    monkeypatch.setattr(tqdm.auto, "tqdm", NotebookBar)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: where.startswith("terminal"), raising=False)
    assert list(progress.progress(range(3), "chain", 3, "step")) == [0, 1, 2]
    assert shown == ({"NotebookBar": True} if where == "notebook" else {"Bar": where != "file"})
