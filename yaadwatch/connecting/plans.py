"""What becomes of each file of an agent when it is connected, or disconnected: nothing is written.

All its files are looked at before one is written, so a plan is there for each of them, or for none.
"""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from yaadwatch import places
from yaadwatch.connecting import receipts
from yaadwatch.connecting.programs import Program
from yaadwatch.connecting.receipts import Entry
from yaadwatch.connecting.spots import (
    Spot,
    digest_of,
    is_our_file,
    is_ours,
    with_ours,
    without_ours,
)
from yaadwatch.connecting.table import Connection, Place
from yaadwatch.core.privacy import mask
from yaadwatch.core.settings_text.edits import NotUnderstoodError
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.system import settings_files
from yaadwatch.system.clock import Clock
from yaadwatch.system.settings_files import Found

COPIES: Final = "settings"
"""The folder of copies, beside those of projects."""
_CONTEXT_LINES: Final = 2
_NO_END: Final = "\n\\ No newline at end of file\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What connecting works on.

    Args:
        program: what agents are told to start.
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
    """What becomes of one file: `after` is None when it goes.

    `was_edited`: it is ours as a whole, but somebody changed it, so it stays as it is.
    """

    found: Found
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

    def told(self, *, with_diff: bool) -> dict[str, Any]:
        """Return what becomes of the file, for the answer: a FileChange.

        Args:
            with_diff: with the diff, secrets masked.
        """
        path, target = str(self.found.path), str(self.found.target)
        told: dict[str, Any] = {"path": path, "change": self.change}
        if target != path:
            told["target"] = target
        if with_diff and self.change != "same":
            lines = difflib.unified_diff(
                (self.before or "").splitlines(keepends=True),
                (self.after or "").splitlines(keepends=True),
                "/dev/null" if self.before is None else target,
                "/dev/null" if self.after is None else target,
                n=_CONTEXT_LINES,
            )
            shown = [line if line.endswith("\n") else f"{line}{_NO_END}" for line in lines]
            told["diff"] = mask("".join(shown)).text
        return told


def plans_of(world: World, row: Connection, *, connects: bool) -> list[Plan]:
    """Return what becomes of each file of an agent.

    Raises:
        YaadError: REFUSED when one of them was not understood; another code when one cannot be
            read.
    """
    written = receipts.load(places.receipt()).of(row.agent, world.project)
    known = {one.key: one for one in written}
    spots = list(row.spots(world.program, world.place))
    if not connects:
        there = {spot.key for spot in spots}
        spots += [_spot(one) for one in written if one.key not in there]
    plans = []
    for path in dict.fromkeys(spot.path for spot in spots):
        found = settings_files.look(
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
    found: Found,
) -> Plan:
    """Return a file with all that is ours in it."""
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
        text, added, change = with_ours(text, spot, entry.added if entry else None)
        if spot.how == "default" and change == "same" and entry is None:
            continue  # it was there, and is not ours
        entries.append(
            Entry(
                agent=row.agent,
                project=world.project,
                path=spot.path,
                how=spot.how,
                at=spot.at,
                event=spot.event,
                value=spot.value,
                added=added,
                created=created,
                folders=tuple(folders),
                digest=digest_of(spot.value) if spot.how == "file" else "",
            )
        )
    return Plan(found=found, after=text, entries=tuple(entries), mode=spots[0].mode)


def _was_edited(text: str, written: Entry) -> bool:
    """Return whether a file of ours as a whole holds something else than we wrote last.

    Where that is not known, it is taken for the work of an older program.
    """
    known = written.how == "file" and written.digest
    return bool(known) and is_our_file(text) and digest_of(text) != known


def _without(spots: Sequence[Spot], known: Mapping[str, Entry], found: Found) -> Plan:
    """Return a file without anything of ours; none when nothing else is in one that we made."""
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


def elsewhere(world: World, row: Connection) -> list[Entry]:
    """Return what was written where it would not be today: a variable moved the folder."""
    today = {spot.key for spot in row.spots(world.program, world.place)}
    written = receipts.load(places.receipt()).of(row.agent, world.project)
    return [one for one in written if one.key not in today]


def _text(found: Found) -> str:
    try:
        return (found.data or b"").decode()
    except UnicodeDecodeError as error:
        raise NotUnderstoodError(f"it is not text in UTF-8, at byte {error.start}") from None


def _spot(entry: Entry) -> Spot:
    """Return a spot that was written to, and would not be today."""
    return Spot(
        path=entry.path,
        how=entry.how,
        at=entry.at,
        value=entry.value,
        event=entry.event,
    )
