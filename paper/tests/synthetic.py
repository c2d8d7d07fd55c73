"""Made-up results of the paper's experiments, near the printed values."""

from functools import partial

from paper.printed import RESAMPLING_OF, paper_table
from paper.report import as_reported
from raremetric.study.report.tables import summarize
from tests.study.report import synthetic

PRINTED = {name: paper_table(name).scores for name in RESAMPLING_OF}
paper_like = partial(synthetic.study_like, scores=PRINTED)
whole_paper = partial(synthetic.whole_paper, scores=PRINTED)


def tables_of(*results):
    """The tables of studies, as they are reported."""
    return summarize([part for each in results for part in as_reported(each)]).tables
