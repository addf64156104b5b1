"""No rule that nobody deleted is lost, whatever two people do to two files between two looks."""

import random
from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from yaadwatch.sync.block_history import Version, resolve

FILES = ("AGENTS.md", "CLAUDE.md")
STEPS = 40
WORDS = (
    "alpha",
    "bravo",
    "charlie",
    "delta",
    "echo",
    "foxtrot",
    "golf",
    "hotel",
    "india",
    "juliet",
)


class Team:
    """Two people whose commits are kept in memory; a block is a dict of part to wording."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.number = count(1)
        self.versions = {}
        self.blocks = {}
        self.deleted = set()
        first = self.commit(self.typed({path: {} for path in FILES}, FILES), ())
        self.heads = [first, first]

    def commit(self, blocks, parents):
        name = f"c{len(self.versions):03}"
        self.blocks[name] = {path: dict(block) for path, block in blocks.items()}
        self.versions[name] = Version(
            commit=name,
            parents=parents,
            at_s=len(self.versions) // 3,
            rules={path: {text: text for text in block.values()} for path, block in blocks.items()},
        )
        return name

    def history(self, name):
        found = [name]
        for one in found:
            found += [parent for parent in self.versions[one].parents if parent not in found]
        return found

    def resolved(self, name):
        return resolve([self.versions[one] for one in self.history(name)])

    def typed(self, blocks, files):
        part = next(self.number)
        text = f"Always use {' and '.join(self.chance.sample(WORDS, 3))} for part {part}"
        return {
            path: block | ({part: text} if path in files else {}) for path, block in blocks.items()
        }

    def step(self, person):
        head = self.heads[person]
        blocks = {path: dict(block) for path, block in self.blocks[head].items()}
        what = self.chance.choice(
            ("type", "edit", "edit", "delete", "revert", "pull", "pull", "look")
        )
        path = self.chance.choice(FILES)
        parts = list(blocks[path])
        parents = self.versions[head].parents
        if what == "type":
            files = self.chance.choice((FILES, FILES, (path,)))
            blocks = self.typed(blocks, files)
        elif what in ("edit", "delete") and parts:
            part = self.chance.choice(parts)
            old = blocks[path].pop(part)
            if what == "edit":
                text = f"{old.partition(' and step')[0]} and step {next(self.number)}"
                blocks[path] = {part: text, **blocks[path]}
                blocks[path] = {one: blocks[path][one] for one in parts}
            else:
                self.deleted.add(part)
        elif what == "revert" and len(parents) == 1:
            blocks = self.blocks[parents[0]]
            for one in FILES:
                self.deleted |= self.blocks[head][one].keys() - blocks[one].keys()
        elif what == "pull":
            self.pull(person)
            return
        elif what == "look":
            blocks = self.looked(head)
        if blocks != self.blocks[head]:
            self.heads[person] = self.commit(blocks, (head,))

    def pull(self, person):
        ours, theirs = self.heads[person], self.heads[1 - person]
        mine, others = self.history(ours), self.history(theirs)
        if theirs in mine:
            return
        if ours in others:
            self.heads[person] = theirs
            return
        common = [one for one in mine if one in others]
        older = {up for one in common for up in self.history(one)[1:]}
        base = self.chance.choice([one for one in common if one not in older])
        blocks = {}
        for path in FILES:
            was, one, other = (self.blocks[name][path] for name in (base, ours, theirs))
            blocks[path] = {}
            for part in [*dict.fromkeys([*one, *other])]:
                line = one.get(part)
                if line == was.get(part):
                    line = other.get(part)
                elif other.get(part) != was.get(part):
                    line = self.chance.choice([line or other.get(part), other.get(part) or line])
                if line is not None:
                    blocks[path][part] = line
        self.heads[person] = self.commit(blocks, (ours, theirs))

    def looked(self, head):
        """Return the blocks as a daemon leaves them, and see that no rule is lost by that."""
        found, blocks = self.resolved(head), self.blocks[head]
        texts = {text: part for block in blocks.values() for part, text in block.items()}
        alive = {}
        for text in found.alive:
            alive.setdefault(texts[text], set()).add(text)
        lost = set(texts.values()) - alive.keys() - self.deleted
        assert not lost, (head, lost)
        twice = {part for part, wordings in alive.items() if len(wordings) > 1}
        assert not twice, (head, twice)
        return {
            path: {
                part: next(iter(alive[part]))
                for part in [*dict.fromkeys([*block, *alive])]
                if part in alive
            }
            for path, block in blocks.items()
        }


@given(st.integers(0, 2**32))
def test_rule_that_nobody_deleted_stays(seed):
    team = Team(seed)
    for _ in range(STEPS):
        team.step(team.chance.choice((0, 1)))
    for person in (0, 1, 0, 1):
        team.pull(person)
        team.looked(team.heads[person])
