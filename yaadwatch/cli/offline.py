"""Answer without a daemon: `check` from a checkout alone, and reads from the stores in place.

The check is for CI and pre-commit hooks, and needs no store: it reads the agent files of a
checkout, anchors their statements in the files of an older commit, and compares with the files of
today, by the functions that the daemon uses. Reads open the stores read-only.
"""

import json
import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

from bridges.block import without_markers
from bridges.rules import Bridge, Statement
from yaadwatch import places
from yaadwatch.api import codec
from yaadwatch.api.frames import decode, to_error, to_text
from yaadwatch.api.operations import BY_NAME
from yaadwatch.cli.terminal import Terminal
from yaadwatch.client.connection import DaemonUnresponsive
from yaadwatch.daemon.dispatch import VERBS, Dispatcher
from yaadwatch.memory import views
from yaadwatch.model.anchors import Anchor, Evidence, Verdict
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.settings import AGENT_FILE_BYTES_MAX
from yaadwatch.repo import layout
from yaadwatch.repo.command import GitRunner, NoGit
from yaadwatch.repo.layout import Head
from yaadwatch.repo.repository import Repository
from yaadwatch.staleness import anchoring, assessing, commit_evidence
from yaadwatch.staleness.anchor_search import Source
from yaadwatch.staleness.commits import AtHead, FileInView
from yaadwatch.staleness.git_queries import History
from yaadwatch.staleness.worktree import View, WorkTree, look_at
from yaadwatch.system import config
from yaadwatch.system.clock import Clock
from yaadwatch.text import privacy, words
from yaadwatch.text.privacy import mask_tree
from yaadwatch.workspace import agent_files
from yaadwatch.workspace.agent_files import ODD
from yaadwatch.workspace.lookup import open_home
from yaadwatch.workspace.workspace import PERSON, Call, require_files, require_repository

DEFAULT_BRANCHES = (
    "@{upstream}",
    "refs/remotes/origin/HEAD",
    "refs/remotes/origin/main",
    "refs/remotes/origin/master",
)
"""Where a change that is checked leaves from, most specific first."""


@dataclass(frozen=True, slots=True)
class _Rule:
    """A statement of an agent file, and its place now."""

    path: str
    statement: Statement

    @property
    def text_hash(self) -> str:
        """Return the hash of its text."""
        return words.text_hash(self.statement.text)

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


def check(
    folder: Path, *, base: str | None = None, staged: bool = False, index: Path | None = None
) -> dict[str, Any]:
    """Return which rules of the agent files a change makes false: Verified in docs/contracts.md.

    A rule that is new or reworded since `base` is compared with HEAD, and skipped where HEAD
    does not have it: its author has just looked at the code. Secrets are masked.

    Args:
        folder: inside a work tree.
        base: the change begins where this commit and HEAD parted; by default where the upstream or
            the default branch of `origin` and HEAD parted, else before HEAD; HEAD when `staged`, or
            when it is the first commit.
        staged: check what would be committed now, not the work tree.
        index: the index file, when git uses another one.

    Raises:
        YaadError: NOT_FOUND when `folder` is in no repository, or `base` is no commit of it;
            UNAVAILABLE when git does not answer, or the clone is too shallow to know a base.
    """
    layout = require_files(require_repository(folder))
    runner = GitRunner(timedelta(seconds=60), passing=True)  # only the caller waits for it
    try:
        repository = Repository(layout, runner)
        try:
            repository.verify()
        except NoGit:
            raise NoGit("nothing was checked: what a change is, git says") from None
        found = _check(repository, layout.root or layout.common_dir, base, staged, index)
        told = privacy.mask_tokens(to_text(found).encode("utf-8", "replace"))
        answer: dict[str, Any] = json.loads(told)
        return answer
    finally:
        runner.close()


def _check(
    repository: Repository, root: Path, base: str | None, staged: bool, index: Path | None
) -> dict[str, object]:
    history, here = History(repository), repository.head().commit
    commit = ""
    if staged:
        start = here if base is None else _named(repository, base)
        commit = repository.snapshot(index)
        view: View = _at(history, commit)
        head = _at(history, commit)
    else:
        start = _base(repository, base)
        view, head = look_at(_Checkout(root=root, repository=repository), (), Clock().now_ns())
    rules, unread = _rules(view)
    since = dict.fromkeys(one for one in (start, here) if one)
    judged, newer, unknown = _anchored(rules, [_at(history, one) for one in since])
    assessing.expect_anchors((anchor for _, own in judged for anchor in own), head)
    found = [(rule, _judged(rule, own, view, head, commit)) for rule, own in judged]
    findings = [(rule, row) for rule, row in found if row is not None]
    found_new = sum(rule in newer for rule, _ in findings)
    resting_new = sum(rule in newer for rule, _ in judged)
    note = _note(repository, base, start, here)
    answer: dict[str, object] = {
        "base": start or None,
        "against": "index" if staged else "worktree",
        "rules": len(rules),
        # Those that the base has already, and newer ones that the change makes false.
        "judged": len(judged) - resting_new + found_new,
        "new": len(newer) - found_new if start else 0,
        "false": [row for _, row in findings if row["level"]],
        "unknown": [
            rule.row() | {"reason": row["reason"]} for rule, row in findings if not row["level"]
        ],
        "unread": [{"path": path, "reason": why} for path, why in (*unread, *unknown)],
    }
    return answer | ({"note": note} if note else {})


def _note(repository: Repository, base: str | None, start: str, here: str) -> str:
    """Return a note that a shallow clone lacks the merge base of HEAD and a named commit."""
    is_cut = base is not None and here and layout.cut_at(repository.layout)
    if not is_cut or repository.merge_base(start, here):
        return ""
    return (
        f"This clone is shallow and has no commit that {base} and HEAD share: compared with {base}"
        " itself, whose own changes count, too. For the merge base: git fetch --unshallow"
    )


def _at(history: History, commit: str) -> AtHead:
    return AtHead(history=history, head=Head(commit=commit, branch=""))


def _named(repository: Repository, name: str) -> str:
    """Return the commit that HEAD, or what is staged on it, is to be compared with.

    Raises:
        YaadError: NOT_FOUND when there is no such commit.
    """
    commit = repository.commit_named(name)
    if commit is None:
        raise YaadError(
            Code.NOT_FOUND,
            f"git knows no commit {name} here; nothing was checked.",
            hint="In CI, have the whole history fetched (GitHub: fetch-depth: 0).",
        )
    here = repository.head().commit
    return (repository.merge_base(commit, here) if here else None) or commit


def _base(repository: Repository, given: str | None) -> str:
    """Return the commit at which the change begins; HEAD itself when it is the first one.

    Before the first commit it is ''.

    Raises:
        YaadError: NOT_FOUND as for `_named`; UNAVAILABLE when what came before was cut off.
    """
    if given is not None:
        return _named(repository, given)
    here = repository.head().commit
    if not here:
        return ""
    for name in DEFAULT_BRANCHES:
        other = repository.commit_named(name)
        parted = repository.merge_base(other, here) if other is not None else ""
        if parted and parted != here:
            return parted
    before = repository.commit_named("HEAD~1")
    if before is not None:
        return before
    if here in layout.cut_at(repository.layout):
        raise YaadError(
            Code.UNAVAILABLE,
            "This clone is shallow and has no commit before HEAD to compare with; nothing was "
            "checked.",
            hint="Fetch more (GitHub: fetch-depth: 0), or say what to compare with: --base REV",
        )
    return here


def _rules(view: View) -> tuple[list[_Rule], tuple[tuple[str, str], ...]]:
    """Return the rules of a view's agent files, and which files were not read, and why."""
    rules: list[_Rule] = []
    unread: list[tuple[str, str]] = []
    files = _agent_files(view)
    for path, bridge in files.items():
        found = view.find(path)
        if found is None or _is_another_name(view, path, files):
            continue
        data = _bytes(view, path)
        if data is None:
            unread.append((path, _why_unread(view, path, found)))
            continue
        document = bridge.parse(without_markers(data))
        unread += [(path, problem.message) for problem in document.problems]
        rules += [_Rule(path, one) for one in document.statements]
    return rules, tuple(unread)


def _why_unread(view: View, path: str, found: FileInView) -> str:
    # The limit for agent files also covers files that are too large for anything else.
    if found.odd and found.kind != "too_large":
        return found.odd
    if isinstance(view, AtHead) and not view.history.has_blob(found.blob):
        return f"git does not have {path} as it was at {view.head.commit[:8]}"
    return f"{path} {ODD['too_large']}"


def _is_another_name(view: View, path: str, files: Collection[str]) -> bool:
    """Return whether a file is a link to another agent file, which is read."""
    if not isinstance(view, WorkTree):
        return False
    link = view.space.root / path
    if not link.is_symlink():
        return False
    leads_to = os.path.normpath(link.parent / link.readlink())
    root = f"{view.space.root}{os.sep}"
    return leads_to.startswith(root) and leads_to.removeprefix(root).replace(os.sep, "/") in files


def _agent_files(view: View) -> dict[str, Bridge]:
    """Return the agent files of a view by their own names, those at the top first, their formats.

    They are followed by the files they include with '@', as agents read them.
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


def _anchored(
    rules: Sequence[_Rule], then: Sequence[AtHead]
) -> tuple[list[tuple[_Rule, list[Anchor]]], list[_Rule], list[tuple[str, str]]]:
    """Return the rules that rest on something, with what each rested on in an older commit.

    And the rules that the oldest commit does not say. And the agent files that those commits have
    and git does not, and why: what they said then is not known, so that their rules may be judged
    by a later commit, or not at all.

    `then`: the commits, oldest first; a rule is looked up in the first of them that says it.
    """
    found: list[tuple[_Rule, list[Anchor]]] = []
    unknown: list[tuple[str, str]] = []
    left = list(rules)
    newer: list[_Rule] | None = None
    for view in then:
        earlier, unread = _rules(view)
        unknown += [row for row in unread if not _has_blob(view, row[0])]
        known = {rule.text_hash for rule in earlier}
        old = [rule for rule in left if rule.text_hash in known]
        left = [rule for rule in left if rule.text_hash not in known]
        newer = left if newer is None else newer
        sources = [
            Source(text=privacy.kept(one.statement.text).text, folder=one.path.rpartition("/")[0])
            for one in old
        ]
        if old:
            found += zip(old, anchoring.anchor(sources, view, view.head.commit), strict=True)
    resting = sorted(
        ((rule, own) for rule, own in found if own),
        key=lambda row: (row[0].path, row[0].statement.line),
    )
    return resting, newer or [], unknown


def _has_blob(view: AtHead, path: str) -> bool:
    found = view.find(path)
    return view.history.has_blob(found.blob if found is not None else "")


def _judged(
    rule: _Rule, own: Sequence[Anchor], view: View, head: AtHead, temporary: str
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


class Stores:
    """Answers requests that only read from the stores, where no daemon can be asked.

    Args:
        folder: that requests are about; absolute.
        why: no daemon can be asked; raised for all other requests.
        terminal: where a person is told so, once.
    """

    def __init__(self, folder: str, why: YaadError, terminal: Terminal) -> None:
        self._folder = Path(folder)
        self._why = why
        self._terminal: Terminal | None = terminal

    def call(self, operation: str, /, **fields: object) -> dict[str, object]:
        """Return the answer to `operation`; as `Client.call`."""
        if not can_answer(operation):
            raise self._why
        if self._terminal is not None:
            what = "No daemon can be started; this is what the stores hold."
            if isinstance(self._why, DaemonUnresponsive):
                what = "This is what the stores hold, without the daemon."
            hint = f"\n  {self._why.hint}" if self._why.hint else ""
            self._terminal.end_progress()
            self._terminal.err.write(f"yaadwatch: {what} {self._why.message}{hint}\n")
            self._terminal = None
        return answer(operation, fields, self._folder)

    def now(self) -> datetime:
        """Return the present time by the clock that the times in answers are of."""
        return Clock().now()


def can_answer(operation: str) -> bool:
    """Return whether an operation only reads what is stored."""
    return operation in VERBS and operation != "health" and BY_NAME[operation].kind == "read"


def answer(operation: str, fields: Mapping[str, object], folder: Path) -> dict[str, object]:
    """Return what the daemon would answer to `operation`, with `offline: true`.

    Args:
        operation: one for which `can_answer` returns True.
        fields: of its request.
        folder: the caller's folder; `fields` may name another project.

    Raises:
        YaadError: as the operation; UNAVAILABLE when a store cannot be read, REFUSED when it
            belongs to another user.
    """
    request = codec.request(
        {"jsonrpc": "2.0", "id": 1, "method": operation, "params": dict(fields)}
    )
    call = Call(folder=Path(request.project) if request.project else folder, origin=PERSON)
    data_folder = places.data_folder()
    if data_folder.exists() and not data_folder.is_dir():
        raise YaadError(
            Code.REFUSED,
            f"{data_folder} is not a folder; nothing was read from it or written to it.",
            hint="Set YAAD_HOME to a folder of your own.",
        )
    # Settings that cannot be used keep the daemon from starting, which the caller reports.
    settings = config.load_or_usual(data_folder / config.FILE, os.environ).settings
    with closing(open_home(settings, read_only=True)) as home:
        frame = decode(Dispatcher(home, mask_tree).run_verb(call, request))
    if "error" in frame:
        raise to_error(frame["error"])
    return cast("dict[str, object]", frame["result"]) | {"offline": True}
