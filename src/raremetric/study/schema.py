"""The tables of a store, and how those of earlier versions are upgraded."""

from __future__ import annotations

import sqlite3

APPLICATION = 0x524D5453  # marks the file as a store of this package
VERSION = 2
COLUMNS = {  # of the table of tasks, and their types
    "id": "TEXT PRIMARY KEY",
    "dataset": "TEXT NOT NULL",
    "share": "REAL",
    "test_size": "REAL",
    "resampling": "TEXT NOT NULL",
    "split": "INTEGER NOT NULL",
    "learner": "TEXT NOT NULL",
    "status": "TEXT NOT NULL CHECK (status IN ('done', 'absent', 'failed'))",
    "tn": "INTEGER",
    "fp": "INTEGER",
    "fn": "INTEGER",
    "tp": "INTEGER",
    "average_precision": "REAL",
    "seconds": "REAL",
    "candidate": "TEXT",
    "scores": "TEXT",
    "seeds": "TEXT",
    "versions": "TEXT",
    "fingerprint": "TEXT",
    "traceback": "TEXT",
    "finished": "TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))",
}
LATER_COLUMNS = ("average_precision", "test_size")  # stores of version 1 may lack them
TASKS = f"CREATE TABLE tasks ({', '.join(f'{name} {kind}' for name, kind in COLUMNS.items())})"
STUDIES = "CREATE TABLE IF NOT EXISTS studies (name TEXT PRIMARY KEY, definition TEXT NOT NULL)"


def columns_of(db: sqlite3.Connection, table: str) -> set[str]:
    """Columns of a table; none if there is no such table."""
    return {name for _, name, *_ in db.execute(f"PRAGMA table_info({table})")}


def upgrade(db: sqlite3.Connection) -> None:
    """Add what earlier versions of a store lack."""
    known = columns_of(db, "tasks")
    for name in LATER_COLUMNS:
        if name not in known:
            db.execute(f"ALTER TABLE tasks ADD COLUMN {name} {COLUMNS[name]}")
    db.execute(STUDIES)
    db.execute(f"PRAGMA user_version = {VERSION}")
