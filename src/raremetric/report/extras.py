"""Optional packages of the report, imported at the moment they are needed."""

from functools import partial

from raremetric.extras import STUDY
from raremetric.extras import need as need_of_extra

need = partial(need_of_extra, asker="The report", hint=STUDY)
