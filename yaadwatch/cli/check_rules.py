"""Judge the rules of a checkout's agent files, with no daemon and no store.

By default each rule is compared with the code of the commit that gave it its words. With a base, or
for what is staged, it is compared with the code of that commit: what does this change break?
"""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from bridges.block import without_markers
from bridges.rules import Bridge, Statement
from yaadwatch.api.frames import to_text
from yaadwatch.memory import views
from yaadwatch.model.anchors import Anchor, Evidence, Verdict
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.settings import AGENT_FILE_BYTES_MAX
from yaadwatch.repo import layout
from yaadwatch.repo.command import GitRunner, NoGit
from yaadwatch.repo.repository import Repository
from yaadwatch.staleness import anchoring, assessing, commit_evidence, uncommitted
from yaadwatch.staleness.anchor_search import Source
from yaadwatch.staleness.commits import AtHead, FileInView
from yaadwatch.staleness.git_queries import History
from yaadwatch.staleness.uncommitted import at_commit
from yaadwatch.staleness.worktree import View, WorkTree, look_at
from yaadwatch.sync import lookback
from yaadwatch.system.clock import Clock
from yaadwatch.text import privacy
from yaadwatch.workspace import agent_files
from yaadwatch.workspace.agent_files import ODD
from yaadwatch.workspace.workspace import require_files, require_repository

COMMITS_MAX = 24
"""Commits in which the rules of a checkout are looked up; later ones represent the others."""
LARGE_FILES, LARGE_COMMITS_MAX = 15_000, 8
"""A repository with so many files is looked at in fewer commits: each takes seconds."""
LINK_HOPS_MAX = 4
RULES_MAX = 4096
"""Rules whose commit is looked up; the others cannot be judged."""

NAMES_NO_CODE = "it names no code that was there when it was written, or is there now"
NO_CODE_AT_BASE = "it names no code that was there at the base"
NOT_COMMITTED = "it is not committed, so its author has just seen the code"
NOT_THERE = "git does not have the code of the commit that wrote it (a partial clone)"
NEW_SINCE = "it is new or reworded since the base, so its author has just seen the code"


@dataclass(frozen=True, slots=True)
class Rule:
    """A statement of an agent file, and its place now."""

    path: str
    statement: Statement
    text_hash: str

    @property
    def source(self) -> Source:
        """Return what its anchors are looked up for."""
        text = privacy.kept(self.statement.text).text
        return Source(text=text, folder=self.path.rpartition("/")[0])

    def row(self) -> dict[str, object]:
        """Return its place and text, for the answer; secrets are masked."""
        one = self.statement
        text = privacy.kept(one.text).text
        return {"path": self.path, "line": one.line, "end_line": one.end_line, "text": text}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Checkout:
    """A work tree without a project."""

    root: Path
    repository: Repository


@dataclass(slots=True)
class _Anchored:
    """Rules with what they rest on, and why the others cannot be judged.

    `written`: the commit that gave a rule its words, where that was looked up. `unread`: agent
    files, and why git cannot show what they said. `cut`: rules that are older than a shallow clone.
    """

    resting: list[tuple[Rule, list[Anchor]]] = field(default_factory=list)
    unjudged: list[tuple[Rule, str]] = field(default_factory=list)
    new: list[Rule] = field(default_factory=list)
    written: dict[Rule, str] = field(default_factory=dict)
    unread: list[tuple[str, str]] = field(default_factory=list)
    cut: int = 0


def check(
    folder: Path,
    *,
    base: str | None = None,
    staged: bool = False,
    index: Path | None = None,
    on_progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Return which rules of the agent files are false: Verified in docs/contracts.md.

    A rule that is new or reworded since `base` is compared with HEAD, and skipped where HEAD
    does not have it: its author has just looked at the code. Secrets are masked.

    Args:
        folder: inside a work tree.
        base: compare with the commit where this one and HEAD parted; by default each rule with the
            commit that gave it its words, or with HEAD when `staged`.
        staged: check what would be committed now, not the work tree.
        index: the index file, when git uses another one.
        on_progress: called with what is being done, in words.

    Raises:
        YaadError: NOT_FOUND when `folder` is in no repository, or `base` is no commit of it;
            UNAVAILABLE when git does not answer, or the clone is too shallow to judge anything.
    """
    layout = require_files(require_repository(folder))
    runner = GitRunner(timedelta(seconds=60), passing=True)  # only the caller waits for it
    try:
        repository = Repository(layout, runner)
        try:
            repository.verify()
        except NoGit:
            raise NoGit("nothing was checked: what a change is, git says") from None
        checkout = _Checkout(root=layout.root or layout.common_dir, repository=repository)
        start = _start(repository, base) if base is not None or staged else None
        found = _check(checkout, start, on_progress, index=index, staged=staged)
        note = _note(repository, base, start)
        found |= {"note": note} if note and "note" not in found else {}
        told = privacy.mask_tokens(to_text(found).encode("utf-8", "replace"))
        answer: dict[str, Any] = json.loads(told)
        return answer
    finally:
        runner.close()


def _check(
    checkout: _Checkout,
    start: str | None,
    on_progress: Callable[[str], None],
    *,
    index: Path | None,
    staged: bool,
) -> dict[str, object]:
    """Return the answer; `start` is what all rules are compared with, '' before any commit."""
    repository = checkout.repository
    history, here = History(repository), repository.head().commit
    commit = repository.snapshot(index) if staged else ""
    if staged:
        view: View = at_commit(history, commit)
        head = at_commit(history, commit)
    else:
        view, head = look_at(checkout, (), Clock().now_ns())
    rules, unread = _rules(view)
    if start is not None or not here:
        since = dict.fromkeys(one for one in (start, here) if one)
        found = _at_base(rules, [at_commit(history, one) for one in since])
    else:
        on_progress(f"looking up when {len(rules)} rules were written")
        found = _as_written(rules, head)
    assessing.expect_anchors((anchor for _, own in found.resting for anchor in own), head)
    findings: list[tuple[Rule, dict[str, object]]] = []
    # One commit after the other: what differs between two is kept for a few of them.
    by_commit = sorted(found.resting, key=lambda row: row[1][0].commit)
    for at, (rule, own) in enumerate(by_commit):
        on_progress(f"comparing {at} of {len(found.resting)} rules with the code")
        row = _judged(rule, own, view, head, commit)
        if row is not None:
            wrote = found.written.get(rule)
            written = history.commit(wrote) if wrote else None
            if written is not None:
                row["written"] = {"id": written.id, "at": written.at}
            findings.append((rule, row))
    findings.sort(key=_place)
    false = {rule for rule, _ in findings}
    seen = [rule for rule in found.new if rule not in false]  # by their author, just now
    found.unjudged += [(rule, NEW_SINCE) for rule, _ in found.resting if rule in set(seen)]
    found.unjudged.sort(key=_place)
    note = _cut_note(found, repository, here)
    answer: dict[str, object] = {
        "base": start or None,
        "against": "index" if staged else "worktree",
        "rules": len(rules),
        "judged": len(rules) - len(found.unjudged),
        "new": len(seen) if here else 0,
        "false": [row for _, row in findings if row["level"]],
        "unknown": [
            rule.row() | {"reason": row["reason"]} for rule, row in findings if not row["level"]
        ],
        "unjudged": [rule.row() | {"reason": why} for rule, why in found.unjudged],
        "unread": [{"path": path, "reason": why} for path, why in (*unread, *found.unread)],
    }
    return answer | ({"note": note} if note else {})


def _place(row: tuple[Rule, object]) -> tuple[str, int]:
    return row[0].path, row[0].statement.line


def _note(repository: Repository, base: str | None, start: str | None) -> str:
    """Return a note that a shallow clone lacks the merge base of HEAD and a named commit."""
    here = repository.head().commit
    is_cut = base is not None and here and layout.cut_at(repository.layout)
    if not is_cut or start is None or repository.merge_base(start, here):
        return ""
    return (
        f"This clone is shallow and has no commit that {base} and HEAD share: compared with {base}"
        " itself, whose own changes count, too. For the merge base: git fetch --unshallow"
    )


def _cut_note(found: _Anchored, repository: Repository, here: str) -> str:
    """Return a note that some rules are older than this shallow clone.

    Raises:
        YaadError: UNAVAILABLE when the clone is so shallow that nothing can be judged.
    """
    if not found.cut:
        return ""
    if here in layout.cut_at(repository.layout):
        raise YaadError(
            Code.UNAVAILABLE,
            "This clone is shallow and has no commit before HEAD to compare with; nothing was "
            "checked.",
            hint="Fetch the history (git fetch --unshallow; GitHub: fetch-depth: 0), or say what "
            "to compare with: --base REV",
        )
    are = "1 rule is" if found.cut == 1 else f"{found.cut} rules are"
    return (
        f"This clone is shallow, and {are} older than its history: what became false before is"
        " not known. For the rest: git fetch --unshallow"
    )


def _start(repository: Repository, base: str | None) -> str:
    """Return the commit at which the change begins; '' before the first one.

    Raises:
        YaadError: NOT_FOUND when there is no such commit.
    """
    here = repository.head().commit
    if base is None:
        return here
    commit = repository.commit_named(base)
    if commit is None:
        raise YaadError(
            Code.NOT_FOUND,
            f"git knows no commit {base} here; nothing was checked.",
            hint="In CI, have the whole history fetched (GitHub: fetch-depth: 0).",
        )
    return (repository.merge_base(commit, here) if here else None) or commit


def _rules(view: View) -> tuple[list[Rule], tuple[tuple[str, str], ...]]:
    """Return the rules of a view's agent files, and which files were not read, and why."""
    rules: list[Rule] = []
    unread: list[tuple[str, str]] = []
    files = _agent_files(view)
    for path, bridge in files.items():
        found = view.find(path)
        if found is None or _link_target(view, path) is not None:
            continue
        data = _bytes(view, path)
        if data is None:
            unread.append((path, _why_unread(view, path, found)))
            continue
        document = bridge.parse(without_markers(data))
        unread += [(path, problem.message) for problem in document.problems]
        rules += [Rule(path, one, lookback.memory_hash(one)) for one in document.statements]
    return rules, tuple(unread)


def _why_unread(view: View, path: str, found: FileInView) -> str:
    # The limit for agent files also covers files that are too large for anything else.
    if found.odd and found.kind != "too_large":
        return found.odd
    if isinstance(view, AtHead) and not view.history.has_blob(found.blob):
        return f"git does not have {path} as it was at {view.head.commit[:8]}"
    return f"{path} {ODD['too_large']}"


def _link_target(view: View, path: str, hops: int = LINK_HOPS_MAX) -> str | None:
    """Return the text of the repository that a link leads to; None for other links and files."""
    if isinstance(view, WorkTree):
        link = view.space.root / path
        named = os.fspath(link.readlink()) if link.is_symlink() else ""
    else:
        named = view.history.link_at(view.head.commit, path)
    if not named or "\0" in named or os.path.isabs(named):  # noqa: PTH117  (a string)
        return None
    place = agent_files.place_of(path, named)
    if place is None or place == path or not agent_files.may_be_imported(place):
        return None
    last = _link_target(view, place, hops - 1) if hops else None
    return last or (place if _bytes(view, place) is not None else None)


def _agent_files(view: View) -> dict[str, Bridge]:
    """Return the agent files of a view by their own names, those at the top first, their formats.

    They are followed by the files that they are links to, or include with '@'.
    """
    formats = agent_files.formats()
    paths = set(formats.among(view.listing().every()))
    if isinstance(view, WorkTree):  # what git does not track is seen too
        paths |= {one.name for one in formats.find(view.space.root).files.values()}
    found: dict[str, Bridge] = {}
    for path in sorted(paths, key=lambda path: (path.count("/"), path)):
        bridge = formats.of(path)
        if bridge is not None:
            found[path] = bridge
    for path in list(found):
        if (place := _link_target(view, path)) is not None:
            found.setdefault(place, agent_files.IMPORTED)
    for path, bridge in list(found.items()):
        if bridge.name in agent_files.IMPORTERS:
            _take_in(view, path, found, {path}, agent_files.IMPORTS_DEEP_MAX)
    return found


def _take_in(view: View, path: str, found: dict[str, Bridge], seen: set[str], deep: int) -> None:
    """Add the files that a file includes, and those they include."""
    data = _bytes(view, path) if deep else None
    for named in agent_files.imported(data) if data is not None and b"@" in data else ():
        place = agent_files.place_of(path, named)
        if place is None or place in seen or not agent_files.may_be_imported(place):
            continue
        if len(found) >= agent_files.FILES_MAX or _bytes(view, place) is None:
            continue  # not there: `@types/node` in a sentence looks the same
        seen.add(place)
        found.setdefault(place, agent_files.IMPORTED)
        _take_in(view, place, found, seen, deep - 1)


def _bytes(view: View, path: str) -> bytes | None:
    """Return the bytes of an agent file; None when it is missing or too large."""
    data = view.read(path)
    return data if data is not None and len(data) <= AGENT_FILE_BYTES_MAX else None


def _at_base(rules: Sequence[Rule], then: Sequence[AtHead]) -> _Anchored:
    """Return rules with what each rested on in an older commit.

    `new` are those that the oldest commit does not say.

    Args:
        rules: those of the agent files now.
        then: the commits, oldest first; a rule is looked up in the first of them that says it.
    """
    done = _Anchored()
    left, is_first = list(rules), True
    for view in then:
        earlier, unread = _rules(view)
        done.unread += [row for row in unread if not _has_blob(view, row[0])]
        known = {rule.text_hash for rule in earlier}
        old = [rule for rule in left if rule.text_hash in known]
        left = [rule for rule in left if rule.text_hash not in known]
        if is_first:
            done.new, is_first = left, False
        found = anchoring.anchor(_sources(old), view, view.head.commit)
        for rule, own in zip(old, found, strict=True):
            if own:
                done.resting.append((rule, own))
            else:
                done.unjudged.append((rule, NO_CODE_AT_BASE))
    done.unjudged += [(rule, NEW_SINCE if then else NOT_COMMITTED) for rule in left]
    return done


def _as_written(rules: Sequence[Rule], head: AtHead) -> _Anchored:
    """Return rules with what each rested on in the commit that gave it its words.

    A rule of which all came later is tied to what is at HEAD.
    """
    done = _Anchored()
    repository, here = head.history, head.head.commit
    said: dict[str, list[str]] = {}
    for rule in rules:
        said.setdefault(rule.path, []).append(rule.text_hash)
    is_large = len(repository.tracked()) > LARGE_FILES
    since = lookback.wording_commits(
        repository,
        agent_files.formats(),
        here,
        said.items(),
        statements_max=RULES_MAX,
        commits_max=LARGE_COMMITS_MAX if is_large else COMMITS_MAX,
    )
    cut_at = layout.cut_at(repository.layout)
    by_commit: dict[str, list[Rule]] = {}
    later: list[Rule] = []
    for path, error in since.failed.items():
        why = error.message if repository.is_whole else "git does not have all of it here"
        done.unread.append((path, f"its history cannot be read: {why}"))
    for rule in rules:
        key = (rule.path, rule.text_hash)
        if key in since.commits:
            done.written[rule] = since.wrote[key].commit
            done.cut += since.wrote[key].commit in cut_at
            by_commit.setdefault(since.commits[key], []).append(rule)
        elif rule.path in since.failed:
            done.unjudged.append((rule, "the history of its file cannot be read"))
        else:
            done.new.append(rule)
            done.unjudged.append((rule, NOT_COMMITTED))
    every = [(commit, rule) for commit, some in by_commit.items() for rule in some]
    for rule, own in _anchors_then(every, repository, done):
        if own:
            done.resting.append((rule, own))
        else:
            later.append(rule)
    # All that the others name came later: it counts as it is at HEAD.
    for rule, own in zip(later, anchoring.anchor(_sources(later), head, here), strict=True):
        if own:
            done.resting.append((rule, own))
        else:
            done.unjudged.append((rule, NAMES_NO_CODE))
    return done


def _sources(rules: Sequence[Rule]) -> list[Source]:
    return [rule.source for rule in rules]


def _anchors_then(
    every: Sequence[tuple[str, Rule]], history: History, done: _Anchored
) -> Iterator[tuple[Rule, list[Anchor]]]:
    """Yield the anchors of rules in the commits beside them; all at once, because that costs less.

    Where git fails, each commit is looked at by itself; the rules of one that fails go to
    `unjudged`.
    """
    try:
        sources = [(commit, rule.source) for commit, rule in every]
        found = list(uncommitted.anchors_as_written(sources, history))
    except YaadError as error:
        commits = dict.fromkeys(commit for commit, _ in every)
        if len(commits) == 1:
            is_partial = error.code is Code.UNAVAILABLE and not history.is_whole
            why = NOT_THERE if is_partial else error.message
            done.unjudged += [(rule, why) for _, rule in every]
            return
        for one in commits:
            part = [(commit, rule) for commit, rule in every if commit == one]
            yield from _anchors_then(part, history, done)
    else:
        yield from ((every[at][1], own) for at, own in found)


def _has_blob(view: AtHead, path: str) -> bool:
    found = view.find(path)
    return view.history.has_blob(found.blob if found is not None else "")


def _judged(
    rule: Rule, own: Sequence[Anchor], view: View, head: AtHead, temporary: str
) -> dict[str, object] | None:
    """Return the finding of a rule, with level '' if it could not be judged; None if it holds.

    `temporary`: a commit made for the staged files, which no evidence names.
    """
    found = assessing.assess(rule.statement.text, own, view, head, pages=(rule.path,))
    worst, proposal = found.worst, found.suggestion
    if not found.level and worst.verdict is not Verdict.UNKNOWN:
        return None
    evidence: Sequence[Evidence] = ()
    if worst.verdict is not Verdict.UNKNOWN:
        evidence, _ = commit_evidence.explain(worst, assessing.committed(worst, head), head)
    row = rule.row() | {
        "verdict": worst.verdict.value,
        "score": found.score,
        "level": found.level,
        "reason": privacy.mask(worst.reason).text,
        "evidence": [
            views.evidence_row(
                replace(one, commit=None) if one.commit and one.commit.id == temporary else one
            )
            for one in evidence
        ],
    }
    if proposal is not None:
        text = privacy.mask(proposal.text).text if proposal.text is not None else None
        row["suggestion"] = views.proposal_row(replace(proposal, text=text))
    return row
