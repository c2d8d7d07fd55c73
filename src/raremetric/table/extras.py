"""Optional packages of the commands for one's own table."""

from functools import partial

from raremetric.extras import STUDY
from raremetric.extras import need as need_of_extra

need = partial(need_of_extra, hint=STUDY)
