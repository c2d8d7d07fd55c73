"""Results in one SQLite file; a finished task is one transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import Any
from weakref import finalize

from raremetric.files import check_not_open, check_output
from raremetric.study.reading import read_definition
from raremetric.study.tasks import COUNTS, MEASURED, REPORTED, Result, Study, StudyResults, Task

BUSY_SECONDS = 5  # to wait for another process that writes
APPLICATION = 0x524D5453  # marks the file as a store of this package
VERSION = 2
SCHEMA = (
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {VERSION}",
    """CREATE TABLE IF NOT EXISTS tasks (
        id TEXT PRIMARY KEY, dataset TEXT NOT NULL, share REAL, test_size REAL,
        resampling TEXT NOT NULL, split INTEGER NOT NULL, learner TEXT NOT NULL,
        status TEXT NOT NULL CHECK (status IN ('done', 'absent', 'failed')),
        tn INTEGER, fp INTEGER, fn INTEGER, tp INTEGER, average_precision REAL, seconds REAL,
        log_loss REAL, fit_seconds REAL, predict_microseconds REAL,
        candidate TEXT, scores TEXT, seeds TEXT, versions TEXT, fingerprint TEXT, traceback TEXT,
        finished TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))
    )""",
    "CREATE TABLE IF NOT EXISTS studies (name TEXT PRIMARY KEY, definition TEXT NOT NULL)",
)
# Two results of a task must agree in these; not in when, how fast and with which code it was run.
WHAT_COUNTS = ("status", *COUNTS, "average_precision", "candidate")
IN_MEMORY = Path(":memory:")  # the path of a store that is not on disk


class StoreError(ValueError):
    """The file cannot be used as a store; it was not changed."""


class Store:
    """Studies and their results on disk. One process at a time may run tasks.

    The file is created if it does not exist and ``create`` is true.
    """

    def __init__(self, path: Path, create: bool = False):
        self.path = Path(path)
        if create:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            check_output(self.path)
        elif not self.path.exists():
            raise StoreError(f"There is no store {self.path}. Start one with: study run")
        check_not_open(self.path)
        with self._clear_errors():
            # The garbage collector closes a store that is not used any more, in any thread.
            self._db = sqlite3.connect(self.path, BUSY_SECONDS, check_same_thread=False)
            finalize(self, self._db.close)  # Python 3.13 warns of connections left open
            try:
                # New, or its creation was interrupted.
                is_empty = self._fetch("SELECT COUNT(*) FROM sqlite_master") == [(0,)]
                if create and is_empty:
                    with self._transaction() as db:
                        for statement in SCHEMA:
                            db.execute(statement)
                self._check()
                for name in {*MEASURED} - self._columns() if create else ():  # of earlier versions
                    self._db.execute(f"ALTER TABLE tasks ADD COLUMN {name} REAL")
            except BaseException:
                self._db.close()
                raise

    def _columns(self) -> set[str]:
        return {name for _, name, *_ in self._fetch("PRAGMA table_info(tasks)")}

    def _check(self) -> None:
        (application,) = self._db.execute("PRAGMA application_id").fetchone()
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if application != APPLICATION:
            raise StoreError(f"{self.path} is not a store of raremetric. Choose another path.")
        if version != VERSION:
            raise StoreError(
                f"{self.path} is a store of version {version}; this raremetric reads version "
                f"{VERSION}. Use the raremetric that wrote it, or start another store."
            )
        (verdict,) = self._db.execute("PRAGMA quick_check").fetchone()
        if verdict != "ok":
            raise sqlite3.DatabaseError(verdict)

    @contextmanager
    def _clear_errors(self) -> Iterator[None]:
        """Turn SQLite's errors into sentences."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise StoreError(
                f"{self.path} cannot be used now ({error}). If another program uses it, close that "
                "program; nothing was changed."
            ) from error
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise StoreError(
                f"{self.path} is damaged or not a store ({error}). It was not changed: restore a "
                "copy, or choose another path."
            ) from error

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Write everything in the block or, after an error, nothing."""
        with self._clear_errors(), self._db:
            self._db.execute("BEGIN IMMEDIATE")  # waits for other processes
            yield self._db

    def _fetch(self, query: str) -> list[tuple]:
        with self._clear_errors():
            return self._db.execute(query).fetchall()

    @contextmanager
    def writing(self) -> Iterator[Store]:
        """Be the only process that runs tasks; the lock ends with the block or with the process."""
        try:
            import fcntl
        except ImportError:
            raise StoreError(
                "A study can only be run on a POSIX system, such as Linux or macOS."
            ) from None
        with self.path.with_name(self.path.name + ".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise StoreError(
                    f"{self.path} is in use by another study run. Wait for it or stop it."
                ) from None
            yield self

    def record(self, studies: Iterable[Study]) -> None:
        """Keep the definitions of studies; a part of a known study is added to it."""
        with self._transaction():
            self._define(studies, Study.extended)

    def _define(self, studies: Iterable[Study], add: Callable[[Study, Study], Study]) -> None:
        """Write definitions; a study that is known is written as what `add` makes of both."""
        known = {study.name: study for study in self.studies()}
        for study in studies:
            whole = add(known[study.name], study) if study.name in known else study
            self._db.execute(
                "INSERT INTO studies VALUES (:name, :definition) "
                "ON CONFLICT (name) DO UPDATE SET definition = :definition",
                {"name": whole.name, "definition": json.dumps(whole.to_dict())},
            )

    def serialize(self) -> bytes:
        """The contents of the file."""
        return self._db.serialize()

    def studies(self) -> list[Study]:
        """The studies that were run, in the order of their first runs."""
        found = self._fetch("SELECT definition FROM studies ORDER BY rowid")
        try:
            return [read_definition(json.loads(text), str(self.path)) for (text,) in found]
        except (ValueError, TypeError, RecursionError) as error:
            raise StoreError(
                f"{self.path} contains a study that cannot be read: {error} Restore a copy of the "
                "store, or start another one."
            ) from error

    def results(self) -> list[StudyResults]:
        """The finished tasks of each study."""
        if not (studies := self.studies()):
            raise StoreError(f"{self.path} is empty. Run a study with this store first.")
        import pandas as pd

        columns = ["id", *REPORTED, "status"]
        rows = pd.DataFrame(self.select(columns), columns=columns)
        rows = rows[rows.pop("status") == "done"]
        found = []
        for study in studies:
            own = rows["id"].isin({task.id for task in study.tasks()})
            found.append(StudyResults(study, rows[own].drop(columns="id").reset_index(drop=True)))
        return found

    def save(self, task: Task, outcome: Result | str) -> None:
        """Keep the result of a finished task, which replaces a failure, or a traceback."""
        row = task.columns() | {"status": "failed", "traceback": outcome}
        if isinstance(outcome, Result):
            row = task.columns() | asdict(outcome)
            row["status"] = "done" if outcome.exists else "absent"
            for name in ("candidate", "scores", "seeds", "versions"):
                row[name] = json.dumps(row[name], sort_keys=True)
        with self._transaction():
            self._insert(row)

    def _insert(self, row: dict[str, Any]) -> None:
        values = ", ".join(f":{name}" for name in row)
        self._db.execute(f"INSERT OR REPLACE INTO tasks ({', '.join(row)}) VALUES ({values})", row)

    def add(self, studies: Iterable[Study], rows: Iterable[dict[str, Any]]) -> int:
        """Add studies, and the finished tasks that the store lacks or that failed in it.

        What the store has is kept. If it contradicts what is to be added, nothing is added.
        The rows are those of the table of tasks. Returns the number of tasks added.
        """
        n_added = 0
        with self._transaction():
            self._define(studies, self._together)
            found = {
                task_id: dict(zip(WHAT_COUNTS, values, strict=True))
                for task_id, *values in self.select(["id", *WHAT_COUNTS])
            }
            for row in rows:
                ours = found.get(row["id"])
                if ours is None:
                    self._insert(row)
                    n_added += 1
                elif differ := [name for name in WHAT_COUNTS if ours[name] != row[name]]:
                    raise StoreError(
                        f"The task {row['id']} has two results: {differ[0]} is {ours[differ[0]]!r} "
                        f"in {self.path} and {row[differ[0]]!r} in the file. Nothing was imported."
                    )
        return n_added

    def _together(self, known: Study, added: Study) -> Study:
        """A study with all that the store and a file have of it."""
        specs = {spec.name: spec for spec in known.learners}
        differ = ["test_size"] * (known.test_size != added.test_size)
        differ += [
            f"learner {spec.name!r}"
            for spec in added.learners
            if spec != specs.get(spec.name, spec)
        ]
        if differ:
            raise StoreError(
                f"The study {known.name!r} has another {differ[0]} in {self.path} than in the "
                "file. Nothing was imported. Import the file into another store."
            )
        return known.extended(added)

    def select(self, columns: Sequence[str]) -> list[tuple]:
        """Columns of all tasks that did not fail, by id; empty if only later versions have them."""
        known = self._columns()
        names = ", ".join(name if name in known else f"NULL AS {name}" for name in columns)
        return self._fetch(f"SELECT {names} FROM tasks WHERE status <> 'failed' ORDER BY id")

    def statuses(self) -> dict[str, str]:
        """Status of every task in the store, by id."""
        return dict(self._fetch("SELECT id, status FROM tasks"))

    def missing(self, tasks: Iterable[Task], retry_failed: bool = False) -> list[Task]:
        """The tasks that remain to be run."""
        known = self.statuses()
        settled = {"done", "absent"} if retry_failed else {"done", "absent", "failed"}
        return [task for task in tasks if known.get(task.id) not in settled]

    def seconds_left(self, missing: Sequence[Task]) -> float | None:
        """Expected time for tasks in one process, from similar finished ones; None without any."""
        found = self._fetch(
            "SELECT dataset, learner, AVG(seconds) FROM tasks WHERE status = 'done' GROUP BY 1, 2"
        )
        known = {(dataset, learner): seconds for dataset, learner, seconds in found}
        if missing and not known:
            return None
        typical = fmean(known.values()) if known else 0.0
        return sum(known.get((task.dataset, task.learner.name), typical) for task in missing)

    def failures(self, tasks: Iterable[Task]) -> dict[str, str]:
        """Tracebacks of those of the tasks that failed, by id."""
        wanted = {task.id for task in tasks}
        found = self._fetch("SELECT id, traceback FROM tasks WHERE status = 'failed' ORDER BY id")
        return {task_id: traceback for task_id, traceback in found if task_id in wanted}

    def details(self) -> dict[str, str]:
        """What a report says about the origin of its numbers."""
        found = self._fetch("SELECT DISTINCT versions FROM tasks WHERE status = 'done'")
        versions = sorted({_listed(versions) for (versions,) in found})
        return {"store": self.path.name, "versions": "; ".join(versions)}

    def close(self) -> None:
        """Close the file."""
        self._db.close()


def _listed(versions: str) -> str:
    try:
        return ", ".join(f"{name} {version}" for name, version in json.loads(versions).items())
    except (ValueError, TypeError, AttributeError, RecursionError):
        return "unknown"  # the store was edited
