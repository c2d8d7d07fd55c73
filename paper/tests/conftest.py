"""The report of all experiments, which several tests read."""

import pytest

from paper.report import write_paper_report
from paper.tests.synthetic import whole_paper
from tests.study.report.conftest import DETAILS, empty_figures

__all__ = ["empty_figures"]


@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    """The directory of the report of all experiments, with made-up results."""
    out = tmp_path_factory.mktemp("paper")
    write_paper_report(whole_paper(), out, title="A study", details=DETAILS)
    return out
