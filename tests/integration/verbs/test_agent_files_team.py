"""Two people, one remote, blocks that are committed: both work trees come to rest."""

import os
import random
import re
import subprocess
from datetime import timedelta

import pytest
from plain_git import GIT
from verb_world import GIT_ENVIRONMENT, World

from bridges.block import Block, find

SOAK = os.environ.get("YAAD_SOAK") == "1"
ROUNDS = 200 if SOAK else 6
SEED = int(os.environ.get("YAAD_SEED", "7"))
FILES = ("CLAUDE.md", "AGENTS.md")
PART = re.compile(r"part (\d+)\b")
STEP = re.compile(r" and step \d+")
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


def changed(words, step):
    """Return the words of a rule as somebody changed them; they do not fill the block."""
    return f"{STEP.sub('', words)} and step {step}"


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
        places = [
            number
            for number, one in enumerate(lines)
            if PART.search(one) and self.may_change(person, part_of(one))
        ]
        if not places:
            return
        number = self.chance.choice(places)
        part = part_of(lines[number])
        if delete:
            del lines[number]
        else:
            self.count += 1
            lines[number] = f"{changed(lines[number].rstrip(), self.count)}\n"
        person.tree.write(path, "".join(lines))
        if delete and any(part_of(line) == part for line in lines if PART.search(line)):
            return  # it had two wordings, which are two rules; the other one stays
        self.did(person, part, "delete" if delete else "edit")

    def may_change(self, person, part):
        """Return whether a line may be changed, or deleted, in one file only."""
        return True

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
            tree.edit(node.id, changed(node.text, self.count))
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
        self.solve(person)
        self.after_pull(person)

    def solve(self, person):
        """Solve what conflicts, and go on with what git was doing."""
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

    def after_pull(self, person):
        if self.chance.random() < 0.8:
            person.sync()

    def share(self, person):
        self.pull(person)
        person.git("push", "-q", "origin", "HEAD:main")
        self.pushed[person.name] = dict(self.unseen[person.name])

    def rest(self):
        """Have both share all they have, then look whether anything is left to do."""
        for name in ("ann", "bob") * 4:
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


class UnseenTeam(Team):
    """The same two people; nothing looks at their files before one to three steps are done.

    So it is while the daemon is stopped, and where two commands are on one line.
    """

    def __init__(self, folder, seed, *, mails):
        super().__init__(folder, seed, mails=mails)
        self.made = {1}
        self.window = {"ann": {}, "bob": {}}  # by part, what its person did since the last look
        self.curated = dict.fromkeys(("ann", "bob"), False)
        self.seen = {"ann": {1}, "bob": {1}}  # the rules of the last look
        self.single = set()  # typed into one file only

    def did(self, person, part, what):
        done = self.window[person.name].setdefault(part, what)
        if done != what:
            self.contested.add(part)
            self.deleted.add(part)
        super().did(person, part, what)

    def step(self, person):
        """Do one thing, and note which rules came, and went, by what git did."""
        alive = person.rules("CLAUDE.md")
        choices = ["edit", "delete", "commit", "commit", "share", "share", "share"]
        choices += ["revert", "amend", "reset", "older", "branch"]
        if len(alive) < RULES_MAX:
            choices += ["type", "type", "type", "remember"]
        what = self.chance.choice(choices)
        before = self.parts(person)
        if what in ("edit", "delete"):
            self.change_line(person, delete=what == "delete")
            for path, found in self.parts(person).items():
                if not person.git("diff", "HEAD", "--", path):
                    # Once git has looked at it, it is as `git checkout -- FILE` leaves it.
                    self.contested |= before[path].keys() - found.keys()
        elif what in ("revert", "reset", "older"):
            self.commit(person)
            getattr(self, what)(person)
            self.note_git(person, before, self.parts(person))
        else:
            self.curated[person.name] |= what == "remember"
            getattr(self, what)(person)
        for found in self.parts(person).values():
            self.made |= found.keys()

    def parts(self, person):
        return {
            path: {part_of(rule): rule for rule in person.rules(path) if PART.search(rule)}
            for path in FILES
        }

    def note_git(self, person, before, after):
        for path in FILES:
            for part in before[path].keys() | after[path].keys():
                if part not in after[path]:
                    self.did(person, part, "delete")
                    if any(part in after[other] for other in FILES):
                        self.contested.add(part)  # the other one may have carried it there, too
                elif part not in before[path]:
                    if all(part in after[other] for other in FILES):
                        self.revived(person, part)
                    self.contested.add(part)
                elif before[path][part] != after[path][part]:
                    self.did(person, part, "edit")

    def revived(self, person, part):
        """Note that git brought a rule back; it may go where the other one deleted it meanwhile.

        Also where the other one has not shared yet that it was deleted: rebased on the revert, that
        looks like a deletion after it.
        """
        other = OTHER[person.name]
        shown = self.people[other].git("diff", "origin/main", "--", *FILES)
        lines = [line for line in shown.splitlines() if PART.search(line)]
        gone, came = ({part_of(line) for line in lines if line[0] == sign} for sign in "-+")
        if self.unseen[other].get(part) != "delete" and part not in gone - came:
            self.deleted.discard(part)

    def type(self, person):
        """Type a line into both files, or into one: there it stays where it came with a pull."""
        line = f"- {self.words()}\n"
        files = FILES
        if self.chance.random() < 0.3:
            files = (self.chance.choice(FILES),)
            self.single.add(self.count)
        for path in files:
            text = person.tree.read(path)
            person.tree.write(path, text.replace("<!-- yaad:end", f"{line}<!-- yaad:end"))

    def may_change(self, person, part):
        """A rule that nobody has looked at yet is two in two files that say different things."""
        return part in self.seen[person.name]

    def own(self, person):
        """Return whether the last commit is a plain one that nobody else has."""
        parents = person.git("rev-list", "--parents", "--max-count=1", "HEAD").split()
        return len(parents) == 2 and bool(person.git("rev-list", "origin/main..HEAD").strip())

    def revert(self, person):
        shown = person.git("log", "--format=%p %s", "--max-count=1").split()
        if len(shown) == 2 and shown[1] == "rules":  # no merge, and not the block itself
            person.git("revert", "--no-edit", "HEAD", check=False)
            if (person.tree.path / ".git" / "REVERT_HEAD").exists():
                person.git("revert", "--abort")

    def amend(self, person):
        """Amend a commit: of what that deletes in one file no commit tells, so that it may stay."""
        if self.own(person):
            before = self.parts(person)
            self.change_line(person, delete=self.chance.random() < 0.5)
            for path, found in self.parts(person).items():
                self.contested |= before[path].keys() - found.keys()
            person.git("commit", "-q", "-a", "--amend", "--allow-empty", "--no-edit")

    def reset(self, person):
        if self.own(person):
            before = self.parts(person)
            person.git("reset", "-q", "--hard", "HEAD~1")
            after = self.parts(person)
            for path in FILES:  # what it takes away is not deleted, and may come back
                rules = before[path].items() ^ after[path].items()
                self.contested |= {part for part, _ in rules}

    def older(self, person):
        if self.own(person):
            person.git("checkout", "-q", "HEAD~1", "--", *FILES)
            self.commit(person)

    def branch(self, person):
        """Work on a branch for a while, and merge it."""
        self.commit(person)
        person.git("checkout", "-q", "-B", "feature")
        looks = self.chance.random() < 0.5
        if looks:
            self.look(person)
        for _ in range(self.chance.choice((1, 2))):
            work = self.chance.choice((self.type, lambda one: self.change_line(one, delete=False)))
            if work != self.type or len(person.rules("CLAUDE.md")) < RULES_MAX:
                work(person)
            self.commit(person)
            if looks and self.chance.random() < 0.5:
                self.look(person)
                self.commit(person)
        person.git("checkout", "-q", "main")
        if self.chance.random() < 0.3:
            self.look(person)
            self.commit(person)
        how = self.chance.choice(("--no-ff", "--ff"))
        person.git("merge", "-q", "--no-edit", how, "feature", check=False)
        self.solve(person)

    def check(self):
        """Compare the files, but for what one of them lost with its commit, or never had.

        Two wordings of a rule that git merged may both stay; then both files have both.
        """
        texts = {
            (person.name, path): {rule for rule in person.rules(path) if PART.search(rule)}
            for person in (self.ann, self.bob)
            for path in FILES
        }
        for path in FILES:
            assert texts["ann", path] == texts["bob", path], texts
        one, other = (texts["ann", path] for path in FILES)
        differing = {part_of(rule) for rule in one ^ other}
        assert differing <= self.single | self.contested, (one - other, other - one)
        return {part_of(rule) for rule in one | other}

    def after_pull(self, person):
        """Do not look: the next step may be another one of git."""

    def look(self, person):
        """Look at the files; where both say the same as HEAD, nothing is written into them."""
        rules = [sorted(person.rules(path)) for path in FILES]
        is_clean = person.status() == "" and not self.curated[person.name]
        before = {path: person.tree.read(path) for path in FILES}
        person.world.clock.advance(timedelta(minutes=1))  # as far apart as people look
        if self.chance.random() < 0.2:
            person.at_home().world.reopen()
        person.sync()
        if is_clean and rules[0] == rules[1]:
            now = {path: person.tree.read(path) for path in FILES}
            assert now == before, (person.name, person.git("diff", "-U0"))
        self.window[person.name] = {}
        self.curated[person.name] = False
        self.seen[person.name] = {part for one in self.parts(person).values() for part in one}


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
    team = Team(tmp_path, SEED + len(set(mails)), mails=mails)
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


@pytest.mark.timeout(3600)
@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("mails", [("ann@a.org", "bob@b.org"), ("one@c.org", "one@c.org")])
def test_several_steps_of_git_between_two_looks_lose_nothing(tmp_path, monkeypatch, mails):
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    team = UnseenTeam(tmp_path, SEED + len(set(mails)), mails=mails)
    try:
        for number in range(ROUNDS):
            for person in (team.ann, team.bob):
                for _ in range(team.chance.choice((1, 2, 2, 3))):
                    team.step(person)
                team.look(person)
            if number % 5 == 4:
                team.rest()
                there = team.check()
                lost = team.made - team.deleted - there
                assert not lost, (number, "lost", lost)
                back = there & (team.deleted - team.contested)
                assert not back, (number, "came back", back)
    finally:
        team.close()


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("first", ["ann", "bob"])
def test_two_wordings_that_git_merged_become_one_in_both_clones(tmp_path, monkeypatch, first):
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    team = Team(tmp_path, 1, mails=("ann@a.org", "bob@b.org"))
    try:
        team.rest()
        one, other = team.people[first], team.people[OTHER[first]]
        for person, path in ((one, "CLAUDE.md"), (other, "AGENTS.md")):
            text = person.tree.read(path)
            person.tree.write(path, text.replace("part 1", f"part 1 and step {person.name}"))
            team.commit(person)
        one.git("push", "-q", "origin", "HEAD:main")
        one.sync()  # one person has looked at the own edit, the other one has not
        one.git("checkout", "-q", ".")
        other.git("pull", "-q", "--no-edit", "--no-rebase")
        other.git("push", "-q", "origin", "HEAD:main")
        one.git("pull", "-q", "--no-edit", "--no-rebase")

        for person in (one, other):
            person.sync()

        assert len({tuple(p.rules(path)) for p in (one, other) for path in FILES}) == 1
        team.rest()
    finally:
        team.close()
