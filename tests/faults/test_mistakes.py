"""Mistakes of a user that once ended in a traceback: one sentence and exit code 2."""

import shlex
import subprocess

import pytest

from tests.cli.conftest import COMMAND, run  # noqa: F401
from tests.table.conftest import path  # noqa: F401


@pytest.mark.long
def test_head(run, path, tmp_path):  # noqa: F811
    """A program that reads one line and closes the pipe."""
    saved = tmp_path / "model.skops"
    fitted = run("fit", path, "--target", "state", "--id", "id", "--model", "plain", "-o", saved)
    assert fitted.exit_code == 0, fitted.output
    command = shlex.join([*COMMAND, "explain", str(saved), str(path), "--row", "1"])
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command} | head -1"], capture_output=True, check=False
    )
    assert done.returncode == 0
    # A note is printed if the pipe is still open when the command comes to it.
    assert all(line.startswith(b"Note: ") for line in done.stderr.splitlines()), done.stderr
    assert len(done.stdout.splitlines()) == 1
