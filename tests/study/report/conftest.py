"""A whole report, which several tests read; and reports without figures."""

import pytest

from raremetric.study.report import write_report
from tests.study.report.synthetic import whole_paper

DETAILS = {"Machine": "a test", "Command": "pytest"}


@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    """The directory of a report of several studies, with made-up results."""
    out = tmp_path_factory.mktemp("whole") / "created" / "by the report"
    write_report(whole_paper(), out, title="A study", details=DETAILS)
    return out


@pytest.fixture
def empty_figures(monkeypatch):
    """Images without content: figures take most of the time of a report."""

    def savefig(figure, stream, **options):
        stream.write(b'<svg width="1" height="1"></svg>')

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", savefig)
