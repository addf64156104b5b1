"""A pattern moves with its files: the new one is proposed, and accepted."""

import pytest
from verb_world import prepared

SAID = "Handlers are `src/api/*.js`, one for each route"


@prepared
def site(world):
    repo = world.watched()
    for name in ("alpha", "beta", "gamma"):
        repo.write(f"src/api/{name}.js", f"export const {name} = '{name}';\n")
        repo.write(f"packages/{name}/src/main.js", f"run('{name}');\n")
    repo.commit("a site", {"src/keep.js": "export const keep = 1;\n"})
    return repo


def rename(repo, moves, how):
    """Rename files: with a commit, staged, or by hand."""
    for old, new in moves.items():
        if how == "by hand":
            repo.move(old, new)
        else:
            (repo.path / new).parent.mkdir(parents=True, exist_ok=True)
            repo.git("mv", old, new)
    if how == "committed":
        repo.commit("moved")


def away(old, new, names=("alpha", "beta", "gamma")):
    return {old.format(name): new.format(name) for name in names}


HOWS = ["committed", "staged", "by hand"]
MOVES = {
    "its folder": (SAID, away("src/api/{}.js", "src/http/{}.js"), "src/http/*.js"),
    "a folder above": (SAID, away("src/api/{}.js", "lib/api/{}.js"), "lib/api/*.js"),
    "one folder more": (SAID, away("src/api/{}.js", "src/v1/api/{}.js"), "src/v1/api/*.js"),
    "another suffix": (SAID, away("src/api/{}.js", "src/api/{}.ts"), "src/api/*.ts"),
    "both": (SAID, away("src/api/{}.js", "lib/api/{}.ts"), "lib/api/*.ts"),
    "any folders": (
        "Every `packages/**/src/*.js` is built",
        away("packages/{}/src/main.js", "modules/{}/src/main.js"),
        "modules/**/src/*.js",
    ),
    "in the middle": (
        "Every `packages/*/src/*.js` is built",
        away("packages/{}/src/main.js", "packages/{}/lib/main.js"),
        "packages/*/lib/*.js",
    ),
    "most of them": (
        SAID,
        away("src/api/{}.js", "src/http/{}.js", ["alpha", "beta"])
        | {"src/api/gamma.js": "other/gamma.js"},
        "src/http/*.js",
    ),
}


@pytest.mark.covering
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("what", MOVES)
def test_a_pattern_moves_with_most_of_its_files_and_comes_back_with_them(site, what, how):
    said, moves, now = MOVES[what]
    memory = site.remember(said)
    assert site.verdict(memory) == "fresh"

    rename(site, moves, how)

    flag = site.flag_of(memory)
    before = said.split("`")[1]
    assert (flag["verdict"], flag["reason"]) == ("moved", f"what matched {before} is now {now}")
    assert flag["suggestion"]["path"] == now
    assert flag["suggestion"]["text"] == said.replace(before, now)
    assert flag["uncommitted"] == (how != "committed")
    assert [bool(row["commit"]) for row in flag["evidence"]] == [how == "committed"]

    rename(site, {new: old for old, new in moves.items()}, how)
    assert site.verdict(memory) == "fresh"


@pytest.mark.parametrize("how", HOWS)
def test_what_is_proposed_can_be_accepted_and_is_watched_from_then_on(site, how):
    memory = site.remember(SAID)
    rename(site, away("src/api/{}.js", "lib/api/{}.js"), how)

    (done,) = site.reanchor(memory)["reanchored"]

    assert done["text"] == SAID.replace("src/api", "lib/api")
    assert site.verdict(memory) == "fresh"
    rename(site, away("lib/api/{}.js", "lib/http/{}.js"), how)
    # Whose files were never committed in their place is gone with it.
    assert site.verdict(memory) == ("moved" if how == "committed" else "gone")


def test_a_pattern_of_a_folder_that_moved_twice_and_then_by_hand_is_where_it_is_now(site):
    memory = site.remember(SAID)
    rename(site, away("src/api/{}.js", "src/http/{}.js"), "committed")
    rename(site, away("src/http/{}.js", "lib/http/{}.js"), "committed")
    rename(site, away("lib/http/{}.js", "lib/web/{}.js"), "by hand")

    assert site.flag_of(memory)["suggestion"]["path"] == "lib/web/*.js"


def test_files_that_were_rewritten_after_they_moved_are_followed_through_the_commits(site):
    memory = site.remember(SAID)
    moves = away("src/api/{}.js", "lib/api/{}.js")
    rename(site, moves, "committed")
    for new in moves.values():
        site.write(new, f"/* nothing of what it was: {new} */\n" + "later();\n" * 9)
    site.commit("rewritten")

    assert site.flag_of(memory)["suggestion"]["path"] == "lib/api/*.js"


@pytest.mark.parametrize("how", HOWS)
def test_files_that_went_to_several_folders_have_moved_and_each_is_told(site, how):
    memory = site.remember(SAID)
    rename(
        site,
        {
            "src/api/alpha.js": "one/first.js",
            "src/api/beta.js": "two/second.js",
            "src/api/gamma.js": "three/third.js",
        },
        how,
    )

    flag = site.flag_of(memory)

    assert flag["verdict"] == "moved"
    assert flag["suggestion"]["text"] is None
    assert set(flag["suggestion"]["places"]) == {"one", "two", "three"}


@pytest.mark.parametrize("how", HOWS)
def test_a_pattern_that_would_mean_files_that_were_there_before_is_not_proposed(site, how):
    """What is said of all of its files is not said of those."""
    site.commit("a server", {"src/http/server.js": "listen();\n"})
    memory = site.remember(SAID)
    rename(site, away("src/api/{}.js", "src/http/{}.js"), how)

    flag = site.flag_of(memory)

    assert flag["verdict"] == "moved"
    assert flag["suggestion"]["text"] is None
    assert flag["suggestion"]["places"] == ["src/http"]


def test_a_pattern_means_files_that_came_after_those_that_moved(site):
    memory = site.remember(SAID)
    rename(site, away("src/api/{}.js", "src/http/{}.js"), "committed")
    site.commit("one more", {"src/http/delta.js": "export const delta = 'delta';\n"})

    assert site.flag_of(memory)["suggestion"]["path"] == "src/http/*.js"


def test_a_pattern_is_gone_where_most_of_its_files_are_and_says_where_the_others_went(site):
    memory = site.remember(SAID)
    site.git("rm", "-q", "src/api/alpha.js", "src/api/beta.js")
    rename(site, {"src/api/gamma.js": "lib/api/gamma.js"}, "committed")

    flag = site.flag_of(memory)

    assert flag["verdict"] == "gone"
    assert flag["reason"].endswith("any more; lib/api/*.js may be in its place")
    assert flag.get("suggestion") is None


def test_a_pattern_that_is_still_of_some_files_is_fresh(site):
    memory = site.remember(SAID)
    rename(site, away("src/api/{}.js", "lib/api/{}.js", ["alpha", "beta"]), "committed")

    assert site.verdict(memory) == "fresh"


def test_where_a_list_in_braces_went_is_told_and_not_put_into_the_text(site):
    memory = site.remember("Handlers are `src/{api,old}/*.js`")
    rename(site, away("src/api/{}.js", "lib/api/{}.js"), "committed")

    flag = site.flag_of(memory)

    assert flag["verdict"] == "moved"
    assert flag["suggestion"]["places"] == ["lib/api/*.js"]
    assert flag["suggestion"]["text"] is None


@pytest.mark.parametrize("said", [SAID, "Handlers are in `src/api/`", "See `src/api/beta.js`"])
def test_where_the_history_was_rewritten_it_is_unknown_where_something_went(site, said):
    memory = site.remember(said)
    site.git("checkout", "-q", "--orphan", "anew")
    rename(site, away("src/api/{}.js", "lib/api/{}.js"), "committed")
    site.git("branch", "-qD", "main")
    site.git("reflog", "expire", "--expire=now", "--all")
    site.git("gc", "-q", "--prune=now")

    assert site.verdict(memory) == "unknown"
