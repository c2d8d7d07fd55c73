"""Send signals to commands at random moments, and check what is left.

    python -m tests.faults.signals --moments 20

Each command runs in a process that is forked from this one, in which all modules are loaded, so
that the moments are those of its work. Afterwards, the command is repeated without a signal.
"""

import argparse
import io
import os
import random
import resource
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
import traceback
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path

from raremetric.cli import app
from raremetric.table import load_model
from tests.table.conftest import make_table

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
STUDY = """
datasets = ["wine"]
splits = 2
[learners.Euclidean]
[learners.GMML]
candidates = 1
"""
# Output of a command, and its words.
COMMANDS = {
    "fit": ("out.skops", "fit table.csv --target state --id id --model plain -o out.skops"),
    "predict": ("out.csv", "predict model.skops table.csv -o out.csv"),
    "predict --top": ("out.csv", "predict model.skops table.csv --top 5 -o out.csv"),
    "predict -": ("out.csv", "predict model.skops - -o out.csv"),
    "review": ("out.html", "review model.skops table.csv --top 3 -o out.html"),
    "recalibrate": ("out.skops", "recalibrate model.skops labeled.csv -o out.skops"),
    "info": (None, "info model.skops --json"),
    "compare": (
        "out.html",
        "compare table.csv --target state --ignore id --folds 2 --methods plain,gmml -o out.html",
    ),
    "datasets --export": ("out.csv", "datasets wine --export out.csv"),
    "study run": ("out.sqlite", "study run mine.toml --store out.sqlite"),
    "study report": ("out", "study report --store study.sqlite --out out"),
    "study export": ("out.csv.gz", "study export study.sqlite out.csv.gz"),
    "study import": ("out.sqlite", "study import results.csv.gz out.sqlite"),
}
ROWS = (
    "SELECT id, status, tn, fp, fn, tp, average_precision, candidate, scores, seeds, versions, "
    "fingerprint FROM tasks ORDER BY id"
)
EARLY = 99  # the signal came before the command began, or after it had ended
OLD = b"written earlier"


def start(words, folder, user=None, n_bytes=None, work=None):
    """Run a command in a forked process; its id.

    The folder contains its standard input, table.csv, and gets its output. The command may run as
    another user, write at most `n_bytes` to a file, and work in another directory.
    """
    # A signal in the new process waits until it cannot leave this function any more.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    pid = os.fork()
    if pid:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        return pid
    code = 1
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        os.chdir(work or folder)
        for descriptor, name in ((0, "table.csv"), (1, "stdout"), (2, "stderr")):
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC if descriptor else os.O_RDONLY
            os.dup2(os.open(folder / name, flags, 0o600), descriptor)
        if n_bytes is not None:  # as on a disk that is nearly full
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))
        if user is not None:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
        tempfile.tempdir = str(folder / "tmp")
        signal.signal(signal.SIGINT, signal.default_int_handler)
        app(words.split(), prog_name="raremetric")
    except SystemExit as end:
        code = end.code or 0
    except KeyboardInterrupt:
        code = EARLY
    except BaseException:
        traceback.print_exc()
    finally:
        try:  # a signal that comes here must not reach the folder's clean-up in the caller
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)


def finish(pid):
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


def content(path):
    """What must be the same after each complete run; None if there is no output."""
    if path is None or not path.exists():
        return None
    if path.is_dir():
        return {each.name: each.read_bytes() for each in path.iterdir()}
    if path.suffix == ".skops":
        return load_model(path).predict_table(path.with_name("table.csv")).to_csv()
    if path.suffix == ".sqlite":
        with sqlite3.connect(path) as db:
            tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
            return db.execute(ROWS).fetchall() if "tasks" in tables else []
    return path.read_bytes()


class Trial:
    """One command in a directory of its own."""

    def __init__(self, name, inputs, folder, reference):
        self.name, self.reference, self.folder = name, reference, folder
        output, self.words = COMMANDS[name]
        self.output = None if output is None else folder / output
        shutil.copytree(inputs, folder)
        self.given = {each.name for each in folder.iterdir()}

    def put_old(self):
        """Let there be an earlier output."""
        if self.name == "study report":
            self.output.mkdir()
            (self.output / "report.html").write_bytes(OLD)
        elif self.output is not None and self.output.suffix != ".sqlite":
            self.output.write_bytes(OLD)

    def is_as_before_or_complete(self):
        if self.output is None or not self.output.exists():
            return True
        if self.name == "study run":  # each finished task is in it
            return {*content(self.output)} <= {*self.reference}
        if self.name == "study report":  # each file is as before or complete
            found = content(self.output).items()
            return all(data in (OLD, self.reference[name]) for name, data in found)
        if self.output.suffix != ".sqlite" and self.output.read_bytes() == OLD:
            return True
        found = content(self.output)
        if self.name == "compare" and b"Stopped: only methods that have finished" in found:
            return found.rstrip().endswith(b"</html>")  # the page of the methods that are done
        return found == self.reference

    def left_over(self):
        """Files that are neither input nor output."""
        known = {*self.given, "stdout", "stderr"}
        if self.output is not None:
            known |= {self.output.name}
        if self.name == "study run":  # SQLite's journal is used by the next run
            known |= {f"{self.output.name}.lock", f"{self.output.name}-journal"}
        inner = [*(self.folder / "tmp").glob("*")]  # killed at once, it has no such folder
        if self.name == "study report" and self.output.exists():
            inner += [each for each in self.output.iterdir() if each.name not in self.reference]
        return sorted({each.name for each in self.folder.iterdir()} - known) + inner

    def check_signal(self, number, code):
        """How the command ended, in a word."""
        errors = (self.folder / "stderr").read_text() if (self.folder / "stderr").exists() else ""
        assert "Traceback" not in errors, errors
        assert self.is_as_before_or_complete(), f"{self.name} left an incomplete output"
        assert not self.left_over(), f"{self.name} left {self.left_over()}"
        if code in (0, EARLY) or (code == 130 and not errors):
            return "finished" if code == 0 else "early"
        if number == signal.SIGINT:
            assert code == 130, f"{self.name} ended with {code}: {errors}"
            last = errors.splitlines()[-1]
            assert last.startswith(("Stopped", "Note: Stopped")), errors
        else:
            assert code == -number, f"{self.name} ended with {code}: {errors}"
        return "stopped"

    def check_repetition(self):
        assert finish(start(self.words, self.folder)) == 0, (self.folder / "stderr").read_text()
        assert not self.left_over(), f"{self.name} left {self.left_over()}"
        if self.output is not None:
            assert content(self.output) == self.reference, f"{self.name} gave another output"


def write_inputs(folder):
    (folder / "mine.toml").write_text(STUDY)
    make_table(n=60).to_csv(folder / "table.csv", index=False)
    make_table(seed=1).to_csv(folder / "labeled.csv", index=False)


def load_all(folder):
    """Run the commands in this process, so that all modules are loaded and compiled."""
    folder.mkdir()
    before = Path.cwd()
    os.chdir(folder)
    write_inputs(Path())
    shown = io.StringIO()
    with redirect_stdout(shown), redirect_stderr(shown):
        for output, words in COMMANDS.values():
            if " - " in words:
                continue
            with suppress(SystemExit):
                app(words.split(), prog_name="raremetric")
            for earlier, later in (
                ("out.skops", "model.skops"),
                ("out.sqlite", "study.sqlite"),
                ("out.csv.gz", "results.csv.gz"),
            ):
                if output == earlier:
                    Path(earlier).replace(later)
    os.chdir(before)


def prepare(folder):
    """The inputs of all commands."""
    folder.mkdir()
    (folder / "tmp").mkdir()
    write_inputs(folder)
    for words in (
        COMMANDS["fit"][1].replace("out.skops", "model.skops"),
        COMMANDS["study run"][1].replace("out.", "study."),
        "study export study.sqlite results.csv.gz",
    ):
        assert finish(start(words, folder)) == 0, (folder / "stderr").read_text()
    for name in ("stdout", "stderr"):
        (folder / name).unlink()


def measure(name, inputs, folder):
    """The complete output of a command, and how long it takes."""
    trial = Trial(name, inputs, folder, None)
    begin = time.monotonic()
    assert finish(start(trial.words, folder)) == 0, (folder / "stderr").read_text()
    return content(trial.output), time.monotonic() - begin


def try_moments(name, n_moments, inputs, folder, rng):
    """Signals at random moments of one command: how it ended, and how often."""
    reference, seconds = measure(name, inputs, folder / "whole")
    found = Counter()
    for moment in range(n_moments):
        for number in SIGNALS:
            trial = Trial(name, inputs, folder / f"{moment}-{number}", reference)
            if moment % 2:
                trial.put_old()
            pid = start(trial.words, trial.folder)
            time.sleep(rng.uniform(0, 1.1 * seconds))
            os.kill(pid, number)
            found[number, trial.check_signal(number, finish(pid))] += 1
            trial.check_repetition()
            shutil.rmtree(trial.folder)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moments", type=int, default=20, help="per command and signal")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--commands", nargs="*", default=list(COMMANDS), choices=list(COMMANDS))
    options = parser.parse_args()
    time.perf_counter = lambda: 0.0  # so that outputs do not contain times
    rng, total = random.Random(options.seed), Counter()
    with tempfile.TemporaryDirectory() as folder:
        inputs = Path(folder, "inputs")
        load_all(Path(folder, "loading"))
        prepare(inputs)
        print(f"{'command':20} {'signal':8} {'stopped':>8} {'finished':>9} {'early':>6}")
        for name in options.commands:
            (own := Path(folder, name.replace(" ", "_"))).mkdir()
            found = try_moments(name, options.moments, inputs, own, rng)
            for number in SIGNALS:
                counts = [found[number, how] for how in ("stopped", "finished", "early")]
                line = f"{name:20} {number.name:8} {counts[0]:8} {counts[1]:9} {counts[2]:6}"
                print(line, flush=True)
            total.update(how for _, how in found.elements())
    n_cases = sum(total.values())
    print(f"{n_cases} signals, {total['stopped']} before the end of the command; nothing was lost")


if __name__ == "__main__":
    main()
