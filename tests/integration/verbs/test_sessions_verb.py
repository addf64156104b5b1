"""Sessions with real git: who they belong to, what they learn, and what they are remembered by."""

import re
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace

import pytest
from in_process import ask
from refusals import refusal
from verb_world import NET, RETRY, every_byte_below

from yaadwatch.db import history
from yaadwatch.model.errors import Code
from yaadwatch.projects import erasing
from yaadwatch.recall import recall
from yaadwatch.remember import curate, remember
from yaadwatch.sessions import context, ending, news, sessions, tasks
from yaadwatch.system import files
from yaadwatch.workspace import stores
from yaadwatch.workspace.workspace import Call

SECRET = "ghp_" + "1234567890abcdefABCDEF1234567890abcd"


class Agent:
    """An agent that works in a tree: by a connection of its own, or by hooks alone."""

    def __init__(self, tree, name="claude", connection=""):
        self.tree = tree
        self.call = Call(folder=tree.path, origin=f"agent:{name}", session=connection)

    @property
    def home(self):
        return self.tree.home

    def start(self, **fields):
        return sessions.session_start(self.home, self.call, **{"wait_ms": 0} | fields)

    def end(self, **fields):
        return sessions.session_end(self.home, self.call, **fields)

    def note(self, text, **fields):
        return sessions.session_note(self.home, self.call, text=text, **fields)

    def remember(self, text, **fields):
        return remember.remember(self.home, self.call, text=text, **fields)["id"]

    def recall(self, query):
        return recall.recall(self.home, self.call, query=query)

    def context(self, **fields):
        return context.context(self.home, self.call, wait_ms=0, **fields)

    def sessions(self, **fields):
        return sessions.sessions(self.home, self.call, **fields)["sessions"]

    def receipt(self, id):
        (found,) = self.sessions(id=id)
        return found

    def handoff(self, **fields):
        return news.handoff(self.home, self.call, **fields)

    def news(self, **fields):
        return news.session_news(self.home, self.call, **fields)

    def touched(self, *paths, **fields):
        return news.session_touched(self.home, self.call, paths=paths, **fields)

    def task(self, **fields):
        return tasks.task_update(self.home, self.call, **fields)

    def leave(self):
        ending.end_of_agent(self.home, self.call)

    def learned_in(self, memory):
        shown = curate.show(self.home, self.call, id=memory)
        return [edge["to"] for edge in shown["edges"] if edge["kind"] == "learned_in"]


@pytest.fixture
def claude(repo):
    return Agent(repo, connection="mcp 1")


class TestWhose:
    def test_what_an_agent_says_is_learned_in_the_session_of_its_connection(self, claude):
        first = claude.remember("Sign tokens with jose")
        second = claude.remember("Retry three times at most")

        (session,) = claude.learned_in(first)
        assert claude.learned_in(second) == [session]
        (found,) = claude.sessions()
        assert (found["id"], found["agent"], found["branch"]) == (session, "agent:claude", "main")
        assert (found["learned"], found["ended_at"]) == (2, None)

    def test_what_a_person_says_is_learned_on_that_day(self, repo):
        one, two = repo.remember("Sign tokens with jose"), repo.remember("Retry three times")
        repo.world.clock.advance(timedelta(days=1))
        three = repo.remember("Never log a token")

        person = Agent(repo)
        assert person.learned_in(one) == person.learned_in(two)
        assert person.learned_in(one) != person.learned_in(three)
        assert [row["name"][:4] for row in person.sessions()] == ["day ", "day "]

    def test_a_session_begun_at_the_command_line_takes_what_is_said_there(self, repo):
        begun = sessions.session_start(repo.home, repo.call, wait_ms=0)["session"]
        memory = repo.remember("Sign tokens with jose")
        sessions.session_end(repo.home, repo.call)
        later = repo.remember("Retry three times at most")

        person = Agent(repo)
        assert person.learned_in(memory) == [begun]
        assert person.learned_in(later) != [begun]

    def test_a_session_can_be_named_for_one_statement(self, repo, claude):
        begun = Agent(repo, "codex").start(name="elsewhere")["session"]

        memory = claude.remember("Sign tokens with jose", session=begun[-8:])

        assert claude.learned_in(memory) == [begun]
        error = refusal(claude.remember, "Another one", session="ffffffff")
        assert error.code is Code.NOT_FOUND
        assert refusal(claude.remember, "More", session="zz").code is Code.NOT_FOUND
        assert refusal(claude.remember, "More", session=begun[-2:]).code is Code.BAD_REQUEST

    def test_said_again_in_another_session_it_was_learned_in_both(self, repo, claude):
        memory = claude.remember("Sign tokens with jose")
        Agent(repo, connection="mcp 2").remember("Sign tokens with jose.")

        assert len(claude.learned_in(memory)) == 2

    @pytest.mark.parametrize("first", ["hook", "connection"])
    def test_the_hook_and_the_connection_of_one_agent_are_one_session(self, repo, claude, first):
        hook = Agent(repo)
        steps = [lambda: hook.start(name="5c01"), claude.context]
        for step in steps if first == "hook" else reversed(steps):
            step()

        memory = claude.remember("Sign tokens with jose")

        (session,) = claude.learned_in(memory)
        assert hook.start(name="5c01") | {"brief": ""} == hook.start(name="5c01") | {"brief": ""}
        assert (hook.start(name="5c01")["session"], hook.start(name="5c01")["again"]) == (
            session,
            True,
        )

    def test_reading_writes_nothing(self, repo, claude):
        repo.remember("Sign tokens with jose")
        with repo.db() as db:
            before = db.read(lambda conn: conn.execute("SELECT max(seq) FROM events").get)
            claude.recall("jose")
            claude.context()
            after = db.read(lambda conn: conn.execute("SELECT max(seq) FROM events").get)
            sessions = db.read(
                lambda conn: conn.execute("SELECT count(*) FROM sessions WHERE agent <> 'cli'").get
            )

        assert (before, sessions) == (after, 0)


class TestShown:
    def test_the_receipt_tells_what_was_shown_learned_and_of_use(self, repo, claude):
        known = repo.remember(RETRY)
        other = repo.remember("Deploys go out on Tuesdays, never on Fridays")
        claude.recall("retry limit")
        claude.recall("deploys on Tuesdays")
        mine = claude.remember("Sign tokens with jose")
        repo.write("src/net.py", NET.replace("tries=3", "tries=7"))
        session = claude.end()["session"]["id"]

        receipt = claude.receipt(session)

        shown = {row["id"]: row for row in receipt["shown_memories"]}
        assert shown.keys() == {known, other}
        assert (shown[known]["used"], shown[other]["used"]) == (True, False)
        assert all(row["tokens"] > 0 for row in shown.values())
        assert [row["id"] for row in receipt["learned_memories"]] == [mine]
        assert receipt["tokens"] == sum(row["tokens"] for row in shown.values())

    def test_what_went_stale_since_is_told_in_the_receipt(self, repo, claude):
        known = repo.remember()
        claude.recall("retry limit")
        claude.remember("Sign tokens with jose")
        session = claude.end()["session"]["id"]
        repo.write("src/net.py", NET.replace("tries=3", "tries=7"))
        repo.check()

        (row,) = claude.receipt(session)["shown_memories"]

        assert (row["id"], row["stale"]["verdict"]) == (known, "changed")

    def test_what_another_branch_superseded_is_not_told_as_that_here(self, repo, claude):
        manager = repo.remember("We use pnpm, not npm")
        claude.recall("pnpm")
        session = claude.end()["session"]["id"]
        repo.git("switch", "-q", "-c", "feature")
        repo.commit("feature")
        repo.link(repo.remember("We use yarn for everything"), "supersedes", manager)
        (there,) = claude.receipt(session)["shown_memories"]

        repo.git("switch", "-q", "main")

        (here,) = claude.receipt(session)["shown_memories"]
        assert (there["superseded"], here["superseded"]) == (True, False)

    def test_what_was_contradicted_or_superseded_since_is_told_in_the_receipt(self, repo, claude):
        port = repo.remember("The API port is 8080")
        manager = repo.remember("We use pnpm, not npm")
        claude.recall("API port")
        claude.recall("pnpm")
        mine = claude.remember("The database port is 5432")
        session = claude.end()["session"]["id"]
        repo.claim(port, "api", "port", "8080")
        repo.claim(mine, "database", "port", "5432")
        before = claude.receipt(session)
        repo.claim(repo.remember("The API port is 9090"), "api", "port", "9090")
        repo.claim(repo.remember("The database port is 5433"), "database", "port", "5433")
        repo.link(repo.remember("We use yarn for everything"), "supersedes", manager)

        after = claude.receipt(session)

        told = [*before["shown_memories"], *before["learned_memories"]]
        assert all(row["contradicted"] == [] and not row["superseded"] for row in told)
        shown = {row["id"]: row for row in after["shown_memories"]}
        (clash,) = shown[port]["contradicted"]
        assert clash["words"].startswith("api port: 8080")
        assert (shown[port]["superseded"], shown[manager]["superseded"]) == (False, True)
        assert shown[manager]["contradicted"] == []
        (learned,) = after["learned_memories"]
        assert (learned["id"], len(learned["contradicted"])) == (mine, 1)

    def test_a_name_that_turns_up_in_what_was_written_was_of_use(self, repo, claude):
        known = repo.remember("Call `sign_with_jose` for every token")
        claude.recall("sign every token")
        repo.write("src/auth.py", "token = sign_with_jose(claims)\n")
        session = claude.end()["session"]["id"]

        (row,) = claude.receipt(session)["shown_memories"]

        assert (row["id"], row["used"]) == (known, True)

    def test_what_was_shown_survives_a_stop_of_the_daemon(self, repo, claude):
        repo.remember()
        claude.recall("retry limit")
        ending.flush(repo.home)
        repo.world.reopen()

        (found, _) = claude.sessions()
        assert (found["agent"], found["shown"]) == ("agent:claude", 1)

    def test_what_was_shown_outlives_an_end_that_could_not_be_written(self, repo, claude):
        repo.remember()
        claude.recall("retry limit")
        with repo.without_store():
            claude.leave()
        repo.world.clock.advance(timedelta(minutes=6))

        ending.expire(repo.home)

        found = claude.sessions()[0]
        assert (found["agent"], found["shown"]) == ("agent:claude", 1)
        assert found["ended_by"] == "left"

    def test_one_store_out_of_reach_keeps_no_other_session_from_being_written(self, world, claude):
        other = world.repo("other")
        other.add()
        far = Agent(other, connection="mcp 2")
        for agent in (claude, far):
            agent.tree.remember()
            agent.recall("retry limit")

        with claude.tree.without_store():
            error = refusal(ending.flush, world.home)

        assert error.code is Code.UNAVAILABLE
        assert str(claude.tree.store) in error.message
        assert far.sessions()[0]["shown"] == 1
        ending.flush(world.home)
        assert claude.sessions()[0]["shown"] == 1

    def test_a_memory_that_was_erased_meanwhile_is_no_trouble(self, repo, claude):
        known = repo.remember("Deploys go out on Tuesdays")
        claude.recall("deploys")
        curate.delete_node(repo.home, repo.call, id=known)
        claude.remember("Sign tokens with jose")

        assert claude.end()["session"]["shown"] == 0


class TestEnd:
    def test_it_is_remembered_by_what_was_learned_and_what_git_has(self, repo, claude):
        memory = claude.remember("Sign tokens with jose")
        claude.note("The tests of the parser fail on 3.11 only")
        repo.write("src/parser.py", "def parse():\n    return 1\n")
        commit = repo.commit("parser: one at last")
        repo.write("src/net.py", NET + "\nEND = 1\n")
        repo.write("notes/new.md", "later\n")

        ended = claude.end()

        told = ended["session"]["summary"]
        assert told.splitlines()[0].startswith("claude on main, ")
        assert 'Noted: "The tests of the parser fail on 3.11 only"' in told
        assert "Sign tokens with jose" in told
        assert f'{commit[:8]} "parser: one at last"' in told
        assert "Files: src/parser.py (added)" in told
        assert "Files not committed: notes/new.md (added), src/net.py" in told
        (session,) = claude.learned_in(memory)
        shown = curate.show(claude.home, claude.call, id=session)
        assert (shown["kind"], shown["tier"], shown["text"]) == ("session", 3, told)
        touched = {edge["text"] for edge in shown["edges"] if edge["kind"] == "touches"}
        assert touched == {"src/parser.py", "src/net.py", "notes/new.md"}

    def test_what_was_pulled_or_thrown_away_was_not_done_in_it(self, repo, claude):
        theirs = repo.copy("theirs")
        claude.remember("Sign tokens with jose")
        theirs.commit("theirs: written meanwhile", {"theirs.py": "x = 1\n"})
        repo.git("pull", "-q", "--ff-only", str(theirs.path), "main")

        facts = claude.end()["session"]

        assert (facts["commits"], facts["files"]) == (0, 0)

    def test_one_in_which_nothing_happened_is_not_kept(self, claude):
        claude.start()

        assert claude.end() == {"kept": False, "session": None}
        assert claude.sessions() == []

    def test_the_end_of_its_connection_ends_it(self, claude):
        claude.remember("Sign tokens with jose")

        claude.leave()

        (found,) = claude.sessions()
        assert (found["ended_by"], found["ended_at"] is not None) == ("left", True)

    def test_one_that_a_hook_named_ends_by_the_hook(self, repo, claude):
        hook = Agent(repo)
        hook.start(name="5c01")
        claude.remember("Sign tokens with jose")
        claude.leave()
        assert claude.sessions()[0]["ended_at"] is None

        ended = hook.end(name="5c01")

        assert ended["session"]["ended_by"] == "asked"
        assert len(claude.sessions()) == 1

    def test_one_that_a_hook_named_and_its_agent_left_ends_with_the_next(self, repo, claude):
        hook = Agent(repo)
        hook.start(name="5c01")
        claude.remember("Sign tokens with jose")
        claude.leave()

        brief = hook.start(name="77aa", wait_ms=30_000)

        assert brief["last"] is True
        assert "Sign tokens with jose" in brief["brief"]

    def test_idleness_ends_it_at_the_time_of_its_last_word(self, repo, claude):
        claude.remember("Sign tokens with jose")
        last = claude.sessions()[0]["last_at"]
        repo.world.clock.advance(timedelta(minutes=29))
        ending.expire(repo.home)
        assert claude.sessions()[0]["ended_at"] is None

        repo.world.clock.advance(timedelta(minutes=2))
        ending.expire(repo.home)

        (found,) = claude.sessions()
        assert found["ended_by"] == "idle"
        assert abs(found["ended_at"] - last) < timedelta(minutes=1)

    @pytest.mark.parametrize("everywhere", [False, True])
    def test_it_waits_while_the_disk_of_its_project_does_not_answer(
        self, repo, claude, monkeypatch, everywhere
    ):
        claude.remember("Sign tokens with jose")
        repo.world.clock.advance(timedelta(minutes=31))
        with monkeypatch.context() as patch:
            patch.setattr(files, "networks", lambda _: frozenset({repo.path}))
            patch.setattr(stores, "_disks", SimpleNamespace(ask=lambda *_: None))
            ending.expire(repo.home, everywhere=everywhere)
            assert claude.sessions()[0]["ended_at"] is None

        ending.expire(repo.home, everywhere=everywhere)

        assert claude.sessions()[0]["ended_by"] == "idle"

    def test_asked_by_name_again_it_goes_on(self, repo):
        hook = Agent(repo)
        begun = hook.start(name="5c01")["session"]
        hook.remember("Sign tokens with jose")
        hook.end(name="5c01")

        again = hook.start(name="5c01")

        assert (again["session"], again["again"]) == (begun, True)
        assert hook.sessions()[0]["ended_at"] is None

    def test_after_a_crash_of_the_daemon_it_goes_on(self, repo, claude):
        memory = claude.remember("Sign tokens with jose")
        repo.world.reopen()

        again = Agent(repo, connection="mcp 9")
        other = again.remember("Retry three times at most")

        assert again.learned_in(other) == again.learned_in(memory)

    def test_after_a_crash_one_that_nobody_goes_on_with_is_ended(self, repo, claude):
        claude.remember("Sign tokens with jose")
        repo.world.reopen()
        repo.world.clock.advance(timedelta(hours=2))

        ending.expire(repo.home, everywhere=True)

        assert Agent(repo).sessions()[0]["ended_by"] == "idle"

    def test_what_is_said_in_it_after_its_end_is_told_too(self, claude):
        claude.remember("Sign tokens with jose")
        (found,) = claude.sessions()
        claude.end(session=found["id"])

        claude.remember("Never log a token", session=found["id"])

        (after,) = claude.sessions(query="never log")
        assert (after["id"], after["learned"]) == (found["id"], 2)
        assert "Sign tokens with jose" in after["summary"]
        assert "Never log a token" in after["summary"]
        assert "Never log a token" in claude.context()["brief"]

    def test_a_repository_without_a_commit_has_sessions_too(self, world):
        tree = world.tree("unborn")
        tree.git("init", "-q", "-b", "main")
        tree.add()
        agent = Agent(tree, connection="mcp 1")
        agent.remember("Sign tokens with jose")
        tree.write("src/a.py", "x = 1\n")

        assert "src/a.py (added)" in agent.end()["session"]["summary"]

    def test_a_work_tree_that_is_gone_is_said(self, repo, claude):
        claude.remember("Sign tokens with jose")
        live = repo.home.live.everything()[-1]
        live.session = replace(live.session, worktree=None)

        ended = ending.finish(repo.home, live, "left")

        assert "work tree is not there" in ended.summary


class TestFind:
    def test_past_sessions_are_found_by_their_words(self, repo, claude):
        claude.remember("Sign tokens with jose")
        claude.note("The parser is too slow on large files")
        claude.end()
        other = Agent(repo, connection="mcp 2")
        other.remember("Retry three times at most")
        other.end()

        (by_note,) = claude.sessions(query="what about a slow parser?")
        (by_memory,) = claude.sessions(query="signing tokens")

        assert by_note["id"] == by_memory["id"]
        assert claude.sessions(query="kubernetes") == []

    def test_a_word_inside_a_text_without_spaces_finds_its_session(self, claude):
        claude.remember("データベースの接続は30秒でタイムアウトする")
        claude.note("数据库连接超时")

        assert len(claude.sessions(query="超时")) == 1
        claude.end()

        for query in ("接続", "タイムアウト", "超时"):
            assert len(claude.sessions(query=query)) == 1
        assert claude.sessions(query="障害") == []

    def test_sessions_are_not_among_the_answers_of_recall(self, claude):
        memory = claude.remember("Sign tokens with jose")
        claude.end()

        assert [row["id"] for row in claude.recall("tokens")["results"]] == [memory]

    @pytest.mark.parametrize("take_away", ["delete", "forget", "erase"])
    def test_what_is_deleted_is_not_told_by_its_session_any_more(self, repo, claude, take_away):
        memory = claude.remember("The staging host is called zanzibar.\n\nIt has two disks.")
        claude.remember("Sign tokens with jose")
        claude.end()
        assert len(claude.sessions(query="zanzibar")) == 1

        if take_away == "delete":
            curate.delete_node(repo.home, repo.call, id=memory)
        elif take_away == "erase":
            erasing.erase(repo.home, repo.call, id=memory)
        else:
            curate.forget(repo.home, repo.call, id=memory)

        assert claude.sessions(query="zanzibar") == []
        assert "zanzibar" not in claude.sessions()[0]["summary"]


class TestPrivacy:
    def test_what_a_session_quoted_stays_in_no_version_of_it(self, repo, claude):
        secrets = ["Quuxbertha lives at Platz 17", "Wolkenkuckuck is her other name"]
        memories = [repo.remember(one) for one in secrets]
        learned = claude.remember("Trams run as Zanzibarian numbers")
        claude.note(f"They said: {secrets[0]}. Also: {secrets[1]}.")
        session = claude.end()["session"]["id"]
        done = [erasing.erase(repo.home, repo.call, id=one) for one in (*memories, learned)]

        assert [one["remains"] for one in done] == [[], [], []]
        with repo.db() as db:
            said = [str(version.text) for version in db.read(history.versions_of_node, session)]
        assert said
        repo.home.close()
        kept = every_byte_below(repo.store.parent)
        words = (b"Quuxbertha", b"Wolkenkuckuck", b"Zanzibarian")
        assert [word for word in words if word in kept] == []
        repo.world.reopen()

    def test_what_stood_in_quotes_there_goes_when_it_is_erased(self, repo, claude):
        said = 'The guest "Quuxbertha" stays in "Platz 17"'
        memory = claude.remember(said)
        claude.note(f"As I heard: {said}")
        told = claude.end()["session"]["summary"]
        assert told.count("'Quuxbertha'") == 2

        done = erasing.erase(repo.home, repo.call, id=memory)

        assert done["remains"] == []
        repo.home.close()
        assert b"Quuxbertha" not in every_byte_below(repo.store.parent)
        repo.world.reopen()

    def test_no_secret_comes_in_by_any_way(self, repo, claude):
        repo.git("checkout", "-q", "-b", f"try-{SECRET}")
        hook = Agent(repo, "codex")
        hook.start(name=f"name {SECRET}")
        claude.note(f"The token is {SECRET}")
        claude.task(text=f"Rotate {SECRET}")
        claude.remember("Sign tokens with jose")
        commit = repo.commit(f"use {SECRET}", {f"src/{SECRET}.py": "x = 1\n"})
        repo.write(f"notes-{SECRET}.md", "y\n")
        prompt = claude.handoff()["prompt"]
        claude.touched(f"src/{SECRET}.py")
        session = claude.end()["session"]
        hook.end(name=f"name {SECRET}")

        told = [prompt, str(session), str(claude.receipt(session["id"])), str(hook.context())]
        assert [one for one in told if SECRET in one] == []
        assert commit[:8] in session["summary"]
        repo.write("CLAUDE.md", "# Rules\n\n- Be brief\n")
        repo.sync()
        repo.home.close()
        assert SECRET.encode() not in every_byte_below(repo.store.parent)
        repo.world.reopen()


def test_what_steers_a_terminal_stands_in_no_note_and_no_name(claude):
    session = claude.start(name="one\x1b[2J")
    noted = claude.note("red \x1b[31m and \u202ednuora")
    again = claude.start(name="one\x1b[2J")

    assert noted["text"] == r"red \x1b[31m and \u202ednuora"
    assert again["session"] == session["session"]
    assert claude.end(name="one\x1b[2J")["session"]["name"] == r"one\x1b[2J"


class TestHandoff:
    def test_it_says_what_was_done_what_is_open_and_what_is_flagged(self, repo, claude):
        known = repo.remember()
        claude.remember("Sign tokens with jose")
        claude.task(text="Move the parser to its own module", state="doing")
        claude.task(text="Write the release notes")
        pages = repo.path.parent / "pages"
        pages.mkdir()
        page = pages / "page.md"
        page.write_text('---\nname: x\ntype: task\n---\nAsk "Ada"\nabout it\n')
        ask(repo, "import", pages)
        done = claude.task(text="Fix the build")["id"]
        claude.task(id=done, state="done")
        repo.write("src/net.py", NET.replace("tries=3", "tries=7"))
        repo.check()

        told = claude.handoff()

        prompt = told["prompt"]
        assert "Sign tokens with jose" in prompt
        assert "src/net.py" in prompt
        assert '"Move the parser to its own module" [under way]' in prompt
        assert '"Write the release notes"' in prompt
        assert """- an import (pages) noted on """ in prompt
        assert """: "Ask 'Ada' about it" (""" in prompt
        assert "Fix the build" in prompt.split("## What is open")[0]
        assert "Fix the build" not in prompt.split("## What is open")[1]
        assert known[-8:] in prompt.split("## What may no longer be true")[1]
        assert (told["open"], told["flags"]) == (3, 1)

    def test_who_comes_next_gets_that_of_the_last_one(self, repo, claude):
        claude.remember("Sign tokens with jose")
        ended = claude.end()["session"]["id"]

        told = Agent(repo, "codex", connection="mcp 2").handoff()

        assert (told["session"], "jose" in told["prompt"]) == (ended, True)


class TestNews:
    def test_only_what_is_new_is_told_and_once(self, repo, claude):
        repo.remember("Deploys go out on Tuesdays: this is a rule", kind="convention")
        claude.start()
        assert claude.news()["news"] == ""

        new = repo.remember("Never deploy on Fridays", kind="convention")
        first, second = claude.news(), claude.news()

        assert (first["memories"], new[-8:] in first["news"]) == (1, True)
        assert (second["memories"], second["news"]) == (0, "")

    def test_a_new_flag_is_news_with_its_reason(self, repo, claude):
        known = repo.remember()
        claude.start()
        repo.write("src/net.py", NET.replace("tries=3", "tries=7"))
        repo.check()

        told = claude.news()

        assert (told["stale"], known[-8:] in told["news"]) == (1, True)
        assert "may no longer be true" in told["news"]
        assert "or yaadwatch edit ID TEXT" in told["news"]

    def test_what_the_session_said_itself_is_no_news_to_it(self, repo, claude):
        claude.start()
        claude.remember("Never deploy on Fridays", kind="convention")

        assert claude.news()["news"] == ""

    def test_what_is_not_for_everybody_is_no_news(self, repo, claude):
        claude.start()
        repo.remember("The parser fails on tabs", kind="bug")

        assert claude.news()["news"] == ""

    def test_the_budget_of_news_is_kept(self, repo, claude):
        claude.start()
        for number in range(12):
            repo.remember(f"Rule number {number} is to be kept by everybody", kind="convention")

        told = claude.news(tokens_max=60)

        assert 0 < told["memories"] < 12


class TestTouched:
    def test_what_rests_on_a_file_is_told_once(self, repo, claude):
        rule = repo.remember("Retries in src/net.py stay below five", kind="convention")
        repo.remember("The limit in src/net.py was raised for the slow proxy", kind="bug")

        first = claude.touched(str(repo.path / "src/net.py"))
        second = claude.touched("src/net.py")

        assert "src/net.py backs 1 memory and 1 rule" in first["text"]
        assert rule[-8:] in first["text"]
        assert second["text"] == ""
        session = claude.sessions()[0]["id"]
        assert claude.receipt(session)["touched"] == ["src/net.py"]

    def test_a_name_of_several_files_means_the_one_that_was_worked_on(self, repo, claude):
        for folder in ("api", "web"):
            repo.write(f"{folder}/limits.py", "RETRIES = 3\n")
        repo.commit("limits")
        before = claude.remember("Keep limits.py free of imports")
        claude.touched("web/limits.py")

        after = claude.remember("Keep limits.py sorted by name")

        assert repo.show(before)["anchors"] == []
        assert [anchor["path"] for anchor in repo.show(after)["anchors"]] == ["web/limits.py"]


class TestTasks:
    def test_tasks_come_in_the_order_in_which_to_do_them(self, repo, claude):
        low = claude.task(text="Sort the imports", priority="low")["id"]
        first = claude.task(text="Move the parser")["id"]
        urgent = claude.task(text="Stop the leak", priority="urgent")["id"]
        doing = claude.task(text="Write the notes", state="doing")["id"]
        waiting = claude.task(text="Release it")["id"]
        repo.link(waiting, "depends_on", first)

        listed = tasks.tasks(repo.home, repo.call)

        assert [row["id"] for row in listed["tasks"]] == [doing, urgent, first, waiting, low]
        assert listed["tasks"][3]["waits_for"] == [first]
        assert listed["counts"] == {"open": 4, "doing": 1, "done": 0, "dropped": 0}

    def test_what_is_done_leaves_the_brief_and_can_be_looked_up(self, repo, claude):
        task = claude.task(text="Stop the leak", priority="urgent")["id"]
        assert re.search(
            '\\[urgent] claude noted on .*: "Stop the leak"', claude.context()["brief"]
        )

        done = claude.task(id=task, state="done")

        assert (done["state"], done["priority"], done["made"]) == ("done", "urgent", False)
        assert claude.context()["tasks"] == 0
        listed = tasks.tasks(repo.home, repo.call, states=["done"])
        assert [row["id"] for row in listed["tasks"]] == [task]
        changes = [row["change"] for row in repo.show(task)["versions"]]
        assert changes[-1] == "done"

    def test_said_again_it_is_open_again(self, claude):
        task = claude.task(text="Stop the leak", priority="high")["id"]
        claude.task(id=task, state="done")

        again = claude.task(text="Stop the leak")

        assert (again["id"], again["state"], again["priority"]) == (task, "open", "high")
        assert again["made"] is False

    def test_only_tasks_are_tasks(self, repo, claude):
        other = repo.remember("Sign tokens with jose", kind="decision")

        assert refusal(claude.task, id=other, state="done").code is Code.REFUSED
        assert refusal(claude.task).code is Code.BAD_REQUEST
        unknown = refusal(claude.task, id="99999999", state="done")
        assert (unknown.code, "yaadwatch tasks" in unknown.hint) == (Code.NOT_FOUND, True)
        assert refusal(claude.task, id=other).code is Code.BAD_REQUEST

    @pytest.mark.parametrize("odd", ["flying", 5, ["done"], {"done": True}, True, ""])
    def test_a_task_in_no_state_that_there_is_stays_in_sight(self, repo, claude, odd):
        given = {"state": odd, "priority": odd}
        odd_one = repo.remember("Stop the leak", kind="task", attributes=given)
        after = claude.task(text="Release it")["id"]
        repo.link(after, "depends_on", odd_one)

        listed = tasks.tasks(repo.home, repo.call)

        told = [(row["id"], row["state"], row["priority"]) for row in listed["tasks"]]
        assert told == [(odd_one, "open", "normal"), (after, "open", "normal")]
        assert listed["tasks"][1]["waits_for"] == [odd_one]
        assert listed["counts"] == {"open": 2, "doing": 0, "done": 0, "dropped": 0}
        assert claude.context()["tasks"] == 2

    def test_an_archived_task_is_refused(self, repo, claude):
        task = claude.task(text="Stop the leak")["id"]
        repo.forget(task)

        assert refusal(claude.task, id=task, state="done").code is Code.REFUSED


class TestBrief:
    def test_contradictions_come_before_the_rules(self, repo, claude):
        for port in "8080", "9090":
            memory = repo.remember(f"The API listens on port {port}", kind="convention")
            repo.claim(memory, "api", "port", port)
        told = claude.context()
        assert (told["contradictions"], told["rules"]) == (1, 2)
        brief = told["brief"]
        assert brief.index("## Contradictions") < brief.index("## Rules")
        assert "8080" in brief.split("## Rules")[0]
