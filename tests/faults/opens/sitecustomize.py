"""Python imports this at its start: log each open of the package below YAAD_TEST_BELOW."""

import json
import os
import sys

BELOW, LOG = os.environ.get("YAAD_TEST_BELOW"), os.environ.get("YAAD_TEST_OPENS")


def opened(event, about):
    """Write path, flags and module of an open, and nothing for what is elsewhere."""
    if event != "open" or not isinstance(about[0], (str, bytes, os.PathLike)):
        return
    frame = sys._getframe(1)
    folder = frame.f_locals.get("folder")
    while frame and not frame.f_globals.get("__name__", "").startswith(("yaadwatch", "bridges")):
        frame = frame.f_back
    path = os.fsdecode(about[0])
    if isinstance(folder, int) and not os.path.isabs(path):
        path = os.path.join(os.readlink(f"/proc/self/fd/{folder}"), path)
    if frame and path.startswith(f"{BELOW}/"):
        row = (path, about[2] or 0, frame.f_globals["__name__"])
        os.write(log, f"{json.dumps(row)}\n".encode())


if LOG:
    log = os.open(LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    sys.addaudithook(opened)
