"""Made-up results of the paper's experiments, near the printed values."""

from functools import partial

from paper.printed import RESAMPLING_OF, paper_table
from paper.report import as_reported, printed_for
from raremetric.study.report.summarize import summarize
from tests.study.report import synthetic

PRINTED = {name: paper_table(name) for name in RESAMPLING_OF}
paper_like = partial(synthetic.published_like, published=PRINTED)
whole_paper = partial(synthetic.whole_paper, published=PRINTED)


def tables_of(*results):
    """The tables of studies, with what the paper prints."""
    printed = printed_for([each.study.name for each in results])
    return summarize([part for each in results for part in as_reported(each)], printed).tables
