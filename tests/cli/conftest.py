import sys

import pytest
from typer.testing import CliRunner

from raremetric.cli import app
from tests.table.conftest import doubled, path  # noqa: F401

COMMAND = [sys.executable, "-c", "from raremetric.cli import app; app(prog_name='raremetric')"]


@pytest.fixture(scope="session")
def run():
    def run(*words, piped=None):
        env = {"COLUMNS": "100"}
        return CliRunner().invoke(app, list(map(str, words)), input=piped, env=env)

    return run


@pytest.fixture(scope="session")
def saved(run, path, tmp_path_factory):  # noqa: F811
    saved = tmp_path_factory.mktemp("model") / "model.skops"
    result = run("fit", path, "--target", "state", "--id", "id", "-o", saved, "--model", "gmml")
    assert result.exit_code == 0, result.output
    assert "120 rows" in result.stdout
    assert "Predicts: `ill` against `well`" in result.stdout
    assert "4 columns, 7 features" in result.stdout
    assert f"saved to {saved}" in result.stdout
    return saved
