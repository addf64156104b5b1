"""Plan the changes of an agent's files, and keep the receipt of what was written.

All files of an agent are read before the first is written, so there is a plan for each file, or for
none. The receipt is one JSON file in our data folder, for removing exactly what was written.
Connections are under the key `connections`; other keys belong to other modules and are kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from yaadwatch import places
from yaadwatch.connect.places import (
    Program,
    Spot,
    digest_of,
    is_our_file,
    is_ours,
    with_ours,
    without_ours,
)
from yaadwatch.connect.table import Connection, Place
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.system import settings_files
from yaadwatch.system.clock import Clock
from yaadwatch.system.settings_files import SettingsFile
from yaadwatch.text.toml import Added, NotUnderstoodError

_PART: Final = "connections"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """The receipt of one entry.

    Args:
        agent: who is connected by it.
        project: the top of the work tree that it holds for; '' for the person.
        spot: where it is; its value only where that is needed to find it again.
        added: how it came there; None for a whole file.
        created: whether the file was not there before.
        folders: those that were made for the file, innermost first.
        digest: of a whole file, as it was written; '' where that is not known.
    """

    agent: str
    project: str
    spot: Spot
    added: Added | None = None
    created: bool = False
    folders: tuple[str, ...] = ()
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Receipt:
    """All that was written, and the other keys of the file."""

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
    parts = settings_files.load(path)
    try:
        return Receipt(tuple(_entry(one) for one in parts.pop(_PART, [])), parts)
    except (TypeError, KeyError, AttributeError, ValueError) as error:
        raise settings_files.UnreadableError(
            path, "it makes no sense: what it says of a connection is incomplete, or no text"
        ) from error


def save(path: Path, receipt: Receipt) -> None:
    """Write the receipt.

    Raises:
        YaadError: UNAVAILABLE when it cannot be written.
    """
    part = [asdict(entry) for entry in receipt.entries]
    settings_files.save(path, receipt.others | ({_PART: part} if part else {}))


def _entry(fields: dict[str, Any]) -> Entry:
    spot = Spot(**_with_tuples(fields["spot"]))
    added = Added(**_with_tuples(fields["added"])) if fields["added"] else None
    entry = Entry(**_with_tuples(fields) | {"spot": spot, "added": added})
    pieces = (*map(str, (*added.at, *added.made)), *added.pieces) if added else ()
    # join raises where one is no text
    "".join((spot.key, entry.agent, entry.project, entry.digest, *entry.folders, *pieces))
    return entry


def _with_tuples(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(one) if isinstance(one, list) else one for name, one in fields.items()}


COPIES: Final = "settings"
"""The folder of copies, beside those of projects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What connecting works on.

    Args:
        program: what agents start.
        place: where their files are.
        clock: names copies.
    """

    program: Program
    place: Place
    clock: Clock

    @property
    def project(self) -> str:
        """Return the top of the work tree that is meant; '' for the person."""
        return str(self.place.project or "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The planned change of one file: `after` is None when it is deleted.

    `was_edited`: it is wholly ours, but was changed since, so it is kept as it is.
    """

    found: SettingsFile
    after: str | None
    entries: tuple[Entry, ...] = ()
    mode: int = 0o600
    was_edited: bool = False

    @property
    def before(self) -> str | None:
        """Return the text that is there; None when there is no file."""
        data = self.found.data
        return None if data is None else data.decode()

    @property
    def change(self) -> str:
        """Return what happens to the file, in the answer's word for it."""
        if self.before == self.after:
            return "same"
        if self.before is None:
            return "created"
        return "removed" if self.after is None else "changed"

    def as_row(self, *, with_diff: bool) -> dict[str, Any]:
        """Return what becomes of the file, for the answer: a FileChange.

        Args:
            with_diff: with the diff, secrets masked.
        """
        shown = (self.before, self.after) if with_diff else None
        return settings_files.change_row(self.found, self.change, shown)


def plans_of(world: World, row: Connection, *, connects: bool) -> list[Plan]:
    """Return what becomes of each file of an agent.

    Raises:
        YaadError: REFUSED when one of them was not understood; another code when one cannot be
            read.
    """
    written = load(places.receipt()).of(row.agent, world.project)
    known = {one.spot.key: one for one in written}
    spots = list(row.spots(world.program, world.place))
    if not connects:
        there = {spot.key for spot in spots}
        spots += [one.spot for one in written if one.spot.key not in there]
    plans = []
    for path in dict.fromkeys(spot.path for spot in spots):
        found = settings_files.read_settings_file(
            Path(path),
            inside=world.place.project,
            copies=places.backups(COPIES),
            now=world.clock.now(),
        )
        here = [spot for spot in spots if spot.path == path]
        try:
            if connects:
                plans.append(_with(world, row, here, known, found))
            else:
                plans.append(_without(here, known, found))
        except NotUnderstoodError as error:
            if not connects and not is_ours((found.data or b"").decode("utf-8", "replace")):
                continue  # whatever it is, there is nothing of ours in it
            raise YaadError(
                Code.REFUSED,
                f"{path} was left alone: {error}. Nothing of {row.title} was written.",
                hint="Fix the file, or the entry in it, then run the command again.",
            ) from None
    return plans


def _with(
    world: World,
    row: Connection,
    spots: Sequence[Spot],
    known: Mapping[str, Entry],
    found: SettingsFile,
) -> Plan:
    """Plan a file with all our entries."""
    before = next((known[spot.key] for spot in spots if spot.key in known), None)
    created = found.data is None or (before is not None and before.created)
    folders: Sequence[str] = before.folders if before else ()
    if found.data is None:
        folders = settings_files.missing_folders(found.target) or folders
    text = _text(found)
    written = known.get(spots[0].key)
    if written is not None and _was_edited(text, written):
        return Plan(found=found, after=text, entries=(written,), was_edited=True)
    entries = []
    for spot in spots:
        entry = known.get(spot.key)
        before_spot = text
        text, added = with_ours(text, spot, entry.added if entry else None)
        if spot.how == "default" and text == before_spot and entry is None:
            continue  # it was there, and is not ours
        entries.append(
            Entry(
                agent=row.agent,
                project=world.project,
                spot=spot if spot.how == "default" else replace(spot, value=None),
                added=added,
                created=created,
                folders=tuple(folders),
                digest=digest_of(spot.value) if spot.how == "file" else "",
            )
        )
    return Plan(found=found, after=text, entries=tuple(entries), mode=spots[0].mode)


def _was_edited(text: str, written: Entry) -> bool:
    """Return whether a file that is wholly ours differs from what we wrote last.

    Without a receipt it counts as written by an older version.
    """
    known = written.spot.how == "file" and written.digest
    return bool(known) and is_our_file(text) and digest_of(text) != known


def _without(spots: Sequence[Spot], known: Mapping[str, Entry], found: SettingsFile) -> Plan:
    """Plan a file without our entries; delete it when we created it and nothing else is in it."""
    if found.data is None:
        return Plan(found=found, after=None)
    text = _text(found)
    order = {key: number for number, key in enumerate(known)}
    # Backwards, so that each finds the text as it left it.
    for spot in sorted(spots, key=lambda one: order.get(one.key, -1), reverse=True):
        entry = known.get(spot.key)
        added, digest = (entry.added, entry.digest) if entry else (None, "")
        text = without_ours(text, spot, added, digest)
    before = [known[spot.key] for spot in spots if spot.key in known]
    is_made = spots[0].how == "file" or any(entry.created for entry in before)
    goes = not text.strip() and bool(found.data) and is_made
    stays = spots[0].how == "file" and is_our_file(text)
    return Plan(found=found, after=None if goes else text, entries=tuple(before), was_edited=stays)


def written_elsewhere(world: World, row: Connection) -> list[Entry]:
    """Return what was written where it would not be today: a variable moved the folder."""
    today = {spot.key for spot in row.spots(world.program, world.place)}
    written = load(places.receipt()).of(row.agent, world.project)
    return [one for one in written if one.spot.key not in today]


def _text(found: SettingsFile) -> str:
    try:
        return (found.data or b"").decode()
    except UnicodeDecodeError as error:
        raise NotUnderstoodError(f"it is not text in UTF-8, at byte {error.start}") from None
