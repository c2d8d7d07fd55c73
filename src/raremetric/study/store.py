"""Results in one SQLite file; a finished task is one transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import finalize

from raremetric.files import check_not_open
from raremetric.study.checks import read_definition
from raremetric.study.schema import APPLICATION, TASKS, VERSION, columns_of, upgrade
from raremetric.study.tasks import REPORTED, Result, Study, StudyResults, Task

if TYPE_CHECKING:
    import pandas as pd

IN_MEMORY = Path(":memory:")  # the path of a store that is not on disk
BUSY_SECONDS = 5  # to wait for another process that writes


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
        if not create and not self.path.exists():
            raise StoreError(f"There is no store {self.path}. Start one with: study run")
        check_not_open(self.path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with _clear_errors(self.path):
            self._db = sqlite3.connect(self.path, timeout=BUSY_SECONDS)
            finalize(self, self._db.close)  # Python 3.13 warns of connections left open
            try:
                if create and self._is_empty():
                    self._initialize()
                self._check()
            except BaseException:
                self._db.close()
                raise

    def _initialize(self) -> None:
        """Create the tables in one transaction; of several processes, only the first does so."""
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")  # waits for other processes
            if self._is_empty():
                self._db.execute(f"PRAGMA application_id = {APPLICATION}")
                self._db.execute(TASKS)
                upgrade(self._db)

    def _is_empty(self) -> bool:
        """Whether the file is new, or its creation was interrupted."""
        return self._db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone() == (0,)

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
            with _clear_errors(self.path), self._db:
                upgrade(self._db)
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
            if not columns_of(self._db, "studies"):
                return []  # version 1
            found = self._db.execute("SELECT definition FROM studies ORDER BY rowid").fetchall()
        try:
            return [read_definition(json.loads(text), str(self.path)) for (text,) in found]
        except (ValueError, TypeError, RecursionError) as error:
            raise StoreError(
                f"{self.path} contains a study that cannot be read: {error} Restore a copy of the "
                "store, or start another one."
            ) from error

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
        with _clear_errors(self.path):
            query = f"SELECT {self._selected(columns)} FROM tasks WHERE status <> 'failed'"
            return self._db.execute(f"{query} ORDER BY id").fetchall()

    def _selected(self, columns: Iterable[str]) -> str:
        """Columns in SQL, empty where the store lacks them."""
        known = columns_of(self._db, "tasks")
        return ", ".join(name if name in known else f"NULL AS {name}" for name in columns)

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

    def failures(self, tasks: Iterable[Task]) -> dict[str, str]:
        """Tracebacks of those of the tasks that failed, by id."""
        wanted = {task.id for task in tasks}
        query = "SELECT id, traceback FROM tasks WHERE status = 'failed' ORDER BY id"
        with _clear_errors(self.path):
            found = self._db.execute(query).fetchall()
        return {task_id: traceback for task_id, traceback in found if task_id in wanted}

    def fingerprints(self) -> dict[str, str]:
        """Fingerprint of the code that computed each task that did not fail, by id."""
        return dict(self.select(["id", "fingerprint"]))

    def _read_rows(self) -> pd.DataFrame:
        import pandas as pd

        with _clear_errors(self.path):
            query = f"SELECT {self._selected(['id', *REPORTED])} FROM tasks WHERE status = 'done'"
            return pd.read_sql_query(f"{query} ORDER BY id", self._db)

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
        }

    def serialize(self) -> bytes:
        """The content of the file."""
        return self._db.serialize()

    def close(self) -> None:
        """Close the file."""
        self._db.close()


def _listed(versions: str) -> str:
    try:
        return ", ".join(f"{name} {version}" for name, version in json.loads(versions).items())
    except (ValueError, TypeError, AttributeError, RecursionError):
        return "unknown"  # the store was edited


@contextmanager
def _clear_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into sentences."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise StoreError(
            f"{path} cannot be used now ({error}). If another program uses it, close that program; "
            "nothing was changed."
        ) from error
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        raise StoreError(
            f"{path} is damaged or not a store ({error}). It was not changed: restore a copy, or "
            "choose another path."
        ) from error
