"""Render the answer of `check` for other programs: GitHub annotations and SARIF 2.1.0."""

import hashlib
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from yaadwatch.cli.stale import now_at
from yaadwatch.cli.terminal import harmless
from yaadwatch.places import VERSION

Row = dict[str, Any]

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
DOCUMENTATION = "docs/checking.md"
VERDICTS = {
    "gone": "What a rule names is gone",
    "moved": "What a rule names is somewhere else",
    "changed": "What a rule says of the code is something else now",
}
"""The findings by their verdict."""


def annotations(answer: Row) -> str:
    """Return workflow commands, which GitHub shows beside the lines of a change.

    https://docs.github.com/actions/reference/workflow-commands-for-github-actions
    """
    return "".join(_commands(answer))


def _commands(answer: Row) -> Iterator[str]:
    for one in answer["false"]:
        yield _command("warning", _message(one), one)
    for one in answer["unknown"]:
        yield _command("notice", f"This rule could not be judged: {one['reason']}", one)
    for one in answer["unread"]:
        yield _command("notice", f"{one['path']}: {one['reason']}")
    if answer.get("note"):
        yield _command("notice", str(answer["note"]))


def _command(kind: str, message: str, found: Row | None = None) -> str:
    properties = {"title": "yaadwatch"}
    if found is not None:
        lines = {"line": str(found["line"]), "endLine": str(found["end_line"])}
        properties = {"file": str(found["path"])} | lines | properties
    named = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{kind} {named}::{_data(message)}\n"


def _data(text: str) -> str:
    lines = "\n".join(map(harmless, text.split("\n")))
    return lines.replace("%", "%25").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _message(found: Row) -> str:
    """Return a finding in words, with its commits and what would be true."""
    suggestion = found.get("suggestion") or {}
    commits = [one for one in found["evidence"] if one.get("commit")]
    lines = [f"{found['reason']}. The rule: {found['text']}"]
    lines += [
        f"Since {one['commit']['id'][:10]}: {one['commit']['subject']}" for one in commits[-1:]
    ]
    if suggestion.get("also_changed"):
        lines.append(f"Now at: {now_at(suggestion)}")
    elif suggestion.get("text"):
        lines.append(f"Write: {suggestion['text']}")
    elif suggestion.get("path"):
        lines.append(f"Now at: {suggestion['path']}")
    return "\n".join(lines)


def sarif(answer: Row) -> str:
    """Return a SARIF 2.1.0 log with a result for each false rule.

    What could not be judged or read is a notification of the run.
    """
    used = sorted({one["verdict"] for one in answer["false"]})
    driver = {
        "name": "yaadwatch",
        "version": VERSION,
        "rules": [
            {
                "id": f"rule-{one}",
                "shortDescription": {"text": VERDICTS.get(one, f"A rule is {one}")},
                "help": {"text": f"Change the code, or reword the rule. See {DOCUMENTATION}."},
            }
            for one in used
        ],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": list(_notifications(answer)),
            }
        ],
        "results": [_result(one, used) for one in answer["false"]],
    }
    log = {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2) + "\n"


def _result(found: Row, used: list[str]) -> Row:
    place: Row = {
        "artifactLocation": {"uri": quote(found["path"]), "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": found["line"], "endLine": found["end_line"]},
    }
    words = f"{found['path']}\0{found['verdict']}\0{found['text']}".encode("utf-8", "replace")
    return {
        "ruleId": f"rule-{found['verdict']}",
        "ruleIndex": used.index(found["verdict"]),
        "level": "error" if found["level"] == "warn" else "warning",
        "message": {"text": _message(found)},
        "locations": [{"physicalLocation": place}],
        # The same finding, also where its line is another one.
        "partialFingerprints": {"rule/v1": hashlib.sha256(words).hexdigest()},
        "rank": round(100 * float(found["score"]), 1),
    }


def _notifications(answer: Row) -> Iterator[Row]:
    texts = [
        f"{one['path']}:{one['line']} could not be judged: {one['reason']}"
        for one in answer["unknown"]
    ]
    texts += [f"{one['path']}: {one['reason']}" for one in answer["unread"]]
    texts += [answer["note"]] if answer.get("note") else []
    for text in texts:
        yield {"level": "note", "message": {"text": text}}
