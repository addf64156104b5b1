"""Collect what the store knows about an agent file, and let the pure merge decide about it."""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, replace

from bridges.block import Block
from bridges.items import parts_lines
from yaadwatch import places
from yaadwatch.db import authority, edges, fulltext, history, nodes, projects, visibility
from yaadwatch.db.files import Connection
from yaadwatch.db.visibility import View, seen_from
from yaadwatch.memory.claiming import HOLDS_IN
from yaadwatch.model.limits import INLINE
from yaadwatch.model.memories import Node, Provenance
from yaadwatch.model.projects import Agreement
from yaadwatch.sync import inventory, plan
from yaadwatch.sync.gathering import Gathered
from yaadwatch.sync.inventory import Inventory, Paused, is_grave
from yaadwatch.sync.plan import Plan
from yaadwatch.sync.reconcile import File, Graph, Known, Terms, edits, read
from yaadwatch.system import files
from yaadwatch.text import privacy
from yaadwatch.text.words import cached_short, text_hash
from yaadwatch.workspace.workspace import Space


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What has to be done about a file.

    Args:
        inventory: its statements outside the block.
        plan: the plan for its block; None when the file is only read.
        archived: hash of words to the archived memory with them, where no living one has them.
        brought: hashes of statements that git brought, and no person typed into this file before.
    """

    inventory: Inventory
    plan: Plan | None
    archived: Mapping[str, Node]
    brought: Set[str]


@dataclass(frozen=True, slots=True)
class _Store:
    """The store's view of a file, read in one snapshot."""

    provenance: tuple[Provenance, ...]
    texts: Mapping[str, str]
    graph: Graph
    agreement: Agreement | None
    archived: Mapping[str, Node]
    typed: Set[str]


def terms_of_files() -> Terms:
    """Return how words of files compare with words of the graph, hashed with the user's key."""
    key = files.load_key(places.key_file())
    return Terms(
        as_stored=as_stored,
        hashed=lambda line: files.keyed(key, line.encode("utf-8", "surrogatepass")),
    )


@cached_short(2048)
def as_stored(text: str) -> str:
    """Return the text that the graph would hold for a text of a file: masked.

    The first line is one paragraph; the lines of a body stay lines.
    """
    first, *body = privacy.kept(text).text.strip().split("\n")
    return "\n".join((" ".join(first.split()), *map(str.rstrip, body)))


def gravest_first(node: Node) -> tuple[bool, bool, float, str]:
    """Return the sort key of a rule for limited room: pinned, grave, then the newest first."""
    return not node.pinned, not is_grave(node.text), -node.created_at.timestamp(), node.id


def decide(
    space: Space,
    seen: Gathered,
    terms: Terms,
    *,
    beside: frozenset[str] = frozenset(),
    view: View | None = None,
    personal: frozenset[str] = frozenset(),
    accept_deletions: bool = False,
) -> Decided | Paused:
    """Return what has to be done about a file, or why a person has to look first.

    Args:
        space: the work tree.
        seen: the file.
        terms: how words compare.
        beside: hashes of what its readers read in other files of the person anyway.
        view: the work tree's view: no memory of another branch gets a line; existing lines stay.
        personal: files that git does not share; what only they state reaches no other file.
        accept_deletions: a person confirmed that missing rules were deleted on purpose.
    """
    there = seen.block.lines if isinstance(seen.block, Block) else None
    lines = _with_head_changes(seen, there, terms)
    inside = {said.key for said in read(lines or (), terms)}
    stated = _by_hash(as_stored(one.text) for one in seen.statements or ())
    outside = set(stated)
    known = space.db.read(
        seen_from,
        view,
        _read_store,
        space,
        seen,
        terms,
        inside=inside,
        outside=outside,
        personal=personal,
    )
    accept_deletions = accept_deletions or seen.committed
    brought = stated.keys() - known.typed if seen.from_git else seen.brought
    before = _by_hash(known.texts[row.node] for row in known.provenance if row.line is not None)
    stock = inventory.take_stock(
        known.provenance,
        seen.statements,
        known.texts,
        as_stored,
        inside=inside,
        from_git=seen.from_git,
        deleted=seen.commits.kept.some if seen.commits is not None else (),
        # What git brings is never a person's edit: it may not inherit what the person vouched for.
        edited={}
        if seen.from_git
        else {new: old for new, old in edits(stated, before).items() if new not in brought},
        accept_deletions=accept_deletions,
    )
    if isinstance(stock, Paused):
        return stock
    refused = seen.branch.filter or (seen.branch.refusal and lines is None)
    if seen.row.mode != INLINE or seen.data is None or refused:
        return Decided(inventory=stock, plan=None, archived=known.archived, brought=brought)
    file = File(
        lines=lines,
        outside=outside | beside,
        from_git=seen.from_git,
        newline=len(seen.block.newline) if isinstance(seen.block, Block) else 1,
        commits=seen.commits,
        frozen=seen.frozen or bool(seen.branch.refusal),
        committed=seen.branch.block is not None,
        unchanged=not seen.changed and bool(seen.row.block),
        personal=seen.path in personal,
        kept=seen.kept,
        stood=seen.stood,
        became=seen.became,
    )
    done = plan.plan(known.agreement, known.graph, file, terms, accept_deletions=accept_deletions)
    if isinstance(done, Paused):
        return done
    if lines != there:
        done = replace(done, writes=done.lines != there, held=None)
    return Decided(inventory=stock, plan=done, archived=known.archived, brought=brought)


def _by_hash(texts: Iterable[str]) -> dict[str, str]:
    return {text_hash(text): text for text in texts}


def _with_head_changes(
    seen: Gathered, lines: tuple[str, ...] | None, terms: Terms
) -> tuple[str, ...] | None:
    """Return the lines of a block without what HEAD dropped, each changed line with its new words.

    The blocks of HEAD may differ, where git merged each file by itself.
    """
    if lines is None or not seen.dropped:
        return lines
    rules = read(lines, terms)
    there = {one.key for one in rules}
    result = list(lines)
    for one in reversed(rules):
        if one.key in seen.dropped:
            new = seen.became.get(one.key, "")
            line = seen.new_lines.get(new) if new not in there else None
            gap = [""] if parts_lines(lines, one.item) else []
            put = line.split("\n") if line is not None else gap
            result[one.item.first : one.item.last + 1] = put
            there.add(new)
    return tuple(result)


def _read_store(
    conn: Connection,
    space: Space,
    seen: Gathered,
    terms: Terms,
    *,
    inside: set[str],
    outside: set[str],
    personal: frozenset[str],
) -> _Store:
    worktree = space.worktree.id
    provenance = tuple(history.provenance_on_path(conn, worktree, seen.path))
    agreement = _agreement(conn, seen, terms)
    items = agreement.items if agreement is not None else ()
    # A rule that is agreed to have no line counts only as far as it would without the agreement.
    agreed = [row.node for row in items if row.file]
    stood = {text_hash(row.graph) for row in items if row.file and row.graph}
    is_union = agreement is None or (seen.from_git and seen.commits is None)
    hidden = visibility.hidden(conn, visibility.FILE)
    on_other_branches = visibility.of_other_branches(conn)
    own_only = authority.only_in(conn, personal)
    kept_here = set() if seen.path in personal else own_only
    rules = {
        node.id: node
        for node in fulltext.hot_rules(conn, inside=inside | stood, agreed=agreed)
        if node.id not in hidden | kept_here
        and HOLDS_IN not in node.attributes
        and (
            node.id not in on_other_branches
            # A line is not removed from a file because of a branch.
            or node.id in agreed
            or (is_union and text_hash(node.text) in inside)
        )
    }
    others = {
        node.id: node
        for node in (
            *nodes.many(conn, [row.node for row in items]).values(),
            *fulltext.living(conn, inside),
        )
        if node.archived_at is None and node.id not in rules
    }
    said = fulltext.hot_texts(conn, {*rules, *others, *(row.node for row in provenance)})
    archived = fulltext.archived(conn, inside | outside)
    former = {text_hash(old): node for node in (*rules, *others) for old in said.get(node, ())[1:]}
    own = history.said_somewhere(conn, {*rules, *others})
    unused = {text_hash(node.text): node.id for node in (*archived.values(), *others.values())}
    buried = projects.buried_rules(conn) | (archived.keys() & inside)
    if is_union:
        # A block of an older commit has words of superseded memories, which only a person states
        # again, and words that a memory had before it was forgotten.
        gone = edges.successors(conn, others)
        buried |= {text_hash(others[node].text) for node in gone}
        living = {text_hash(node.text) for node in (*rules.values(), *others.values())}
        unknown = inside - living - former.keys() - buried
        if unknown:
            old = {text_hash(text): node for text, node in fulltext.former_words(conn).items()}
            buried |= old.keys() & unknown
            unused |= {key: old[key] for key in old.keys() & unknown}
    ranks = {node.id: rank for rank, node in enumerate(sorted(rules.values(), key=gravest_first))}
    memories = tuple(
        Known(
            node=one.id,
            text=one.text,
            hot=one.id in rules,
            is_said=one.id in own,
            rank=ranks.get(one.id, 0),
            gives_way=one.origin != f"file:{seen.path}" and not one.pinned,
            is_shared=one.id not in own_only,
            is_new=one.id in seen.stated,
        )
        for one in (*rules.values(), *others.values())
    )
    # Former words in a person's file still stand for a memory that was changed elsewhere, but not
    # for one whose words a person replaced in this file.
    here, own_nodes = f"file:{seen.path}", [row.node for row in provenance]
    replaced_here = fulltext.edited_by(conn, here, own_nodes)
    texts = {}
    for row in provenance:
        known = said.get(row.node, [""])
        known = known[:1] if row.node in replaced_here else known
        texts[row.node] = next((one for one in known if text_hash(one) in outside), known[0])
    typed = fulltext.earlier_words_by(conn, here, own_nodes)
    return _Store(
        provenance=provenance,
        texts=texts,
        graph=Graph(memories=memories, buried=buried, former=former, unused=unused),
        agreement=agreement,
        archived=archived,
        typed=frozenset(map(text_hash, typed)),
    )


def _agreement(conn: Connection, seen: Gathered, terms: Terms) -> Agreement | None:
    """Return what was agreed for the block: by its digest when git wrote it, else the last one.

    Where the commits in between are known, the last one on this branch.
    """
    row, digest = seen.row, seen.row.block
    is_known = not seen.from_git or (seen.commits is not None and bool(seen.base))
    if seen.from_git and is_known:
        digest = seen.base
    elif seen.from_git:
        digest = terms.hashed(seen.block.text if isinstance(seen.block, Block) else "")
    elif not digest:
        return None
    found = projects.agreements_of_block(conn, row.worktree, seen.path, digest)
    return found or (Agreement(digest=digest, items=()) if is_known else None)
