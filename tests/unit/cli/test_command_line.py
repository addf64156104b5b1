"""How command lines are read, and the process around a command."""

import contextlib
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from recording import command

from yaadwatch.api.operations import OPERATIONS
from yaadwatch.cli import main
from yaadwatch.cli.main import COMMANDS
from yaadwatch.cli.terminal import UNLIMITED
from yaadwatch.client.connection import Client, DaemonNotRunning
from yaadwatch.client.presence import wait_for_exit

ROOT = Path(__file__).parents[3]
SMALL_DAEMON = Path(__file__).parents[1] / "client" / "small_daemon.py"
PATIENCE_S = 20

LINES = {
    "status": "status --watch --json",
    "add": "add /srv/api --adopt --mode read",
    "remove": "remove /srv/api --json",
    "list": "list --project /srv",
    "files": "files sync /srv --accept-deletions CLAUDE.md",
    "remember": "remember some words --kind fix --tier 2 --tag a --tag b --file c --symbol d --pin",
    "recall": "recall some words --top 3 --tokens 400 --kind fix",
    "show": "show ab12",
    "context": "context --tokens 500",
    "tasks": "tasks --state done --state open",
    "task": "task add Move the parser --priority high",
    "skill": "skill show release",
    "sessions": "sessions search slow parser --limit 5",
    "handoff": "handoff --session 5c01f2e4 --tokens 800",
    "stale": "stale --all --no-check",
    "impact": "impact src/auth.ts --no-check",
    "facts": "facts web --all",
    "link": "link 5c01f2e4 depends_on 77aa01bc --weight 0.5",
    "unlink": "unlink 5c01f2e4 depends_on 77aa01bc",
    "subgraph": "subgraph ab12 --depth 3 --kind led_to --view all --nodes 9 --tokens 900",
    "traverse": "traverse ab12 --depth 3 --kind led_to --view all --nodes 9 --direction both",
    "inject": "inject graph.json --dry-run",
    "graph": "graph close 12 --at 2026-03-01",
    "edit": "edit ab12 some new words --version 3",
    "reanchor": "reanchor ab12 --dry-run",
    "check": "check --base main --staged --unjudged --format github",
    "confirm": "confirm ab12",
    "forget": "forget ab12 --reason old",
    "restore": "restore ab12 --version 2",
    "history": "history ab12 --json",
    "pin": "pin ab12",
    "unpin": "unpin ab12",
    "claims": "claims add ab12 api port 8080 --evidence words --edge 3",
    "contradictions": "contradictions --settled",
    "review": "review --edit ab12 Use pnpm",
    "resolve": "resolve 1a2b3c4d --keep ab12 --forget --reason old",
    "gaps": "gaps approve how do we deploy --reason asked",
    "tag": "tag ab12 --add auth",
    "upkeep": "upkeep --dry-run",
    "export": "export memories.jsonl --format markdown --user --force",
    "import": "import memories.jsonl --format yaad --dry-run --user --list",
    "embed": "embed enable minilm --wait --json",
    "verify": "verify --user --repair",
    "compact": "compact --user",
    "backup": "backup --user",
    "daemon": "daemon --supervised",
    "install": "install --dry-run",
    "uninstall": "uninstall --dry-run --json",
    "start": "start --json",
    "stop": "stop --json",
    "up": "up /srv/api",
    "restart": "restart --json",
    "config": "config set watch.poll_s 30 --json",
    "logs": "logs -n 5 --follow --level error",
    "doctor": "doctor",
    "connect": "connect claude --project-level --dry-run",
    "disconnect": "disconnect codex gemini",
    "hook": "hook session-start --agent claude",
    "mcp": "mcp --agent claude",
    "completion": "completion bash",
}
ASKED_BY = {
    "update": "edit",
    "projects": "list",
    "check": "stale",
    "shutdown": "stop",
    "erase": "forget",
    "decide": "review",
    "add_claim": "claims",
    "end_claim": "claims",
    "approve_gap": "gaps",
    "drop_gap": "gaps",
} | dict.fromkeys(
    (
        *("files_diff", "files_sync", "files_history", "files_share", "files_statements"),
        *("files_adopt", "files_release", "files_restore"),
    ),
    "files",
)
ASKED_BY["imports"] = "import"
ASKED_BY |= dict.fromkeys(("graph_stats", "close_link", "delete_edge", "delete_node"), "graph")
ASKED_BY |= dict.fromkeys(("session_start", "session_note", "session_end"), "sessions")
ASKED_BY |= {"task_update": "task", "skills": "skill", "skill_add": "skill"}
ASKED_BY |= {f"embed_{action}": "embed" for action in ("status", "enable", "disable")}
"""Operations that a command of another name asks for."""
WITHOUT = {
    "status",
    "doctor",
    "connect",
    "disconnect",
    "stop",
    "up",
    *("install", "uninstall", "start", "restart", "logs", "config"),
    "daemon",
    "hook",
    "mcp",
    "completion",
    "check",
}
each_command = pytest.mark.parametrize("name", COMMANDS)


@each_command
def test_one_command_alone_reads_its_line_as_the_whole_would(name):
    line = LINES[name].split()

    alone = vars(main.parse(line))
    whole = vars(main.full_parser().parse_args(line))

    assert alone == whole


@each_command
def test_the_help_of_every_command_has_two_examples_that_can_be_read(name, capsys):
    with pytest.raises(SystemExit) as raised:
        main.parse([name, "--help"])

    shown = capsys.readouterr().out
    examples = shown.split("examples:\n")[1].splitlines()
    assert raised.value.code == 0
    assert len(examples) >= 2
    assert all("yaadwatch" in example for example in examples)


@pytest.mark.parametrize("name", [None, *COMMANDS])
def test_help_fits_a_terminal_of_80_columns(name, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main.parse(["--help"] if name is None else [name, "--help"])

    shown = capsys.readouterr().out
    assert [line for line in shown.splitlines() if len(line) > 80] == []


def test_help_has_the_commands_by_what_they_are_about(capsys):
    with pytest.raises(SystemExit):
        main.parse(["--help"])

    shown = capsys.readouterr().out
    for about, (first, *_) in main.GROUPS.items():
        assert f"\n  {about}:\n    {first} " in shown


@each_command
def test_only_what_needs_the_daemon_itself_starts_it(name):
    starts = main.parse(LINES[name].split()).starts_daemon

    assert starts == (name not in WITHOUT)


def test_every_operation_for_the_command_line_has_a_command():
    asked = {row.name for row in OPERATIONS if "cli" in row.wires}

    assert {ASKED_BY.get(name, name) for name in asked} <= COMMANDS.keys()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("recal jose", "The nearest one is: yaadwatch recall"),
        ("lst", "The nearest one is: yaadwatch list"),
        ("frobnicate", "All commands: yaadwatch --help"),
        ("foo", "All commands: yaadwatch --help"),
        ("recall", "the following arguments are required: WORDS"),
        ("edit", "the following arguments are required: ID. Nothing was done."),
        ("recall x --top many", "'many' is not a whole number"),
        ("stale --al", "unrecognized arguments: --al"),
        ("stale --check --no-check", "not allowed with argument --check"),
        ("completion ksh", "no such choice: 'ksh'"),
    ],
)
def test_a_command_line_that_makes_no_sense_is_told_and_ends_with_2(line, told):
    ran = command(*line.split())

    assert ran.status == 2
    assert told in ran.err
    assert "Nothing was done." in " ".join(ran.err.split())
    assert ran.calls == []


@pytest.mark.parametrize(
    "line",
    ["--json recall a b", "--project /srv recall a b --json", "--project=/srv --json recall a b"],
)
def test_what_every_command_takes_may_stand_before_it(line):
    read = main.parse(line.split())

    assert read.query == ["a", "b"]
    assert read.json
    assert read.project == ("/srv" if "/srv" in line else None)


@pytest.mark.parametrize("line", ["", "--json", "--project /srv", "--watch", "--project"])
def test_without_a_command_it_is_status(line):
    if line == "--project":
        assert "expected one argument" in command("--project").err
    else:
        assert main.parse(line.split()).run.__name__ == "status"


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh", "fish"])
def test_completion_knows_every_command(shell):
    pytest.importorskip("shtab")

    ran = command("completion", shell)

    assert ran.status == 0
    assert all(name in ran.out for name in COMMANDS)


def test_completion_without_its_package_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "shtab", None)

    ran = command("completion", "bash")

    assert ran.status == 3
    assert "uv tool install 'yaadwatch[completion]'" in ran.err


@pytest.fixture
def environment(tmp_path):
    """The environment of a person of their own."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return kept | {
        "HOME": str(tmp_path),
        "YAAD_HOME": str(tmp_path / "yaad"),
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


@pytest.fixture
def daemon(environment, monkeypatch):
    """A small daemon that answers `status`."""
    monkeypatch.setenv("YAAD_HOME", environment["YAAD_HOME"])
    running = subprocess.Popen([sys.executable, SMALL_DAEMON], env=environment)
    end = time.monotonic() + PATIENCE_S
    while not _answers():
        assert time.monotonic() < end
        time.sleep(0.01)
    yield running
    with contextlib.suppress(DaemonNotRunning), contextlib.closing(Client(cwd="/")) as client:
        client.call("shutdown")
    running.wait(PATIENCE_S)
    assert wait_for_exit(PATIENCE_S)


def _answers():
    with contextlib.suppress(DaemonNotRunning), contextlib.closing(Client(cwd="/")) as client:
        return client.connect()
    return False


def run(*argv, environment, **options):
    return subprocess.run(
        [sys.executable, "-m", "yaadwatch", *argv],
        env=environment,
        cwd="/",
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        **options,
    )


def test_stop_ends_a_real_daemon(daemon, environment):
    ran = run("stop", environment=environment)

    assert (
        ran.stdout == f"The daemon has stopped (pid {daemon.pid}). Any command starts it again.\n"
    )
    assert daemon.wait(PATIENCE_S) == 0
    assert run("stop", environment=environment).stdout == "No daemon is running.\n"


HEAVY = {
    "apsw",
    "asyncio",
    "click",
    "concurrent.futures",
    "dataclasses",
    "datetime",
    "difflib",
    "inspect",
    "logging",
    "pathlib",
    "pygit2",
    "shtab",
    "shutil",
    "subprocess",
    "tempfile",
    "threading",
    "traceback",
    "typing",
    "urllib",
    "yaadwatch.api.codec",
    "yaadwatch.cli.connect",
    "yaadwatch.cli.daemon",
    "yaadwatch.cli.memories",
    "yaadwatch.cli.service",
    "yaadwatch.client.autostart",
    "yaadwatch.anchors",
    "yaadwatch.daemon",
    "yaadwatch.db",
    "yaadwatch.memory",
    "yaadwatch.projects",
    "yaadwatch.recall",
    "yaadwatch.remember",
    "yaadwatch.repo",
    "yaadwatch.sessions",
    "yaadwatch.staleness",
    "yaadwatch.sync",
    "yaadwatch.system",
    "yaadwatch.workspace",
}


def test_status_for_a_program_imports_nothing_heavy(daemon, environment):
    program = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); before = set(sys.modules);"
        " from yaadwatch.cli.main import main; status = main(['status', '--json']);"
        " print(*(set(sys.modules) - before), file=sys.stderr); sys.exit(status)"
    )
    ran = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )

    imported = set(ran.stderr.split())
    assert ran.returncode == 0
    assert "yaadwatch.cli.status" in imported
    assert imported & HEAVY == set()


def test_a_closed_pipe_ends_quietly(daemon, environment):
    piped = subprocess.run(
        ["/bin/sh", "-c", f"{sys.executable} -m yaadwatch status --watch --json | head -n 1"],
        env=environment,
        cwd="/",
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )

    assert piped.stdout.count("\n") == 1
    assert piped.stderr == ""


def test_ctrl_c_ends_quietly_with_130(daemon, environment):
    # It hears interrupts, even when the tests run where they are ignored: behind an `&`.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        watching = subprocess.Popen(
            [sys.executable, "-m", "yaadwatch", "status", "--watch", "--json"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    finally:
        signal.signal(signal.SIGINT, before)
    with watching:
        assert watching.stdout.readline().startswith("{")
        watching.send_signal(signal.SIGINT)
        _, err = watching.communicate(timeout=PATIENCE_S)

    assert (watching.returncode, err) == (130, "")


@pytest.mark.parametrize(("more", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colours_are_for_terminals_without_no_color(environment, more, coloured):
    ours, theirs = pty.openpty()
    status = subprocess.call(
        [sys.executable, "-m", "yaadwatch", "status"],
        env=environment | {"TERM": "xterm"} | more,
        cwd="/",
        stdout=theirs,
        timeout=PATIENCE_S,
    )
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    os.close(theirs)

    assert status == 0
    assert ("\x1b[1m" in shown) is coloured
    assert "is not running" in shown


def test_a_daemon_that_cannot_start_is_told_with_its_last_words(environment):
    """Where its lock would be stands a folder."""
    lock = Path(environment["YAAD_HOME"]) / "daemon.lock"
    lock.mkdir(parents=True)
    lock.parent.chmod(0o700)

    ran = run("list", environment=environment)

    assert ran.returncode == 3
    assert "daemon.lock cannot be opened (Is a directory)" in ran.stderr
    assert "Traceback" not in ran.stderr


ODD = os.fsdecode(b"caf\xe9")
"""As the system gives an argument that is not UTF-8."""
TEXTS = (
    ["remember", ODD],
    ["remember", "words", "--tag", ODD],
    ["remember", "words", "--attribute", f"owner={ODD}"],
    ["recall", ODD, "--json"],
    ["edit", "ab12cd34", ODD],
    ["sessions", "note", "--session", "ab12cd34", ODD],
    ["link", "ab12cd34", "led_to", "cd34ab12", "--attributes", f'{{"by": "{ODD}"}}'],
    ["config", "set", "agent_files.also", ODD],
    ["impact", ODD],
)


@pytest.mark.parametrize("line", TEXTS, ids=lambda line: line[0])
def test_a_text_that_is_not_utf_8_is_refused_by_every_command_before_anything_is_asked(line):
    ran = command(*line)

    assert (ran.status, ran.calls) == (2, [])
    said = ran.out + ran.err
    assert "An argument is not text in UTF-8" in said
    assert "Nothing was done" in said
    assert r"caf\xe9" in said.replace("\\\\", "\\")
    assert "iconv" in said


@pytest.mark.parametrize("line", ["import {}", "export {} --force", "inject {}"])
def test_the_name_of_a_file_that_we_open_ourselves_need_not_be_utf_8(line):
    args = main.parse(line.format(ODD).split())

    assert ODD in vars(args).values()


FULL = Path("/dev/full")


@pytest.mark.covering
@pytest.mark.skipif(not FULL.exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize("buffered", ["", "1"], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize(
    ("line", "ends"),
    [
        ("status", 3),
        ("status --json", 3),
        ("show --help", 3),
        ("--version", 3),
        ("completion bash", 3),
        ("doctor", 5),
        ("status --no-such-option --json", 2),
    ],
)
def test_an_output_that_cannot_be_written_is_told_as_that(
    daemon, environment, line, ends, buffered
):
    with FULL.open("w") as full:
        ran = subprocess.run(
            [sys.executable, "-m", "yaadwatch", *line.split()],
            env=environment | {"PYTHONUNBUFFERED": buffered},
            cwd="/",
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=PATIENCE_S,
        )

    assert ran.returncode == ends
    assert ran.stderr.count("yaadwatch: ") >= 1
    assert "Traceback" not in ran.stderr
    assert "Exception ignored" not in ran.stderr
    if ends != 2:
        assert "Standard output cannot be written (No space left on device)." in ran.stderr


def test_a_folder_whose_name_is_not_utf_8_is_refused_by_its_name(tmp_path, monkeypatch):
    (tmp_path / ODD).mkdir()
    monkeypatch.chdir(tmp_path / ODD)

    ran = command("add", width=UNLIMITED)

    assert (ran.status, ran.calls) == (4, [])
    assert "is not UTF-8; it cannot be watched" in ran.err
    assert "Rename the folder" in ran.err
