"""The command `doctor`: find what is wrong, and name the command that repairs it.

Each fact is gathered on its own, whatever state the others are in. Nothing here needs a daemon or a
store that opens, and nothing is written.
"""

import contextlib
import itertools
import os
import shutil
import stat
import subprocess
from argparse import Namespace
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from yaadwatch import places
from yaadwatch.cli.commands import prints
from yaadwatch.cli.terminal import Terminal, count, styled
from yaadwatch.client import hook_log
from yaadwatch.client.connection import DaemonNotRunning
from yaadwatch.client.presence import daemon_holds_lock, suspended
from yaadwatch.connect import connect
from yaadwatch.db import checks, soundness
from yaadwatch.install.plans import service_state
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.projects import diagnosis
from yaadwatch.projects.diagnosis import (
    AgentFacts,
    DaemonFacts,
    Facts,
    HomeFacts,
    HookFacts,
    ServiceFacts,
    SettingsFacts,
    StoreFacts,
)
from yaadwatch.system import config, files
from yaadwatch.system.clock import Clock
from yaadwatch.system.settings_files import UnreadableError
from yaadwatch.text.privacy import mask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yaadwatch.client.connection import Client


def _doctor(_: Namespace, client: "Client", __: Terminal) -> dict[str, Any]:
    try:
        return examine(client.call, client.beside(PROJECT_TIME_S).call)
    except RuntimeError as error:
        hint = "Set HOME, or YAAD_HOME to a folder of your own"
        raise YaadError(Code.UNAVAILABLE, str(error), hint=hint) from None


@prints(
    "doctor",
    ask=_doctor,
    status=lambda answer: 0 if answer["sound"] else 1,
    starts_daemon=False,
    exit_on_error=5,
)
def doctor(answer: dict[str, Any], terminal: Terminal, _: Namespace) -> None:
    """Find out what is wrong, with the command that fixes it.

    Looks at the data folder, disk space, settings, git, stores, daemon, service,
    hooks, logs and agents. Works without a daemon and with a damaged store; starts
    nothing, writes nothing.

    Exit status: 0 nothing is wrong (there may be something left for you to do), 1
    something is wrong, 5 could not be found out.

    examples:
      yaadwatch doctor         when something does not work
      yaadwatch doctor --json  for scripts
    """
    problems = [one for one in answer["findings"] if one["level"] == "problem"]
    left = [one for one in answer["findings"] if one["level"] == "todo"]
    if problems:
        terminal.line(styled(f"{count(len(problems), 'problem')} found", "bold"))
        _print_findings(problems, terminal, "red", "fix: ")
    else:
        looked = ", ".join(name for name in answer["checks"] if name != "doctor")
        terminal.line(styled("No problems found.", "bold"), f" Checked: {looked}.")
    if left:
        terminal.gap()
        terminal.line(styled("For you to do", "bold"))
        _print_findings(left, terminal, "yellow", "")
    if answer["agents"]:
        states = {
            "connected": "connected",
            "outdated": "connected, but out of date",
            "unconnected": "not connected",
            "refused": "left alone",
        }
        terminal.gap()
        terminal.line(styled("Agents", "bold"))
        terminal.table([(str(one["title"]), states[one["state"]]) for one in answer["agents"]])


def _print_findings(
    findings: list[dict[str, Any]], terminal: Terminal, colour: str, label: str
) -> None:
    """Print findings; each command on its own line, ready to copy, and the remarks below it."""
    for one in findings:
        terminal.line(styled(str(one["what"]), colour), indent=2)
        if one["mend"]:
            terminal.command(label, str(one["mend"]), indent=4)
        if one["advice"]:
            terminal.line(str(one["advice"]), indent=4, hang=6)


Ask = Callable[..., dict[str, Any]]
"""Asks the daemon for an operation; raises as `Client.call`."""

PROJECT_TIME_S: Final = 4.0
"""A project is waited for this long, and no further project once SILENT_MAX were silent."""
SILENT_MAX: Final = 3
LOG_BYTES: Final = 64 * 1024
"""What is read of the end of a log."""


def gather(ask: Ask, briefly: Ask, now: datetime, environ: Mapping[str, str]) -> Facts:
    """Return all facts.

    Args:
        ask: asks the daemon.
        briefly: asks it, and waits for no longer than PROJECT_TIME_S.
        now: the present time.
        environ: the environment of this process.

    Raises:
        RuntimeError: the data folder is unknown.
    """
    stores, odd = _stores()
    agents, odd_agents = _agents()
    service, odd_service = _service(environ)
    lacking = [("the service", odd_service), ("your agents", odd_agents)]
    git, git_silent = _git()
    receipts = [why for _, why in lacking if isinstance(why, UnreadableError)]
    logs = (places.log_file(), places.start_log(), Path(places.hook_log()))
    odd_logs = [str(log) for log in logs if os.path.lexists(log) and not _is_plain(log)]
    daemon = _daemon(ask)
    obstacles, misplaced, silent = (
        _files(ask, briefly) if daemon.state == "answers" else ((), (), ())
    )
    data_folder = places.data_folder()
    hooks = hook_log.count(places.hook_log(), now)
    return Facts(
        home=_home(data_folder),
        settings=_settings(data_folder / "config.toml", environ),
        daemon=daemon,
        obstacles=obstacles,
        misplaced=misplaced,
        git=git,
        git_silent=git_silent,
        hooks=HookFacts(
            path=places.hook_log(),
            failed=hooks.failed,
            late=hooks.late,
            said=mask(hooks.in_words()).text,
        ),
        stores=stores,
        agents=agents,
        service=service,
        odd_logs=tuple((log, files.free_name(f"{log}.odd")) for log in odd_logs),
        receipt=(receipts[0].why, receipts[0].mend) if receipts else None,
        not_gathered=(
            *odd,
            *((part, why.message) for part, why in lacking if why and why not in receipts),
            *silent,
        ),
    )


def _home(path: Path) -> HomeFacts:
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        above = next(folder for folder in path.parents if os.path.lexists(folder))
        if above.is_dir() and os.access(above, os.W_OK | os.X_OK):
            return HomeFacts(path=str(path), state="absent")
        return HomeFacts(path=str(path), state="barred", above=str(above))
    except OSError:
        return HomeFacts(path=str(path), state="closed")
    if not path.is_dir():
        return HomeFacts(path=str(path), state="file", aside=files.free_name(f"{path}.away"))
    if found.st_uid != os.geteuid():
        return HomeFacts(path=str(path), state="foreign")
    if files.takes_nothing(path) == "read-only":
        return HomeFacts(path=str(path), state="read-only")
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        return HomeFacts(path=str(path), state="closed")
    return HomeFacts(
        path=str(path),
        state="ok",
        # Closed to others, it hides its files whatever their modes are.
        is_open=bool(found.st_mode & 0o077),
        free_bytes=shutil.disk_usage(path).free,
    )


def _settings(path: Path, environ: Mapping[str, str]) -> SettingsFacts:
    try:
        loaded = config.load(path, environ)
    except YaadError as error:
        return SettingsFacts(
            path=str(path),
            aside=files.free_name(f"{path}.unreadable"),
            error=mask(error.message).text,
            hint=error.hint,
            is_read=error.code is not Code.UNAVAILABLE,
        )
    return SettingsFacts(path=str(path), warnings=tuple(mask(one).text for one in loaded.warnings))


def _daemon(ask: Ask) -> DaemonFacts:
    # Every daemon holds the lock. Where none does, a service manager may hold the socket, and would
    # start one for the next client.
    if not daemon_holds_lock():
        return DaemonFacts(state="absent", said=_last_words())
    try:
        status = ask("status")
        daemon, problems = status["daemon"], status["problems"]
        return DaemonFacts(
            state="answers",
            pid=daemon.get("pid"),
            version=str(daemon.get("version") or ""),
            ours=places.VERSION,
            problems=tuple((str(one["what"]), str(one["mend"])) for one in problems),
        )
    except YaadError as error:
        not_running = isinstance(error, DaemonNotRunning)
        if not_running and not daemon_holds_lock():
            return DaemonFacts(state="absent", said=_last_words())
        if not_running or error.code is Code.TIMEOUT:
            pid = places.announced_pid()
            is_suspended = pid is not None and pid == suspended()
            return DaemonFacts(state="silent", pid=pid, is_suspended=is_suspended)
        return DaemonFacts(state="odd", said=f"{error.message} {error.hint}".strip())
    except (KeyError, TypeError, AttributeError):
        return DaemonFacts(state="odd", said="What the daemon says of itself makes no sense here.")


_Pairs = tuple[tuple[str, str], ...]


def _files(ask: Ask, briefly: Ask) -> tuple[_Pairs, _Pairs, _Pairs]:
    """Return what keeps agents from loading agent files, and which blocks are misplaced, each with
    the path of its project; and the projects that did not answer.
    """
    found, misplaced, silent, failed = [], [], [], []
    with contextlib.suppress(YaadError, KeyError, TypeError, AttributeError):
        for project in ask("status")["projects"][:20]:
            path = str(project["path"])
            about = f"the agent files of {path}"
            if project.get("state", "ok") != "ok":
                continue  # its problem is that of the project
            if project.get("git_silent_since"):
                silent.append((about, "git does not answer there"))
                continue
            if len(silent) >= SILENT_MAX:
                silent.append((about, "the projects before it are silent"))
                continue
            try:
                files = briefly("files", project=path)
            except YaadError as error:
                if error.code is Code.TIMEOUT:
                    why = f"the daemon did not answer within {PROJECT_TIME_S:g} s"
                    silent.append((about, why))
                else:
                    failed.append((about, mask(error.message).text))
                continue
            misplaced += [(path, mask(str(why)).text) for why in files["misplaced"]]
            obstacles = (why for agent in files["agents"] for why in agent["obstacles"])
            found += [(path, mask(str(why)).text) for why in obstacles]
    return tuple(found), tuple(misplaced), (*failed, *silent)


def _last_words() -> str:
    """Return why the last background start failed; '' when it did not.

    The start log has only errors from before the daemon's log was open.
    """
    log = places.start_log()
    with contextlib.suppress(OSError):  # one is not there: nothing was said, or nothing since
        if places.log_file().stat().st_mtime_ns > log.stat().st_mtime_ns:
            return ""
    lines: list[str] = []
    with contextlib.suppress(OSError):
        if _is_plain(log):
            with log.open("rb") as stream:
                stream.seek(max(0, log.stat().st_size - LOG_BYTES))
                lines = stream.read(LOG_BYTES).decode("utf-8", "replace").splitlines()
    ours = [line for line in lines if line.startswith("yaadwatch: ")]
    return mask(ours[-1].removeprefix("yaadwatch: ")).text if ours else ""


def _git() -> tuple[str, str]:
    """Return git's version, and its path when it does not answer in time."""
    try:
        done = subprocess.run(
            ["git", "--version"], capture_output=True, text=True, timeout=5.0, check=False
        )
    except subprocess.TimeoutExpired:
        return "", shutil.which("git") or "git"
    except OSError:
        return "", ""
    return done.stdout.strip() if done.returncode == 0 else "", ""


def _stores() -> tuple[tuple[StoreFacts, ...], _Pairs]:
    user = checks.inspect_store(places.user_store(), "user")
    found = [_store(user, "", "user")]
    if user.state == "absent":
        return tuple(found), ()
    known = places.user_store() if user.state in {"ok", "unsound"} else Path(found[0].backup)
    if user.state not in {"ok", "unsound"} and not found[0].backup:
        return tuple(found), (("your projects", "their list is in that store"),)
    try:
        projects = checks.projects(known)
    except YaadError as error:
        return tuple(found), (("the projects", error.message),)
    for project in projects:
        looked = checks.inspect_store(places.project_store(project.id), "project")
        found.append(_store(looked, str(project.root), project.id))
    return tuple(found), ()


def _store(looked: checks.StoreState, root: str, whose: str) -> StoreFacts:
    role = "project" if root else "user"
    lost = looked.state in {"absent", "damaged"}
    backup = soundness.newest_sound_copy(places.backups(whose), role=role) if lost else None
    aside, taken = f"{looked.path.parent}/damaged", f"{looked.path.name}*"
    places_aside = (f"{aside}/{number}" if number > 1 else aside for number in itertools.count(1))
    return StoreFacts(
        path=str(looked.path),
        root=root,
        state=looked.state,
        said=looked.said,
        backup="" if backup is None else str(backup),
        aside=next(place for place in places_aside if not any(Path(place).glob(taken))),
        has_root=not root or os.path.isdir(root),  # noqa: PTH112
    )


def _is_plain(log: Path) -> bool:
    """Return whether a log is a plain file: a link or pipe may never end."""
    try:
        return stat.S_ISREG(log.lstat().st_mode)
    except OSError:
        return False


def _service(environ: Mapping[str, str]) -> tuple[ServiceFacts | None, YaadError | None]:
    try:
        return service_state(Path.home(), environ), None
    except YaadError as error:
        return None, error


def _agents() -> tuple[tuple[AgentFacts, ...], YaadError | None]:
    try:
        rows = connect.connection_rows(connect.this_machine(None))
    except YaadError as error:
        return (), error
    return tuple(
        AgentFacts(
            agent=row["agent"],
            title=row["title"],
            state=row["state"],
            said=row.get("reason") or ", ".join(row["files"]),
            hint=row.get("hint", ""),
            todo=row.get("todo", ""),
        )
        for row in rows
    ), None


def examine(ask: Ask, briefly: Ask) -> dict[str, Any]:
    """Return what is wrong on this machine; the answer is Examined.

    Args:
        ask: asks the daemon for an operation; raises as `Client.call`.
        briefly: the same, but gives up after PROJECT_TIME_S.

    Raises:
        RuntimeError: the data folder is unknown.
    """
    facts = gather(ask, briefly, Clock().now(), os.environ)
    found = diagnosis.diagnose(facts)
    return {
        "sound": not any(one.level == "problem" for one in found),
        "checks": [name for name, _ in diagnosis.CHECKS],
        "findings": [_row(one) for one in found],
        "agents": [_row(one, "agent", "title", "state", "todo") for one in facts.agents],
    }


def _row(one: diagnosis.Finding | AgentFacts, *names: str) -> dict[str, Any]:
    """Return the fields of a finding or an agent; null for an empty text."""
    return {
        name: value or None for name, value in asdict(one).items() if not names or name in names
    }
