"""A pipe, a device, a huge file, a link to itself or a folder in the place of each file that is
opened in a repository: nobody waits for it, and other projects are watched and answered.
"""

import contextlib
import json
import os
import re
import shutil
import threading
import time
from pathlib import Path

import pytest
from living_daemon import SOAK, Shop, source
from waiting import wait_until

from yaadwatch.model.errors import YaadError

HERE = Path(__file__).parent
ANSWER_S = 40
"""A daemon that waits for a pipe never answers; git is ended after a second."""
GIT_ONLY = (
    *(".gitattributes", ".gitmodules", ".git/packed-refs", ".git/shallow", ".git/commondir"),
    *(".git/info/attributes", ".git/info/grafts", ".git/objects/info/alternates"),
    *(".git/MERGE_HEAD", ".git/logs/HEAD", ".git/logs/refs/heads/main", ".git/index.lock"),
)
"""Files that git opens by itself, or that are only opened where they are."""
ASKED = (
    ("add", {}),
    ("stale", {}),
    ("files", {}),
    ("remember", {"text": "The rate of src/m0.py is applied to each amount"}),
    ("recall", {"query": "rate"}),
    ("impact", {"file": "src/m0.py"}),
    ("status", {}),
)
COMMANDS = (("check",), ("doctor",), ("files", "sync"), ("hook", "session-start"))


def pipe(path):
    os.mkfifo(path)


def device(path):
    """/dev/zero, in person where that is allowed, else behind a link."""
    try:
        os.mknod(path, 0o666 | 0o020000, os.makedev(1, 5))
    except PermissionError:
        path.symlink_to("/dev/zero")


def huge(path):
    path.touch()
    os.truncate(path, 20 * 1024**3)


def circle(path):
    path.symlink_to(path.name)


def folder(path):
    path.mkdir()


OTHERS = (device, huge, circle, folder)


def project(machine, name):
    """A repository with a file of each kind that is read, and two memories of it."""
    shop = Shop(machine.home / "code" / name, machine)
    shop.commit(
        "first",
        {
            "src/m0.py": source(0),
            "CLAUDE.md": "# Rules\n\n- Call `rate_0` in src/m0.py for every amount.\n",
            ".claude/rules/tabs.md": "- Use tabs in src/m0.py\n",
            ".cursorrules": "- Name what is counted\n",
            ".gitignore": "*.log\n",
            "package.json": '{"scripts": {"test": "vitest"}, "devDependencies": {"vitest": "1"}}\n',
            "Makefile": "all:\n\techo\n",
            ".yaad/config.toml": "",
            ".claude/settings.json": "{}",
            ".mcp.json": "{}",
        },
    )
    shop.ask("add")
    shop.remember(0)
    shop.ask("remember", text="Run `make all` and `npm test`; the tests run with vitest")
    return shop


@pytest.fixture
def traced(machine):
    """A machine whose daemon and commands log what they open in repositories."""
    machine.env |= {
        "PYTHONPATH": str(HERE / "opens"),
        "YAAD_TEST_OPENS": str(machine.folder / "opens"),
        "YAAD_TEST_BELOW": str(machine.home / "code"),
        "YAAD_GIT_TIMEOUT_MS": "1000",
        "YAAD_WATCH_POLL_S": "1",
    }
    machine.live()
    return machine


def opens(machine):
    """Return path in its repository, flags, and module of each open so far."""
    rows = map(json.loads, (machine.folder / "opens").read_text().splitlines())
    below = len(str(machine.home / "code")) + 1
    return {
        (path[below:].partition("/")[2], flags, module)
        for path, flags, module in rows
        if "/" in path[below:]
    }


def ask_all(shop, asked=ASKED):
    """Ask what people and agents ask; it may be refused, in time and in words."""
    for verb, fields in asked:
        began = time.monotonic()
        with contextlib.suppress(YaadError):
            shop.ask(verb, **fields)
        assert time.monotonic() - began < ANSWER_S, (shop.root.name, verb)


def is_open_that_waits_for_nothing(flags, module):
    """Say whether an open is of a new file, a folder, or what was found to be a plain file."""
    return module == "yaadwatch.plain_files" or bool(
        flags & (os.O_EXCL | os.O_DIRECTORY) or (flags & os.O_NONBLOCK and flags & os.O_NOFOLLOW)
    )


def test_nobody_waits_for_what_stands_where_a_file_was(traced):
    machine = traced
    first = project(machine, "first")
    first.edit(0, 5)
    wait_until(lambda: 0 in first.flags(), "a flag")
    ask_all(first)
    for command in COMMANDS:
        machine.run(*command, cwd=first.root, given="{}")
    found = opens(machine)
    late = {row for row in found if not is_open_that_waits_for_nothing(*row[1:])}
    assert not late
    named = {path for path, flags, _ in found if not flags & (os.O_EXCL | os.O_DIRECTORY)}
    blob = first.git("rev-parse", "HEAD:src/m0.py")
    loose = f".git/objects/{blob[:2]}/{blob[2:]}"
    assert {".git/HEAD", ".git/index", "CLAUDE.md", "package.json", loose} <= named
    named = {path for path in named if not re.match(r"\.git/objects/../", path)}
    groups = grouped(sorted(named.union(GIT_ONLY, [loose])))
    shops = {group: project(machine, f"odd{at}") for at, group in enumerate(groups)}

    for turn in range(len(OTHERS) + 1 if SOAK else 2):
        for shop, number, place in each(shops):
            put(shop, place, OTHERS[(number + turn) % len(OTHERS)] if turn else pipe)
        for shop in shops.values():
            ask_all(shop)
        # It has to be watched and polled from now on, while all of those are.
        other = project(machine, f"other{turn}")
        other.edit(0, 5)
        wait_until(lambda shop=other: 0 in shop.flags(), "a flag of another project")
        for shop, _, place in each(shops):
            restore(shop, place)
    for shop in shops.values():
        shop.edit(0, 9)
        wait_until(lambda shop=shop: 0 in shop.flags(), f"a flag in {shop.root.name}")
    for shop, _, place in each(shops):
        put(shop, place, pipe)
    for shop in shops.values():
        ask_all(shop, [("remove", {})])
    assert machine.logged("service.crashed") == 0
    assert "Traceback" not in machine.log()


def test_projects_in_which_git_hangs_hold_up_no_other(machine):
    """It is ended after ten minutes here, which nobody else may wait for."""
    machine.live(YAAD_WATCH_POLL_S="1", YAAD_GIT_TIMEOUT_MS="600000")
    hung = [Shop.new(machine, f"hung{number}", files=1) for number in range(3)]
    for shop in hung:
        put(shop, ".git/index", pipe)
        shop.edit(0, 5)
    asked = [threading.Thread(target=ask_until_killed, args=(shop,)) for shop in hung]
    for thread in asked:
        thread.start()
    other = Shop.new(machine, "other", files=1)
    other.edit(0, 5)
    other.settles()
    problems = machine.call("status")["problems"]
    assert not [one for one in problems if "umount" in one["mend"] or "disk" in one["what"]]
    machine.kill()
    for thread in asked:
        thread.join()


def ask_until_killed(shop):
    with contextlib.suppress(YaadError, OSError):
        shop.ask("stale")


def grouped(places):
    """Return places that are odd at the same time: what is seen of one does not hide the others."""
    if SOAK:
        return [(place,) for place in places]
    alone = {".git/HEAD", ".git/config", ".git/index", ".git/commondir", ".git/refs/heads/main"}
    rest = [place for place in places if place not in alone]
    of_git = [place for place in rest if place.startswith(".git/")]
    return [*((place,) for place in sorted(alone)), tuple(of_git), tuple({*rest} - {*of_git})]


def each(shops):
    """Yield project, number and place of each file that is odd."""
    for places, shop in shops.items():
        for number, place in enumerate(places):
            yield shop, number, place


def put(shop, place, kind):
    path = shop.root / place
    path.parent.mkdir(parents=True, exist_ok=True)
    if os.path.lexists(path):
        path.rename(f"{path}.aside")
    kind(path)


def restore(shop, place):
    path = shop.root / place
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    if os.path.lexists(f"{path}.aside"):
        os.rename(f"{path}.aside", path)
