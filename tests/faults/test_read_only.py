"""The package in a container: it is read-only, and the user has no home."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import raremetric
from tools.confinement import confined

pytestmark = pytest.mark.long
TOOLS = Path(__file__).parents[2] / "tools"


@pytest.fixture
def folder():
    """Other users can reach it, unlike pytest's directories."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_compiled_functions_without_a_place_for_them(folder):
    site, work = folder / "site", folder / "work"
    work.mkdir()
    shutil.copytree(
        Path(raremetric.__file__).parent,
        site / "raremetric",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    shutil.copy(TOOLS / "wheel_checks.py", site)
    for each in [site, *site.rglob("*")]:
        each.chmod(0o555 if each.is_dir() else 0o444)
    code = "import wheel_checks as w; print(w.raremetric.__file__); w.check_container()"
    done = subprocess.run(
        [*confined(work), sys.executable, "-c", code],
        cwd=work,
        env=os.environ | {"PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).is_relative_to(site)
    assert done.stderr == ""  # of the workers
