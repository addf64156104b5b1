"""When a job last ran, so that one that is late after sleep runs once."""

from dataclasses import dataclass
from datetime import datetime

import apsw

from yaadwatch.store.codec import from_ms, from_ms_or_null, to_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRun:
    """The last run of a job. `ended_at` is None while it runs, and when it was cut off."""

    started_at: datetime
    ended_at: datetime | None
    error: str | None
    runs: int


def start(conn: apsw.Connection, job: str, at: datetime) -> None:
    """Note that `job` starts; what is known of the run before is replaced."""
    conn.execute(
        """
        INSERT INTO job_runs (job, start_ms)
        VALUES (?, ?)
        ON CONFLICT (job) DO UPDATE
           SET start_ms = excluded.start_ms, end_ms = NULL, error = NULL, runs = runs + 1
        """,
        (job, to_ms(at)),
    )


def end(conn: apsw.Connection, job: str, at: datetime, error: str | None) -> None:
    """Note that `job` ended: with `error` (masked text), or well (None)."""
    conn.execute("UPDATE job_runs SET end_ms = ?, error = ? WHERE job = ?", (to_ms(at), error, job))


def everything(conn: apsw.Connection) -> dict[str, JobRun]:
    """Return the last run of each job that ever ran, by name."""
    rows = conn.execute("SELECT job, start_ms, end_ms, error, runs FROM job_runs ORDER BY job")
    return {
        job: JobRun(
            started_at=from_ms(start_ms), ended_at=from_ms_or_null(end_ms), error=error, runs=runs
        )
        for job, start_ms, end_ms, error, runs in rows
    }
