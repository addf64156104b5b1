"""What remembering costs: CPU of a batch of 10,000 memories, and of one more, git included.

One process, its own home, a repository of 200 files; CPU of this process, and of it and git.
"""

import os
import random
import resource
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.machine import Checkout, Machine
from yaadwatch import places
from yaadwatch.api.messages.graph import Inject
from yaadwatch.api.messages.memories import Remember
from yaadwatch.api.messages.store import Add
from yaadwatch.model.queries import GivenNode
from yaadwatch.model.settings import Settings
from yaadwatch.projects import projects
from yaadwatch.remember import inject, remember
from yaadwatch.system import files
from yaadwatch.workspace.lookup import open_home
from yaadwatch.workspace.workspace import Call, Home

MEMORIES = 10_000
ROUNDS = 200
_NOUNS = (
    *("parser", "worker", "queue", "import", "export", "billing", "order", "invoice", "token"),
    *("session", "cache", "index", "search", "upload", "mail", "report", "user", "admin"),
    *("payment", "webhook", "retry", "timeout", "limit", "schema", "table", "column"),
)
_VERBS = ("uses", "keeps", "writes", "reads", "needs", "sends", "stores", "checks", "drops")


def main() -> None:
    """Print a row for each figure."""
    with tempfile.TemporaryDirectory(prefix="yaad-bench-") as folder:
        machine = Machine(Path(folder))
        os.environ["YAAD_HOME"] = machine.env["YAAD_HOME"]
        checkout = Checkout(machine.home / "code" / "shop", machine.env)
        for number in range(200):
            checkout.write(f"src/part{number % 20}/mod_{number}.py", _module(number))
        checkout.commit("first")
        home = _home()
        try:
            call = Call(folder=checkout.root, origin="cli")
            projects.add(home, call, Add())
            nodes = [GivenNode(id=f"n{number}", text=_text(number)) for number in range(MEMORIES)]
            _tell(
                f"inject of {MEMORIES}",
                1,
                lambda: inject.inject(home, call, Inject(nodes=tuple(nodes))),
            )
            placed = [
                f"{said}, src/part{number % 20}/mod_{number % 200}.py"
                for number, said in _numbered(lambda n: n % 4 == 1, MEMORIES * 2)
            ]
            for name, texts in (
                ("one that names a file", _texts(lambda n: n % 4 == 0)),
                ("one that names a definition and its file", placed),
                ("one that names a definition only", _texts(lambda n: n % 4 == 1)),
                ("one that names neither", _texts(lambda n: n % 4 >= 2)),
                ("any of a store like this one", _texts(lambda n: True, MEMORIES * 3)),
            ):
                _tell(f"remember, {name}", len(texts), lambda said=texts: _say(home, call, said))
        finally:
            home.close()


def _home() -> Home:
    files.private_folder(places.data_folder())
    return open_home(Settings())


def _module(number: int) -> str:
    return f"def handle_{number}(x):\n    return x + {number}\n"


def _text(number: int) -> str:
    pick = random.Random(number)
    one, other, third = (pick.choice(_NOUNS) for _ in range(3))
    said = (
        f"The {one} {pick.choice(_VERBS)} the {other} of the {third} {pick.randint(1, 9999)} times"
    )
    where = (f", see src/part{number % 20}/mod_{number % 200}.py", f" in handle_{number % 200}")
    return said + where[number % 4] if number % 4 < 2 else said


def _texts(wanted: Callable[[int], bool], first: int = MEMORIES) -> list[str]:
    return [said for _, said in _numbered(wanted, first)]


def _numbered(wanted: Callable[[int], bool], first: int) -> list[tuple[int, str]]:
    numbers = (number for number in range(first, first + MEMORIES) if wanted(number))
    return [(number, _text(number)) for number, _ in zip(numbers, range(ROUNDS), strict=False)]


def _say(home: Home, call: Call, texts: list[str]) -> None:
    for said in texts:
        remember.remember(home, call, Remember(text=said))


def _tell(name: str, times: int, act: Callable[[], object]) -> None:
    before = _cpu()
    act()
    own, with_git = (after - began for after, began in zip(_cpu(), before, strict=True))
    print(f"{name:<64} {own / times * 1e3:.1f} ms; with git {with_git / times * 1e3:.1f} ms")


def _cpu() -> tuple[float, float]:
    own = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    mine = own.ru_utime + own.ru_stime
    return mine, mine + children.ru_utime + children.ru_stime


if __name__ == "__main__":
    main()
