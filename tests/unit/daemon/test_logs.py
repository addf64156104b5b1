import io
import json
import logging
import os
import resource
import stat
from functools import partial
from pathlib import Path

import pytest

from yaadwatch.daemon import supervisor
from yaadwatch.text.privacy import mask_tree

SECRET = "ghp_" + "a1B2" * 9


@pytest.fixture
def log(tmp_path: Path):
    echo = io.StringIO()
    handlers = supervisor.begin(tmp_path / "daemon.log", mask_tree, echo=echo)
    yield tmp_path / "daemon.log", echo
    supervisor.end(handlers)


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_line_is_an_event_with_its_fields(log):
    path, _ = log

    logging.getLogger("yaadwatch.daemon.intake").warning(
        "check.failed", extra={"project": "p", "paths": {"a.py"}, "took_ms": 4, "at_all": None}
    )

    (line,) = lines(path)
    assert line.pop("at").endswith("Z")
    assert line == {
        "level": "warning",
        "event": "check.failed",
        "where": "yaadwatch.daemon.intake",
        "project": "p",
        "paths": ["a.py"],
        "took_ms": 4,
        "at_all": None,
    }


def test_a_secret_is_masked_wherever_it_stands(log):
    path, echo = log

    try:
        raise OSError(f"push to https://{SECRET}@github.com")
    except OSError:
        logging.getLogger("yaadwatch").exception(
            SECRET, extra={"remote": SECRET, "deep": {"in": [SECRET]}, "error": OSError(SECRET)}
        )

    (line,) = lines(path)
    assert "OSError" in line["traceback"]
    assert SECRET not in path.read_text()
    assert SECRET not in echo.getvalue()


def test_people_are_told_of_warnings_in_one_line_and_of_nothing_less(log):
    _, echo = log
    logger = logging.getLogger("yaadwatch.x")

    logger.info("daemon.ready")
    logger.warning("watch.overflowed", extra={"effect": "everything is checked"})
    logger.error("operation.crashed", extra={"traceback": "line\nline"})

    assert echo.getvalue().splitlines() == [
        "yaadwatch: watch.overflowed (effect: everything is checked)",
        "yaadwatch: operation.crashed",
    ]


def test_other_peoples_chatter_is_left_out(log):
    path, _ = log

    logging.getLogger("apscheduler.scheduler").warning("skipped: maximum number of instances")
    logging.getLogger("yaadwatch").debug("detail")

    assert lines(path) == []


def test_a_name_that_is_no_text_does_not_break_the_line(log):
    path, _ = log

    logging.getLogger("yaadwatch").warning("x", extra={"path": Path(os.fsdecode(b"\xe9.py"))})

    assert lines(path)[0]["path"] == "?.py"


@pytest.fixture
def small(monkeypatch):
    """Logs of a twentieth of their size."""
    monkeypatch.setattr(supervisor, "BYTES_MAX", supervisor.BYTES_MAX // 20)


def test_the_log_is_ours_alone_and_does_not_grow_for_ever(tmp_path, small):
    umask = os.umask(0)
    try:
        path = tmp_path / "daemon.log"
        path.touch(0o644)
        handlers = supervisor.begin(path, mask_tree, echo=None)
        for number in range(100):
            logging.getLogger("yaadwatch").warning("x", extra={"n": number, "text": "y" * 3_000})
        supervisor.end(handlers)
    finally:
        os.umask(umask)

    assert stat.S_IMODE(path.with_suffix(".log.1").stat().st_mode) == 0o600
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "daemon.log",
        "daemon.log.1",
        "daemon.log.2",
        "daemon.log.3",
    ]
    assert all(file.stat().st_size <= supervisor.BYTES_MAX for file in tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["folder", "link", "pipe"])
def test_what_is_no_file_is_refused_as_a_log(tmp_path, kind):
    path = tmp_path / "daemon.log"
    (tmp_path / "elsewhere").write_text("not ours\n")
    if kind == "link":
        path.symlink_to(tmp_path / "elsewhere")
    else:
        (path.mkdir if kind == "folder" else partial(os.mkfifo, path))()

    with pytest.raises(OSError, match=r"Errno (6|21|40)"):
        supervisor.begin(path, mask_tree, echo=None)

    assert (tmp_path / "elsewhere").read_text() == "not ours\n"


def test_a_log_that_cannot_be_moved_on_goes_on_and_does_not_grow(tmp_path, small, capsys):
    path = tmp_path / ("d" * 254)  # none longer is a name
    handlers = supervisor.begin(path, mask_tree, echo=None)
    for number in range(120):
        logging.getLogger("yaadwatch").warning("x", extra={"n": number, "text": "y" * 3_000})
    supervisor.end(handlers)

    assert path.stat().st_size <= supervisor.BYTES_MAX
    assert lines(path)[-1]["n"] == 119
    assert capsys.readouterr().err == ""


def test_a_line_for_which_there_is_no_room_is_passed_over_in_silence(tmp_path, capsys):
    path = tmp_path / "daemon.log"
    handlers = supervisor.begin(path, mask_tree, echo=None)
    room = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, room[1]))
    try:
        logging.getLogger("yaadwatch").warning("no room", extra={"text": "y" * 100})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, room)
    told = capsys.readouterr().err
    logging.getLogger("yaadwatch").warning("room")
    supervisor.end(handlers)

    assert path.read_text().splitlines()[-1].count('"event": "room"') == 1
    assert told == ""


@pytest.mark.parametrize("how", ["deleted", "moved", "with its folder"])
def test_a_log_that_is_taken_away_is_begun_anew(tmp_path, how):
    path = tmp_path / "log" / "daemon.log"
    path.parent.mkdir()
    handlers = supervisor.begin(path, mask_tree, echo=None)
    logging.getLogger("yaadwatch").warning("first")
    if how == "moved":
        path.rename(tmp_path / "kept.log")
    else:
        path.unlink()
    if how == "with its folder":
        path.parent.rmdir()
        logging.getLogger("yaadwatch").warning("nowhere")
        path.parent.mkdir()

    logging.getLogger("yaadwatch").warning("second")
    supervisor.end(handlers)

    assert [line["event"] for line in lines(path)] == ["second"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
