"""Two people, one remote, blocks that are committed: both work trees come to rest."""

import os
import random
import re
import subprocess

import pytest
from engine_world import GIT_ENVIRONMENT, World
from plain_git import GIT

from bridges.block import Block, find

SOAK = os.environ.get("YAAD_SOAK") == "1"
ROUNDS = 200 if SOAK else 10
FILES = ("CLAUDE.md", "AGENTS.md")
PART = re.compile(r"part (\d+)\b")
LIBRARIES = ("jose", "httpx", "ruff", "mypy", "attrs", "orjson", "click", "pydantic", "trio")
RULES_MAX = 14
OTHER = {"ann": "bob", "bob": "ann"}


class Person:
    """Somebody with a home, a clone of the repository, and habits."""

    def __init__(self, name, mail, folder, remote):
        self.name = name
        self.folder = folder / name
        self.folder.mkdir()
        self._enter()
        self.world = World(self.folder)
        self.tree = self.world.tree()
        self._names = dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), name)
        self._names |= dict.fromkeys(("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), mail)
        self.git("clone", "-q", str(remote), ".")
        self.git("config", "user.email", mail)

    def _enter(self):
        os.environ["YAAD_HOME"] = str(self.folder / "home")
        os.environ["HOME"] = str(self.folder)

    def git(self, *arguments, check=True):
        done = subprocess.run(
            [*GIT, "-C", str(self.tree.path), *arguments],
            check=check,
            capture_output=True,
            text=True,
            env=os.environ | GIT_ENVIRONMENT | self._names,
        )
        return done.stdout

    def at_home(self):
        self._enter()
        return self.tree

    def sync(self):
        tree = self.at_home()
        for _ in range(4):
            if not tree.sync().changed:
                break
        states = {path: (row.state, row.reason) for path, row in tree.rows().items()}
        assert all(states[path][0] == "synced" for path in FILES), (self.name, states)

    def rules(self, path):
        found = find((self.tree.path / path).read_bytes())
        assert isinstance(found, Block), path
        return [line[2:] for line in found.lines if line.startswith("- ")]

    def status(self):
        return self.git("status", "--porcelain")


def merged(base, ours, theirs):
    """Return the lines of three versions as a careful person would merge them: by part."""

    def by_part(text):
        return {part_of(line): line for line in text.splitlines() if PART.search(line)}

    base, mine, others = map(by_part, (base, ours, theirs))
    lines = []
    for part in [*dict.fromkeys([*mine, *others])]:
        ours_line, their_line, was = mine.get(part), others.get(part), base.get(part)
        if ours_line == was:
            line = their_line
        elif their_line == was:
            line = ours_line
        else:
            line = ours_line or their_line  # whoever changed it keeps it
        if line is not None:
            lines.append(line)
    return lines


def part_of(line):
    return int(PART.search(line).group(1))


class Team:
    """Both people at work, and what must come of it."""

    def __init__(self, folder, seed, *, mails):
        self.chance = random.Random(seed)
        self.count = 0
        self.deleted = set()
        self.contested = set()  # one person changed it while the other one deleted it
        self.unseen = {"ann": {}, "bob": {}}  # by person, what the other one has not pulled yet
        self.pushed = {"ann": {}, "bob": {}}
        remote = folder / "remote.git"
        subprocess.run([*GIT, "init", "-q", "--bare", "-b", "main", str(remote)], check=True)
        self.ann = Person("ann", mails[0], folder, remote)
        tree = self.ann.tree
        self.ann.git("checkout", "-q", "-b", "main")
        tree.write("CLAUDE.md", "# Rules\n\nBe kind.\n")
        tree.write("AGENTS.md", "# For agents\n\nBe brief.\n")
        tree.write("src/net.py", "def fetch():\n    pass\n")
        self.ann.git("add", "-A")
        self.ann.git("commit", "-q", "-m", "one")
        tree.add(mode="inline")
        self.remember(self.ann)
        self.ann.sync()
        self.ann.git("commit", "-q", "-am", "a block")
        self.ann.git("push", "-q", "-u", "origin", "main")
        self.bob = Person("bob", mails[1], folder, remote)
        self.bob.tree.add()
        self.bob.sync()
        self.people = {"ann": self.ann, "bob": self.bob}
        self.unseen = {"ann": {}, "bob": {}}

    def close(self):
        for person in (self.ann, self.bob):
            person.at_home()
            person.world.close()

    def words(self):
        self.count += 1
        libraries = " and ".join(self.chance.sample(LIBRARIES, 3))
        return f"Always use {libraries} for part {self.count}"

    def did(self, person, part, what):
        other = OTHER[person.name]
        before = self.unseen[other].get(part)
        if before is not None and {before, what} == {"edit", "delete"}:
            self.contested.add(part)
        self.unseen[person.name][part] = what
        if what == "delete":
            self.deleted.add(part)

    def remember(self, person):
        person.at_home().remember(self.words(), kind="convention")

    def type(self, person):
        path = self.chance.choice(FILES)
        text = person.tree.read(path)
        line = f"- {self.words()}\n"
        lines = text.splitlines(keepends=True)
        places = [number for number, one in enumerate(lines) if PART.search(one)]
        end = next(number for number, one in enumerate(lines) if "yaad:end" in one)
        lines.insert(self.chance.choice([*places, end]), line)
        person.tree.write(path, "".join(lines))

    def change_line(self, person, *, delete):
        path = self.chance.choice(FILES)
        lines = person.tree.read(path).splitlines(keepends=True)
        places = [number for number, one in enumerate(lines) if PART.search(one)]
        if not places:
            return
        number = self.chance.choice(places)
        part = part_of(lines[number])
        if delete:
            del lines[number]
        else:
            self.count += 1
            lines[number] = lines[number].rstrip("\n") + f" and step {self.count}\n"
        person.tree.write(path, "".join(lines))
        self.did(person, part, "delete" if delete else "edit")

    def curate(self, person):
        tree = person.at_home()
        rules = [node for node in tree.living() if node.tier == 1 and PART.search(node.text)]
        if not rules:
            return
        node = self.chance.choice(rules)
        if self.chance.random() < 0.4:
            tree.forget(node.id)
            self.did(person, part_of(node.text), "delete")
        else:
            self.count += 1
            tree.edit(node.id, f"{node.text} and step {self.count}")
            self.did(person, part_of(node.text), "edit")

    def act(self, person):
        alive = person.rules("CLAUDE.md")
        choices = ["edit", "delete", "curate"]
        if len(alive) < RULES_MAX:
            choices += ["remember", "remember", "type", "type"]
        what = self.chance.choice(choices)
        if what in ("edit", "delete"):
            self.change_line(person, delete=what == "delete")
        else:
            getattr(self, what)(person)
        person.sync()

    def commit(self, person):
        person.git("commit", "-q", "-am", "rules", check=False)

    def pull(self, person):
        """Commit, for git refuses anything else, and pull; solve what conflicts."""
        self.commit(person)
        how = self.chance.choice(("--no-rebase", "--no-rebase", "--rebase"))
        person.git("pull", "-q", "--no-edit", how, check=False)
        for part in self.pushed[OTHER[person.name]]:
            self.unseen[OTHER[person.name]].pop(part, None)
        while conflicts := person.git("diff", "--name-only", "--diff-filter=U").split():
            for path in conflicts:
                versions = [person.git("show", f":{stage}:{path}") for stage in (1, 2, 3)]
                lines = merged(*versions)
                old = [line for line in versions[1].splitlines() if not PART.search(line)]
                at = next(number for number, line in enumerate(old) if "yaad:end" in line)
                person.tree.write(path, "\n".join([*old[:at], *lines, *old[at:]]) + "\n")
            person.git("add", "-A")
            going_on = ("commit", "-q", "--no-edit")
            if (person.tree.path / ".git/rebase-merge").exists():
                going_on = ("-c", "core.editor=true", "rebase", "--continue")
            person.git(*going_on, check=False)
        if self.chance.random() < 0.8:
            person.sync()

    def share(self, person):
        self.pull(person)
        person.git("push", "-q", "origin", "HEAD:main")
        self.pushed[person.name] = dict(self.unseen[person.name])

    def rest(self):
        """Have both share all they have, then look whether anything is left to do."""
        for name in ("ann", "bob", "ann", "bob", "ann", "bob"):
            self.people[name].sync()
            self.share(self.people[name])
            self.people[name].sync()
        for person in (self.ann, self.bob):
            person.sync()
            assert person.status() == "", person.name

    def check(self):
        rules = {
            (person.name, path): sorted(person.rules(path))
            for person in (self.ann, self.bob)
            for path in FILES
        }
        first = rules["ann", "CLAUDE.md"]
        assert all(found == first for found in rules.values()), rules
        there = [part_of(rule) for rule in first]
        assert len(there) == len(set(there)), first
        return set(there)


@pytest.fixture
def environment():
    kept = {name: os.environ.get(name) for name in ("HOME", "YAAD_HOME")}
    yield
    for name, value in kept.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@pytest.mark.timeout(3600)
@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("mails", [("ann@a.org", "bob@b.org"), ("one@c.org", "one@c.org")])
def test_two_homes_with_committed_blocks_come_to_rest(tmp_path, monkeypatch, mails):
    """One person with two machines is two homes, too."""
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    team = Team(tmp_path, len(set(mails)), mails=mails)
    made = {1}
    try:
        for number in range(ROUNDS):
            for _ in range(team.chance.choice((1, 1, 2, 3))):
                person = team.chance.choice((team.ann, team.bob))
                before = {part_of(rule) for path in FILES for rule in person.rules(path)}
                team.act(person)
                now = {part_of(rule) for path in FILES for rule in person.rules(path)}
                made |= now - before
            for person in (team.ann, team.bob):
                if team.chance.random() < 0.5:
                    team.commit(person)
                if team.chance.random() < 0.4:
                    team.share(person)
            if number % 5 == 4:
                team.rest()
                there = team.check()
                lost = made - team.deleted - there
                assert not lost, (number, "lost", lost)
                back = there & (team.deleted - team.contested)
                assert not back, (number, "came back", back)
    finally:
        team.close()
