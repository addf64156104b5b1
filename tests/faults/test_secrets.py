"""A secret that comes in on every way there is: it is in no file of the home, no log, no event.

Verb by verb: `tests/integration/verbs/test_privacy_paths.py`; shape by shape:
`tests/unit/rules/test_privacy.py`.
"""

import json
import stat

import apsw

from yaadwatch.client.connection import Client
from yaadwatch.model.errors import YaadError

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
KEY = "sk-ant-api03-" + "Zq7xW2vB9" * 5
PASSWORD = "Tr0ub" + "4dor-and-3"
SAID = f"The token is {TOKEN}, the key {KEY} and password: {PASSWORD}"
SECRETS = (TOKEN, KEY, PASSWORD)


def every_file(*folders):
    """The bytes of every file below `folders`, by path."""
    return {
        path: path.read_bytes()
        for folder in folders
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink()
    }


def happened_in(shop):
    """Return all that its store tells those who subscribe, from the beginning."""
    conn = apsw.Connection(str(shop.store), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return conn.execute("SELECT * FROM events").fetchall()
    finally:
        conn.close()


WAYS = {
    "remember": lambda shop, ask: ask("remember", text=SAID),
    "remember for the user": lambda shop, ask: ask("remember", text=SAID, scope="user"),
    "tags and attributes": lambda shop, ask: ask(
        "remember", text="A token", tags=(TOKEN,), attributes={"password": PASSWORD, "key": KEY}
    ),
    "update": lambda shop, ask: ask("update", id=shop.said[0], text=f"It is set: {SAID}"),
    "forget": lambda shop, ask: ask("forget", id=shop.said[2], reason=SAID),
    "a question": lambda shop, ask: ask("recall", query=SAID),
    "a task": lambda shop, ask: ask("task_update", text=f"Put in place {SAID}"),
    "a skill": lambda shop, ask: ask(
        "skill_add", name="deploy", description=f"With {SAID}", body=f"# Deploy\n\n{SAID}\n"
    ),
    "inject": lambda shop, ask: ask("inject", nodes=[{"id": "a", "text": SAID}], edges=[]),
    "an id": lambda shop, ask: ask("show", id=KEY),
    "a claim": lambda shop, ask: ask(
        "add_claim", id=shop.said[3], subject="token", attribute="value", value=TOKEN
    ),
    "a file that is not there": lambda shop, ask: ask("impact", file=f"src/{TOKEN}.py"),
}


def test_it_is_nowhere_after_everything_was_said(machine, shop):
    """In one run: all verbs, as a person and as an agent, commands, hooks, imports, agent files."""
    told = {}

    def ask(agent):
        def asking(operation, **fields):
            client = Client(cwd=str(shop.root), agent=agent)
            try:
                return client.call(operation, **fields)
            except YaadError as error:
                return {"error": error.code.value, "message": error.message, "hint": error.hint}
            finally:
                client.close()

        return asking

    for agent in (None, "claude"):
        for name, way in WAYS.items():
            told[name, agent] = way(shop, ask(agent))
    went_wrong = {name: said for (name, _), said in told.items() if "error" in said}
    assert went_wrong.keys() == {"an id", "a file that is not there"}, went_wrong
    agent = ask("claude")
    session = agent("session_start")
    told["session"] = session
    told["note"] = agent("session_note", session=session.get("id", ""), text=SAID)
    told["end"] = agent("session_end", session=session.get("id", ""), summary=SAID)
    imported = machine.home / "notes.md"
    imported.write_text(f"# Notes\n\n- Always remember that {SAID}\n")
    hook = json.dumps(
        {
            "session_id": "s1",
            "cwd": str(shop.root),
            "hook_event_name": "PostToolUse",
            "tool_name": "Write",
            "tool_input": {"file_path": f"{shop.root}/src/m0.py", "content": SAID},
            "prompt": SAID,
        }
    )
    for command, given in (
        (["import", imported], None),
        (["remember", SAID], None),
        (["recall", SAID], None),
        (["show", TOKEN], None),
        (["export"], None),
        (["hook", "session-start", "--agent", "claude"], hook),
        (["hook", "post-tool-use", "--agent", "claude"], hook),
        (["hook", "user-prompt-submit", "--agent", "claude"], f"not JSON: {SAID}"),
        (["logs"], None),
        (["status", "--json"], None),
        (["doctor", "--json"], None),
    ):
        ran = machine.run(*command, cwd=shop.root, given=given)
        assert "Traceback" not in ran.err, (command, ran.err)
        told[tuple(map(str, command[:2]))] = ran.out + ran.err
    imported.unlink()
    told["an agent of that name"] = ask(f"bot-{TOKEN}")("remember", text="A bot was here")
    shop.write("CLAUDE.md", f"# Rules\n\n- Deploys need {SAID}\n")
    shop.ask("files_sync")
    told["files"] = shop.ask("files_diff")
    told["context"] = shop.ask("context")
    told["handoff"] = ask(None)("handoff")
    told["events"] = happened_in(shop)
    shop.write("CLAUDE.md", "# Rules\n")
    shop.ask("files_sync")
    snapshots = shop.store.parent / "snapshots"
    machine.stop()

    for path, data in every_file(machine.home / "yaad").items():
        if path.is_relative_to(snapshots):
            continue  # the one exception that is named: the person's own file, to the byte
        assert [one for one in SECRETS if one.encode() in data] == [], path
    telling = {
        name: said
        for name, said in told.items()
        if any(one in json.dumps(said, default=str) for one in SECRETS)
    }
    assert telling == {}
    modes = {
        path: stat.S_IMODE(path.stat().st_mode)
        for path in (machine.home / "yaad").rglob("*")
        if not path.is_symlink()
    }
    assert {oct(mode) for path, mode in modes.items() if path.is_dir()} == {"0o700"}
    open_files = [path for path, mode in modes.items() if not path.is_dir() and mode & 0o077]
    assert open_files == []
