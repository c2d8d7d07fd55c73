"""Results in one SQLite file: a finished task is one transaction."""

from __future__ import annotations

import fcntl
import json
import os
import platform
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from raremetric.study.run_task import Result
from raremetric.study.tasks import Task

if TYPE_CHECKING:
    import pandas as pd

APPLICATION = 0x524D5453  # marks the file as ours
VERSION = 1
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
LATER = {"average_precision": "REAL", "test_size": "REAL"}  # columns that older stores lack
REPORTED = "dataset, share, resampling, split, learner, tn, fp, fn, tp, candidate, seconds"


class StoreError(ValueError):
    """The file cannot serve as a store; it was left as it is."""


class Store:
    """A study's results on disk. Only the coordinator writes, and only one at a time.

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
            self._initialise()
        with _told(self.path):
            self._db = sqlite3.connect(self.path, timeout=5)
            self._check()

    def _initialise(self) -> None:
        """Write an empty store beside the path and move it there: whole or not at all."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        draft = self.path.with_name(self.path.name + ".new")
        draft.unlink(missing_ok=True)
        with sqlite3.connect(draft) as db:
            db.execute(f"PRAGMA application_id = {APPLICATION}")
            db.execute(f"PRAGMA user_version = {VERSION}")
            db.execute(SCHEMA)
            _add_columns(db)
        db.close()
        draft.rename(self.path)

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
    def writing(self) -> Iterator[Store]:
        """Be the only coordinator while this lasts; the lock goes with the process."""
        with self.path.with_name(self.path.name + ".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise StoreError(
                    f"{self.path} is in use by another study run. Wait for it or stop it."
                ) from None
            with _told(self.path), self._db:
                _add_columns(self._db)
            yield self

    def save(self, task: Task, result: Result) -> None:
        """Keep a finished task; replaces a failed one."""
        fields = asdict(result)
        for name in ("candidate", "scores", "seeds", "versions"):
            fields[name] = json.dumps(fields[name], sort_keys=True)
        self._write(task, status="done" if result.exists else "absent", **fields)

    def save_failure(self, task: Task, traceback: str) -> None:
        """Keep the traceback of a task that failed."""
        self._write(task, status="failed", traceback=traceback)

    def _write(self, task: Task, **fields: Any) -> None:
        row = {
            "id": task.id,
            "dataset": task.dataset,
            "share": task.share,
            "resampling": task.resampling,
            "split": task.split,
            "learner": task.learner.name,
            "test_size": task.test_size,
            **fields,
        }
        places = ", ".join(f":{name}" for name in row)
        with _told(self.path), self._db:
            self._db.execute(
                f"INSERT OR REPLACE INTO tasks ({', '.join(row)}) VALUES ({places})", row
            )

    def statuses(self) -> dict[str, str]:
        """Status of every task there is, by id."""
        with _told(self.path):
            return dict(self._db.execute("SELECT id, status FROM tasks"))

    def missing(self, tasks: Iterable[Task], retry_failed: bool = False) -> list[Task]:
        """The tasks still to do."""
        known = self.statuses()
        settled = {"done", "absent"} if retry_failed else {"done", "absent", "failed"}
        return [task for task in tasks if known.get(task.id) not in settled]

    def mean_seconds(self) -> dict[tuple[str, str], float]:
        """Mean duration of the finished tasks of each data set and learner."""
        query = (
            "SELECT dataset, learner, AVG(seconds) FROM tasks WHERE status = 'done' GROUP BY 1, 2"
        )
        with _told(self.path):
            return {(dataset, learner): s for dataset, learner, s in self._db.execute(query)}

    def failures(self) -> list[tuple[str, str]]:
        """Id and traceback of every failed task."""
        query = "SELECT id, traceback FROM tasks WHERE status = 'failed' ORDER BY id"
        with _told(self.path):
            return self._db.execute(query).fetchall()

    def rows(self) -> pd.DataFrame:
        """One row a finished task, as reports take them."""
        import pandas as pd

        with _told(self.path):
            lacking = _lacking(self._db)
            later = (f"NULL AS {name}" if name in lacking else name for name in LATER)
            columns = ", ".join([REPORTED, *later])
            query = f"SELECT {columns} FROM tasks WHERE status = 'done' ORDER BY id"
            return pd.read_sql_query(query, self._db)

    def provenance(self) -> list[tuple[str, str, int]]:
        """Code fingerprint and versions of the finished tasks, and how many came from each."""
        query = (
            "SELECT fingerprint, versions, COUNT(*) FROM tasks WHERE status = 'done' "
            "GROUP BY 1, 2 ORDER BY 3 DESC"
        )
        with _told(self.path):
            return self._db.execute(query).fetchall()

    def details(self) -> dict[str, str]:
        """What a report says about where its numbers come from."""
        sources = self.provenance()
        return {
            "store": self.path.name,
            "code": ", ".join(f"{fingerprint} ({n} tasks)" for fingerprint, _, n in sources),
            "versions": "; ".join(sorted({_listed(versions) for _, versions, _ in sources})),
            "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        }

    def close(self) -> None:
        """Let the file go."""
        self._db.close()


def _lacking(db: sqlite3.Connection) -> list[str]:
    """Columns that came after the store was made."""
    there = {name for _, name, *_ in db.execute("PRAGMA table_info(tasks)")}
    return [name for name in LATER if name not in there]


def _add_columns(db: sqlite3.Connection) -> None:
    for name in _lacking(db):
        db.execute(f"ALTER TABLE tasks ADD COLUMN {name} {LATER[name]}")


def _listed(versions: str) -> str:
    return ", ".join(f"{name} {version}" for name, version in json.loads(versions).items())


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into a sentence."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise StoreError(
            f"{path} cannot be used now ({error}). If another program holds it, close that; "
            "nothing was changed."
        ) from error
    except sqlite3.DatabaseError as error:
        raise StoreError(
            f"{path} is damaged or not a store ({error}). It was left as it is: restore a copy, or "
            "choose another path."
        ) from error
