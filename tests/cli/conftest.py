import pytest
from typer.testing import CliRunner

from raremetric.cli import app
from tests.table.conftest import doubled, path  # noqa: F401


@pytest.fixture(scope="session")
def run():
    return lambda *words: CliRunner().invoke(app, list(map(str, words)), env={"COLUMNS": "100"})
