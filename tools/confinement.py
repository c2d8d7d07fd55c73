"""Run commands as in a container: an unprivileged user, no home, and nothing to write to."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

NOBODY = "65534"
# The mount of the directory stays writable.
READ_ONLY = 'mount --bind . . && mount -o remount,bind,ro / && cd "$PWD" && exec "$@"'


def confined(work: Path) -> list[str]:
    """The words before a command that confine it to a directory, as far as this user can.

    Parameters
    ----------
    work : Path
        The directory in which commands will run; root gives it to another user.
    """
    words = ["env", "-u", "XDG_CACHE_HOME", "-u", "NUMBA_CACHE_DIR", "HOME=/nonexistent"]
    if os.getuid() != 0:
        return words
    os.chown(work, int(NOBODY), int(NOBODY))
    user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    # May read all files, because the interpreter can be anywhere, but writes as the user.
    sets = ("inh-caps", "ambient-caps", "bounding-set")
    reader = [*user, *(f"--{each}=-all,+dac_read_search" for each in sets)]
    file_system = ["unshare", "--mount", "sh", "-c", READ_ONLY, "sh"]
    for outer in ([*file_system, *reader], reader, user):
        found = [*outer, *words]
        test = subprocess.run([*found, sys.executable, "-c", ""], cwd=work, capture_output=True)
        if test.returncode == 0:
            return found
    raise OSError(f"root cannot run {sys.executable} as another user")
