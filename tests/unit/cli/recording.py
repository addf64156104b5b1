"""A client that records what it is asked, and commands run with it."""

import io
import json
from datetime import UTC, datetime

from yaadwatch.api.operations import BY_NAME
from yaadwatch.cli.main import run
from yaadwatch.cli.terminal import Terminal

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
ID = "0199b1c2-7d3e-7f00-8a11-5c01f2e4ab37"


class RecordingClient:
    """Answers each operation with what `answers` holds for it: an answer, or what is raised."""

    pid = 4711
    unreachable = None

    def __init__(self, answers=None):
        self.answers = answers or {}
        self.calls = []
        self.wrote = {}

    def call(self, operation, /, **fields):
        self.calls.append((operation, fields))
        answer = self.answers[operation]
        if isinstance(answer, list):
            answer = answer.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        self.wrote |= dict.fromkeys(answer.get("wrote", ()))
        return answer

    def now(self):
        return NOW

    def beside(self, patience_s=None):
        return self

    def close(self):
        self.calls.append(("close", {}))


def without_defaults(operation, fields):
    """Return the fields of a request that are not what holds without them."""
    declared = BY_NAME[operation].request.FIELDS
    usual = {name: one.default for name, one in declared.items()}
    return {
        name: given
        for name, given in fields.items()
        if name not in usual or (given != usual[name] and (given or usual[name] != ()))
    }


class Ran:
    """What a command did, and what it asked for."""

    def __init__(self, status, terminal, client):
        self.status = status
        self.out = terminal.out.getvalue()
        self.err = terminal.err.getvalue()
        self.calls = [
            (name, without_defaults(name, fields))
            for name, fields in client.calls
            if name != "close"
        ]

    @property
    def lines(self):
        return self.out.splitlines()

    @property
    def json(self):
        assert self.out.count("\n") == 1
        return json.loads(self.out)


class Screen(io.StringIO):
    """Text that looks like a terminal."""

    def isatty(self):
        return True


def command(*argv, answers=None, given="", width=100, colour=False, person=False):
    """Run a command line against a client with `answers`; `person`: one sits at the terminal."""
    client = RecordingClient(answers)
    text = Screen if person else io.StringIO
    terminal = Terminal(text(), io.StringIO(), keys=text(given), width=width, colour=colour)
    status = run([str(part) for part in argv], terminal, lambda args, terminal: client)
    return Ran(status, terminal, client)
