"""How a column of numbers is written: its decimal mark, thousands separators and percent signs."""

from __future__ import annotations

import re
from typing import NamedTuple

from raremetric.datasets.parsers import is_numeric

MARKS = {".": ",", ",": "."}  # each decimal mark, and what can separate thousands beside it
_WHOLE = re.compile(r"[-+]?\d+")
_PADDED = re.compile(r"\s*0\d{2,}\s*")  # 00123; 07 is more often an age or a month than a code
_GROUPED = {
    mark: re.compile(rf"[-+]?[1-9]\d{{0,2}}(\{MARKS[mark]}\d{{3}})+(\{mark}\d+)?") for mark in MARKS
}
# One mark that three digits follow: 1.234 can be 1234, or one and a bit.
AMBIGUOUS = r"^\s*[-+]?[1-9]\d{0,2}[.,]\d{3}\s*%?\s*$"


class Written(NamedTuple):
    """How the numbers of a column are written."""

    decimal: str = ""  # the decimal mark, "." or ","; empty if it is not known
    has_decimals: bool = False  # whether some numbers have decimals
    grouped: bool = False  # whether some numbers have the other mark between thousands
    percent: bool = False  # whether all numbers have a percent sign

    def example(self) -> str:
        """A number that is written in this way."""
        thousands = MARKS[self.decimal] if self.grouped else ""
        decimals = f"{self.decimal}5" if self.has_decimals else ""
        return f"1{thousands}234{decimals}{' %' * self.percent}"


def is_padded(text: str) -> bool:
    """Whether a field is a whole number of three or more digits with leading zeros: 00123."""
    return _PADDED.fullmatch(text) is not None


def is_whole(text: str) -> bool:
    """Whether a field is a whole number, possibly with a percent sign."""
    return _WHOLE.fullmatch(_without_sign(text)) is not None


def is_ambiguous(text: str) -> bool:
    """Whether the only mark of a number can be a decimal mark or separate thousands."""
    return re.match(AMBIGUOUS, text) is not None


def parse_any(text: str, decimal: str) -> float | None:
    """The value of a field with this decimal mark; None if it is not such a number.

    The other mark can separate thousands, and a percent sign can follow.
    """
    text, other = _without_sign(text), MARKS[decimal]
    if other in text:
        if not _GROUPED[decimal].fullmatch(text):
            return None
        text = text.replace(other, "")
    text = text.replace(decimal, ".")
    return float(text) if is_numeric(text) else None


def parse_as(text: str, written: Written) -> float | None:
    """The value of a field of a new file; None if it is not written as the training data were.

    Where the training data had only whole numbers without separators, every number is accepted
    that can be read in one way only.
    """
    if text.endswith("%") != written.percent:
        return None
    if is_ambiguous(text):
        mark = written.decimal if written.has_decimals else ""
        if not (mark and mark in text) and not (written.grouped and MARKS[written.decimal] in text):
            return None
    for decimal in [written.decimal] if written.decimal else MARKS:
        value = parse_any(text, decimal)
        if value is not None:
            return value
    return None


def _without_sign(text: str) -> str:
    return text.strip().removesuffix("%").rstrip()
