"""Everything that can be compared: our methods, the baselines, the alternatives, a user's class."""

from raremetric.contenders.base import Contender, Tuned
from raremetric.contenders.registry import CONTENDERS, find_contender, make_contender
from raremetric.contenders.resampling import RESAMPLING

__all__ = ["CONTENDERS", "RESAMPLING", "Contender", "Tuned", "find_contender", "make_contender"]
