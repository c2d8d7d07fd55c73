"""Signals at random moments: no incomplete file, no temporary file, and a repetition succeeds."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.signals import COMMANDS

ROOT = Path(__file__).parents[2]


def send_signals(n_moments, seed):
    if not hasattr(os, "fork"):
        pytest.skip("the commands run in forked processes")
    script = ["-m", "tests.faults.signals", "--moments", str(n_moments), "--seed", str(seed)]
    done = subprocess.run(
        [sys.executable, *script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    *_, summary = done.stdout.splitlines()
    assert summary.endswith("nothing was lost")
    return int(summary.split()[0])


@pytest.mark.long
def test_one_moment_per_signal():
    assert send_signals(1, seed=1) == 3 * len(COMMANDS)


@pytest.mark.fault
def test_many_moments_per_signal():
    assert send_signals(20, seed=2) == 3 * len(COMMANDS) * 20
