"""Answers the hooks of agents: what `yaadwatch hook` is.

When a session starts it tells the brief; when a prompt is sent, what is new since; when a file was
changed, what rests on it. Everything it tells comes from the daemon; how each agent wants it, is in
`hooks/agents.py`.

The agent waits for it, so it takes 150 ms at most, whatever happens: when the time is over it says
nothing rather than go on. It always ends with status 0; what is wrong is a line on standard error
and in the log. Like the shim it can be run as a file with `python -I -S`.
"""

# The C module beneath `signal`, which makes enumerations of all its numbers.
import _signal as signal  # type: ignore[import-not-found]
import os
import sys
import time
from binascii import crc32

if not __package__:  # run as a file
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))  # noqa: PTH100, PTH120

from yaadwatch import places
from yaadwatch.client import quick_json as json
from yaadwatch.client.hooks.agents import AGENTS, EVENTS, WrongPayloadError
from yaadwatch.client.reach import reach

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

LIMIT_S = 0.150
"""From the start of the process to its end."""
BRIEF_CHARS_MAX = 8_000
BRIEF_TOKENS_MAX = 2_000
NEWS_TOKENS_MAX = 400
TOUCHED_TOKENS_MAX = 200
PAYLOAD_BYTES_MAX = 16 * 1024 * 1024
LOG_BYTES_MAX = 256 * 1024
"""The log of hooks begins anew when it is longer than this."""
NOTES_MAX = 200
NOTE_AGE_MAX_S = 7 * 86_400
"""How many sessions are noted as not told, and for how long: who never asks again, is forgotten."""

WORDS_SHOWN_MAX = 60
"""Of a command line that makes no sense, if it holds nothing but small letters and dashes."""

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz-= ")
_SPARE_S = 0.015  # to end, and for a clock that ticks a hundred times a second
_AGE_UNKNOWN_S = 0.050
_CHECK_SHARE = 0.4  # of the time that is left, for the daemon to look at the files
_SILENT = {"not_found"}  # a folder that nobody asked us to watch is no trouble


class Trouble(Exception):
    """Why nothing is told, in a line."""


def main(argv: "Sequence[str]") -> "NoReturn":
    """Answer one hook on standard input and output, and end the process with status 0.

    Args:
        argv: the event, and `--agent NAME`.
    """
    end_s = time.monotonic() + LIMIT_S - _SPARE_S - _age_s()
    told = nothing = b""
    event = name = session = why = ""
    settled = False

    def end(why: str) -> "NoReturn":
        signal.setitimer(signal.ITIMER_REAL, _SPARE_S)
        _end_quietly()
        _say(nothing)
        if event == "session-start":
            _note_untold(name, session or _session_at_hand(name))
        complain(why)
        os._exit(0)

    late = f"it was not known within {LIMIT_S * 1000:.0f} ms"
    sys.excepthook = lambda _, error, __: end(f"a fault of ours: {_named(error)}")
    signal.signal(signal.SIGALRM, lambda number, frame: end(late))  # noqa: ARG005
    signal.setitimer(signal.ITIMER_REAL, max(end_s - time.monotonic(), 0.001))
    try:
        event, name = _asked(argv)
        nothing = b"" if AGENTS[name].nothing is None else json.line(AGENTS[name].nothing)
        payload = _payload()
        session = AGENTS[name].session_of(payload)
        told, settled = _answer(event, name, payload, end_s)
    except (Trouble, WrongPayloadError) as trouble:
        why = str(trouble)
    except (OSError, ValueError, RuntimeError) as error:
        why = _named(error)
    _end_quietly()
    said = _say(told or nothing)
    if said and settled:
        _forget_untold(name, session)
    elif event == "session-start":
        _note_untold(name, session)
    if why:
        complain(why)
        _read_out()
    # Not by returning: Python resets signals at its end, and the alarm would become the status.
    os._exit(0)


def _named(error: BaseException) -> str:
    """Return what happened and where in our code, without words that a payload may have brought."""
    where = error.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    place = f" in {where.tb_frame.f_code.co_name}, line {where.tb_lineno}" if where else ""
    strerror = getattr(error, "strerror", None)
    return f"{type(error).__name__}{f' ({strerror})' if strerror else ''}{place}"


def complain(what: str) -> None:
    """Say in one line, in the log and on standard error, why nothing was told.

    First in the log, which `doctor` reads: few agents show what a hook says that ended well, and
    its time may be over in between.
    """
    line = " ".join(what.split())
    _log(line)
    try:
        os.write(2, f"yaadwatch: nothing was told: {line}\n".encode("utf-8", "replace"))
    except OSError:  # standard error is closed; it stands in the log
        return


def _log(why: str) -> None:
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    try:
        _append(places.hook_log(), json.line({"at": stamp, "event": "hook.failed", "why": why}))
    except (OSError, RuntimeError):  # without a home there is no log; it stands on standard error
        return


def _answer(event: str, name: str, payload: "dict[str, Any]", end_s: float) -> "tuple[bytes, bool]":
    """Return what tells the agent, in JSON of its own form; empty when there is nothing to tell.

    And whether nothing is owed to the session when that was said: it is its brief, or it is over.
    """
    agent = AGENTS[name]
    agent.check(payload, event)
    environment = os.environ.get("CLAUDE_PROJECT_DIR")
    folder = agent.folder_of(payload) or environment or os.getcwd()  # noqa: PTH109
    requests = _requests(event, name, payload, folder, end_s)
    answers = _ask(folder, name, requests) if requests else []
    pairs = zip(requests, answers, strict=True)
    texts = [str(answer.get(key, "")) for (_, _, key), answer in pairs if key]
    text = "\n".join(filter(None, texts))
    told = json.line(agent.tell(agent.names[event], text)) if text else b""
    return told, any(operation in ("session_start", "session_end") for operation, *_ in requests)


def _requests(
    event: str, name: str, payload: "dict[str, Any]", folder: str, end_s: float
) -> "list[tuple[str, dict[str, Any], str]]":
    """Return what to ask the daemon: the operation, its fields, and where its words are."""
    agent = AGENTS[name]
    named = {"name": agent.session_of(payload)}
    news = ("session_news", named | {"tokens_max": NEWS_TOKENS_MAX}, "news")
    if event == "session-start" or _is_untold(name, named["name"]):
        wait_ms = max(0, int((end_s - time.monotonic()) * _CHECK_SHARE * 1000))
        limits = {"tokens_max": BRIEF_TOKENS_MAX, "chars_max": BRIEF_CHARS_MAX}
        news = ("session_start", named | limits | {"wait_ms": wait_ms}, "brief")
    if event in ("session-start", "prompt-submit"):
        return [news]
    if event == "session-end":
        return [("session_end", named, "")]
    paths = agent.files_of(payload, folder)
    touched = named | {"paths": paths, "tokens_max": TOUCHED_TOKENS_MAX}
    asked = [("session_touched", touched, "told")] if paths else []
    return asked if agent.hears_prompts else [*asked, news]


def _asked(argv: "Sequence[str]") -> tuple[str, str]:
    """Return the event and the agent that the command line names."""
    words = [part for word in argv for part in word.split("=", 1)]
    agent = ""
    if "--agent" in words:
        at = words.index("--agent")
        agent = "".join(words[at + 1 : at + 2])
        del words[at : at + 2]
    if len(words) != 1 or words[0] not in EVENTS:
        raise Trouble(f"no such hook: {_shown(' '.join(argv))}; there are: {', '.join(EVENTS)}")
    if agent not in AGENTS:
        known = ", ".join(AGENTS)
        raise Trouble(
            f"the hooks of agent '{_shown(agent)}' are not known; --agent may be: {known}"
        )
    return words[0], agent


def _shown(words: str) -> str:
    """Return words of the command line, unless they may be what must not be logged."""
    return words if len(words) <= WORDS_SHOWN_MAX and set(words) <= _PLAIN else "[not shown]"


def _payload() -> "dict[str, Any]":
    """Return the object on standard input."""
    data = bytearray()
    while chunk := os.read(0, 65536):
        data += chunk
        if len(data) > PAYLOAD_BYTES_MAX:
            raise Trouble(f"the payload has more than {PAYLOAD_BYTES_MAX} bytes")
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Trouble(f"the payload is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise Trouble("the payload is not a JSON object")
    return found


def _read_out() -> None:
    """Read what is left on standard input: to an agent that still writes, our end is an error."""
    try:
        while os.read(0, 65536):
            pass
    except OSError as error:
        complain(f"the payload cannot be read: {error.strerror}")


def _ask(
    folder: str, agent: str, requests: "list[tuple[str, dict[str, Any], str]]"
) -> "list[dict[str, Any]]":
    """Ask the daemon; where nobody watches the folder, the answers are empty."""
    daemon = reach()
    if daemon is None:
        raise Trouble("no daemon is running; start it: yaadwatch start")
    hello = {
        "protocol": places.PROTOCOL,
        "client": f"yaadwatch-hook/{places.VERSION}",
        "cwd": folder,
        "agent": agent,
        "speaks": "rpc",
    }
    frames = [
        {"jsonrpc": "2.0", "id": number, "method": method, "params": fields}
        for number, (method, fields, _) in enumerate(requests, start=1)
    ]
    daemon.setblocking(True)
    daemon.sendall(b"".join(map(json.line, [hello, *frames])))
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
    error = frame.get("error")
    if error is not None and error.get("code") in _SILENT:
        return {}
    if error is not None:
        raise Trouble(f"{error.get('message', '')} {error.get('hint') or ''}")
    result = frame.get("result")
    if not isinstance(result, dict):
        raise Trouble("the daemon ended before it answered")
    return result


def _end_quietly() -> None:
    """Let the end of the time be the end without a word: we are about to leave anyway."""
    signal.signal(signal.SIGALRM, lambda number, frame: os._exit(0))  # noqa: ARG005


def _say(told: bytes) -> bool:
    """Write the answer; return whether the agent took it."""
    try:
        os.write(1, told)
    except OSError as error:
        complain(f"the agent did not take the answer: {error.strerror}")
        return False
    return True


def _note_untold(name: str, session: str) -> None:
    """Note that a session was not told its brief: its next hook tells it.

    A note is a file of its own, so that hooks that run at once need no lock.
    """
    if not session:
        return
    how = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    folder = places.hook_untold()
    try:
        if not os.path.isdir(folder):  # noqa: PTH112
            _make_folder(folder)
        os.close(os.open(_note(name, session), how, 0o600))
        _forget_old(folder)
    except OSError:  # it is noted already, or nobody has a log here: no daemon has ever run
        return


def _make_folder(path: str) -> None:
    try:
        os.mkdir(path, 0o700)  # noqa: PTH102
    except FileExistsError:  # another hook was as quick
        return


def _forget_old(folder: str) -> None:
    """Take away the notes that are too old, and the oldest of too many."""
    with os.scandir(folder) as found:
        notes = sorted((entry.stat().st_mtime, entry.path) for entry in found)
    for place, (noted, path) in enumerate(reversed(notes)):
        if noted < notes[-1][0] - NOTE_AGE_MAX_S or place >= NOTES_MAX:
            _remove(path)


def _forget_untold(name: str, session: str) -> None:
    if session:
        _remove(_note(name, session))


def _remove(path: str) -> None:
    try:
        os.unlink(path)  # noqa: PTH108
    except OSError:  # there was none, or another hook was as quick
        return


def _is_untold(name: str, session: str) -> bool:
    return bool(session) and os.path.exists(_note(name, session))  # noqa: PTH110


def _note(name: str, session: str) -> str:
    """Return the file that stands for a session: what an agent calls it is written nowhere."""
    number = crc32(session.encode("utf-8", "surrogatepass"))
    return os.path.join(places.hook_untold(), f"{name}-{number:08x}")  # noqa: PTH118


def _session_at_hand(name: str) -> str:
    """Return the session in a payload that there was no time to read; '' when it is not there."""
    try:
        os.set_blocking(0, False)
        return AGENTS[name].session_of(json.loads(os.read(0, 65536)))
    except (OSError, ValueError, RecursionError, AttributeError):
        return ""


def _age_s() -> float:
    """Return how long this process has existed: on a busy machine Python alone takes its time."""
    try:
        with open("/proc/self/stat", "rb") as stream:  # noqa: PTH123
            ticks = int(stream.read().rpartition(b")")[2].split()[19])
    except OSError:
        return _AGE_UNKNOWN_S
    return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")


def _append(path: str, entry: bytes) -> None:
    again = os.path.exists(path) and os.stat(path).st_size > LOG_BYTES_MAX  # noqa: PTH110, PTH116
    how = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | (os.O_TRUNC if again else os.O_APPEND)
    descriptor = os.open(path, how, 0o600)
    try:
        os.write(descriptor, entry)
    finally:
        os.close(descriptor)


if __name__ == "__main__":
    main(sys.argv[1:])
