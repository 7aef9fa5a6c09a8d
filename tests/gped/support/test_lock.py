"""Only one process works in a folder at a time."""

import os
import subprocess
import sys

import pytest

import gped

pytestmark = pytest.mark.slow


def test_a_second_process_waits_for_the_first(tmp_path):
    code = (
        "import sys, time, gped\n"
        f"with gped.Checkpoint({str(tmp_path)!r}, 'shared') as checkpoint:\n"
        "    print('in', checkpoint.waited, flush=True)\n"
        "    sys.stdin.readline()\n"
    )
    with gped.Checkpoint(tmp_path, "shared"):
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        message = process.stderr.readline()
        assert f"process {os.getpid()} on" in message and "waiting for it to end" in message
    assert process.stdout.readline() == "in True\n"
    process.communicate("\n")
