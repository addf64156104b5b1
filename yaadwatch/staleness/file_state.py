"""Observe an anchored file, or a definition in it, in a view of the files."""

import hashlib
import re
from dataclasses import replace

from yaadwatch.anchors import definitions, facts
from yaadwatch.anchors.definitions import State, language_of
from yaadwatch.anchors.naming import parts_of
from yaadwatch.model.anchors import Anchor, Method
from yaadwatch.model.settings import DEFINITIONS_MAX, SYMBOL_FILES_MAX, WORD_FILES_MAX
from yaadwatch.repo.attributes import object_id
from yaadwatch.repo.layout import Head
from yaadwatch.repo.repository import blob_id
from yaadwatch.staleness import proposals, successors
from yaadwatch.staleness.commits import AtHead, is_ours
from yaadwatch.staleness.git_queries import History
from yaadwatch.staleness.verdict import PLACED, Seen, Span
from yaadwatch.staleness.worktree import View, WorkTree
from yaadwatch.text.quoting import as_name, as_names
from yaadwatch.text.words import cached

CAME_MAX = 3
"""Packages that came where one went and are named; of more, none says what took its place."""
_PROSE = (".md", ".mdx", ".markdown", ".rst", ".txt", ".adoc", ".org", ".csv", ".tsv", ".log")
_NO_CODE = re.compile(
    r"(?i)(?:^|/)(?:licen[cs]e|copying|notice|authors|changelog|changes|codeowners)[^/]*$"
    r"|(?:lock|\.lock\.json|-lock\.json|-lock\.yaml|\.sum|\.jsonl|\.snap|\.svg|\.map|\.ipynb|\.min\.js)$"
)
_NO_PROJECT = re.compile(
    r"(?i)(?:^|/)(?:node_modules|vendor|third_party|fixtures?|testdata|examples?|templates?)/"
)
"""Folders whose manifests say nothing of the project."""
_PATHS_KEPT_MAX = 16_384
"""Each word of a text is searched in the same files, so the answers repeat a thousand times."""
_DEFINES = (
    rb"\b(?:class|def|fn|func|fun|function|interface|type|struct|enum|union|trait|protocol|record|"
    rb"object|module|mod|namespace|macro_rules!|const|let|var|val|static|define)[ \t*]+"
    rb"(?:\([^()\n]{0,80}\)[ \t]*)?"
)
"""How a line begins that defines something, in most languages."""


def see(anchor: Anchor, view: View, head: AtHead) -> Seen:
    """Observe an anchored file or definition in `view`.

    Args:
        anchor: what to look for.
        view: the work tree, or HEAD.
        head: HEAD, which knows how files were renamed since the anchor's commit.

    Raises:
        YaadError: from git, or from a disk; then the state is unknown.
    """
    place = _place(anchor, view, head)
    if isinstance(place, Seen):
        return place
    if place is None:
        if anchor.method is Method.FILE:
            return Seen()
        return _went(anchor, Seen(), view, head)
    found = view.find(place)
    if found is None:
        return Seen(unknown=f"{as_name(place)} changed while it was looked at")
    if anchor.method is Method.FILE and found.kind not in ("link", "other"):
        return Seen(place=place, same_bytes=found.blob == anchor.blob)
    if found.blob and found.blob == anchor.blob:
        return Seen(place=place, same_bytes=True, span=Span.SAME, line=anchor.line)
    if found.odd:
        return Seen(unknown=found.odd)
    return _compare(anchor, place, view, head)


def is_prose(path: str) -> bool:
    """Return whether a file writes about definitions and holds none."""
    return path.lower().endswith(_PROSE) or is_ours(path)


@cached(_PATHS_KEPT_MAX)
def is_code(path: str) -> bool:
    """Return whether a word in a file counts as a use: not in prose, locks, logs or data."""
    return not is_prose(path) and not _NO_CODE.search(path)


def is_page(path: str) -> bool:
    """Return whether a file is a page of HTML, written by hand or not."""
    return path.lower().endswith((".html", ".htm"))


def define_in(view: View, path: str, symbol: str) -> tuple[Method, str, int] | None:
    """Return how, with what fingerprint and at which line `path` defines `symbol`; None if not."""
    if is_prose(path):
        return None
    data = view.read(path)
    if data is None or definitions.last_part(symbol).encode() not in data:
        return None
    by_lines = definitions.define_by_lines(data, path, symbol)
    if language_of(path) is not None:
        if not definitions.may_define(data, path, symbol) and by_lines.line is None:
            return None
        definition = definitions.define(data, path, symbol)
        if definition.state is State.FOUND and definition.line is not None:
            return Method.TREE, definition.fingerprint, definition.line
        if definition.state is not State.BROKEN:
            return None
    return (Method.LINES, by_lines.fingerprint, by_lines.line) if by_lines.line else None


def is_no_project(path: str) -> bool:
    """Return whether a file is an example, a fixture or vendored, and is no part of the project."""
    return _NO_PROJECT.search(path) is not None


def declaring_files(view: View) -> list[str] | None:
    """Return the files that declare packages and tools, nearest the top first, or None if many."""
    found = [path for path in view.listing().named_any(facts.DECLARING) if not is_no_project(path)]
    found.sort(key=lambda path: (path.count("/"), path))
    return found if len(found) <= WORD_FILES_MAX else None


def declared_in(view: View, path: str) -> facts.Declared | None:
    """Return what a file of `declaring_files` declares; None when it is not valid at the moment."""
    name = path.rpartition("/")[2]
    needs_text = facts.needs_text(name)
    text = (view.read(path) or b"").decode("utf-8", "replace") if needs_text else ""
    return facts.declared(name, text)


def is_valid(path: str, data: bytes) -> bool:
    """Return whether a file is a text, and a manifest one that can be read."""
    name = path.rpartition("/")[2]
    if b"\0" in data[:8_000]:
        return False
    is_manifest = name in facts.DECLARING and facts.needs_text(name)
    return not is_manifest or facts.declared(name, data.decode("utf-8", "replace")) is not None


def why_untold(view: View, path: str, symbol: str) -> str:
    """Return why the definition `symbol` of `path` cannot be determined; '' when it can."""
    found = view.find(path)
    if found is None or is_prose(path):
        return ""
    if found.odd:
        return found.odd
    data = view.read(path)
    if data is None or definitions.last_part(symbol).encode() not in data:
        return ""
    state = definitions.define(data, path, symbol).state
    if state is State.AMBIGUOUS:
        return (
            f"{as_name(path)} defines {symbol} more than {DEFINITIONS_MAX} times, too often to "
            "tell which is meant"
        )
    if state is State.BROKEN:
        language = language_of(path)
        title = language.title if language is not None else "code"
        return (
            f"{as_name(path)} names {symbol}, but cannot be read as {title} (it is minified, too "
            "large or broken), so what it defines is not known"
        )
    return ""


def untold(anchor: Anchor, what: str) -> Seen:
    """Return the unknown state: `what` happened, and the history was rewritten."""
    return Seen(
        unknown=f"{what}, and the commit it was remembered at ({anchor.commit[:8]}) is not in this "
        "repository, so git cannot tell where it went"
    )


def _place(anchor: Anchor, view: View, head: AtHead) -> str | Seen | None:
    """Return the current path of the anchored file, None when it is missing, or why unknown."""
    if view.find(anchor.path) is not None:
        return anchor.path
    start: str | None = anchor.path
    if head.find(anchor.path) is None and anchor.commit and head.head.commit:
        if not head.history.has_commit(anchor.commit):
            return untold(anchor, f"{as_name(anchor.path)} is not there")
        start = head.renamed_to(anchor) if head.head.commit != anchor.commit else anchor.path
    if start is not None and view.find(start) is not None:
        return start
    if isinstance(view, WorkTree):
        committed = head.find(start) if start is not None else None
        blobs = {anchor.blob, committed.blob if committed is not None else anchor.blob}
        return view.moved_to(start or anchor.path, blobs)
    return None


def _compare(anchor: Anchor, place: str, view: View, head: AtHead) -> Seen:
    data = view.read(place)
    if data is None:
        return Seen(unknown=f"{as_name(place)} could not be read")
    stored = of_pointer(anchor, place, data, head)
    if stored is not None:
        return stored
    if anchor.method is Method.TREE:
        named = place if language_of(place) is not None else anchor.path
        definition = definitions.define(data, named, anchor.symbol)
        if definition.state is State.BROKEN:
            old = _anchored_bytes(anchor, head.history)
            if old is not None and definitions.is_only_laid_out(old, data, named, anchor.symbol):
                line = definitions.locate(data.decode("utf-8", "replace"), anchor.symbol)
                return Seen(place=place, span=Span.SAME, line=line)
            language = language_of(named)
            title = language.title if language is not None else "what it was"
            return Seen(unknown=f"{as_name(place)} does not parse as {title} at the moment")
        if definition.state is State.AMBIGUOUS:
            return Seen(
                unknown=f"{anchor.symbol} is defined too often in {as_name(place)} to tell which"
            )
    else:
        definition = definitions.define_by_lines(data, place, anchor.symbol)
        line = definitions.locate(data.decode("utf-8", "replace"), anchor.symbol)
        if definition.state is State.MISSING and line is not None:
            return Seen(place=place, span=Span.DIFFERENT, line=line)  # maybe in another form
    if definition.state is State.FOUND:
        span = Span.SAME if definition.fingerprint == anchor.fingerprint else Span.DIFFERENT
        return Seen(place=place, span=span, line=definition.line)
    provided = None
    if anchor.method is Method.TREE:
        provided = _provided(anchor, place, data, view, head)
    # In Python, an import may only be a use of the name.
    if provided is not None and not provided.unknown and not place.endswith((".py", ".pyi")):
        return provided
    went = _went(anchor, Seen(place=place, span=Span.MISSING), view, head)
    return went if went.elsewhere or provided is None else provided


def _provided(anchor: Anchor, place: str, data: bytes, view: View, head: AtHead) -> Seen | None:
    """Return the state of a definition that the file inherits or re-exports; None if neither.

    Unknown if the file now passes on all of a package whose code is not here.
    """
    found = successors.member(data, place, anchor.symbol)
    if found is not None:
        same = found.fingerprint == anchor.fingerprint
        return Seen(place=place, span=Span.SAME if same else Span.DIFFERENT, line=found.line)
    if successors.is_passed_on(place, anchor.symbol, view.read):
        return Seen(place=place, span=Span.DIFFERENT)
    if len(parts_of(anchor.symbol)) > 1 or b"*" not in data:
        return None
    old = _anchored_bytes(anchor, head.history)
    now = successors.packages_passed_on(data, place, view.read)
    new = now - successors.packages_passed_on(old or b"", anchor.path, view.read)
    if old is None or not new:
        return None
    return Seen(
        unknown=f"{as_name(place)} does not define {anchor.symbol} any more, but passes on all of "
        f"{as_names(sorted(new), 3)}, which is not in this repository and may define it"
    )


def _went(anchor: Anchor, seen: Seen, view: View, head: AtHead) -> Seen:
    """Add to `seen` the other files that define the symbol now, and whether it changed."""
    like = seen.place or anchor.path
    defining = _defining(view, anchor.symbol, like)
    same = {
        path: found[1] == anchor.fingerprint
        for path, found in defining.items()
        if path != seen.place
    }
    # Where it is unchanged, a new definition of its name is a namesake, and a copy that was there
    # before is not where it went.
    unchanged = [path for path in same if same[path]]
    then = {path: _fingerprint_then(anchor, path, head) for path in unchanged or same}
    copies = [path for path in unchanged if then[path] == anchor.fingerprint]
    if copies and head.history.blob_at(anchor.commit, anchor.path) is None:
        copies = []  # it was uncommitted then, and may have come from there
    elsewhere = [path for path in unchanged if path not in copies]
    if not unchanged:
        elsewhere = [
            path
            for path in same
            # An older namesake is not where it went.
            if then[path] == "" and not _is_unlike(anchor, path, view, head)
        ]
    likely = copies[0] if len(copies) == 1 and not elsewhere else seen.likely
    rewritten = not all(same[path] for path in elsewhere)
    return replace(seen, elsewhere=tuple(elsewhere), rewritten=rewritten, likely=likely)


def _fingerprint_then(anchor: Anchor, path: str, head: AtHead) -> str | None:
    """Return the fingerprint of the anchored symbol in a file when it was anchored.

    '' where the file did not define it; None when unknown.
    """
    history, since = head.history, anchor.commit
    if not since or not history.has_commit(since):
        return None
    until = head.head.commit
    before = history.came_from(path, since, until) if until and since != until else path
    then = AtHead(history=history, head=Head(commit=since, branch=""))
    found = define_in(then, before, anchor.symbol) if then.find(before) is not None else None
    return found[1] if found is not None else ""


def _is_unlike(anchor: Anchor, path: str, view: View, head: AtHead) -> bool:
    """Return whether a definition in another file is unrelated but for its name."""
    old = _defining_lines(_anchored_bytes(anchor, head.history), anchor.path, anchor.symbol)
    new = _defining_lines(view.read(path), path, anchor.symbol)
    return bool(old and new) and proposals.is_unlike(old, new)


def _defining_lines(data: bytes | None, path: str, symbol: str) -> str:
    """Return the lines of a definition; '' when unknown."""
    found = definitions.define(data, path, symbol) if data is not None else None
    if data is None or found is None or found.state is not State.FOUND or found.line is None:
        return ""
    lines = data.decode("utf-8", "replace").split("\n")
    return "\n".join(lines[found.line - 1 : found.end_line])


def _anchored_bytes(anchor: Anchor, history: History) -> bytes | None:
    """Return the anchored version of the file; None when git does not have it."""
    data = history.read_blob(anchor.blob)
    if data is not None:
        return data
    # Git may have turned the line ends round on the way out; then it has the file with its own.
    committed = history.read_blob(history.blob_at(anchor.commit, anchor.path) or "")
    if committed is not None:
        turned = committed.replace(b"\n", b"\r\n")
        if blob_id(turned, "sha256" if len(anchor.blob) == 64 else "sha1") == anchor.blob:
            return committed
    return None


def _defining(view: View, symbol: str, like: str) -> dict[str, tuple[Method, str, int]]:
    """Return the files that define `symbol`, as `define_in` does; empty for a common name.

    Only files of the same kind as `like` are searched.
    """
    suffix = like.rpartition(".")[2]
    holding = view.holding(definitions.last_part(symbol))
    named = [path for path in holding if path.endswith("." + suffix)]
    if len(named) > SYMBOL_FILES_MAX:
        plain = re.escape(definitions.last_part(symbol).encode())
        defining = re.compile(_DEFINES + plain + rb"(?!\w)", re.MULTILINE)
        looked = named[:WORD_FILES_MAX]
        named = [path for path in looked if defining.search(view.read(path) or b"")]
    if len(named) > SYMBOL_FILES_MAX:
        return {}
    defined = ((path, define_in(view, path, symbol)) for path in named)
    return {path: found for path, found in defined if found is not None}


def of_ignored(anchor: Anchor, seen: Seen, head: AtHead) -> Seen:
    """Return `seen`; as unchanged where the missing file was ignored by git, then and now."""
    is_gone = seen.place is None and not seen.unknown
    if not is_gone or anchor.method is Method.GLOB or not _is_ignored(anchor, head):
        return seen
    span = None if anchor.method in PLACED else Span.SAME
    return Seen(place=anchor.path, span=span)


def _is_ignored(anchor: Anchor, head: AtHead) -> bool:
    is_folder = anchor.method is Method.FOLDER
    if anchor.commit and head.history.has_commit(anchor.commit):
        had = head.history.has_folder if is_folder else head.history.blob_at
        if had(anchor.commit, anchor.path):
            return False  # git had it, so being ignored now does not explain its absence
    return head.history.is_ignored(f"{anchor.path}/" if is_folder else anchor.path)


def of_pointer(anchor: Anchor, place: str, data: bytes, head: AtHead) -> Seen | None:
    """Return what a pointer file says of an anchor; None when it is no pointer."""
    wanted = object_id(data)
    if not wanted:
        return None
    then = head.history.read_blob(anchor.blob) if anchor.blob else None
    if then is not None and wanted in (hashlib.sha256(then).hexdigest(), object_id(then)):
        return Seen(place=place, same_bytes=True, span=Span.SAME, line=anchor.line)
    return Seen(unknown=f"the content of {as_name(place)} is in Git LFS and was not pulled")


def see_declared(anchor: Anchor, view: View, head: AtHead) -> Seen:
    """Return whether any file of the project still declares a package or a tool."""
    found = view.find(anchor.path)
    if found is not None and found.blob == anchor.blob:
        return Seen(place=anchor.path, same_bytes=True, span=Span.SAME)
    moved = see(replace(anchor, method=Method.FILE), view, head)
    if moved.unknown:
        return moved
    every = declaring_files(view)
    if every is None:
        return Seen(place=anchor.path, span=Span.SAME)
    every += [moved.place] if moved.place is not None else []
    now = {path: declared_in(view, path) for path in every}
    valid = [found for found in now.values() if found is not None]
    rivals = facts.rivals(anchor.name)
    near = [
        one for path, one in now.items() if one is not None and _is_at_or_above(path, anchor.path)
    ]
    rival = sorted({name for one in near for name in rivals & one.names})
    if (rivals and not rival) or any(
        facts.is_among(anchor.name, one.names | one.beside) for one in valid
    ):
        return Seen(place=anchor.path, span=Span.SAME)
    for path in (path for path in every if now[path] is None):
        if path == anchor.path or anchor.name.encode() in (view.read(path) or b"").lower():
            return Seen(unknown=f"{as_name(path)} is not valid at the moment")
    if not rivals and _is_in_use(anchor, view, is_elsewhere=moved.place not in (None, anchor.path)):
        return Seen(place=anchor.path, span=Span.SAME)
    came = rival or _declared_since(anchor, now.get(anchor.path), head)
    place = anchor.path if found is not None else None
    return Seen(place=place, span=Span.MISSING, instead=", ".join(came[:CAME_MAX]))


def _is_at_or_above(path: str, other: str) -> bool:
    """Return whether a file is in the folder of another one, or above it."""
    folder = path.rpartition("/")[0]
    return not folder or other.startswith(f"{folder}/")


def _is_in_use(anchor: Anchor, view: View, *, is_elsewhere: bool) -> bool:
    """Return whether something else still speaks of what a file declared.

    Of a tool any code does, and its own file where that is elsewhere; of a package any file in
    which a project may declare one in a form that is not read.
    """
    name = anchor.name
    is_package = anchor.path.rpartition("/")[2] in facts.PACKAGE_FILES
    if not is_package and is_elsewhere:
        return True
    speaks = facts.may_declare if is_package else is_code
    written = {name, name.replace("-", "_"), name.replace("-", ".")}
    return any(speaks(path) for word in written for path in view.using(word))


def _declared_since(anchor: Anchor, now: facts.Declared | None, head: AtHead) -> list[str]:
    """Return what the anchored file declares and did not; [] where that is too much to tell."""
    said = (head.history.read_blob(anchor.blob) if anchor.blob else None) or b""
    then = facts.declared(anchor.path.rpartition("/")[2], said.decode("utf-8", "replace"))
    new = sorted(now.names - then.names) if now is not None and then is not None else []
    return new if len(new) <= CAME_MAX else []
