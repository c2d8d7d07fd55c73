"""Results in one SQLite file; a finished task is one transaction."""

from __future__ import annotations

import fcntl
import json
import os
import platform
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from raremetric.study.run_task import Result
from raremetric.study.tasks import Study, StudyResults, Task

if TYPE_CHECKING:
    import pandas as pd

APPLICATION = 0x524D5453  # marks the file as a store of this package
VERSION = 2
SCHEMA = """
CREATE TABLE tasks (
    id TEXT PRIMARY KEY,
    dataset TEXT NOT NULL, share REAL, resampling TEXT NOT NULL, split INTEGER NOT NULL,
    learner TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('done', 'absent', 'failed')),
    tn INTEGER, fp INTEGER, fn INTEGER, tp INTEGER,
    candidate TEXT, scores TEXT, seconds REAL, seeds TEXT, versions TEXT, fingerprint TEXT,
    traceback TEXT,
    finished TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))
)
"""
STUDIES = "CREATE TABLE IF NOT EXISTS studies (name TEXT PRIMARY KEY, definition TEXT NOT NULL)"
# Columns that stores of version 1 may lack.
LATER_COLUMNS = {"average_precision": "REAL", "test_size": "REAL"}
REPORTED = "id, dataset, share, resampling, split, learner, tn, fp, fn, tp, candidate, seconds"


class StoreError(ValueError):
    """The file cannot be used as a store; it was not changed."""


class Store:
    """Studies and their results on disk. One process at a time may write.

    A store of version 1, which does not know its studies, can be read. The first process that
    writes to it upgrades it.

    Parameters
    ----------
    path : Path
        Created if it does not exist and ``create`` is true.
    create : bool, default=False
    """

    def __init__(self, path: Path, create: bool = False):
        self.path = Path(path)
        if not self.path.exists():
            if not create:
                raise StoreError(f"There is no store {self.path}. Start one with: study run")
            self._initialize()
        with _clear_errors(self.path):
            self._db = sqlite3.connect(self.path, timeout=5)
            self._check()

    def _initialize(self) -> None:
        """Write an empty store to another name and rename it: it exists completely or not."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        draft = self.path.with_name(self.path.name + ".new")
        draft.unlink(missing_ok=True)
        with sqlite3.connect(draft) as db:
            db.execute(f"PRAGMA application_id = {APPLICATION}")
            db.execute(SCHEMA)
            _upgrade(db)
        db.close()
        draft.rename(self.path)

    def _check(self) -> None:
        (application,) = self._db.execute("PRAGMA application_id").fetchone()
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if application != APPLICATION:
            raise StoreError(f"{self.path} is not a store of raremetric. Choose another path.")
        if not 1 <= version <= VERSION:
            raise StoreError(
                f"{self.path} is a store of version {version}; this raremetric reads versions 1 to "
                f"{VERSION}. Use the raremetric that wrote it, or start another store."
            )
        (verdict,) = self._db.execute("PRAGMA quick_check").fetchone()
        if verdict != "ok":
            raise sqlite3.DatabaseError(verdict)

    @contextmanager
    def writing(self) -> Iterator[Store]:
        """Be the only process that writes; the lock ends with the block or with the process."""
        with self.path.with_name(self.path.name + ".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise StoreError(
                    f"{self.path} is in use by another study run. Wait for it or stop it."
                ) from None
            with _clear_errors(self.path), self._db:
                _upgrade(self._db)
            yield self

    def record(self, studies: Iterable[Study]) -> None:
        """Keep the definitions of studies; a part of a known study is added to it."""
        known = {study.name: study for study in self.studies()}
        with _clear_errors(self.path), self._db:
            for study in studies:
                whole = known[study.name].extended(study) if study.name in known else study
                self._db.execute(
                    "INSERT INTO studies VALUES (:name, :definition) "
                    "ON CONFLICT (name) DO UPDATE SET definition = :definition",
                    {"name": whole.name, "definition": json.dumps(whole.to_dict())},
                )

    def studies(self) -> list[Study]:
        """The studies that were run, in the order of their first runs."""
        with _clear_errors(self.path):
            if not _columns(self._db, "studies"):
                return []  # version 1
            found = self._db.execute("SELECT definition FROM studies ORDER BY rowid").fetchall()
        return [Study.from_dict(json.loads(definition)) for (definition,) in found]

    def results(self) -> list[StudyResults]:
        """The finished tasks of each study."""
        studies = self.studies()
        if not studies:
            raise StoreError(
                f"{self.path} does not say which studies its results belong to: it is empty, or "
                "was written by an earlier raremetric. Run the study again with this store; what "
                "is finished is not computed again."
            )
        rows = self._read_rows()
        found = []
        for study in studies:
            own = rows["id"].isin({task.id for task in study.tasks()})
            found.append(StudyResults(study, rows[own].drop(columns="id").reset_index(drop=True)))
        return found

    def save(self, task: Task, result: Result) -> None:
        """Keep the result of a finished task; it replaces a failure."""
        values = asdict(result)
        for name in ("candidate", "scores", "seeds", "versions"):
            values[name] = json.dumps(values[name], sort_keys=True)
        self._write(task, status="done" if result.exists else "absent", **values)

    def save_failure(self, task: Task, traceback: str) -> None:
        """Keep the traceback of a task that failed."""
        self._write(task, status="failed", traceback=traceback)

    def _write(self, task: Task, **values: Any) -> None:
        row = {
            "id": task.id,
            "dataset": task.dataset,
            "share": task.share,
            "resampling": task.resampling,
            "split": task.split,
            "learner": task.learner.name,
            "test_size": task.test_size,
            **values,
        }
        self.insert([row])

    def insert(self, rows: Iterable[dict[str, Any]]) -> None:
        """Write rows of the table of tasks, all or none."""
        with _clear_errors(self.path), self._db:
            for row in rows:
                parameters = ", ".join(f":{name}" for name in row)
                self._db.execute(
                    f"INSERT OR REPLACE INTO tasks ({', '.join(row)}) VALUES ({parameters})", row
                )

    def select(self, columns: Sequence[str]) -> list[tuple]:
        """Columns of all tasks that did not fail, by id."""
        known = _columns(self._db, "tasks")
        shown = ", ".join(name if name in known else f"NULL AS {name}" for name in columns)
        query = f"SELECT {shown} FROM tasks WHERE status <> 'failed' ORDER BY id"
        with _clear_errors(self.path):
            return self._db.execute(query).fetchall()

    def statuses(self) -> dict[str, str]:
        """Status of every task in the store, by id."""
        with _clear_errors(self.path):
            return dict(self._db.execute("SELECT id, status FROM tasks"))

    def missing(self, tasks: Iterable[Task], retry_failed: bool = False) -> list[Task]:
        """The tasks that remain to be run."""
        known = self.statuses()
        settled = {"done", "absent"} if retry_failed else {"done", "absent", "failed"}
        return [task for task in tasks if known.get(task.id) not in settled]

    def mean_seconds(self) -> dict[tuple[str, str], float]:
        """Mean duration of the finished tasks of each data set and learner."""
        query = (
            "SELECT dataset, learner, AVG(seconds) FROM tasks WHERE status = 'done' GROUP BY 1, 2"
        )
        with _clear_errors(self.path):
            return {(dataset, learner): s for dataset, learner, s in self._db.execute(query)}

    def failures(self) -> list[tuple[str, str]]:
        """Id and traceback of every failed task."""
        query = "SELECT id, traceback FROM tasks WHERE status = 'failed' ORDER BY id"
        with _clear_errors(self.path):
            return self._db.execute(query).fetchall()

    def rows(self) -> pd.DataFrame:
        """One row per finished task of any study."""
        return self._read_rows().drop(columns="id")

    def _read_rows(self) -> pd.DataFrame:
        import pandas as pd

        with _clear_errors(self.path):
            known = _columns(self._db, "tasks")
            later = (name if name in known else f"NULL AS {name}" for name in LATER_COLUMNS)
            columns = ", ".join([REPORTED, *later])
            query = f"SELECT {columns} FROM tasks WHERE status = 'done' ORDER BY id"
            return pd.read_sql_query(query, self._db)

    def provenance(self) -> list[tuple[str, str, int]]:
        """Code fingerprint and versions of the finished tasks, and how many came from each."""
        query = (
            "SELECT fingerprint, versions, COUNT(*) FROM tasks WHERE status = 'done' "
            "GROUP BY 1, 2 ORDER BY 3 DESC"
        )
        with _clear_errors(self.path):
            return self._db.execute(query).fetchall()

    def details(self) -> dict[str, str]:
        """What a report says about the origin of its numbers."""
        sources = self.provenance()
        return {
            "store": self.path.name,
            "code": ", ".join(f"{fingerprint} ({n} tasks)" for fingerprint, _, n in sources),
            "versions": "; ".join(sorted({_listed(versions) for _, versions, _ in sources})),
            "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        }

    def close(self) -> None:
        """Close the file."""
        self._db.close()


def _columns(db: sqlite3.Connection, table: str) -> set[str]:
    """Columns of a table; none if there is no such table."""
    return {name for _, name, *_ in db.execute(f"PRAGMA table_info({table})")}


def _upgrade(db: sqlite3.Connection) -> None:
    """Add what earlier versions of a store lack."""
    known = _columns(db, "tasks")
    for name, kind in LATER_COLUMNS.items():
        if name not in known:
            db.execute(f"ALTER TABLE tasks ADD COLUMN {name} {kind}")
    db.execute(STUDIES)
    db.execute(f"PRAGMA user_version = {VERSION}")


def _listed(versions: str) -> str:
    return ", ".join(f"{name} {version}" for name, version in json.loads(versions).items())


@contextmanager
def _clear_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into sentences."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise StoreError(
            f"{path} cannot be used now ({error}). If another program uses it, close that; "
            "nothing was changed."
        ) from error
    except sqlite3.DatabaseError as error:
        raise StoreError(
            f"{path} is damaged or not a store ({error}). It was not changed: restore a copy, or "
            "choose another path."
        ) from error
