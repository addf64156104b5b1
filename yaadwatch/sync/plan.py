"""Plan what has to change in the graph and in a file's block so that both agree again.

`plan` is a pure function of the last agreement, the graph and the file. Its callers carry the plan
out and record the agreement last: a process that is killed before that plans again and gets the
rest.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bridges.block import NOTICE, is_notice
from bridges.items import MARKER, items, line_of, parts_lines
from yaadwatch.model.projects import Agreed, Agreement
from yaadwatch.sync import inventory, reconcile
from yaadwatch.sync.inventory import Paused, Rule, fit
from yaadwatch.sync.reconcile import (
    Decision,
    File,
    FileRule,
    Graph,
    Known,
    Last,
    Terms,
    align,
    decide,
    read,
)
from yaadwatch.text.words import text_hash


@dataclass(frozen=True, slots=True, kw_only=True)
class New:
    """A rule that the graph does not have: a hot memory, masked already.

    `supersedes` is the memory that it was made of, which lives on where it is said.
    """

    text: str
    supersedes: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Superseded:
    """A memory has new words, and is hot; `over` is the graph's text if it changed meanwhile."""

    node: str
    text: str
    over: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What has to be done; nothing of it is done yet.

    Args:
        new: rules to be stored as memories.
        superseded: memories that get new words.
        demoted: memories that leave the hot tier, because their line was deleted.
        tombstones: hashes of their words, so that they stay away.
        lifted: hashes of words that a person typed again.
        lines: the lines of the block; none when it has no rule.
        writes: whether those differ from the file's.
        left_out: hot memories that the block has no room for.
        unsayable: hot memories that no line of a block can hold.
        rows: what will be agreed; a row whose node is "" stands for the next of `new`.
        held: what is agreed while the file is not written; None when that is not known.
    """

    new: tuple[New, ...] = ()
    superseded: tuple[Superseded, ...] = ()
    demoted: tuple[str, ...] = ()
    tombstones: tuple[str, ...] = ()
    lifted: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    writes: bool = False
    left_out: tuple[str, ...] = ()
    unsayable: tuple[str, ...] = ()
    rows: tuple[Agreed, ...] = ()
    held: tuple[Agreed, ...] | None = ()

    @property
    def changes_graph(self) -> bool:
        """Whether anything has to be stored besides the agreement."""
        return bool(self.new or self.superseded or self.demoted or self.tombstones or self.lifted)

    def agreement(
        self, admitted: Sequence[str], digest: str, rows: Sequence[Agreed] | None = None
    ) -> Agreement:
        """Return what is agreed once the plan is carried out, or as other rows say.

        Args:
            admitted: the nodes made from `new`, in that order.
            digest: of the text of the block in the file now.
            rows: what is agreed instead, such as `held`.
        """
        nodes = iter(admitted)
        agreed: dict[str, Agreed] = {}
        for row in self.rows if rows is None else rows:
            node = row.node or next(nodes)
            agreed.setdefault(node, replace(row, node=node, position=len(agreed)))
        return Agreement(digest=digest, items=tuple(agreed.values()))


def plan(
    agreement: Agreement | None,
    graph: Graph,
    file: File,
    terms: Terms,
    *,
    accept_deletions: bool = False,
) -> Plan | Paused:
    """Return the plan that makes graph and file agree, or why a person has to look first.

    Without an agreement, or when git wrote the file and its commits are unknown, nothing is
    deleted, superseded or buried: the result is the union of both sides. With its commits, a line
    that an author deleted or changed counts as if it was done here. A frozen block only gets new
    rules: older ones that it lacks are agreed to be missing, and lines that only it has are agreed
    to be no rules.

    Args:
        agreement: what was agreed for this block: by its digest when git wrote it, else the last
            one of this file; None when there is none.
        graph: the graph now.
        file: the file now.
        terms: how the two compare.
        accept_deletions: a person confirmed that missing rules were deleted on purpose.
    """
    union = agreement is None or (file.from_git and file.commits is None)
    rows = agreement.items if agreement is not None else ()
    planner = _Planner(rows, graph, file, terms, union=union)
    if not accept_deletions and not union:
        left = planner.other_lines().values()
        rest = reconcile.why_incomplete(rows, planner.said, planner.others(), left)
        if rest is not None:
            return rest
    pairs = align(
        rows,
        planner.said,
        planner.present(),
        changed=not union,
        others=planner.others(),
        became=file.became,
        kept=file.kept,
        committed=file.stood,
    )
    for number, index in sorted(pairs.items(), key=lambda pair: pair[1]):
        planner.settle(rows[number], index)
    fresh = set(range(len(planner.said))) - set(pairs.values())
    for index in sorted(fresh, key=lambda index: (not planner.is_known(index), index)):
        planner.take_in(index)
    missing = [row for number, row in enumerate(rows) if number not in pairs]
    gone = [row for row in missing if planner.is_deleted(row)]
    here = [row for row in gone if file.stood is None or text_hash(row.graph) in file.stood]
    paused = inventory.deletion(len(here), len(rows), block_is_gone=file.lines is None)
    if paused is not None and not accept_deletions and not file.from_git:
        return paused
    for row in gone:
        planner.demote(row)
    for row in missing:
        planner.leave_out(row)
    return planner.done()


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of the new block: its text, its row of the agreement, and whether it needs room."""

    text: str
    row: Agreed | None
    is_added: bool = False


class _Planner:
    """Builds a plan: decides about each line, and collects the changes to the graph."""

    def __init__(
        self, rows: Sequence[Agreed], graph: Graph, file: File, terms: Terms, *, union: bool
    ) -> None:
        texts = [*(known.text for known in graph.memories), *(row.graph for row in rows)]
        self.said = read(file.lines or (), terms, texts)
        self._graph = graph
        self._file = file
        self._terms = terms
        self._union = union
        self._living = {known.node: known for known in graph.memories}
        # The rules for the block: the hot tier without what the file states outside the block.
        self._view = {
            known.node: known
            for known in graph.memories
            if known.hot and text_hash(known.text) not in file.outside
        }
        self._old = set().union(*map(_words, rows))
        self._rows = {row.node: row for row in rows}
        self._by_key = {key: node for node, key in self.present().items()}
        self._lines: dict[int, _Line] = {}  # by index in `said`; lines without an entry are removed
        self._agreed: dict[int, Agreed] = {}  # by index, the former row of the agreement
        self._placed: set[str] = set()  # nodes that have their line
        self._spoken: set[str] = set()  # keys of the rules in the new block
        self._left: set[str] = set()  # keys of lines that go
        self._absent: dict[str, Agreed] = {}  # by node, rules that are agreed to have no line
        self._new: dict[int, New] = {}
        self._superseded: list[Superseded] = []
        self._demoted: list[str] = []
        self._tombstones: dict[str, None] = {}
        self._lifted: dict[str, None] = {}
        self._left_out: list[str] = []
        self._unsayable: list[str] = []

    def present(self) -> dict[str, str]:
        """Return the rules for the block: by node, the key of its words."""
        return {node: text_hash(known.text) for node, known in self._view.items()}

    def others(self) -> set[str]:
        """Return the keys of words that are rules or statements of their own."""
        return {text_hash(known.text) for known in self._graph.memories} | {*self._file.outside}

    def settle(self, row: Agreed, index: int) -> None:
        """Decide about a rule that was agreed and still has a line."""
        said = self.said[index]
        self._agreed[index] = row
        known = self._view.get(row.node)
        # Other dots or blanks, or another secret, are not other words.
        unmoved = text_hash(row.graph) == said.key
        last = Last(graph=row.graph or None, file=said.hash if unmoved else row.file or None)
        graph = known.text if known is not None else None
        decision = decide(last, graph, said.item.text, self._terms, line=said.item.raw)
        match decision:
            case Decision.RENDER if known is not None:
                self._render(index, known)
            case Decision.SUPERSEDE | Decision.CONFLICT | Decision.REVIVE:
                if known is not None and self._is_apart(known):
                    self._admit(index)
                    self._stay_out(known)
                elif known is not None and not self._is_changed(row, said):
                    self._restore(index, known)
                else:
                    self._follow(row, index, over=graph if decision is Decision.CONFLICT else None)
            case Decision.ADMIT:
                self._admit(index)
            case Decision.DROP:
                self._drop(index, row.node)
            case _:
                self._keep(index, row.node, graph or "")

    def is_known(self, index: int) -> bool:
        """Return whether a line has the current words of a memory."""
        return self.said[index].key in self._by_key

    def take_in(self, index: int) -> None:
        """Decide about a line that was not agreed before."""
        said = self.said[index]
        node = self._unplaced(said)
        is_gits = self._union or self._file.commits is not None
        former = self._graph.former.get(said.key) if is_gits else None
        if said.key in self._left - self._spoken:
            return  # a copy of a line that goes
        if said.key in self._spoken or said.key in self._file.outside:
            self._echo(index)
        elif node is not None:
            self._keep(index, node, self._view[node].text)
        elif self._is_of_head(said):
            self._admit(index)
        elif {said.key, said.hash} & self._old:
            self._leave(index)  # the old words of a rule that has its line elsewhere
        elif said.key in self._graph.buried and self._file.unchanged:
            self._echo(index)  # words of a memory that is no more, as the branch has them
        elif self._stays_away(said):
            self._leave(index)
        elif former is None:
            self._admit(index)
        elif former in self._view and former not in self._placed:
            row = self._rows.get(former)
            if not self._union and row is not None and self._is_changed(row, said):
                self._follow(row, index, over=None)
            else:
                self._restore(index, self._view[former])
        else:
            self._leave(index)

    def _is_of_head(self, said: FileRule) -> bool:
        """Return whether HEAD has a line next to the words into which a rule was changed here."""
        if self._file.commits is None or said.key not in (self._file.stood or ()):
            return False
        former = self._graph.former.get(said.key)
        return former in self._placed and not self._stays_away(said)

    def is_deleted(self, row: Agreed) -> bool:
        """Return whether the line of an agreed rule was deleted, and not moved out of the block."""
        known = self._view.get(row.node)
        if self._union or known is None or not row.file or not self._is_removed(row):
            return False
        if self._is_apart(known):
            return False
        if text_hash(row.graph) in self._file.outside or self._is_kept(row, known):
            return False
        last = Last(graph=row.graph or None, file=row.file)
        decision = decide(last, known.text, None, self._terms)
        return decision in (Decision.DEMOTE, Decision.KEEP)

    def _is_kept(self, row: Agreed, known: Known) -> bool:
        """Return whether the committed blocks of all files together still have a rule."""
        words = {text_hash(row.graph), text_hash(known.text)}
        return not words.isdisjoint(self._file.kept) or self._follows(row)

    def _follows(self, row: Agreed) -> bool:
        """Return whether a commit changed a rule in another file, which is not read yet."""
        new = self._file.became.get(text_hash(row.graph))
        if new is None or any(said.key == new for said in self.said):
            return False
        return self._by_key.get(new, row.node) == row.node

    def leave_out(self, row: Agreed) -> None:
        """Agree that a rule without a line stays without one, unless it has to get one."""
        known = self._view.get(row.node)
        if known is None or row.node in self._placed:
            return
        if row.graph == known.text and self._follows(row):
            self._placed.add(row.node)  # it will come with its new words
            return
        commits = self._file.commits
        rewound = commits is not None and commits.rewound(_words(row))
        was_said = bool(row.file) and text_hash(row.graph) not in self._file.outside
        if self._is_apart(known) and was_said and not self._union:
            self._stay_out(known)
        elif rewound or (not row.file and row.graph == known.text):
            self._absent[row.node] = replace(row, graph=known.text, file="")

    def _is_apart(self, known: Known) -> bool:
        """Return whether an edit in this file leaves a rule as it is: it is one person's own."""
        return self._file.personal and known.is_shared

    def _stay_out(self, known: Known) -> None:
        """Agree that a rule has no line in this file."""
        row = Agreed(position=0, node=known.node, graph=known.text, file="")
        self._absent[known.node] = row

    def _is_removed(self, row: Agreed) -> bool:
        """Return whether the line of a rule was deleted, in the file or in a commit.

        Git also removes lines that were never committed, and those of commits that HEAD left.
        """
        commits = self._file.commits
        return commits is None or commits.deleted(_words(row))

    def _is_changed(self, row: Agreed, said: FileRule) -> bool:
        """Return whether a rule was given the words of a line, in the file or in a commit."""
        commits = self._file.commits
        return commits is None or commits.changed(_words(row), {said.key, said.hash})

    def _stays_away(self, said: FileRule) -> bool:
        """Return whether a line was deleted before, and came back with older bytes."""
        commits = self._file.commits
        is_old = self._union or (commits is not None and commits.are_older({said.key}))
        return is_old and said.key in self._graph.buried

    def demote(self, row: Agreed) -> None:
        """Take a memory out of the hot tier; its words stay away from every block."""
        known = self._view.pop(row.node)
        self._demoted.append(row.node)
        self._tombstones |= dict.fromkeys((text_hash(known.text), text_hash(row.graph)))

    def done(self) -> Plan:
        """Return the plan: the lines that stay, and what is added as far as there is room."""
        if self._file.frozen:
            self._agree_on_missing()
        tail = self._fill(self._additions())
        before = self._file.lines
        stays = self._file.frozen and not tail
        lines = (before or ()) if stays else self._assembled(tail)
        said = [self._lines[index] for index in sorted(self._lines)]
        rows = [line.row for line in (*said, *tail) if line.row is not None]
        rows += self._absent.values()
        alive = self._spoken | {*self.present().values()}
        return Plan(
            new=tuple(self._new[index] for index in sorted(self._new)),
            superseded=tuple(self._superseded),
            demoted=tuple(self._demoted),
            tombstones=tuple(key for key in self._tombstones if key not in alive),
            lifted=tuple(self._lifted),
            lines=lines,
            writes=lines != before if lines else before is not None,
            left_out=tuple(self._left_out),
            unsayable=tuple(self._unsayable),
            rows=tuple(replace(row, position=position) for position, row in enumerate(rows)),
            held=self._held(),
        )

    def _held(self) -> tuple[Agreed, ...] | None:
        """Return the agreement about the current lines, before any of them is changed.

        A line that has to change is agreed as before. A line that has to go and was never agreed
        would be taken for a new one: then there is no such agreement.
        """
        rows = []
        for index in range(len(self.said)):
            line = self._lines.get(index)
            if line is not None and not line.is_added:
                row = line.row
            elif index in self._agreed:
                row = self._agreed[index]
            else:
                return None
            if row is not None:
                rows.append(row)
        return (*rows, *self._absent.values())

    def _agree_on_missing(self) -> None:
        """Agree that older rules that the block lacks have no line on its branch."""
        for known in self._view.values():
            if known.is_new:
                continue
            if known.node not in self._placed and text_hash(known.text) not in self._spoken:
                row = Agreed(position=0, node=known.node, graph=known.text, file="")
                self._absent[known.node] = row

    def _keep(self, index: int, node: str, graph: str) -> None:
        """Keep a line as it is, for a node with the text `graph`; '' when that is no rule."""
        said = self.said[index]
        row = Agreed(position=0, node=node, graph=graph, file=said.hash)
        self._lines[index] = _Line(said.item.raw, row)
        self._placed.add(node)
        self._spoken |= {said.key, text_hash(graph)} if graph else {said.key}
        if said.key in self._graph.buried and not self._union and said.key not in self._old:
            self._lifted[said.key] = None

    def _unplaced(self, said: FileRule) -> str | None:
        """Return the memory with these words that needs a line and has none yet."""
        node = self._by_key.get(said.key)
        return None if node in self._placed else node

    def _drop(self, index: int, node: str) -> None:
        """Remove a line, unless another memory has the same words by now."""
        said = self.said[index]
        heir = self._unplaced(said)
        if heir is not None:
            self._keep(index, heir, self._view[heir].text)
        else:
            self._leave(index, node)

    def _leave(self, index: int, node: str | None = None) -> None:
        """Remove a line from the block; in a frozen block it stays, and is no rule."""
        key = self.said[index].key
        if not self._file.frozen:
            self._left.add(key)
            return
        node = node or self._graph.unused.get(key) or self._graph.former.get(key)
        if node is None or node in self._placed:
            self._echo(index)
        else:
            self._keep(index, node, "")

    def _restore(self, index: int, known: Known) -> None:
        """Handle older words of a rule that git brought back.

        Words that were never committed are written again; those that left with a commit are not.
        """
        row = self._rows.get(known.node)
        commits = self._file.commits
        if commits is not None and row is not None and commits.rewound(_words(row)):
            self._keep(index, known.node, known.text)
        else:
            self._render(index, known)

    def _echo(self, index: int) -> None:
        """Keep a line that repeats another one: only one of them is the rule."""
        self._lines[index] = _Line(self.said[index].item.raw, None)

    def _admit(self, index: int, *, supersedes: str | None = None) -> None:
        said = self.said[index]
        self._new[index] = New(text=said.text, supersedes=supersedes)
        self._keep(index, "", said.text)

    def _follow(self, row: Agreed, index: int, *, over: str | None) -> None:
        """Take the file's new words; where another line has them, this rule was dropped."""
        said = self.said[index]
        known = self._living.get(row.node)
        if said.key in self._spoken:
            self._echo(index)
        elif known is None or known.is_said:
            self._admit(index, supersedes=row.node if known is not None else None)
        else:
            self._superseded.append(Superseded(node=row.node, text=said.text, over=over))
            self._keep(index, row.node, said.text)
            return
        if row.node in self._view:
            self.demote(row)

    def _render(self, index: int, known: Known) -> None:
        """Replace a line with the graph's words, unless it holds a secret."""
        said = self.said[index]
        if said.holds_secret or self._file.frozen:
            self._keep(index, known.node, known.text)
            return
        self._left.add(said.key)
        line = self._line(known, marker=said.item.marker)
        if line is not None:
            self._lines[index] = line

    def _line(self, known: Known, marker: str = MARKER) -> _Line | None:
        """Return a new line for a memory; None if no line can hold it."""
        text = line_of(self._terms.as_stored(known.text), marker)
        self._placed.add(known.node)
        if text is None:
            self._unsayable.append(known.node)
            return None
        self._spoken.add(text_hash(known.text))
        row = Agreed(position=0, node=known.node, graph=known.text, file=self._terms.hashed(text))
        return _Line(text, row, is_added=True)

    def _additions(self) -> list[_Line]:
        """Return lines for the hot memories that have none yet, best first."""
        lines = []
        for known in self._view.values():
            if known.node in self._placed or known.node in self._absent:
                continue
            if text_hash(known.text) not in self._spoken:
                line = self._line(known)
                if line is not None:
                    lines.append(line)
        return lines

    def _fill(self, added: Sequence[_Line]) -> list[_Line]:
        """Return the new lines that fit; lines that give way to them are removed."""
        loose = {index: line for index, line in self._lines.items() if self._may_go(line)}
        fixed = [line.text for index, line in self._lines.items() if index not in loose]
        wanted = [*loose.values(), *added]
        fits = fit(
            [*self.other_lines().values(), *fixed],
            len(fixed),
            [
                Rule(
                    line=line.text,
                    rank=self._rank(line),
                    stands=index < len(loose) and not line.is_added,
                )
                for index, line in enumerate(wanted)
            ],
            newline=self._file.newline,
        )
        for index, fitting in zip(loose, fits, strict=False):
            if not fitting:
                del self._lines[index]
        out = [line.row for line, fitting in zip(wanted, fits, strict=True) if not fitting]
        self._left_out += [row.node for row in out if row is not None]
        return [line for line, fitting in zip(added, fits[len(loose) :], strict=True) if fitting]

    def _may_go(self, line: _Line) -> bool:
        """Return whether a line may be removed for want of room; its memory stays."""
        if line.is_added:
            return True
        if self._file.frozen:
            return False
        known = self._view.get(line.row.node) if line.row is not None else None
        return known is not None and known.gives_way

    def _rank(self, line: _Line) -> int:
        known = self._living.get(line.row.node) if line.row is not None else None
        return known.rank if known is not None else 0

    def other_lines(self) -> dict[int, str]:
        """Return the lines of the block that belong to no rule, by their index."""
        lines = dict(enumerate(self._file.lines or ()))
        for said in self.said:
            for index in range(said.item.first, said.item.last + 1):
                del lines[index]
        return lines

    def _assembled(self, tail: Sequence[_Line]) -> tuple[str, ...]:
        """Return the lines of the block: each at its place, new ones below the last rule."""
        carried = self.other_lines()
        if not self._lines and not tail and all(_is_empty(line) for line in carried.values()):
            stays = self._file.committed and self._file.lines is not None
            return tuple(carried.values()) or (NOTICE,) if stays else ()
        woven = {index: [line] for index, line in carried.items()}
        for number, said in enumerate(self.said):
            line = self._lines.get(number)
            if line is not None:
                woven[said.item.first] = line.text.split("\n")
            elif parts_lines(self._file.lines or (), said.item):
                woven[said.item.first] = [""]
        below = self._below_rules()
        before = [line for index in sorted(woven) if index < below for line in woven[index]]
        after = [line for index in sorted(woven) if index >= below for line in woven[index]]
        added = [line for rule in tail for line in rule.text.split("\n")]
        if added and self._takes_in_what_follows(before):
            added.insert(0, "")
        if added and after and after[0].strip() and not self.said:
            added.append("")  # else the lines below would continue the last rule
        return (*before, *added, *after)

    def _takes_in_what_follows(self, above: Sequence[str]) -> bool:
        """Return whether a rule right below these lines would become part of the one above."""
        found = items([*above, f"{MARKER}rule"]) if above else ()
        return bool(above) and (not found or found[-1].first < len(above))

    def _below_rules(self) -> int:
        """Return the index of the line below the last rule; headings that restrict follow it."""
        lines = self._file.lines or ()
        if self.said:
            return self.said[-1].item.last + 1
        notices = [index + 1 for index, line in enumerate(lines) if is_notice(line)]
        return max(notices, default=0) if any(not _is_empty(line) for line in lines) else len(lines)


def _words(row: Agreed) -> set[str]:
    """Return the key of the words of a rule, and the hash of its line; none where a side is ''."""
    return {text_hash(row.graph) if row.graph else "", row.file} - {""}


def _is_empty(line: str) -> bool:
    return not line.strip() or is_notice(line)
