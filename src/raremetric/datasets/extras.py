"""Optional packages of the data sets, imported at the moment they are needed."""

from functools import partial

from raremetric.datasets.parsers import INSTALL_HINT
from raremetric.extras import need as need_of_extra

need = partial(need_of_extra, hint=INSTALL_HINT)
