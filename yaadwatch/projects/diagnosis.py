"""Derive findings and the commands that mend them from facts about a machine.

Pure: `cli/doctor.py` gathers the facts. Each row of CHECKS looks at one part of them. A new part
is a field of `Facts`, a function in `cli/doctor.py` that gathers it, and a row.
"""

import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

Level = Literal["problem", "todo"]
"""A problem, or a suggestion that the person may ignore."""

DOCTOR: Final = "yaadwatch doctor"
FREE_BYTES_MIN: Final = 200 * 1024 * 1024
"""With less free space on the disk of the data folder, stores may soon take nothing more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One finding.

    `mend`: shell commands that mend it; '' where none does. `advice`: anything else to know or to
    do, in words; '' for nothing.
    """

    check: str
    level: Level
    what: str
    mend: str
    advice: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeFacts:
    """The data folder.

    Args:
        path: its path.
        state: 'absent', 'barred' (absent, and cannot be made), 'file' (not a folder), 'foreign' (of
            another user), 'closed' (not writable), 'read-only' (its disk is not writable) or 'ok'.
        above: of a barred folder, the part of its path that exists.
        aside: a free name for what is in its place.
        is_open: other users may look into it.
        free_bytes: on its disk; None when that is not known.
    """

    path: str
    state: Literal["absent", "barred", "file", "foreign", "closed", "read-only", "ok"]
    above: str = ""
    aside: str = ""
    is_open: bool = False
    free_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsFacts:
    """The settings file: why it cannot be used, or what is wrong in it.

    `is_read`: it could be read, so that an editor can mend it; `aside`: a free name for it.
    """

    path: str
    is_read: bool = True
    aside: str = ""
    error: str = ""
    hint: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonFacts:
    """The daemon.

    Args:
        state: 'answers', 'silent' (a process holds its lock and does not answer), 'absent', or
            'odd' (the answer is not understood).
        pid: of the process that holds the lock.
        is_suspended: whether that process is suspended, for instance by Ctrl-Z.
        version: of the daemon.
        ours: the version of this program.
        said: why it is odd; or the last log line of a daemon that did not start.
        problems: the problems that it reports, and what mends each.
    """

    state: Literal["answers", "silent", "absent", "odd"]
    pid: int | None = None
    is_suspended: bool = False
    version: str = ""
    ours: str = ""
    said: str = ""
    problems: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreFacts:
    """A store.

    Args:
        path: the file.
        root: its work tree; '' for the user store.
        state: 'absent', 'damaged', 'unsound' (some rows are at fault, or were), 'older' (migrated
            at the next use), 'newer' (than this program), 'unusable' or 'ok'.
        said: the message of SQLite or the system.
        backup: of an absent or damaged store, the newest sound copy; '' without one.
        aside: a folder for a damaged store, in which no other is.
        has_root: whether the work tree exists.
    """

    path: str
    root: str = ""
    state: Literal["absent", "damaged", "unsound", "older", "newer", "unusable", "ok"] = "ok"
    said: str = ""
    backup: str = ""
    aside: str = ""
    has_root: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFacts:
    """A coding agent that is used here.

    Args:
        agent: its name.
        title: what people call it.
        state: 'connected', 'outdated' (`connect` would write other content today), 'unconnected' or
            'refused' (its settings cannot be parsed).
        said: why it is refused; the files that are outdated.
        hint: what to do about that.
        todo: what the person still has to do; '' for nothing. Of an unconnected agent: where it is
            connected all the same.
    """

    agent: str
    title: str
    state: Literal["connected", "outdated", "unconnected", "refused"]
    said: str = ""
    hint: str = ""
    todo: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceFacts:
    """The daemon as a service.

    Args:
        altered: its files that are missing or were changed.
        masked: its units that were masked: the service manager does not start them.
        program: the program that it starts, when that is missing; else ''.
        is_reached: whether the service manager answers.
        runs: whether it runs, or will at the next request.
        unlisted: a file of it that no receipt lists; else ''.
    """

    unlisted: str = ""
    altered: tuple[str, ...] = ()
    masked: tuple[str, ...] = ()
    program: str = ""
    is_reached: bool = True
    runs: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class HookFacts:
    """Hooks within a day: how many failed, how many were late, and both in words.

    A late hook sends the agent nothing; its news comes with the next one.
    """

    path: str
    failed: int = 0
    late: int = 0
    said: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Everything that the checks need.

    `git`: the output of `git --version`, '' when git cannot be run; `git_silent`: its path when it
    does not answer in time, else ''; `odd_logs`: logs that are no plain files, each with a free
    name; `receipt`: why it cannot be read, and the command that puts it aside; `obstacles`:
    projects, and what keeps an agent from loading a file there; `misplaced`: projects, and the
    block of a file there that is below a restricting heading; `not_gathered`: facts that could not
    be gathered, and why.
    """

    home: HomeFacts
    settings: SettingsFacts
    daemon: DaemonFacts
    git: str
    hooks: HookFacts
    stores: tuple[StoreFacts, ...] = ()
    agents: tuple[AgentFacts, ...] = ()
    service: ServiceFacts | None = None
    git_silent: str = ""
    odd_logs: tuple[tuple[str, str], ...] = ()
    receipt: tuple[str, str] | None = None
    obstacles: tuple[tuple[str, str], ...] = ()
    misplaced: tuple[tuple[str, str], ...] = ()
    not_gathered: tuple[tuple[str, str], ...] = ()


Found = Iterator[tuple[Level, str, str, str]]
"""Level, what, mend, advice."""


_IN_PROFILE: Final = "say so in the profile of your shell, too."


def _home(facts: Facts) -> Found:
    home = facts.home
    path = shlex.quote(home.path)
    match home.state:
        case "file":
            yield "problem", f"{home.path} is no folder.", _put_aside(home.path, home.aside), ""
        case "foreign":
            what = f"{home.path} belongs to another user."
            advice = f"Keep a home of your own; {_IN_PROFILE}"
            yield "problem", what, 'export YAAD_HOME="$HOME/.yaad-$(id -u)"', advice
        case "closed":
            yield "problem", f"{home.path} may not be written to.", f"chmod u+rwx {path}", ""
        case "read-only":
            what = f"{home.path} is on a disk that is mounted read-only; nothing can be stored."
            advice = "Have it mounted for writing, or set YAAD_HOME to a folder elsewhere; "
            yield "problem", what, "", advice + _IN_PROFILE
        case "absent":
            yield "todo", "No repository is watched yet.", "yaadwatch add .", "In the repository."
        case "barred":
            what = f"{home.path} is not there, and cannot be made in {home.above}."
            yield "problem", what, "", f"Set YAAD_HOME to a folder of your own; {_IN_PROFILE}"
    if home.is_open:
        yield "problem", f"Other users may look into {home.path}.", f"chmod go-rwx {path}", ""


def _space(facts: Facts) -> Found:
    free = facts.home.free_bytes
    if free is not None and free < FREE_BYTES_MIN:
        what = f"{free // 2**20} MiB are free on the disk of {facts.home.path}."
        yield "problem", what, "yaadwatch upkeep && yaadwatch compact", "Free some space first."


def _settings(facts: Facts) -> Found:
    settings = facts.settings
    edit = f"${{EDITOR:-vi}} {shlex.quote(settings.path)}"
    if settings.error and settings.is_read:
        yield "problem", f"{settings.error} {settings.hint}".strip(), edit, ""
    elif settings.error:
        aside = _put_aside(settings.path, settings.aside)
        yield "problem", settings.error, aside, "Or see that you may read it."
    for warning in settings.warnings:
        name = warning.partition(" ")[0]
        mend = f"unset {name}" if _VARIABLE.fullmatch(name) else edit
        yield "problem", warning, f"{mend}; yaadwatch stop", ""


def _daemon(facts: Facts) -> Found:
    daemon = facts.daemon
    match daemon.state:
        case "silent" if daemon.pid is not None and daemon.is_suspended:
            what = f"Process {daemon.pid} is the daemon, and is suspended: nothing is watched."
            yield "problem", what, f"kill -CONT {daemon.pid}", "After Ctrl-Z: fg in its terminal."
        case "silent":
            who = "A process" if daemon.pid is None else f"Process {daemon.pid}"
            what = f"{who} holds the daemon's lock and does not answer."
            lock = shlex.quote(f"{facts.home.path}/daemon.lock")
            advice = "Only if it is not just starting or ending."
            if daemon.pid is None:
                advice = f"{advice} Of those that have the lock open, kill the daemon; {_START}"
                yield "problem", what, f"fuser {lock}", advice
            else:
                yield "problem", what, f"kill {daemon.pid}; {_START}", advice
        case "odd":
            yield "problem", daemon.said, f"yaadwatch stop; {_START}", ""
        case "absent" if facts.home.state != "absent":
            last = f" The last one said: {daemon.said}" if daemon.said else ""
            what = f"The daemon is not running; nothing is watched.{last}"
            yield "problem", what, _START, "Any command that needs the daemon starts it."
    if daemon.version and daemon.version != daemon.ours:
        what = f"The daemon is version {daemon.version}, and this program {daemon.ours}."
        yield "problem", what, f"yaadwatch stop; {_START}", ""
    # Problems of settings and stores are reported above already, and so are those that point to
    # `doctor`. What remedies these are is in words, some of which are commands.
    reported = [f"{store.root}: " for store in facts.stores if store.root and not _is_usable(store)]
    for what, mend in daemon.problems:
        known = what in facts.settings.warnings or what.startswith(tuple(reported))
        # Start of the daemon's message about a missing git, which is reported already.
        known = known or (not facts.git and what.startswith("git is not installed"))
        if not known and mend != DOCTOR:
            yield "problem", what, "", mend


def _service(facts: Facts) -> Found:
    service = facts.service
    if service is None:
        return
    if service.program:
        what = f"The service starts {service.program}, which is not there any more."
        yield "problem", what, "yaadwatch install", ""
    if service.unlisted:
        what = f"{service.unlisted} was written by `yaadwatch install`, and no receipt says so."
        yield "todo", what, "yaadwatch install", "Then `yaadwatch uninstall` can take it away."
    for path in dict.fromkeys(service.altered):
        yield "todo", f"{path} is not as `yaadwatch install` wrote it.", "yaadwatch install", ""
    for path in service.masked:
        unmask = f"systemctl --user unmask {shlex.quote(path.rpartition('/')[2])}"
        yield (
            "problem",
            f"{path} is masked: systemd does not start it.",
            unmask,
            "Then: yaadwatch install",
        )
    if service.is_reached and not service.runs and not service.masked:
        answers = facts.daemon.state == "answers"
        runs = "the daemon runs by itself" if answers else "it was stopped"
        mend = "yaadwatch restart" if answers else "yaadwatch start"
        yield "todo", f"The service does not run: {runs}.", mend, ""


def _receipt(facts: Facts) -> Found:
    if facts.receipt is not None:
        why, aside = facts.receipt
        advice = (
            "What it listed stays as it is. For a new one, as you had them: yaadwatch install,"
            " yaadwatch connect"
        )
        yield "problem", f"What is ours in other programs' files is not known: {why}", aside, advice


def _git(facts: Facts) -> Found:
    if facts.git_silent:
        what = f"{facts.git_silent} does not answer; no repository can be added or checked."
        yield "problem", what, "", "Look at what it is; one that answers must be first on the PATH."
    elif not facts.git:
        yield (
            "problem",
            "git cannot be run; no repository can be added or checked.",
            "",
            "Install git.",
        )


def _stores(facts: Facts) -> Found:
    for store in facts.stores:
        path, root = shlex.quote(store.path), shlex.quote(store.root)
        back, advice = _restore_command(store)
        if not store.has_root:
            advice = "If it moved, say so in its new place first: yaadwatch add ."
            what = f"{store.root} is not there any more."
            yield "problem", what, f"yaadwatch remove {root}", advice
        elif store.state == "absent":
            # Without a user store and a copy of it there is nothing yet, and nothing lost.
            if store.root:
                what = f"The store of {store.root} is not at {store.path}."
                yield "problem", what, back, advice
            elif store.backup:
                yield "problem", f"{store.path} is gone.", back, advice
        elif store.state == "damaged":
            what = f"{store.path} is damaged: {store.said}"
            aside, logs = shlex.quote(store.aside), f"{path}*"
            mend = f"yaadwatch stop; mkdir -p {aside} && mv -n {logs} {aside}/ && {back}"
            yield "problem", what, mend, advice
        elif store.state == "unsound":
            which = f"--project {root}" if store.root else "--user"
            what = f"In {store.path} some rows are not as they were stored: {store.said}"
            yield "problem", what, f"yaadwatch verify --repair {which}", ""
        elif store.state == "newer":
            what = f"{store.path} is of a later version of yaadwatch: {store.said}"
            yield "problem", what, "uv tool upgrade yaadwatch || pipx upgrade yaadwatch", ""
        elif store.state == "unusable":
            yield "problem", f"{store.path} cannot be used: {store.said}", f"ls -l {path}", ""


def _hooks(facts: Facts) -> Found:
    hooks = facts.hooks
    if hooks.said:
        tail = f"tail {shlex.quote(hooks.path)}"
        yield (
            ("problem" if hooks.failed else "todo"),
            f"{hooks.said}.",
            tail,
            _BUSY * bool(hooks.late),
        )


def _logs(facts: Facts) -> Found:
    for log, aside in facts.odd_logs:
        yield "problem", f"{log} is no plain file, so no log.", _put_aside(log, aside), ""


def _agents(facts: Facts) -> Found:
    for agent in facts.agents:
        connect = f"yaadwatch connect {agent.agent}"
        match agent.state:
            case "unconnected":
                yield "todo", f"{agent.title} is not connected.", connect, agent.todo
            case "outdated":
                what = f"{agent.title}: not as `connect` writes it today: {agent.said}"
                yield "problem", what, connect, ""
            case "refused":
                yield "problem", f"{agent.title}: {agent.said}", connect, agent.hint
        if agent.todo and agent.state != "unconnected":
            yield "todo", f"{agent.title} needs you", "", agent.todo


def _files(facts: Facts) -> Found:
    for project, why in facts.obstacles:
        advice = (
            "Until then, the brief of each session has the rules that this file does not bring."
        )
        list_files = f"yaadwatch files list {shlex.quote(project)}"
        yield "todo", f"{project}: {why}.", list_files, advice
    for project, why in facts.misplaced:
        list_files = f"yaadwatch files list {shlex.quote(project)}"
        yield "todo", f"{project}: {why}.", list_files, "Run these commands in that folder."


def _gathered(facts: Facts) -> Found:
    for part, why in facts.not_gathered:
        what = f"Whether anything is wrong with {part} is not known: {why}."
        yield "problem", what, DOCTOR, "When the others are mended."


_BUSY: Final = "Late ones mean a busy machine; their news comes with the next hook that is on time."
_START: Final = "yaadwatch start"
_VARIABLE: Final = re.compile(r"YAAD_[A-Z_]+")
CHECKS: Final[tuple[tuple[str, Callable[[Facts], Found]], ...]] = (
    ("home", _home),
    ("space", _space),
    ("settings", _settings),
    ("git", _git),
    ("stores", _stores),
    ("receipt", _receipt),
    ("service", _service),
    ("daemon", _daemon),
    ("hooks", _hooks),
    ("logs", _logs),
    ("agents", _agents),
    ("files", _files),
    ("doctor", _gathered),
)
"""Each check by its name; a check on which others depend comes first."""


def diagnose(facts: Facts) -> list[Finding]:
    """Return all findings, in the order of the checks."""
    return [
        Finding(check=name, level=level, what=what, mend=mend, advice=advice)
        for name, look in CHECKS
        for level, what, mend, advice in look(facts)
    ]


def _is_usable(store: StoreFacts) -> bool:
    return store.has_root and store.state in {"ok", "older", "unsound"}


def _put_aside(path: str, aside: str) -> str:
    """Return the command that renames a file: with -n, `mv` overwrites nothing."""
    return f"mv -n {shlex.quote(path)} {shlex.quote(aside)}"


def _restore_command(store: StoreFacts) -> tuple[str, str]:
    """Return the command that restores a lost store, from its newest copy if there is one, and the
    advice that follows.
    """
    if store.root:
        restore = "--restore " if store.backup else ""
        return f"yaadwatch add {restore}{shlex.quote(store.root)}", ""
    if store.backup:
        return _START, f"The daemon then takes the newest copy that is whole: {store.backup}"
    reported = (
        "Then in each repository: yaadwatch add --adopt. Its memories are in the data folder."
    )
    return _START, reported
