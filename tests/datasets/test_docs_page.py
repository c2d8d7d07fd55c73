"""The examples of docs/datasets.md run and print what the page shows."""

import doctest
import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "datasets.md"


def test_examples_of_the_page():
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) >= 7
    names = {}
    for block in blocks:
        example = doctest.DocTestParser().get_doctest(block, names, PAGE.name, str(PAGE), 0)
        report = []
        # The blocks build on each other: the names are kept.
        runner = doctest.DocTestRunner()
        result = runner.run(example, out=report.append, clear_globs=False)
        names = example.globs
        assert not result.failed, "".join(report)
