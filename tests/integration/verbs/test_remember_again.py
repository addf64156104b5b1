"""Said again, or under a key: which memory a statement means; and what else is kept."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refusals import refusal
from verb_world import NET, Tree, every_byte_below

from yaadwatch import places
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.limits import TAGS_MAX
from yaadwatch.model.queries import GivenNode
from yaadwatch.recall import recall
from yaadwatch.remember import curate, edit, history, inject, remember, storing
from yaadwatch.sessions import tasks
from yaadwatch.workspace.workspace import Call

JOSE = "Sign tokens with jose"
BECAUSE = "Sign tokens with jose, because jsonwebtoken is not maintained"
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def by_agent(repo, text, **fields):
    agent = Call(folder=repo.path, origin="agent:claude")
    return remember.remember(repo.home, agent, text=text, **fields)


def tag(repo, id, **fields):
    return curate.tag(repo.home, repo.call, id=id, **fields)


def found(repo, query):
    return [row["id"] for row in recall.recall(repo.home, repo.call, query=query)["results"]]


def test_said_again_with_more_tags_a_memory_never_has_more_than_the_limit(repo):
    memory = repo.remember(JOSE, tags=[f"a{number}" for number in range(TAGS_MAX)])

    refused = refusal(repo.remember, JOSE, tags=["one", "more"])

    assert refused.code is Code.TOO_LARGE
    assert (repo.show(memory)["text"], len(repo.show(memory)["tags"])) == (JOSE, TAGS_MAX)
    assert repo.remember(JOSE, tags=["a1"]) == memory


def test_a_memory_that_was_edited_is_found_by_its_new_words(repo):
    memory = repo.remember("Use tabs in Go files")
    edit.update(repo.home, repo.call, id=memory, text=JOSE)

    answer = repo.remembered(f"- {JOSE}.")

    assert (answer["decision"], answer["id"]) == ("same", memory)


class TestOtherCapitals:
    @pytest.mark.parametrize(
        ("known", "other"),
        [
            ("Use tabs", "Use TABS"),
            ("Sign every token with `Foo`", "Sign every token with `foo`"),
            ("Use getUser", "Use getuser"),
            ("Is the cache shared between workers?", "Is the cache shared between workers"),
        ],
    )
    def test_other_letters_are_another_memory(self, repo, known, other):
        memory = repo.remember(known)

        answer = repo.remembered(other)

        assert answer["decision"] == "new"
        assert sorted(repo.memories()) == sorted([known, other])
        assert repo.remembered(known)["id"] == memory
        assert repo.remembered(other)["id"] == answer["id"]

    def test_under_a_key_the_words_are_those_that_were_given(self, repo):
        repo.remember("Use tabs", key="indent")

        answer = repo.remembered("Use TABS", key="indent")

        assert (answer["decision"], answer["text"]) == ("refines", "Use TABS")


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (
            "Sign every access token of the API with jose in the gateway",
            "In the gateway, sign every access token of the API with JOSE!",
            True,
        ),
        (
            "Retry each upload to the object store three times, then report the failure to Sentry",
            "Retry each upload to the object store five times, then report the failure to Sentry",
            False,
        ),
        ("Use tabs in Go files", "Use tabs in Makefiles", False),
        ("Never deploy on Fridays", "Deploy on Fridays", False),
        ("", "", False),
        ("...", "!", False),
    ],
)
def test_statements_are_alike_from_nine_of_ten_common_words(one, other, expected):
    assert storing.are_alike(one, other) is storing.are_alike(other, one) is expected


class TestOtherSorts:
    """A rule is not what is to be done, and a way of working neither, whatever their words."""

    def test_what_is_to_be_done_makes_no_task_of_a_rule_that_reads_the_same(self, repo):
        rule = repo.remember("Use tabs", kind="convention")

        refused = refusal(tasks.task_update, repo.home, repo.call, text="Use tabs")
        apart = tasks.task_update(repo.home, repo.call, text="use TABS")

        assert refused.code is Code.CONFLICT
        assert "and is a convention, no task" in refused.message
        assert (repo.show(rule)["kind"], repo.show(rule)["tier"]) == ("convention", 1)
        assert (apart["made"], apart["id"] == rule) == (True, False)

    def test_a_task_that_is_said_again_as_something_else_stays_a_task(self, repo):
        task = str(tasks.task_update(repo.home, repo.call, text="Use tabs")["id"])

        refused = refusal(repo.remember, "Use tabs", kind="decision")

        assert refused.code is Code.CONFLICT
        assert repo.remember("Use tabs") == task
        assert tasks.tasks(repo.home, repo.call)["tasks"][0]["text"] == "Use tabs"

    def test_a_way_of_working_makes_no_skill_of_a_rule_that_reads_the_same(self, repo):
        rule = repo.remember("Run make deploy", kind="command")
        refused = refusal(repo.remember, "Run make deploy", kind="skill")

        assert refused.code is Code.CONFLICT
        assert repo.show(rule)["kind"] == "command"

    def test_a_rule_can_be_said_to_be_a_decision(self, repo):
        rule = repo.remember("Use tabs", kind="convention")

        assert repo.remember("Use tabs", kind="decision") == rule
        assert repo.show(rule)["kind"] == "decision"


class TestOtherWords:
    """Other words are another memory; a memory with nearly the same words is named."""

    def test_a_statement_that_goes_on_with_another_is_new(self, repo):
        old = repo.remember(JOSE)

        answer = repo.remembered(BECAUSE)

        assert (answer["decision"], answer["id"] == old) == ("new", False)
        assert answer.get("alike") is None
        assert repo.memories() == [JOSE, BECAUSE]

    def test_nearly_the_same_words_about_the_same_file_are_named_and_kept_apart(self, repo):
        known = "In src/net.py, retry each failed upload three times and then give up for good"
        old = repo.remember(known)

        answer = repo.remembered(
            "In src/net.py, retry each failed upload three times and then give up again for good"
        )

        assert answer["decision"] == "new"
        assert [(one["id"], one["by"]) for one in answer["alike"]] == [(old, "person")]
        assert len(repo.memories()) == 2

    def test_nearly_the_same_words_about_another_file_are_not_named(self, repo):
        repo.commit("other", {"src/other.py": "def retry():\n    return 3\n"})
        text = "Retry each failed upload three times and then give up for good, as planned{}"
        repo.remember(text.format(""), files=["src/net.py"])

        answer = repo.remembered(text.format(" once"), files=["src/other.py"])

        assert answer["decision"] == "new"
        assert answer.get("alike") is None

    def test_an_archived_memory_is_not_named(self, repo):
        known = "In src/net.py, retry each failed upload three times and then give up for good"
        repo.forget(repo.remember(known))

        answer = repo.remembered(known.replace("for good", "for good then"))

        assert answer.get("alike") is None

    def test_a_batch_with_ids_of_its_own_is_taken_as_it_is(self, repo):
        given = [GivenNode(id="one", text=JOSE), GivenNode(id="two", text="SIGN tokens with jose")]
        inject.inject(repo.home, repo.call, nodes=given)

        assert sorted(repo.memories()) == ["SIGN tokens with jose", JOSE]

    def test_memories_of_the_user_and_of_the_project_are_apart(self, repo):
        repo.remember(JOSE)
        own = repo.remembered(JOSE, scope="user")["id"]

        answer = repo.remembered(f"{JOSE}.", scope="user")

        assert (answer["decision"], answer["id"]) == ("same", own)
        assert repo.memories() == [JOSE]

    @settings(
        max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    @given(
        said=st.lists(
            st.sampled_from(
                (
                    *(JOSE, BECAUSE, f"{JOSE}, not jsonwebtoken", "Sign tokens by hand, never"),
                    *("Use tabs in Go files", "Use tabs in Go files and Makefiles"),
                )
            ),
            max_size=6,
        )
    )
    def test_said_twice_is_said_once(self, world, said):
        """Whatever was said before, saying the last thing again makes nothing and loses nothing."""
        tree = Tree(world, world.folder / f"repo-{world.clock.new_id()}")
        tree.path.mkdir()
        tree.git("init", "-q", "-b", "main")
        tree.commit("one", {"src/net.py": NET})
        tree.add()
        for one in said:
            tree.remember(one)
        before = tree.memories()

        for one in said[-1:]:
            assert tree.remembered(one)["decision"] == "same"

        assert tree.memories() == before


class TestKeys:
    def test_what_was_forgotten_by_its_key_is_brought_back_by_it(self, repo):
        memory = repo.remember("Deploys go through ArgoCD", key="db")
        repo.forget("db")

        assert repo.show("db")["archived_at"] is not None
        told = history.history(repo.home, repo.call, id="db")["versions"]
        assert [row["change"] for row in told] == ["created", "archived"]
        assert repo.restore("DB")["id"] == memory
        assert repo.show("db")["archived_at"] is None

    def test_a_key_means_the_living_memory_wherever_it_is(self, repo):
        repo.remember("Answers are long here", key="style")
        repo.forget("style")
        own = repo.remember("I prefer short answers", key="style", scope="user")

        assert repo.show("style")["id"] == own

    def test_a_key_of_two_that_were_forgotten_names_neither(self, repo):
        repo.remember("Deploys go through ArgoCD", key="deploys")
        repo.forget("deploys")
        repo.remember("Deploys go through Flux", key="deploys")
        repo.forget("deploys")

        with pytest.raises(YaadError, match="deploys fits 2 memories") as told:
            repo.restore("deploys")

        assert told.value.code is Code.CONFLICT
        assert told.value.hint == "Give the id of the one you mean."

    def test_under_a_key_new_words_are_a_new_version(self, repo):
        old = repo.remembered("Deploys go through ArgoCD", key="Deploys")

        new = repo.remembered("Deploys go through Flux", key="deploys")

        assert old["key"] == new["key"] == "deploys"
        assert new["id"] == old["id"]
        assert (new["decision"], new["version"]) == ("refines", 2)
        assert new["supersedes"]["text"] == "Deploys go through ArgoCD"
        assert repo.memories() == ["Deploys go through Flux"]
        assert repo.show(new["id"])["key"] == "deploys"

    def test_the_same_words_under_it_confirm(self, repo):
        old = repo.remembered(JOSE, key="tokens")

        again = repo.remembered(f"{JOSE}.", key="tokens")

        assert (again["decision"], again["id"]) == ("same", old["id"])

    def test_a_memory_that_says_it_already_gets_the_key(self, repo):
        old = repo.remember(JOSE)

        answer = repo.remembered(JOSE, key="tokens")

        assert (answer["id"], answer["key"]) == (old, "tokens")

    def test_a_version_that_is_not_there_is_a_conflict_with_the_words_that_are(self, repo):
        repo.remember(JOSE, key="tokens")
        repo.remember("Sign tokens with authlib", key="tokens", expected_version=1)

        refused = refusal(repo.remembered, "Sign tokens by hand", key="tokens", expected_version=1)

        assert refused.code is Code.CONFLICT
        assert "version 2, not 1" in refused.message
        assert "Sign tokens with authlib" in refused.message
        assert repo.memories() == ["Sign tokens with authlib"]

    def test_a_version_of_nothing_is_not_found(self, repo):
        refused = refusal(repo.remembered, JOSE, key="tokens", expected_version=1)

        assert refused.code is Code.NOT_FOUND
        assert repo.memories() == []

    def test_words_that_another_memory_has_are_a_conflict(self, repo):
        repo.remember(JOSE, key="tokens")
        repo.remember("Sign cookies with itsdangerous", key="cookies")
        for key in ("cookies", "sessions"):
            refused = refusal(repo.remembered, JOSE, key=key)

            assert refused.code is Code.CONFLICT
        assert repo.memories() == ["Sign cookies with itsdangerous", JOSE]

    def test_whatever_takes_an_id_takes_the_key_too(self, repo):
        memory = repo.remember("Use vite", key="bundler")
        other = repo.remember("Deploy at noon")
        mine = repo.remember("Short answers", key="manner", scope="user")

        assert repo.show("bundler")["id"] == repo.show("BUNDLER")["id"] == memory
        assert repo.edit("bundler", "Use rollup")["id"] == memory
        assert repo.link("bundler", "depends_on", other)["id"] == memory
        assert repo.show("manner")["id"] == mine
        repo.forget("bundler")
        assert refusal(repo.edit, "bundler", "Use esbuild").code is Code.REFUSED
        assert repo.restore("bundler")["id"] == memory

    def test_an_id_is_an_id_whoever_has_it_for_a_key(self, repo):
        inject.inject(repo.home, repo.call, nodes=[GivenNode(id="bundler", text="Use vite")])
        repo.remember("Use rollup", key="bundler")

        assert repo.show("bundler")["text"] == "Use vite"

    def test_a_key_is_none_of_the_ends_of_an_id(self, repo):
        nodes = [GivenNode(id=f"{name}-deploy", text=f"{name} deploys") for name in ("a", "b")]
        inject.inject(repo.home, repo.call, nodes=nodes)
        keyed = repo.remember("Deploys go out at noon", key="deploy")

        assert repo.show("deploy")["id"] == keyed

    def test_a_key_is_free_again_when_its_memory_is_forgotten(self, repo):
        old = repo.remember(JOSE, key="tokens")
        repo.forget(old)

        new = repo.remember("Sign tokens with authlib", key="tokens")
        refused = refusal(repo.restore, old)

        assert new != old
        assert refused.code is Code.CONFLICT
        assert "tokens" in refused.message

    def test_a_project_and_the_user_may_have_the_same_key(self, repo):
        own = repo.remembered("Answer in English", key="language", scope="user")
        here = repo.remembered("Answer in German here", key="language")

        assert own["id"] != here["id"]
        assert repo.memories() == ["Answer in German here"]

    def test_an_agent_gives_no_other_words_to_what_a_person_keeps_under_a_key(self, repo):
        repo.remember(JOSE, key="tokens")

        refused = refusal(by_agent, repo, "Sign tokens with nothing", key="tokens")

        assert refused.code is Code.REFUSED
        assert JOSE in refused.message
        assert by_agent(repo, JOSE, key="tokens")["decision"] == "same"

    def test_what_a_persons_file_says_gets_no_other_words(self, world):
        tree = world.repo()
        tree.write("CLAUDE.md", f"# Rules\n\n- {JOSE}\n")
        tree.add()
        tree.remember(JOSE, key="tokens")

        refused = refusal(tree.remembered, "Sign tokens with authlib", key="tokens")

        assert refused.code is Code.REFUSED
        assert "CLAUDE.md (line 3)" in refused.message

    def test_a_batch_brings_keys_and_attributes_and_twice_is_once(self, repo):
        given = [GivenNode(id="one", text=JOSE, key="tokens", attributes={"by": "Ada", "no": None})]

        first = inject.inject(repo.home, repo.call, nodes=given)
        again = inject.inject(repo.home, repo.call, nodes=given)
        refused = refusal(
            inject.inject,
            repo.home,
            repo.call,
            nodes=[GivenNode(id="two", text="Sign cookies", key="tokens")],
        )

        assert (first["nodes"]["new"], again["nodes"]["same"]) == (1, 1)
        assert repo.show("one")["key"] == "tokens"
        assert repo.show("one")["attributes"] == {"by": "Ada"}
        assert refused.code is Code.CONFLICT


class TestAttributes:
    def test_they_are_kept_changed_and_taken_away(self, repo):
        one = repo.remember(JOSE, attributes={"ticket": "SEC-12", "owner": "Ada", "tries": 3})
        repo.remember(JOSE, attributes={"owner": "Grace", "tries": None})

        assert repo.show(one)["attributes"] == {"ticket": "SEC-12", "owner": "Grace"}

    def test_secrets_in_them_are_masked(self, repo):
        given = {"from": TOKEN, "password": "hunter2hunter2"}
        answer = repo.remembered(JOSE, attributes=given, tags=[f"by {TOKEN}"])

        assert answer["masked"] == ["github-token", "password"]
        assert repo.remembered(JOSE, attributes=given)["masked"] == answer["masked"]
        stored = every_byte_below(places.data_folder(), repo.path)
        assert TOKEN.encode() not in stored
        assert b"hunter2hunter2" not in stored

    def test_too_many_are_refused_also_bit_by_bit(self, repo):
        one = repo.remember(JOSE, attributes={"a": "x" * 5000})

        for more in ({"a": "x" * 9000}, {"b": "x" * 5000}):
            refused = refusal(repo.remembered, JOSE, attributes=more)

            assert refused.code is Code.TOO_LARGE
        assert repo.show(one)["attributes"] == {"a": "x" * 5000}


class TestTags:
    def test_they_are_put_on_and_taken_off_and_found(self, repo):
        one = repo.remember(JOSE, tags=["auth"])

        answer = tag(repo, one, add=["security", "auth"], remove=["nothing"])

        assert answer["tags"] == ["auth", "security"]
        assert answer["version"] == 2
        assert answer["undo"] == f"yaadwatch tag {one[-8:]} --remove security"
        assert found(repo, "security") == [one]
        assert tag(repo, one, remove=["security"])["tags"] == ["auth"]
        assert found(repo, "security") == []

    def test_nothing_to_do_changes_nothing(self, repo):
        one = repo.remember(JOSE, tags=["auth"])

        answer = tag(repo, one, add=["auth"])

        assert (answer["version"], answer["undo"]) == (1, None)

    def test_another_version_is_a_conflict_that_says_how_it_reads_now(self, repo):
        one = repo.remember(JOSE)
        tag(repo, one, add=["auth"], expected_version=1)

        refused = refusal(tag, repo, one, add=["security"], expected_version=1)

        assert refused.code is Code.CONFLICT
        assert JOSE in refused.message
        assert repo.show(one)["tags"] == ["auth"]

    def test_secrets_are_masked_and_there_are_at_most_32(self, repo):
        one = repo.remember(JOSE, tags=[f"tag-{number}" for number in range(31)])

        tag(repo, one, add=[TOKEN])
        refused = refusal(tag, repo, one, add=["one-more"])

        assert refused.code is Code.TOO_LARGE
        assert TOKEN.encode() not in every_byte_below(places.data_folder(), repo.path)

    def test_an_archived_memory_is_left_alone(self, repo):
        one = repo.remember(JOSE)
        repo.forget(one)

        assert refusal(tag, repo, one, add=["auth"]).code is Code.REFUSED


def test_an_agent_that_says_a_persons_words_again_confirms_them_and_changes_nothing(repo):
    rule = repo.remember(JOSE, kind="rule", tier=1, attributes={"by": "Ada"})
    before = repo.show(rule)

    answer = by_agent(
        repo, JOSE, kind="task", tier=3, key="jose", tags=["auth"], attributes={"by": "me"}
    )

    after = repo.show(rule)
    assert (answer["decision"], answer["id"]) == ("same", rule)
    for name in ("kind", "tier", "key", "attributes", "pinned"):
        assert after[name] == before[name]
    assert after["tags"] == ["auth"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Always squash commits", "Never squash commits"),
        ("Deploy on Fridays", "Do not deploy on Fridays"),
        ("Retry 3 times", "Retry 5 times"),
        ("Use tabs", "Use TABS"),
    ],
)
def test_statements_that_differ_in_a_word_are_two_memories(repo, one, other):
    repo.remember(one)
    repo.remember(other)

    assert sorted(repo.memories()) == sorted([one, other])


def test_a_forgotten_memory_whose_words_are_there_again_is_not_restored(repo):
    first = repo.remember(JOSE)
    repo.forget(first)
    second = repo.remember(JOSE)

    refused = refusal(curate.restore, repo.home, repo.call, id=first)

    assert refused.code is Code.CONFLICT
    assert f"yaadwatch forget {second[-8:]}" in refused.hint
