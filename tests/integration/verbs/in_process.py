"""Commands run on a home without a daemon between: messages and answers as on the wire."""

import io
import json

from yaadwatch.api.codec import message
from yaadwatch.api.frames import answer, encode
from yaadwatch.api.operations import BY_NAME
from yaadwatch.cli.main import run
from yaadwatch.cli.terminal import Terminal
from yaadwatch.daemon.dispatch import VERBS
from yaadwatch.text.privacy import mask_tokens


class InProcess:
    """A client that calls the verbs itself."""

    pid = 0
    wrote = ()
    unreachable = None

    def __init__(self, tree):
        self._tree = tree
        self.calls = 0

    def call(self, operation, /, **fields):
        """Ask as the wire does."""
        self.calls += 1
        asked = json.loads(json.dumps(fields))
        request = message(BY_NAME[operation].request, asked)
        found = VERBS[operation](
            self._tree.home, self._tree.call, *[request] * bool(request.FIELDS)
        )
        return json.loads(mask_tokens(encode(answer(1, found))))["result"]

    def now(self):
        return self._tree.home.clock.now()

    def close(self):
        pass


class Ran:
    """What a command did."""

    def __init__(self, status, terminal, client):
        self.status, self.client = status, client
        terminal.out.flush()
        self.out = terminal.out.buffer.getvalue().decode()
        self.err = terminal.err.getvalue()

    @property
    def json(self):
        return json.loads(self.out)


def command(tree, *argv, width=200):
    """Run a command line in the folder of `tree`."""
    client = InProcess(tree)
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    terminal = Terminal(out, io.StringIO(), keys=io.StringIO(), width=width)
    status = run([str(part) for part in argv], terminal, lambda args, terminal: client)
    return Ran(status, terminal, client)


def ask(tree, *argv):
    """Run a command that must go well, with --json; return its answer."""
    ran = command(tree, *argv, "--json")
    assert ran.status == 0, (ran.out, ran.err)
    return ran.json
