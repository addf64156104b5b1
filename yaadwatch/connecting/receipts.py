"""The receipt: what was written into other programs' files, so that just that can be taken back.

It is one JSON file in our home. Connections are under `connections`; what else stands in it is
somebody else's, and stays.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from yaadwatch.connecting.spots import How
from yaadwatch.core.settings_text.edits import Added
from yaadwatch.system import receipt_file

_PART: Final = "connections"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What was put at one spot.

    Args:
        agent: who is connected by it.
        project: the top of the work tree that it holds for; '' for the person.
        path: of the file, as it is named.
        how: as in `Spot`.
        at: as in `Spot`.
        event: as in `Spot`.
        value: as in `Spot`, where it is needed to find it again.
        added: how it came there; None for a whole file.
        created: whether the file was not there before.
        folders: those that were made for the file, innermost first.
        digest: of a whole file, as it was written; '' where that is not known.
    """

    agent: str
    project: str
    path: str
    how: How
    at: tuple[str, ...]
    event: str
    value: Any = None
    added: Added | None = None
    created: bool = False
    folders: tuple[str, ...] = ()
    digest: str = ""

    @property
    def key(self) -> str:
        """Return the key of the spot."""
        return " ".join((self.path, self.how, ".".join(self.at), self.event))


@dataclass(frozen=True, slots=True)
class Receipt:
    """All that was written, and whatever else stands in the file."""

    entries: tuple[Entry, ...] = ()
    others: dict[str, Any] = field(default_factory=dict)

    def of(self, agent: str, project: str) -> list[Entry]:
        """Return what connects an agent, in the order in which it was written."""
        return [one for one in self.entries if (one.agent, one.project) == (agent, project)]

    def projects_of(self, agent: str) -> list[str]:
        """Return the work trees in whose files an agent was connected."""
        return sorted({one.project for one in self.entries if one.agent == agent} - {""})

    def with_entries(self, agent: str, project: str, entries: list[Entry]) -> "Receipt":
        """Return a receipt on which just these connect an agent."""
        left = [one for one in self.entries if (one.agent, one.project) != (agent, project)]
        return replace(self, entries=(*left, *entries))


def load(path: Path) -> Receipt:
    """Read the receipt; an empty one when there is none.

    Raises:
        YaadError: UNAVAILABLE when it cannot be read, or makes no sense.
    """
    said = receipt_file.load(path)
    try:
        return Receipt(tuple(_entry(one) for one in said.pop(_PART, [])), said)
    except (TypeError, KeyError, AttributeError, ValueError) as error:
        raise receipt_file.UnreadableError(path, f"it makes no sense: {error!r}") from error


def save(path: Path, receipt: Receipt) -> None:
    """Write the receipt.

    Raises:
        YaadError: UNAVAILABLE when it cannot be written.
    """
    part = [_told(entry) for entry in receipt.entries]
    receipt_file.save(path, receipt.others | ({_PART: part} if part else {}))


def _told(entry: Entry) -> dict[str, object]:
    told: dict[str, object] = {
        "agent": entry.agent,
        "project": entry.project,
        "path": entry.path,
        "how": entry.how,
        "at": list(entry.at),
        "event": entry.event,
        "created": entry.created,
        "folders": list(entry.folders),
    }
    if entry.how == "default":
        told["value"] = entry.value
    if entry.digest:
        told["digest"] = entry.digest
    if entry.added is not None:
        told["added"] = {
            "at": list(entry.added.at),
            "made": list(entry.added.made),
            "pieces": list(entry.added.pieces),
        }
    return told


def _entry(told: dict[str, Any]) -> Entry:
    added = told.get("added")
    return Entry(
        agent=str(told["agent"]),
        project=str(told["project"]),
        path=str(told["path"]),
        how=told["how"],
        at=tuple(map(str, told["at"])),
        event=str(told["event"]),
        value=told.get("value"),
        added=None
        if added is None
        else Added(
            at=tuple(added["at"]),
            made=tuple(added["made"]),
            pieces=tuple(map(str, added["pieces"])),
        ),
        created=bool(told["created"]),
        folders=tuple(map(str, told["folders"])),
        digest=str(told.get("digest", "")),
    )
