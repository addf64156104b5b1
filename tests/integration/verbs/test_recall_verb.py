"""recall on a real repository and store: what is found, what is not, how much is told."""

import subprocess
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refusals import refusal
from verb_world import GIT_ENVIRONMENT, NET

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.queries import GivenEdge, GivenNode
from yaadwatch.model.settings import Recall, Settings
from yaadwatch.recall import recall
from yaadwatch.remember import edit, inject
from yaadwatch.sessions import tasks
from yaadwatch.text.words import estimate_tokens
from yaadwatch.workspace.workspace import Call


def asked(tree, query, **fields):
    return recall.recall(tree.home, fields.pop("call", tree.call), query=query, **fields)


def found(tree, query, **fields):
    return [row["id"] for row in asked(tree, query, **fields)["results"]]


def put(tree, *nodes, edges=()):
    return inject.inject(tree.home, tree.call, nodes=nodes, edges=edges)


def memory(name, text, **given):
    return GivenNode(id=name, text=text, **given)


JAPANESE = "データベースの接続は30秒でタイムアウトする"
CHINESE = "使用JWT认证，数据库连接超时为30秒"
KOREAN = "데이터베이스가 재시도를 세 번 한다"


class TestWhatIsFound:
    @pytest.mark.parametrize(
        ("question", "right"),
        [
            ("接続", "ja"),
            ("タイムアウト", "ja"),
            ("ﾀｲﾑｱｳﾄ", "ja"),
            ("接続はいつ切れますか", "ja"),
            ('"データベースの接続"', "ja"),
            ("超时", "zh"),
            ("JWT", "zh"),
            ("证", "zh"),
            ("재시도", "ko"),
            ("데이터베이스", "ko"),
            ("障害", "tagged"),
        ],
    )
    def test_a_word_inside_a_text_without_spaces_finds_it(self, repo, question, right):
        put(
            repo,
            memory("ja", JAPANESE),
            memory("zh", CHINESE),
            memory("ko", KOREAN),
            memory("other", "リリースの手順を書く"),
            memory("tagged", "Call the one on duty", tags=("障害対応",)),
        )

        assert found(repo, question)[0] == right
        assert "other" not in found(repo, question)

    def test_what_was_edited_and_what_is_said_again_keep_one_memory_with_its_words(self, repo):
        ours = repo.remember(JAPANESE)

        assert repo.remember(f"- {JAPANESE}") == ours
        assert found(repo, JAPANESE) == [ours]
        repo.edit(ours, "データベースの接続は切れない")
        assert found(repo, "タイムアウト") == []
        assert found(repo, "切れない") == [ours]

    def test_any_of_the_words_may_match_and_the_rare_ones_count_most(self, repo):
        put(
            repo,
            *(memory(f"common-{n}", f"The build number {n} runs in the cloud") for n in range(9)),
            memory("rare", "Tokens are signed with jose"),
        )

        assert found(repo, "how does the build sign its jose things")[0] == "rare"

    @pytest.mark.parametrize(
        ("question", "right", "wrong"),
        [
            (
                "why don't we use k8s",
                "Kubernetes was rejected: a team of four cannot run it",
                "Use no default exports",
            ),
            (
                "how do I get to the admins",
                "The admin panel is reachable over the VPN only",
                "Sentry gets errors from production and staging",
            ),
            (
                'when should I write "use client"',
                "Client components need a comment that says why",
                "Release notes are written by whoever releases",
            ),
        ],
        ids=["what nobody says, by what means the same", "how somebody asks", "a phrase"],
    )
    def test_what_says_most_of_what_is_meant_counts_most(self, repo, question, right, wrong):
        put(repo, memory("wrong", wrong), memory("right", right))

        assert found(repo, question)[0] == "right"

    def test_a_word_may_be_written_apart(self, repo):
        put(repo, memory("kept", "Backups are taken every six hours"))

        assert found(repo, "how often do we back up") == ["kept"]

    def test_a_phrase_that_somebody_says_finds_nobody_who_has_its_words_apart(self, repo):
        put(
            repo,
            memory("phrase", "Write use client at the top of the file"),
            memory("apart", "The client may use two connections"),
        )

        assert found(repo, '"use client"') == ["phrase"]

    def test_words_that_say_how_somebody_asks_find_something_alone(self, repo):
        put(repo, memory("only", "Use tabs"))

        assert found(repo, "what do we use") == ["only"]

    def test_what_a_question_names_is_first_whatever_else_matches(self, repo):
        repo.commit("auth", {"src/auth/token.py": "def sign():\n    return 1\n"})
        there = repo.remember("Sign here only", files=["src/auth/token.py"])
        put(
            repo,
            memory("about", "token token token py src auth: all about tokens", pin=True),
            memory("title", "Rotate the signing keys monthly. Everything else is in the handbook."),
        )

        assert found(repo, "src/auth/token.py")[0] == there
        assert found(repo, "auth/token.py")[0] == there
        assert found(repo, "rotate the signing keys monthly")[0] == "title"

    def test_a_synonym_finds_it_too_but_counts_half(self, repo):
        put(
            repo,
            memory("same", "The database is backed up at night"),
            memory("other", "The db is backed up at night"),
        )

        assert found(repo, "where is the database") == ["same", "other"]
        assert found(repo, "where is the db") == ["other", "same"]

    def test_a_relation_raises_what_was_found_and_brings_nobody_in(self, repo):
        put(
            repo,
            memory("why", "We moved the queue to redis because of latency spikes in march"),
            memory("one", "The queue workers are restarted nightly by cron for safety"),
            memory("two", "The queue workers are restarted nightly by cron for memory"),
            memory("apart", "Nothing of the kind stands here"),
            edges=[
                GivenEdge(from_="why", kind="led_to", to="two"),
                GivenEdge(from_="why", kind="led_to", to="apart"),
            ],
        )

        order = found(repo, "why are queue workers restarted nightly by cron, latency spikes redis")

        assert order.index("two") < order.index("one")
        assert "apart" not in order

    def test_what_is_archived_is_never_found(self, repo):
        gone = repo.remember("Use jose for tokens")
        repo.forget(gone)

        assert found(repo, "jose tokens") == []
        assert found(repo, "Use jose for tokens") == []

    def test_a_word_that_one_memory_has_alone_finds_it_first(self, repo):
        put(
            repo,
            *(
                memory(
                    f"n{n}", f"The service number {n % 97} restarts after {n % 89} minutes u{n}q"
                )
                for n in range(1500)
            ),
        )

        wrong = [
            n
            for n in range(0, 1500, 50)
            if found(repo, f"when does service u{n}q restart after minutes", top_k=1) != [f"n{n}"]
        ]
        assert wrong == []


class TestWhichAreMeant:
    @pytest.fixture
    def mixed(self, repo):
        repo.commit("web", {"web/app.py": "x = 1\n"})
        claude = Call(folder=repo.path, origin="agent:claude")
        ids = {
            "net": repo.remember("Retry the upload in the net module", files=["src/net.py"]),
            "web": repo.remember("Retry the upload in the web module", files=["web/app.py"]),
            "fix": repo.remember("Retry the upload twice", kind="fix", tags=["http", "slow"]),
            "own": repo.remember("Retry the upload by hand, that is my habit", scope="user"),
        }
        world = repo.world
        world.clock.advance(timedelta(days=3))
        from yaadwatch.remember import remember

        ids["claude"] = remember.remember(repo.home, claude, text="Retry the upload with claude")[
            "id"
        ]
        return repo, ids

    @pytest.mark.parametrize(
        ("filter_", "names"),
        [
            ({}, {"net", "web", "fix", "own", "claude"}),
            ({"kinds": ["fix"]}, {"fix"}),
            ({"scope": "user"}, {"own"}),
            ({"scope": "project"}, {"net", "web", "fix", "claude"}),
            ({"path": "src"}, {"net"}),
            ({"path": "src/net.py"}, {"net"}),
            ({"path": "./web/"}, {"web"}),
            ({"path": "sr"}, set()),
            ({"tags": ["http"]}, {"fix"}),
            ({"tags": ["http", "fast"]}, set()),
            ({"agent": "claude"}, {"claude"}),
            ({"agent": "agent:claude"}, {"claude"}),
        ],
    )
    def test_only_what_passes_the_filter(self, mixed, filter_, names):
        tree, ids = mixed

        answer = found(tree, "retry the upload", **filter_)

        assert sorted(answer) == sorted(ids[name] for name in names)

    def test_a_session_has_what_was_remembered_in_it(self, mixed):
        tree, ids = mixed
        with tree.db() as db:
            session = db.read(
                lambda conn: (
                    conn.execute("SELECT session FROM nodes WHERE id = ?", (ids["claude"],)).get
                )
            )

        assert session
        assert found(tree, "retry the upload", session=session) == [ids["claude"]]
        assert found(tree, "retry the upload", session=session[-8:]) == [ids["claude"]]
        for name, code in (("zzzzzzzz", Code.NOT_FOUND), (session[-2:], Code.BAD_REQUEST)):
            assert refusal(found, tree, "retry the upload", session=name).code is code

    def test_a_day_has_what_was_known_by_then(self, mixed):
        tree, ids = mixed
        then = f"{tree.home.clock.now() - timedelta(days=2):%Y-%m-%dT%H:%M:%SZ}"

        answer = found(tree, "retry the upload", at=then)

        assert sorted(answer) == sorted(ids[name] for name in ("net", "web", "fix", "own"))

    def test_a_day_is_known_by_its_end_and_today_by_now(self, repo):
        there = repo.remember("Deploy with scripts")
        today = repo.home.clock.now()
        tomorrow = f"{today + timedelta(days=1):%Y-%m-%d}"

        assert found(repo, "deploy", at=f"{today:%Y-%m-%d}") == [there]
        assert found(repo, "deploy", at=f"{today - timedelta(days=1):%Y%m%d}") == []
        with pytest.raises(YaadError, match="still to come"):
            found(repo, "deploy", at=tomorrow)
        repo.world.clock.advance(timedelta(days=2))
        later = repo.remember("Deploy with actions")
        assert found(repo, "deploy", at=tomorrow) == [there]
        assert found(repo, "deploy", at=f"{today:%Y-%m-%d}") == [there]
        assert sorted(found(repo, "deploy")) == [there, later]

    def test_what_contradicts_an_answer_is_told_with_it(self, repo):
        short = repo.remember("API timeout is 30 seconds")
        long = repo.remember("API timeout is 60 seconds")
        repo.remember("API keys are in the vault")

        told = {row["id"]: row.get("contradicts") for row in asked(repo, "api")["results"]}

        assert {short: [{"id": long}], long: [{"id": short}]}.items() <= told.items()
        assert len(told) == 3
        assert list(told.values()).count(None) == 1
        repo.link(long, "supersedes", short)
        assert not any("contradicts" in row for row in asked(repo, "api")["results"])

    def test_what_stands_in_the_place_of_an_answer_is_told_with_it(self, repo):
        put(
            repo,
            memory("yarn", "Install the packages with yarn"),
            memory("pnpm", "Install the packages with pnpm"),
            memory("bun", "Bun it is"),
        )
        told = {row["id"]: row["superseded_by"] for row in asked(repo, "packages")["results"]}
        assert told == {"yarn": None, "pnpm": None}

        repo.link("pnpm", "supersedes", "yarn")
        repo.link("bun", "supersedes", "yarn")
        told = {row["id"]: row["superseded_by"] for row in asked(repo, "packages")["results"]}
        assert told == {"yarn": [{"id": "bun"}, {"id": "pnpm"}], "pnpm": None}
        later = repo.show("yarn")["superseded_by"]
        assert [(row["id"], row["text"], row["by"]) for row in later] == [
            ("bun", "Bun it is", "person"),
            ("pnpm", "Install the packages with pnpm", "person"),
        ]
        assert repo.show("pnpm")["superseded_by"] is None

        repo.forget("bun")
        repo.unlink("pnpm", "supersedes", "yarn")
        assert all(row["superseded_by"] is None for row in asked(repo, "packages")["results"])
        assert repo.show("yarn")["superseded_by"] is None

    def test_what_was_superseded_by_then_is_not_known_then(self, repo):
        put(
            repo,
            memory("old", "Deploy with scripts", created_at="2026-01-01"),
            memory("new", "Deploy with actions", created_at="2026-03-01"),
            edges=[
                GivenEdge(
                    from_="new",
                    kind="supersedes",
                    to="old",
                    created_at="2026-03-01",
                    valid_from="2026-03-01",
                )
            ],
        )

        assert found(repo, "deploy", at="2026-02-01") == ["old"]
        assert found(repo, "deploy", at="2026-04-01") == ["new"]
        assert sorted(found(repo, "deploy")) == ["new", "old"]

    def test_what_is_told_of_a_time_reads_as_it_did_then(self, repo):
        there = repo.remember("Deploy with scripts. They are in the tools folder.")
        repo.world.clock.advance(timedelta(days=1))
        before = f"{repo.home.clock.now():%Y-%m-%dT%H:%M:%SZ}"
        repo.world.clock.advance(timedelta(days=1))
        edit.update(repo.home, repo.call, id=there, text="Deploy with actions. No script is left.")

        (now,) = asked(repo, "deploy")["results"]
        (then,) = asked(repo, "deploy", at=before)["results"]
        (short,) = asked(repo, "deploy", at=before, depth="summary")["results"]

        assert now["text"] == "Deploy with actions. No script is left."
        assert then["text"] == "Deploy with scripts. They are in the tools folder."
        assert short["text"] == "Deploy with scripts."
        assert then["id"] == now["id"] == there

    def test_a_time_to_come_and_a_path_outside_are_refused(self, repo):
        for fields in ({"at": "2999-01-01"}, {"path": "../elsewhere"}):
            assert refusal(asked, repo, "x", **fields).code is Code.BAD_REQUEST

    FILTERS = (
        {"kinds": ["fix"]},
        {"kinds": ["fix", "spec"]},
        {"tags": ["a"]},
        {"tags": ["b"]},
        {"at": "2026-02-01"},
        {"scope": "project"},
    )

    @pytest.fixture
    def many(self, repo):
        put(
            repo,
            *(
                memory(
                    f"n{n:02}",
                    f"Retry number {n}",
                    kind=("fix", "spec", "bug")[n % 3],
                    tags=tuple(tag for tag, every in (("a", 2), ("b", 5)) if n % every == 0),
                    created_at=f"2026-0{1 + n % 4}-01",
                )
                for n in range(40)
            ),
        )
        return repo

    @settings(
        suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=15
    )
    @given(st.sampled_from(FILTERS), st.sampled_from(FILTERS))
    def test_two_filters_leave_what_each_of_them_leaves(self, many, one, other):
        def passing(filter_):
            return set(found(many, "retry", top_k=100, tokens_max=100_000, **filter_))

        both = {**one, **other}
        if one.keys() & other.keys():
            both = {key: [*one[key], *other[key]] for key in one} if "tags" in one else one

        expected = passing(one) if both == one else passing(one) & passing(other)
        assert passing(both) == expected


class TestTwoStores:
    def test_a_key_of_the_project_shadows_the_users_own(self, repo):
        own = repo.remember("Indent with tabs", scope="user")
        here = repo.remember("Indent with four spaces")
        with repo.db() as db:
            for store, node in ((repo.home.user, own), (db, here)):
                store.write(
                    lambda conn, name: conn.execute(
                        "UPDATE nodes SET key = 'indent' WHERE id = ?", (name,)
                    ),
                    node,
                )

        assert found(repo, "indent tabs spaces") == [here]
        assert found(repo, "indent with tabs") == [here]

    def test_a_key_that_only_another_branch_has_shadows_nothing_here(self, repo):
        own = repo.remember("Indent with tabs", scope="user", key="indent")
        repo.git("switch", "-q", "-c", "feature")
        repo.commit("feature", {"new.py": "x = 1\n"})
        there = repo.remember("Indent with four spaces", key="indent")
        assert found(repo, "indent") == [there]

        repo.git("switch", "-q", "main")

        assert found(repo, "indent") == [own]
        assert found(repo, "indent", all_branches=True) == [there]

    def test_both_stores_answer_and_the_better_answer_is_first(self, repo):
        own = repo.remember("Write short commit messages in the imperative", scope="user")
        here = repo.remember("Messages of the queue are short")

        answer = asked(repo, "short commit messages imperative")

        assert [row["id"] for row in answer["results"]] == [own, here]
        assert [row["scope"] for row in answer["results"]] == ["user", "project"]

    def test_the_users_own_are_found_where_nothing_is_watched(self, world, repo):
        own = repo.remember("Write short commit messages", scope="user")
        folder = world.folder / "nowhere"
        folder.mkdir()
        nowhere = Call(folder=folder, origin="cli")

        answer = recall.recall(world.home, nowhere, query="commit messages", scope="user")
        assert [row["id"] for row in answer["results"]] == [own]
        error = refusal(recall.recall, world.home, nowhere, query="commit messages")
        assert error.code is Code.NOT_FOUND


class TestBranches:
    def test_what_was_learned_on_an_unmerged_branch_is_not_told_elsewhere(self, repo):
        repo.git("switch", "-q", "-c", "feature")
        repo.commit("feature", {"new.py": "x = 1\n"})
        learned = repo.remember("The feature uses a bloom filter")
        pinned = repo.remember("The pinned feature uses a bloom filter", pin=True)
        assert set(found(repo, "bloom filter")) == {learned, pinned}

        repo.git("switch", "-q", "main")
        assert found(repo, "bloom filter") == [pinned]
        assert found(repo, "The feature uses a bloom filter") == [pinned]

        repo.git("merge", "-q", "--no-edit", "feature")
        assert set(found(repo, "bloom filter")) == {learned, pinned}

    def test_what_is_hidden_is_counted_and_can_be_seen(self, repo):
        repo.git("switch", "-q", "-c", "feature")
        repo.commit("feature")
        learned = [repo.remember(f"The feature uses bloom filter {n}") for n in "abc"]
        repo.git("switch", "-q", "main")
        here = repo.remember("The trunk uses a bloom filter")

        assert asked(repo, "bloom filter")["hidden"] == 3
        assert found(repo, "bloom filter") == [here]
        assert asked(repo, "bloom filter", top_k=2)["hidden"] <= 2
        assert asked(repo, "nothing of that")["hidden"] == 0
        everything = asked(repo, "bloom filter", all_branches=True)
        assert sorted(row["id"] for row in everything["results"]) == sorted([*learned, here])
        assert everything["hidden"] == 0

    def test_what_is_hidden_takes_no_place_of_what_is_told(self, repo):
        here = {repo.remember(f"The trunk has a bloom filter of its own, {n}") for n in range(4)}
        repo.git("switch", "-q", "-c", "feature")
        repo.commit("feature")
        for n in range(12):
            repo.remember(f"Bloom filter {n}")
        repo.git("switch", "-q", "main")

        assert set(found(repo, "bloom filter", top_k=3)) < here
        assert asked(repo, "bloom filter", top_k=3)["hidden"] == 3

    @pytest.mark.parametrize(
        ("land", "more", "hidden"),
        [
            (["merge", "-q", "--squash", "feature"], b"y = %d\n", False),
            (["cherry-pick", "main..feature"], b"y = %d\n", False),
            (["checkout", "-q", "feature", "--", "new.py"], b"y = %d\n", True),
            (["merge", "-q", "--squash", "feature"], b"\0%d", True),
        ],
        ids=["squashed", "rebased", "a part of it", "bytes that are no text"],
    )
    def test_a_kept_branch_hides_its_memories_unless_all_of_it_has_landed(
        self, repo, land, more, hidden
    ):
        repo.git("switch", "-q", "-c", "feature")
        for number in range(2):
            repo.write("new.py", f"x = {number}\n")
            (repo.path / "more").write_bytes(more % number)
            repo.commit(f"feature {number}")
            repo.remember(f"The feature uses bloom filter {number}")
        repo.git("switch", "-q", "main")
        repo.commit("meanwhile", {"other.py": "z = 1\n"})
        assert found(repo, "bloom filter") == []

        repo.git(*land)
        repo.commit("landed, and more", {"other.py": "z = 2\n"})
        repo.look()

        assert len(found(repo, "bloom filter")) == (0 if hidden else 2)
        assert asked(repo, "bloom filter")["hidden"] == (2 if hidden else 0)

    def test_what_was_done_after_the_squash_is_hidden_still(self, repo):
        repo.git("switch", "-q", "-c", "feature")
        repo.commit("feature", {"new.py": "x = 1\n"})
        before = repo.remember("The feature uses a bloom filter")
        repo.git("switch", "-q", "main")
        repo.git("merge", "-q", "--squash", "feature")
        repo.commit("squashed")
        repo.git("switch", "-q", "feature")
        repo.commit("more", {"more.py": "x = 2\n"})
        repo.remember("More of it needs a second bloom filter")

        repo.git("switch", "-q", "main")
        repo.look()

        assert found(repo, "bloom filter") == [before]
        assert asked(repo, "bloom filter")["hidden"] == 1

    def test_what_was_learned_on_the_main_branch_is_told_on_others(self, repo):
        repo.git("branch", "old")
        repo.commit("more", {"new.py": "x = 1\n"})
        learned = repo.remember("The cache is a bloom filter")
        repo.git("switch", "-q", "old")

        assert found(repo, "bloom filter") == [learned]

    def test_saying_it_again_elsewhere_makes_it_known_there(self, repo):
        repo.git("switch", "-q", "-c", "feature")
        repo.commit("feature")
        learned = repo.remember("The feature uses a bloom filter")
        repo.git("switch", "-q", "main")
        assert found(repo, "bloom filter") == []

        repo.remember("The feature uses a bloom filter")
        assert found(repo, "bloom filter") == [learned]
        repo.git("switch", "-q", "feature")
        assert found(repo, "bloom filter") == [learned]

    def test_a_commit_that_no_branch_has_any_more_hides_nothing(self, repo):
        repo.git("switch", "-q", "-c", "feature")
        repo.commit("feature")
        learned = repo.remember("The feature uses a bloom filter")
        repo.git("switch", "-q", "main")
        repo.git("branch", "-q", "-D", "feature")

        assert found(repo, "bloom filter") == [learned]

    def test_an_amended_commit_hides_nothing(self, repo):
        learned = repo.remember("The cache is a bloom filter")
        repo.write("new.py", "x = 1\n")
        repo.git("add", "-A")
        repo.git("commit", "-q", "--amend", "-m", "one, better")

        assert found(repo, "bloom filter") == [learned]

    def test_before_the_first_commit_everything_is_told(self, world):
        tree = world.tree("empty")
        tree.git("init", "-q", "-b", "main")
        tree.add()
        learned = tree.remember("The cache is a bloom filter")

        assert found(tree, "bloom filter") == [learned]

    def test_a_shallow_clone_tells_everything(self, world, repo):
        repo.commit("two")
        repo.commit("three")
        clone = world.folder / "clone"
        subprocess.run(
            ["git", "clone", "-q", "--depth", "1", f"file://{repo.path}", str(clone)],
            check=True,
            env={**GIT_ENVIRONMENT, "PATH": "/usr/bin:/bin:/usr/local/bin"},
        )
        tree = world.tree("clone")
        tree.add()
        learned = tree.remember("The cache is a bloom filter")
        tree.git("commit", "-q", "--allow-empty", "-m", "four")

        assert found(tree, "bloom filter") == [learned]


LONG = (
    "# Deploying\n\n"
    + "Before anything else, talk to the others. " * 20
    + ("\n\n- The rollback is `make undo`, within ten minutes.\n\n")
    + "Afterwards, write down what happened. " * 20
)


class TestHowMuchIsTold:
    def test_the_best_part_is_told_where_the_whole_has_no_room(self, repo):
        put(repo, memory("long", LONG))

        answer = asked(repo, "how is the rollback done", tokens_max=60)

        assert answer["results"][0]["depth"] == "section"
        assert answer["results"][0]["text"] == "- The rollback is `make undo`, within ten minutes."

    @pytest.mark.parametrize(
        ("depth", "told"),
        [("full", LONG.strip()), ("section", None), ("summary", None), ("auto", LONG.strip())],
    )
    def test_it_is_told_as_deep_as_is_asked_for(self, repo, depth, told):
        put(repo, memory("long", LONG))

        (row,) = asked(repo, "rollback", depth=depth, tokens_max=5000)["results"]

        assert row["depth"] == ("full" if depth == "auto" else depth)
        assert told is None or row["text"] == told

    @pytest.mark.parametrize("depth", ["auto", "section"])
    @pytest.mark.parametrize("tokens_max", [1, 100, 3000])
    def test_the_budget_is_kept_but_for_the_best_one_alone(self, repo, depth, tokens_max):
        put(
            repo,
            *(memory(f"n{n}", f"Rollback {n}. " + LONG) for n in range(12)),
            edges=[GivenEdge(from_=f"n{n}", kind="relates_to", to=f"n{n + 1}") for n in range(11)],
        )

        answer = asked(repo, "rollback", depth=depth, tokens_max=tokens_max)

        told = sum(estimate_tokens(row["text"]) for row in answer["results"])
        budget = answer["budget"]
        assert len(answer["results"]) >= 1
        assert told <= budget["used"]
        assert budget["used"] <= tokens_max or len(answer["results"]) == 1
        assert budget["left"] == max(0, tokens_max - budget["used"])

    def test_relations_are_those_between_what_is_told(self, repo):
        put(
            repo,
            memory("a", "Rollback is a command"),
            memory("b", "Rollback needs a lock"),
            memory("c", "Locks are in etcd"),
            edges=[
                GivenEdge(from_="a", kind="depends_on", to="b"),
                GivenEdge(from_="b", kind="depends_on", to="c"),
            ],
        )

        answer = asked(repo, "rollback")

        assert answer["edges"] == [{"kind": "depends_on", "from": "a", "to": "b", "weight": 1.0}]

    def test_scores_fall_from_one_and_the_low_ones_can_be_left_out(self, repo):
        put(
            repo,
            memory("best", "Rollback of the deployment: make undo"),
            memory("rest", "Something about a deployment in general, and more than that"),
        )
        scores = [row["score"] for row in asked(repo, "rollback deployment undo")["results"]]

        assert scores[0] == 1.0
        assert scores == sorted(scores, reverse=True)
        assert found(repo, "rollback deployment undo", min_score=scores[1] + 0.01) == ["best"]

    def test_a_flag_is_told_with_it(self, repo):
        flagged = repo.remember()
        repo.write("src/net.py", NET.replace("fetch_with_retry", "fetch"))
        repo.check()

        (row,) = [row for row in asked(repo, "retry limit")["results"] if row["id"] == flagged]

        assert row["stale"]["verdict"] in {"gone", "changed"}


def test_of_a_task_it_is_told_how_it_is(repo):
    """What is done reads as what is to be done."""
    done = tasks.task_update(repo.home, repo.call, text="Upgrade the parser", state="done")["id"]
    own = repo.remember("Upgrade the linter")

    told = asked(repo, "upgrade")["results"]

    assert {row["id"]: row["state"] for row in told} == {done: "done", own: None}


class TestSettings:
    def test_how_many_and_how_good_is_a_setting(self, repo):
        put(repo, *(memory(f"n{n}", f"Rollback number {n}" + " and so on" * n) for n in range(5)))
        assert len(found(repo, "rollback")) == 5

        home = repo.home
        home.settings = replace(Settings(), recall=Recall(top_k=2))
        assert len(found(repo, "rollback")) == 2
        assert len(found(repo, "rollback", top_k=4)) == 4
        home.settings = replace(Settings(), recall=Recall(min_score=1.0))
        assert len(found(repo, "rollback")) == 1


def test_reading_writes_nothing(repo):
    put(repo, *(memory(f"n{n}", f"Rollback number {n}") for n in range(5)))
    repo.remember("Rollback is my own", scope="user")
    asked(repo, "rollback")  # the work tree is known from now on
    with repo.db() as db:
        stores = (db, repo.home.user)
        before = [_written(store) for store in stores]

        asked(repo, "rollback number", path="src", kinds=["spec"], at="2026-01-01")
        asked(repo, "rollback number")

        assert [_written(store) for store in stores] == before


def _written(db):
    """Return how often anybody has written: what other connections see, and the rows changed."""

    def look(conn):
        return conn.pragma("data_version"), conn.total_changes()

    return db.read(look), db.write(lambda conn: conn.total_changes())


@pytest.mark.parametrize(
    ("question", "poorly"),
    [
        ("how often is the rollback tried", False),
        ("which quantum computer simulates our rollback molecules", True),
        ("nobody ever said anything of that", True),
    ],
)
def test_a_question_without_a_good_answer_is_noted(repo, question, poorly):
    put(repo, memory("rollback", "The rollback is tried three times"))

    asked(repo, question)

    with repo.home.space(repo.call) as space:
        assert repo.home.unanswered.has(space.project.id) == poorly


def test_a_question_that_a_filter_leaves_without_an_answer_is_no_gap(repo):
    put(repo, memory("rollback", "The rollback is tried three times", kind="fix"))

    assert asked(repo, "rollback", kinds=["bug"])["results"] == []

    with repo.home.space(repo.call) as space:
        assert not repo.home.unanswered.has(space.project.id)
