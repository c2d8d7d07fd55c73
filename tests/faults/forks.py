"""Commands in forks of one process that has loaded all modules: a start takes no seconds.

`python -m tests.faults.forks` reads a JSON object per line, the arguments of `signals.start`, and
prints the exit code of the command.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.faults.signals import finish, load_all, start

ROOT = Path(__file__).parents[2]


class Forks:
    """The process; `with Forks() as forks` ends it."""

    def __init__(self):
        command = [sys.executable, "-m", "tests.faults.forks"]
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def run(self, words, folder, **options):
        """The exit code and the standard error of a command; see `signals.start`."""
        job = {"words": words, "folder": str(folder), **options}
        print(json.dumps(job, default=str), file=self._process.stdin, flush=True)
        code = int(self._process.stdout.readline())
        return code, Path(folder, "stderr").read_text()


def main():
    with tempfile.TemporaryDirectory() as loading:
        load_all(Path(loading, "loading"))
    for line in sys.stdin:
        job = json.loads(line)
        print(finish(start(job.pop("words"), Path(job.pop("folder")), **job)), flush=True)


if __name__ == "__main__":
    main()
