"""Answer the hooks of coding agents: the command `yaadwatch hook`.

At the start of a session or sub-agent the answer is the brief; with a prompt, what is new since;
after a changed file, the memories that rest on it. The forms of each agent are in `hook_agents`.

The agent waits, so a hook takes 150 ms at most, and 2 s at the start of a session. When the daemon
is late, the brief is read from the file that the daemon prepared; any other answer is left out. The
status is always 0; errors are one line on standard error and in the log. Like the shim, it can be
run as a file with `python -I -S`.
"""

import json
import os
import signal
import sys
import time
from binascii import crc32

if not __package__:  # run as a file
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))  # noqa: PTH100, PTH120

from yaadwatch import places
from yaadwatch.api.frames import encode
from yaadwatch.client.connection import hello, reach_daemon
from yaadwatch.client.hook_agents import (
    AGENTS,
    EVENTS,
    Agent,
    WrongPayloadError,
    prepared_brief,
    with_age,
)
from yaadwatch.model.errors import YaadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn


LIMIT_S = 0.150
"""From the start of the process to its end, in the middle of a session."""
START_LIMIT_S = 2.0
"""The same when a session or a sub-agent starts. Agents allow 5 s there, and often a build runs."""
PAYLOAD_BYTES_MAX = 16 * 1024 * 1024
LOG_BYTES_MAX = 256 * 1024
"""The log of hooks is truncated when it is longer than this."""
NOTES_MAX = 200
NOTE_AGE_MAX_S = 7 * 86_400
"""How many sessions without a brief are noted, and for how long; then they are forgotten."""

_SPARE_S = 0.015  # to end, and for a clock that ticks a hundred times a second
_START_SPARE_S = 0.500  # to read the prepared brief while others have the processor
_END_S = 0.5  # to end once it is too late: a few steps, unless a disk hangs
_BRIEF_END_S = 2.0  # the same where a brief is due; agents allow 5 s in all
_STARTS = ("session-start", "subagent-start")


class HookFailure(Exception):
    """Why there is no answer for the agent, in a line."""


class NoAnswerError(HookFailure):
    """The daemon gave no answer."""


class Call:
    """What the agent asks: the command line and the payload, as far as they are read."""

    def __init__(self) -> None:
        self.event = ""
        self.name = ""
        self.session = ""
        self.payload: dict[str, Any] | None = None
        self.nothing = b""
        self._data = bytearray()

    def read(self, argv: "Sequence[str]") -> None:
        """Read the command line, then the payload on standard input.

        Raises:
            HookFailure: one of them makes no sense.
            OSError: there is no standard input.
        """
        self.event, self.name = _asked(argv)
        nothing = AGENTS[self.name].nothing
        self.nothing = b"" if nothing is None else encode(nothing)
        while chunk := os.read(0, 65536):
            self._data += chunk
            if len(self._data) > PAYLOAD_BYTES_MAX:
                raise HookFailure(f"the payload has more than {PAYLOAD_BYTES_MAX} bytes")
        self._parse()

    def read_at_hand(self) -> None:
        """Read what is there of the payload, without waiting for the rest."""
        if self.payload is not None or not self.name:
            return
        try:
            os.set_blocking(0, False)
            self._data += os.read(0, 65536)
        except OSError:  # nothing more is there just now
            pass
        try:
            self._parse()
        except HookFailure:
            return

    @property
    def agent(self) -> Agent:
        """Return how the agent's hooks are answered."""
        return AGENTS[self.name]

    @property
    def folder(self) -> str:
        """Return the folder that the agent works on."""
        environment = os.environ.get("CLAUDE_PROJECT_DIR")
        return self.agent.folder_of(self.payload or {}) or environment or os.getcwd()  # noqa: PTH109

    @property
    def hears(self) -> bool:
        """Return whether the model hears the answer to this hook, or only to the next one."""
        return self.event != "post-tool-use" or not self.agent.hears_prompts

    @property
    def wants_brief(self) -> bool:
        """Return whether the brief is due: a session starts, or has not got it yet."""
        if self.event == "session-end" or not self.name:
            return False
        return self.event in _STARTS or (self.hears and _is_undelivered(self.name, self.session))

    def answer(self, text: str) -> bytes:
        """Return the answer that brings a text to the model, in JSON of the agent's own form."""
        if not text:
            return self.nothing
        return encode(self.agent.tell(self.agent.names[self.event], text))

    def _parse(self) -> None:
        try:
            found = json.loads(self._data)
        except (ValueError, RecursionError) as error:
            raise HookFailure(f"the payload is not JSON: {error}") from None
        if not isinstance(found, dict):
            raise HookFailure("the payload is not a JSON object")
        self.payload = found
        self.session = self.agent.session_of(found)
        if self.event == "session-start" and self.agent.is_subagent(found):
            self.event = "subagent-start"


def main(argv: "Sequence[str]") -> "NoReturn":
    """Answer one hook on standard input and output, and end the process with status 0.

    Args:
        argv: the event, and `--agent NAME`.
    """
    starts = bool(argv) and argv[0] in _STARTS
    limit_s, spare_s = (START_LIMIT_S, _START_SPARE_S) if starts else (LIMIT_S, _SPARE_S)
    end_s = time.monotonic() + limit_s - spare_s - _age_s()
    call = Call()

    def give_up(why: str, kind: str = "hook.failed") -> "NoReturn":
        _end_quietly()
        signal.setitimer(signal.ITIMER_REAL, max(spare_s, _BRIEF_END_S if starts else _END_S))
        call.read_at_hand()
        if call.wants_brief:
            signal.setitimer(signal.ITIMER_REAL, max(spare_s, _BRIEF_END_S))
        _end_with(call, why, kind)

    late = f"the daemon did not answer within {limit_s * 1000:.0f} ms"
    sys.excepthook = lambda _, error, __: give_up(f"a fault of ours: {_named(error)}")
    signal.signal(signal.SIGALRM, lambda number, frame: give_up(late, "hook.late"))  # noqa: ARG005
    signal.setitimer(signal.ITIMER_REAL, max(end_s - time.monotonic(), 0.001))
    why, is_ours = "", False
    try:
        call.read(argv)
        text, settles = _answer(call, end_s)
    except (HookFailure, WrongPayloadError) as trouble:
        why, is_ours = str(trouble), isinstance(trouble, NoAnswerError)
    except YaadError as error:
        why, is_ours = error.message, True
    except (OSError, ValueError, RuntimeError) as error:
        why, is_ours = _named(error), call.payload is not None
    _end_quietly()
    # What there is must get out, also where the answer came in the last moment.
    signal.setitimer(signal.ITIMER_REAL, max(spare_s, _BRIEF_END_S if call.wants_brief else _END_S))
    if why:
        _end_with(call, why, "hook.failed", may_use_prepared=is_ours)
    said = _print_line(call.answer(text))
    if said and settles:
        _forget_undelivered(call.name, call.session)
    elif call.event == "session-start":
        _note_undelivered(call.name, call.session)
    # Not by returning: Python resets signals at its end, and the alarm would become the status.
    os._exit(0)


def _end_with(call: Call, why: str, kind: str, *, may_use_prepared: bool = True) -> "NoReturn":
    """End without the daemon's answer: with the prepared brief if one is due and exists."""
    text, age = "", ""
    try:
        if may_use_prepared and call.wants_brief:
            text, age = _prepared(call)
    except (OSError, ValueError, RuntimeError, WrongPayloadError) as error:
        why = f"{why}; the prepared brief cannot be read: {_named(error)}"
    said = _print_line(call.answer(text))
    if said and text and call.event != "subagent-start":
        _note_undelivered(call.name, call.session, _digest_of(text))
    elif call.event == "session-start":
        _note_undelivered(call.name, call.session)
    complain(f"{why}; {age}" if text else why, kind, sent=bool(text))
    _read_out()
    os._exit(0)


def _prepared(call: Call) -> tuple[str, str]:
    """Return the prepared brief with a line about its age, and the age as text; or nothing."""
    is_short = call.event == "subagent-start"
    brief, age = prepared_brief(call.folder, call.name, is_short=is_short)
    if not brief or (not is_short and _digest_of(brief) == _noted(call.name, call.session)):
        return "", ""
    return with_age(brief, age), f"the brief of {age} ago was sent"


def _digest_of(brief: str) -> str:
    """Return a digest of the sections of a brief; the lines before them differ each time."""
    at = brief.find("\n## ")
    return f"{crc32(brief[max(at, 0) :].encode('utf-8', 'surrogatepass')):08x}"


def _named(error: BaseException) -> str:
    """Return the error's type and place in our code, without words from the payload."""
    where = error.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    place = f" in {where.tb_frame.f_code.co_name}, line {where.tb_lineno}" if where else ""
    strerror = getattr(error, "strerror", None)
    return f"{type(error).__name__}{f' ({strerror})' if strerror else ''}{place}"


def complain(what: str, kind: str = "hook.failed", *, sent: bool = False) -> None:
    """Report an error in one line, in the log and on standard error.

    First in the log, which `doctor` reads: few agents show the output of a hook with status 0, and
    the time may end in between.

    Args:
        what: went wrong.
        kind: the event in the log: hook.failed or hook.late.
        sent: whether the agent got an answer all the same.
    """
    line = " ".join(what.split())
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    entry = {"at": stamp, "event": kind, "why": line, "sent": sent}
    try:
        path = places.hook_log()
        again = os.path.exists(path) and os.stat(path).st_size > LOG_BYTES_MAX  # noqa: PTH110, PTH116
        how = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | (os.O_TRUNC if again else os.O_APPEND)
        _write(path, how, encode(entry))
    except (OSError, RuntimeError):  # without a data folder there is only standard error
        pass
    outcome = "" if sent else "nothing was sent to the agent: "
    try:
        os.write(2, f"yaadwatch: {outcome}{line}\n".encode("utf-8", "replace"))
    except OSError:  # standard error is closed; the line is in the log
        return


def _write(path: str, how: int, data: bytes) -> None:
    descriptor = os.open(path, how, 0o600)
    try:
        os.write(descriptor, data)
    finally:
        os.close(descriptor)


def _answer(call: Call, end_s: float) -> tuple[str, bool]:
    """Return what the daemon says; empty when that is nothing.

    And whether that settles the session: the answer is its brief, or the session is over.
    """
    payload = call.payload or {}
    call.agent.check(payload, call.event)
    requests = _requests(call, payload, end_s)
    answers = _ask(call.folder, call.name, requests) if requests else []
    found = list(zip(requests, answers, strict=True))
    text = "\n".join(
        filter(None, (str(answer.get(key, "")) for (_, _, key), answer in found if key))
    )
    settles = any(operation in ("session_start", "session_end") for operation, *_ in requests)
    noted = _noted(call.name, call.session)
    if noted and settles and text and _digest_of(text) == noted:
        text = ""  # the prepared brief said the same
    return text, settles


def _requests(
    call: Call, payload: "dict[str, Any]", end_s: float
) -> "list[tuple[str, dict[str, Any], str]]":
    """Return the requests for the daemon: operation, fields, and the key of the text."""
    # The sizes of briefs are those that `sessions/context.py` prepares.
    agent, event = call.agent, call.event
    named = {"name": call.session}
    # Of the time that is left, two fifths are for the daemon to look at the files.
    wait_ms = max(0, int((end_s - time.monotonic()) * 400))
    if event == "subagent-start":
        # A sub-agent has one job.
        short = {"tokens_max": 500, "chars_max": 2_000, "wait_ms": wait_ms}
        return [("context", short, "brief")]
    news = ("session_news", named | {"tokens_max": 400}, "news")
    if call.wants_brief:
        limits = {"tokens_max": 2_000, "chars_max": 8_000}
        news = ("session_start", named | limits | {"wait_ms": wait_ms}, "brief")
    if event in ("session-start", "prompt-submit"):
        return [news]
    if event == "session-end":
        return [("session_end", named, "")]
    paths = agent.files_of(payload, call.folder)
    touched = named | {"paths": paths, "tokens_max": 200}
    asked = [("session_touched", touched, "text")] if paths else []
    return [*asked, news] if call.hears else asked


def _asked(argv: "Sequence[str]") -> tuple[str, str]:
    """Return the event and the agent from the command line."""
    words = [part for word in argv if word != "--json" for part in word.split("=", 1)]
    agent = ""
    if "--agent" in words:
        at = words.index("--agent")
        agent = "".join(words[at + 1 : at + 2])
        del words[at : at + 2]
    if len(words) != 1 or words[0] not in EVENTS:
        raise HookFailure(f"there is no such hook; there are: {', '.join(EVENTS)}")
    if agent not in AGENTS:
        raise HookFailure(f"the agent is not known; --agent may be: {', '.join(AGENTS)}")
    if words[0] not in AGENTS[agent].names:
        raise HookFailure(f"agent {agent} has no hook {words[0]}")
    return words[0], agent


def _read_out() -> None:
    """Drain standard input: an agent that still writes takes our exit for an error."""
    try:
        while os.read(0, 65536):
            pass
    except OSError as error:
        complain(f"the payload cannot be read: {error.strerror}")


def _ask(
    folder: str, agent: str, requests: "list[tuple[str, dict[str, Any], str]]"
) -> "list[dict[str, Any]]":
    """Ask the daemon; in an unwatched folder the answers are empty."""
    daemon = reach_daemon()
    if daemon is None:
        raise NoAnswerError("no daemon is running; start it: yaadwatch start")
    frames = [
        {"jsonrpc": "2.0", "id": number, "method": method, "params": fields}
        for number, (method, fields, _) in enumerate(requests, start=1)
    ]
    daemon.setblocking(True)
    daemon.sendall(b"".join(map(encode, [hello("yaadwatch-hook", folder, agent), *frames])))
    said = bytearray()
    while said.count(b"\n") < 1 + len(frames):
        chunk = daemon.recv(65536)
        if not chunk:
            break
        said += chunk
    daemon.close()
    heard = {frame.get("id"): frame for frame in map(json.loads, said.splitlines()[1:])}
    greeting = json.loads(said.splitlines()[0]) if said else {}
    return [_result(heard.get(frame["id"], greeting)) for frame in frames]


def _result(frame: "dict[str, Any]") -> "dict[str, Any]":
    error, result = frame.get("error"), frame.get("result")
    if error is not None and error.get("code") == "not_found":
        return {}  # an unwatched folder is no error
    if error is not None:
        raise NoAnswerError(f"{error.get('message', '')} {error.get('hint') or ''}")
    if not isinstance(result, dict):
        raise NoAnswerError("the daemon ended before it answered")
    return result


def _end_quietly() -> None:
    """Let the time limit end the process without an error: it is ending anyway."""
    signal.signal(signal.SIGALRM, lambda number, frame: os._exit(0))  # noqa: ARG005


def _print_line(answer: bytes) -> bool:
    """Write the answer; return whether the agent read it."""
    try:
        os.write(1, answer)
    except OSError as error:
        complain(f"the agent did not take the answer: {error.strerror}")
        return False
    return True


def _note_undelivered(name: str, session: str, digest: str = "") -> None:
    """Note that a session got no brief, or only a prepared one: its next hook sends it.

    A note is a file of its own, so that hooks that run at once need no lock.

    Args:
        name: of the agent.
        session: what the agent calls it.
        digest: of the prepared brief that it got.
    """
    if not session:
        return
    how = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | (os.O_TRUNC if digest else os.O_EXCL)
    folder = places.undelivered_briefs()
    try:
        try:  # noqa: SIM105  (contextlib takes long to import)
            os.mkdir(folder, 0o700)  # noqa: PTH102
        except FileExistsError:  # another hook was as quick
            pass
        _write(_note(name, session), how, digest.encode())
        _forget_old(folder)
    except OSError:  # it is noted already, or there is no log folder: no daemon has ever run
        return


def _noted(name: str, session: str) -> str:
    """Return the digest of the prepared brief that a session got; '' when it got none."""
    try:
        with open(_note(name, session), "rb") as note:  # noqa: PTH123
            return note.read(8).decode("ascii", "replace")
    except OSError:
        return ""


def _forget_old(folder: str) -> None:
    """Delete notes that are too old, and the oldest above the limit."""
    with os.scandir(folder) as found:
        notes = sorted((entry.stat().st_mtime, entry.path) for entry in found)
    for place, (noted, path) in enumerate(reversed(notes)):
        if noted < notes[-1][0] - NOTE_AGE_MAX_S or place >= NOTES_MAX:
            _remove(path)


def _forget_undelivered(name: str, session: str) -> None:
    _remove(_note(name, session))


def _remove(path: str) -> None:
    try:
        os.unlink(path)  # noqa: PTH108
    except OSError:  # there was none, or another hook was as quick
        return


def _is_undelivered(name: str, session: str) -> bool:
    return bool(session) and os.path.exists(_note(name, session))  # noqa: PTH110


def _note(name: str, session: str) -> str:
    """Return the note file of a session; its file name is a hash of the session's."""
    number = crc32(session.encode("utf-8", "surrogatepass"))
    return os.path.join(places.undelivered_briefs(), f"{name}-{number:08x}")  # noqa: PTH118


def _age_s() -> float:
    """Return the age of this process: on a busy machine Python's start takes much of the time."""
    try:
        with open("/proc/self/stat", "rb") as stream:  # noqa: PTH123
            ticks = int(stream.read().rpartition(b")")[2].split()[19])
    except OSError:
        return 0.050  # not Linux: about as long as Python takes to start
    return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main(sys.argv[1:])
