"""The whole corpus of secrets, and of what only looks like one, on every way in."""

import json
import logging
import os

import pytest
from in_process import ask
from secret_corpus import IN_PLACE, LOOK_ALIKES, TOKENS
from verb_world import every_byte_below

from yaadwatch import places
from yaadwatch.api import codec
from yaadwatch.api.operations import BY_NAME
from yaadwatch.daemon import supervisor
from yaadwatch.db import nodes
from yaadwatch.db import sessions as db_sessions
from yaadwatch.projects import exporting
from yaadwatch.remember import edit, inject
from yaadwatch.sessions import sessions
from yaadwatch.text import privacy
from yaadwatch.workspace.workspace import Call

SECRETS = [
    (f"Number {at} is set up with {token} here", token) for at, token in enumerate(TOKENS.values())
]
SECRETS += [(place.format(secret), secret) for place, secret in IN_PLACE]
SOAK = os.environ.get("YAAD_SOAK") == "1"
CHARS_MIN = 8
"""A shorter secret may be in the bytes of a store by accident."""


def agent(repo):
    return Call(folder=repo.path, origin="agent:claude", session="s1")


def edited(repo, texts):
    one = repo.remember("Something to be said otherwise")
    return [repo.edit(one, text)["text"] for text in texts]


def judged(repo, texts):
    one = repo.remember("Something to be judged")
    told = []
    for text in texts:
        edit.feedback(repo.home, repo.call, id=one, verdict="edit", text=text)
        told.append(repo.show(one)["text"])
    return told


def forgotten(repo, texts):
    told = []
    for at, text in enumerate(texts):
        one = repo.remember(f"Something that is forgotten as number {at}")
        repo.forget(one, text)
        told.append(repo.show(one)["archive_reason"])
    return told


def injected(repo, texts):
    given = [{"id": f"n{at}", "text": text} for at, text in enumerate(texts)]
    asked = codec.message(BY_NAME["inject"].request, {"nodes": given, "edges": []})
    inject.inject(repo.home, repo.call, asked)
    return [repo.show(f"n{at}")["text"] for at in range(len(texts))]


def described(repo, texts):
    one, other = repo.remember("One thing that leads"), repo.remember("Another thing that follows")
    told = []
    for text in texts:
        repo.link(one, "led_to", other, attributes={"why": text})
        (edge,) = [edge for edge in repo.show(one)["edges"] if edge["kind"] == "led_to"]
        told.append(edge["attributes"]["why"])
    return told


def tagged(repo, texts):
    """Return what was kept of them: on two memories, for one has room for less."""
    told = []
    for half in (texts[::2], texts[1::2]):
        one = repo.remember(f"Something with {len(told)} attributes", attributes={"said": half})
        told.append(repo.show(one)["attributes"]["said"])
    last = [] if len(told[0]) == len(told[1]) else [told[0].pop()]
    return [each for pair in zip(*told, strict=True) for each in pair] + last


def imported(repo, texts):
    """Return what came; where two read alike once they are masked, one."""
    ids = [f"n{at}" for at in range(len(texts))]
    with repo.db() as db:
        found = db.read(nodes.many, ids)
    assert len(found) >= 0.6 * len(texts)
    return [found[one].text for one in ids if one in found]


def in_pages(repo, texts):
    folder = repo.path.parent / "pages"
    folder.mkdir()
    for at, text in enumerate(texts):
        (folder / f"{at}.md").write_text(f"---\nname: {at}\nid: n{at}\n---\n\n{text}\n")
    ask(repo, "import", folder)
    for path in repo.store.parent.glob("imports/*"):  # byte for byte what the person's files were
        path.unlink()
    return imported(repo, texts)


def in_lines(repo, texts):
    path = repo.path.parent / "out.jsonl"
    repo.remember("The one memory of this export")
    ask(repo, "export", path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    node = next(line for line in lines if line.get("text") == "The one memory of this export")
    more = [node | {"id": f"n{at}", "text": text} for at, text in enumerate(texts)]
    path.write_text("".join(json.dumps(line) + "\n" for line in [*lines, *more]))
    ask(repo, "import", path)
    path.unlink()
    return imported(repo, texts)


def noted(repo, texts):
    told = []
    call = agent(repo)
    for first in range(0, len(texts), 10):
        begun = sessions.session_start(repo.home, call)["session"]
        for text in texts[first : first + 10]:
            sessions.session_note(repo.home, call, text=text)
        sessions.session_end(repo.home, call)
        with repo.db() as db:
            told += [note.text for note in db.read(db_sessions.notes, begun)]
    return told


def named(repo, texts):
    """As a hook names the session of its agent; a name of more than 200 characters is refused."""
    told = []
    for text in [one for one in texts if len(one) <= 200]:
        begun = sessions.session_start(repo.home, agent(repo), name=text)["session"]
        with repo.db() as db:
            told.append(db.read(db_sessions.get, begun).name)
    return told


def logged(repo, texts):
    path = repo.store.parent / "log.jsonl"
    handlers = supervisor.begin(path, privacy.mask_tree, echo=None)
    try:
        for text in texts:
            logging.getLogger("yaadwatch.test").warning("something", extra={"why": text})
    finally:
        supervisor.end(handlers)
    return [json.loads(line)["why"] for line in path.read_text().splitlines()]


def in_an_agent_file(repo, texts):
    plain = [text for text in texts if "\n" not in text]
    repo.write("CLAUDE.md", "# Rules\n\n" + "".join(f"- {text}\n" for text in plain))
    repo.sync()
    (repo.path / "CLAUDE.md").unlink()
    for path in repo.store.parent.glob("snapshots/*"):  # byte for byte the person's file
        path.unlink()
    return repo.memories()


WAYS = {
    "remember": lambda repo, texts: [repo.remembered(text)["text"] for text in texts],
    "under a key": lambda repo, texts: [repo.remembered(one, key="k")["text"] for one in texts],
    "for the user": lambda repo, texts: [
        repo.remembered(text, scope="user")["text"] for text in texts
    ],
    "update": edited,
    "feedback": judged,
    "forget": forgotten,
    "inject": injected,
    "attributes": tagged,
    "a relation": described,
    "import of pages": in_pages,
    "import of lines": in_lines,
    "session end": noted,
    "hook": named,
    "log": logged,
    "agent file": in_an_agent_file,
}


@pytest.mark.parametrize("way", WAYS)
def test_no_secret_of_the_corpus_is_stored_or_told(way, repo):
    told = WAYS[way](repo, [text for text, _ in SECRETS])

    stored = every_byte_below(places.data_folder(), repo.store.parent)
    left = [
        secret
        for _, secret in SECRETS
        if len(secret) >= CHARS_MIN and (secret.encode() in stored or secret in repr(told))
    ]
    assert left == []
    assert len(SECRETS) >= 120
    assert sum("[masked:" in text for text in told) >= 0.9 * len(told)


@pytest.mark.parametrize("way", WAYS)
def test_what_only_looks_like_a_secret_is_kept_as_it_is(way, repo):
    """The tests of `mask` have each of them; here a fourth goes each way."""
    texts = LOOK_ALIKES if SOAK else LOOK_ALIKES[::4]
    told = WAYS[way](repo, texts)

    assert len(LOOK_ALIKES) >= 90
    if way == "agent file":  # which reads text as markdown
        assert not [text for text in told if "[masked:" in text]
    else:
        assert told == texts


def test_the_name_of_an_unknown_table_is_told_and_kept_by_nothing(repo):
    repo.add()
    path = repo.path.parent / "out.jsonl"
    ask(repo, "export", path)
    with path.open("a") as stream:
        for token in TOKENS.values():
            stream.write(json.dumps({"table": token}) + "\n")

    answer = ask(repo, "import", path)

    assert answer["counts"]["?"] == {"left_out": len(TOKENS)}
    with repo.db() as db:
        db.backup(repo.path / "copy.db")
    kept = (repo.path / "copy.db").read_bytes() + json.dumps(answer).encode()
    assert [name for name, token in TOKENS.items() if token[:40].encode() in kept] == []


def test_no_text_of_an_import_is_kept_in_memory_after_it(repo):
    repo.add()
    repo.remember("Deploys go through the ship")
    path = repo.path.parent / "out.jsonl"
    ask(repo, "export", path)

    ask(repo, "import", path)

    kept = [one for one in vars(exporting).values() if hasattr(one, "cache_info")]
    assert [
        one for one in kept if one.cache_info().currsize and one.__module__ == exporting.__name__
    ] == []
