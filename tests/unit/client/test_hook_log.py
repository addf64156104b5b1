"""What the log of hooks says of the last day."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from yaadwatch.client import hook_log
from yaadwatch.client.hook_log import HookCounts

NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)


def entry(event="hook.failed", why="no such hook", *, age=timedelta(hours=1), **more):
    at = f"{NOW - age:%Y-%m-%dT%H:%M:%SZ}"
    return json.dumps({"at": at, "event": event, "why": why} | more)


@pytest.mark.parametrize(
    ("lines", "counted", "words"),
    [
        ([], HookCounts(), ""),
        ([entry(age=timedelta(days=2))], HookCounts(), ""),
        (
            [entry("hook.late", "slow"), entry("hook.late", "slow")],
            HookCounts(late=2),
            "Within a day, 2 hooks sent the agent nothing: 2 came too late",
        ),
        (
            [entry(why="first"), entry("hook.late", "slow"), entry(why="second")],
            HookCounts(failed=2, late=1, last_failure="second"),
            (
                "Within a day, 3 hooks sent the agent nothing: 1 came too late; 2 failed,"
                " the last: second"
            ),
        ),
        ([entry("hook.late", "slow", sent=True)], HookCounts(), ""),
        (
            [entry(), entry("hook.late", "slow", sent=True)],
            HookCounts(failed=1, last_failure="no such hook"),
            "Within a day, 1 hook sent the agent nothing: 1 failed, the last: no such hook",
        ),
        (
            [
                "half a line}",
                "[]",
                '{"at": 1, "why": 2}',
                '{"at": "2026-11-26", "why": "x"}',
                entry(),
            ],
            HookCounts(failed=1, last_failure="no such hook"),
            "Within a day, 1 hook sent the agent nothing: 1 failed, the last: no such hook",
        ),
    ],
    ids=["empty", "old", "late", "both", "sent", "failed and sent", "nonsense"],
)
def test_hooks_that_sent_nothing_are_counted_by_their_reason(tmp_path, lines, counted, words):
    path = tmp_path / "hook.log"
    path.write_text("\n".join(lines) + "\n")

    found = hook_log.count(str(path), NOW)

    assert found == counted
    assert found.in_words() == words


def test_log_that_is_no_plain_file_is_not_read(tmp_path):
    (tmp_path / "folder").mkdir()

    assert hook_log.count(str(tmp_path / "folder"), NOW) == HookCounts()
    assert hook_log.count(str(tmp_path / "none"), NOW) == HookCounts()
