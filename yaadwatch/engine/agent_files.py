"""The agent files of a work tree: which are there, what they say, and why one is left alone."""

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from bridges.registry import BRIDGES
from bridges.rules import Statement
from yaadwatch.engine.workspace import Space
from yaadwatch.model.settings import AGENT_FILE_BYTES_MAX
from yaadwatch.system import files


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFile:
    """One agent file as it is now; `state` is synced, or paused (then `reason` says why).

    `own`: it was read under this name; False too for another name of the same file.
    """

    path: str
    bridge: str
    state: str
    reason: str = ""
    statements: tuple[Statement, ...] = ()
    own: bool = False


def read_all(space: Space, now_ns: int) -> list[AgentFile]:
    """Return the agent files at the top of the work tree; each real file once, whatever its names.

    A name that is a link to another agent file of the repository is that file; a link that leads
    out of the repository is never followed.
    """
    found: list[AgentFile] = []
    real: dict[str, str] = {}
    for bridge in BRIDGES:
        for name in bridge.paths:
            real_path, reason = target(space.root, name)
            if real_path is None:
                if reason:
                    found.append(
                        AgentFile(path=name, bridge=bridge.name, state="paused", reason=reason)
                    )
                continue
            if real_path in real:
                reason = f"is the same file as {real[real_path]}"
                found.append(
                    AgentFile(path=name, bridge=bridge.name, state="synced", reason=reason)
                )
                continue
            real[real_path] = name
            observed = files.observe(
                space.root, real_path, bytes_max=AGENT_FILE_BYTES_MAX, now_ns=now_ns
            )
            if observed.data is None:
                reason = ODD.get(observed.kind, "cannot be read")
                found.append(
                    AgentFile(path=name, bridge=bridge.name, state="paused", reason=reason)
                )
                continue
            document = bridge.parse(observed.data)
            problems = "; ".join(problem.message for problem in document.problems)
            paused = bool(problems) and not document.statements
            found.append(
                AgentFile(
                    path=real_path,
                    bridge=bridge.name,
                    state="paused" if paused else "synced",
                    reason=problems,
                    statements=document.statements,
                    own=not paused,
                )
            )
    return found


ODD = {
    "too_large": "is larger than 256 KiB; it was not read",
    "unreadable": "cannot be read by this user",
    "link": "is reached through a link; it was not read",
    "other": "is not a regular file",
}


def target(root: Path, name: str) -> tuple[str | None, str]:
    """Return the file that a name stands for, relative to `root`; else None, and why."""
    path = root / name
    if not os.path.lexists(path):
        return None, ""
    if not path.is_symlink():
        return _as_listed(root, name), ""
    try:
        real = path.resolve(strict=True)
    except (OSError, RuntimeError):
        return None, "is a link to nothing"
    if not real.is_relative_to(root) or ".git" in real.relative_to(root).parts:
        return None, "is a link out of the repository; it was not read"
    return _as_listed(root, real.relative_to(root).as_posix()), ""


def _as_listed(root: Path, path: str) -> str:
    """Return a path as its folders have it; on some disks it is found in another case too."""
    if not os.path.lexists(root / path.swapcase()):
        return path
    found = Path()
    for name in Path(path).parts:
        found /= named_as(name, {one.name for one in (root / found).iterdir()})
    return found.as_posix()


def named_as(name: str, listed: Collection[str]) -> str:
    """Return the one of the names of a folder that a name stands for where case does not matter."""
    if name in listed:
        return name
    return next((one for one in sorted(listed) if one.casefold() == name.casefold()), name)
