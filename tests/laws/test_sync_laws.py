"""Laws of the merge: nothing new is lost, nothing is done twice, and every fleet settles."""

from itertools import product

from fleet import TERMS, World, hashed
from hypothesis import example, given
from hypothesis import strategies as st

from bridges.block import Block, find, is_notice, put, remove
from yaadwatch.sync.inventory import Paused
from yaadwatch.sync.plan import Plan
from yaadwatch.sync.reconcile import Decision, Last, Terms, decide, read
from yaadwatch.text.words import text_hash

rules = st.sampled_from(
    [
        *("Use tabs in Go files", "Use tabs in Makefiles", "Use tabs", "Use spaces", "Use tabs."),
        *("Never push to main", "Never push to main on Fridays", "Run `make test` first"),
        *("Token is s3cretA", "Token is s3cretB", "表", "Ask before adding a dependency"),
    ]
)
oddments = st.sampled_from(
    [
        *("## Style", "## Never", "Some prose.", "", "  - nested", "```\n- code\n```", "  more"),
        *("Never do these:", "- Only for Windows:", "  | a | b |", "  ```", "\n  second paragraph"),
    ]
)
places = st.integers(0, 9)
names = st.integers(0, 4)
changes = rules | st.sampled_from(["+ on Fridays", "+ at any time", "+."])

people = st.one_of(
    st.tuples(st.just("type"), names, rules, places),
    st.tuples(st.just("type outside"), names, rules),
    st.tuples(st.just("edit"), names, changes, places),
    st.tuples(st.just("delete"), names, places),
    st.tuples(st.just("delete outside"), names, places),
    st.tuples(st.just("copy"), names, places, places),
    st.tuples(st.just("move"), names, places, places),
    st.tuples(st.just("move outside"), names, places),
    st.tuples(st.just("carry"), names, oddments, places),
    st.tuples(st.just("take out"), names),
)
both = st.tuples(st.just("both"), names, places, changes | st.none(), changes | st.none())
minds = st.one_of(
    st.tuples(st.just("remember"), rules),
    st.tuples(st.just("change"), places, changes),
    st.tuples(st.just("forget"), places),
    st.tuples(st.just("cool"), places),
    st.tuples(st.just("warm"), places),
)
hands = people | minds | both
git = st.one_of(st.tuples(st.just("commit")), st.tuples(st.just("checkout"), places))

# Files of different formats, so that some of them begin with a header.
NAMES = (
    "CLAUDE.md",
    ".cursor/rules/own.mdc",
    "web/AGENTS.md",
    ".kiro/steering/own.md",
    ".clinerules",
)
HEADER = b"---\ndescription: Own rules\nalwaysApply: true\n---\n"
starts = st.lists(
    st.sampled_from(
        [
            *(b"", b"# Rules\n\n- Use tabs\n", b"Own words here.", b"# A\r\n- Own\r\n"),
            *(
                HEADER,
                HEADER + b"\n- Own rule",
                HEADER.replace(b"\n", b"\r\n") + b"# A\r\n- Own\r\n",
            ),
        ]
    ),
    min_size=1,
    max_size=5,
).map(lambda contents: dict(zip(NAMES, contents, strict=False)))


def do(world, action):
    """Let a person, an agent or git do something; what cannot be done is not done."""
    name, *rest = action
    if name in _GRAPH:
        _GRAPH[name](world, *rest)
    elif name in ("commit", "checkout"):
        _git(world, name, *rest)
    else:
        file = _file(world, rest[0])
        if file in world.from_git:
            world.sync(file)  # nobody types that fast
        if name == "both":
            _both(world, file, *rest[1:])
        else:
            _type(world, name, file, *rest[1:])


def _both(world, file, number, typed, thought):
    """Change a rule in a file and in the graph between two syncs; None takes it away there."""
    agreed = world.last[file].items if file in world.last else ()
    lines = world.inner(file)
    if not agreed or lines is None:
        return
    row = agreed[number % len(agreed)]
    index = next((i for i, line in enumerate(lines) if hashed(line) == row.file), None)
    if index is not None:
        place = _own_lines(lines).index(index) if not is_notice(lines[index]) else 0
        _type(world, *(("delete", file, place) if typed is None else ("edit", file, typed, place)))
    if thought is None:
        world.forget(row.node)
    elif not world.nodes[row.node].archived:
        world.change(row.node, _changed(world.nodes[row.node].text, thought))


def _file(world, number):
    return [*world.files][number % len(world.files)]


def _changed(old, new):
    """Other words, or with a plus the old ones and some more."""
    return old + new[1:] if new.startswith("+") else new


def _pick(world, number):
    living = [*world.living()]
    return living[number % len(living)] if living else None


def _on_one(change):
    def on(world, number, *rest):
        node_id = _pick(world, number)
        if node_id is not None:
            change(world, node_id, *rest)

    return on


def _set_hot(hot):
    def on(world, node_id):
        world.nodes[node_id].hot = hot
        if hot:
            world.tombstones.discard(world.nodes[node_id].key)

    return on


_GRAPH = {
    "remember": lambda world, rule: world.remember(rule),
    "change": _on_one(
        lambda world, node_id, rule: world.change(
            node_id, _changed(world.nodes[node_id].text, rule)
        )
    ),
    "forget": _on_one(lambda world, node_id: world.forget(node_id)),
    "cool": _on_one(_set_hot(False)),
    "warm": _on_one(_set_hot(True)),
}


def _git(world, name, number=0):
    if name == "commit":
        for file in [*world.from_git]:
            world.sync(file)
        world.commit()
    elif world.commits:
        world.checkout(number % len(world.commits))


def _type(world, what, file, *rest):
    data = world.files[file]
    found = find(data)
    if what == "take out":
        world.files[file] = remove(data) if isinstance(found, Block) else data
    elif what == "type outside":
        world.files[file] = f"- {rest[0]}\n".encode() + data
    elif what == "delete outside":
        lines = data.splitlines(keepends=True)
        own = [i for i, line in enumerate(lines) if line.startswith(b"- ")]
        block = (
            {*range(found.line - 1, found.line + len(found.lines))}
            if isinstance(found, Block)
            else set()
        )
        own = [i for i in own if i not in block]
        if own:
            del lines[own[rest[0] % len(own)]]
            world.files[file] = b"".join(lines)
    elif isinstance(found, Block):
        lines = [*found.lines]
        _INSIDE[what](lines, *rest)
        moved = put(data, lines)
        if isinstance(moved, bytes):
            world.files[file] = moved
        if what == "move outside" and len(lines) < len(found.lines):
            (line,) = set(found.lines) - set(lines) or {""}
            world.files[file] = f"{line}\n".encode() + world.files[file]


def _own_lines(lines):
    return [index for index, line in enumerate(lines) if not is_notice(line)]


def _at(lines, number):
    own = _own_lines(lines)
    return own[number % len(own)] if own else None


def _inside(change):
    def on(lines, *rest):
        *rest, number = rest
        index = _at(lines, number)
        if index is not None:
            change(lines, index, *rest)

    return on


def _edit(lines, index, rule):
    lines[index] = _changed(lines[index], f"- {rule}" if rule[0] != "+" else rule)


def _copy(lines, index, number):
    lines.insert(1 + number % len(lines), lines[index])


def _move(lines, index, number):
    line = lines.pop(index)
    lines.insert(1 + number % max(len(lines), 1), line)


_INSIDE = {
    "type": lambda lines, rule, number: lines.insert(1 + number % len(lines), f"- {rule}"),
    "carry": lambda lines, odd, number: lines.insert(1 + number % len(lines), odd),
    "edit": _inside(_edit),
    "delete": _inside(lambda lines, index: lines.pop(index)),
    "move outside": _inside(lambda lines, index: lines.pop(index)),
    "copy": lambda lines, number, other: _inside(_copy)(lines, other, number),
    "move": lambda lines, number, other: _inside(_move)(lines, other, number),
}


def begin(files, **options):
    """A world where a few things are known already, and every file says them."""
    world = World(files, **options)
    for rule in ("Use tabs in Go files", "Never push to main", "Token is [masked:token]"):
        world.remember(rule)
    world.round()
    return world


def live(files, rounds, *, remembers=True, accept_deletions=False):
    """Let a world go through rounds of actions, each with a sync of all files after it."""
    world = begin(files, remembers=remembers)
    for actions in rounds:
        for action in actions:
            do(world, action)
        world.round(accept_deletions=accept_deletions)
    return world


edits = st.lists(st.lists(hands, max_size=5), max_size=4)
one_round = st.lists(hands, max_size=8)


@given(files=starts, rounds=edits, accept_deletions=st.booleans())
def test_two_rounds_settle_any_fleet_of_files(files, rounds, accept_deletions):
    world = live(files, rounds, accept_deletions=accept_deletions)
    world.round(accept_deletions=accept_deletions)
    before = dict(world.files)

    third = world.round(accept_deletions=accept_deletions)

    assert world.files == before
    assert [name for name, synced in third.items() if synced.wrote or synced.changed] == []


@given(files=starts, rounds=edits, last=one_round)
def test_what_anybody_said_is_still_said_somewhere(files, rounds, last):
    """In a file, in the graph, or as an earlier version; whatever was edited on both sides."""
    world = live(files, rounds)
    for action in last:
        do(world, action)
    said = world.words()

    world.round(accept_deletions=True)

    assert said - world.words() == set()


@given(files=starts, rounds=edits, last=one_round)
def test_a_sync_makes_no_rule_that_nobody_said(files, rounds, last):
    """No body without its rule, no list without its label: nothing reads otherwise afterwards."""
    world = live(files, rounds)
    for action in last:
        do(world, action)
    said = world.words()

    world.round(accept_deletions=True)

    assert world.words() - said == set()


@given(files=starts, rounds=edits, last=one_round)
@example(
    files={NAMES[0]: b"", NAMES[1]: b""},
    rounds=[[("type", 0, "Token is s3cretA", 0), ("edit", 1, "+ on Fridays", 2)], []],
    last=[],
)
def test_new_words_in_a_block_are_a_living_memory_after_the_next_sync(files, rounds, last):
    """Or what a rule of this block said before: beside a line with a secret, which nobody may write
    again, its copy keeps the words that it had.
    """
    world = live(files, rounds)
    for action in last:
        do(world, action)
    for name in world.files:
        agreed = world.last[name].items if name in world.last else ()
        old = {row.file for row in agreed} | {text_hash(row.graph) for row in agreed}
        found = find(world.files[name])
        lines = found.lines if isinstance(found, Block) else ()
        fresh = {said.key for said in read(lines, TERMS) if not {said.key, said.hash} & old}

        synced = world.sync(name, accept_deletions=True)

        assert isinstance(synced.plan, Plan)
        living = world.living()
        here = {row.node for row in world.last[name].items} & living.keys()
        copies = {text_hash(was) for node in here for was in living[node].said}
        assert fresh <= {node.key for node in living.values()} | copies


@given(files=starts, rounds=edits, last=one_round)
def test_every_byte_outside_the_block_stays(files, rounds, last):
    world = live(files, rounds)
    for action in last:
        do(world, action)
    before = {name: remove(data) for name, data in world.files.items()}

    world.round(accept_deletions=True)

    assert {name: remove(data) for name, data in world.files.items()} == before


@given(files=starts, rounds=edits, last=one_round, name=names)
def test_a_second_plan_is_empty(files, rounds, last, name):
    world = live(files, rounds)
    for action in last:
        do(world, action)
    name = _file(world, name)
    world.sync(name, accept_deletions=True)

    again = world.sync(name)

    assert not again.wrote
    assert not again.changed
    assert not again.plan.changes_graph


@given(files=starts, rounds=edits, last=one_round, name=names)
def test_a_lost_record_changes_nothing(files, rounds, last, name):
    """Killed after the file was written and before the agreement was: asked again, all is done."""
    world = live(files, rounds)
    for action in last:
        do(world, action)
    name = _file(world, name)
    world.sync(name, accept_deletions=True, record=False)
    said = world.inner(name)

    again = world.sync(name)

    assert isinstance(again.plan, Plan)
    assert not again.changed
    assert world.inner(name) == said


@given(files=starts, rounds=edits, last=one_round, name=names)
def test_a_lost_write_is_made_up_for(files, rounds, last, name):
    """Killed after the graph was changed and before the file was: asked again, it is written."""
    world = live(files, rounds)
    for action in last:
        do(world, action)
    name = _file(world, name)
    before = world.files[name]
    world.sync(name, accept_deletions=True, record=False)
    meant, world.files[name] = world.files[name], before

    world.sync(name, accept_deletions=True)

    assert world.files[name] == meant


def _watched(world):
    """Sync every file; where git wrote one, nothing may be made of old words, nor lost."""
    for name in world.files:
        before = world.state()
        from_git = name in world.from_git
        synced = world.sync(name)
        if from_git:
            assert not isinstance(synced.plan, Paused)
            for node_id, node in before.items():
                now = world.nodes[node_id]
                assert (now.text, now.said) == (node.text, node.said)
                assert node.archived or not now.archived
                assert now.hot or not node.hot
            assert set(world.nodes) == set(before)


steps = st.lists(hands | git, max_size=12)


@given(
    files=starts,
    steps=st.lists(hands | git | st.just(("sync",)), max_size=25),
    remembers=st.booleans(),
)
def test_switching_branches_makes_no_node_twice_and_loses_none(files, steps, remembers):
    """What is committed has been synced before; then every old byte is known, agreed or not."""
    world = begin(files, remembers=remembers)
    for step in steps:
        if step[0] in ("sync", "commit", "checkout"):
            _watched(world)
        if step[0] != "sync":
            do(world, step)
    _watched(world)
    _watched(world)
    before = dict(world.files)

    _watched(world)

    assert world.files == before


@given(files=starts, steps=st.lists(hands | git, max_size=25), remembers=st.booleans())
def test_what_git_brings_never_deletes_changes_or_buries(files, steps, remembers):
    """Also what nobody has seen yet: it is added, and nothing else happens to the graph."""
    world = begin(files, remembers=remembers)
    for step in steps:
        do(world, step)
        for name in sorted(world.from_git):
            before, buried = world.state(), set(world.tombstones)
            world.sync(name)
            for node_id, node in before.items():
                after = world.nodes[node_id]
                assert (after.text, after.said) == (node.text, node.said)
                assert node.archived or not after.archived
                assert after.hot or not node.hot
            assert world.tombstones == buried


verbatim = Terms(as_stored=lambda text: text, hashed=lambda text: text)
MIRRORED = {
    Decision.RENDER: Decision.SUPERSEDE,
    Decision.ADD: Decision.ADMIT,
    Decision.DROP: Decision.DEMOTE,
    Decision.KEEP: Decision.REVIVE,
}
MIRRORED |= {two: one for one, two in MIRRORED.items()}

WORLDS = list(product([None, "x", "y", "z"], repeat=4))


def test_the_rule_is_fair_to_both_sides():
    """All 256 small worlds: swapping the sides swaps the decision."""
    for world in WORLDS:
        agreed_graph, agreed_file, graph, file = world

        decision = decide(Last(graph=agreed_graph, file=agreed_file), graph, file, verbatim)
        swapped = decide(Last(graph=agreed_file, file=agreed_graph), file, graph, verbatim)

        assert swapped is MIRRORED.get(decision, decision), world


def test_new_words_are_never_given_up():
    """A side with words that it did not have before is never told to drop them."""
    for world in WORLDS:
        agreed_graph, agreed_file, graph, file = world

        decision = decide(Last(graph=agreed_graph, file=agreed_file), graph, file, verbatim)

        if graph not in (None, agreed_graph, file):
            kept = (Decision.RENDER, Decision.ADD, Decision.CONFLICT, Decision.KEEP)
            assert decision in kept, world
        if file not in (None, agreed_file, graph):
            kept = (Decision.SUPERSEDE, Decision.ADMIT, Decision.CONFLICT, Decision.REVIVE)
            assert decision in kept, world
        if (graph, file) == (agreed_graph, agreed_file) or graph == file:
            assert decision is Decision.AGREED, world
