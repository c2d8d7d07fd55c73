import pytest
from typer.testing import CliRunner

from raremetric.cli import app


@pytest.fixture
def run():
    return lambda *words: CliRunner().invoke(app, list(map(str, words)), env={"COLUMNS": "100"})
