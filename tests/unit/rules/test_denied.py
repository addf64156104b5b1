"""Names that a text says not to use, or not to be there, are none that it rests on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yaadwatch.anchors import mentions as anchors_mentions
from yaadwatch.anchors.mentions import mentions

WORDS = (
    *("instead of", "rather than", "using", "the", "`a.b`", "`x`", "y_z", "f()", "src/a.py", ","),
    *("is replaced by", "is deprecated", "replaces", "migrate from", "to", "goes away"),
    *("We move from", "Replace", "with", "Delete", "once", "can be removed once", "never"),
    *("or", "does not exist", "are no longer needed", "was removed", "is gone", "if", "Use", "."),
)
texts = st.lists(st.sampled_from(WORDS) | st.text(max_size=5), max_size=20).map(" ".join)


@pytest.mark.parametrize(
    ("text", "kept", "left_out"),
    [
        ("Use `fetch_all` instead of `fetch_one`.", {"fetch_all"}, {"fetch_one"}),
        ("use fetch_all() rather than calling fetch_one()", {"fetch_all"}, {"fetch_one"}),
        (
            "`fetch_all`, INSTEAD OF the old `a_b`, `c_d` or `e_f`!",
            {"fetch_all"},
            {"a_b", "c_d", "e_f"},
        ),
        ("Pass `loop_now` instead of passing `event_loop` on", {"loop_now"}, {"event_loop"}),
        ("`fetch_one` does not exist", set(), {"fetch_one"}),
        ("`fetch_one` fixtures are no longer needed, `fetch_all` is", {"fetch_all"}, {"fetch_one"}),
        ("`fetch_one`, which doesn't exist, or `fetch_all`", {"fetch_all"}, {"fetch_one"}),
        ("`fetch_one` was removed in 2.0", set(), {"fetch_one"}),
        ("If `fetch_one` does not exist, call `fetch_all`", {"fetch_one", "fetch_all"}, set()),
        ("Run `make_all` instead of editing `fetch_one` by hand", {"make_all", "fetch_one"}, set()),
        ("`fetch_one` is no longer than `fetch_all`", {"fetch_one", "fetch_all"}, set()),
        ("Never call `fetch_one`", {"fetch_one"}, set()),
        ("Do not run input (for example, `echo ${{ fetch_one }}`)", set(), {"fetch_one"}),
        ("Never log secrets (e.g. `a_b`, `c_d`); `fetch_all` masks", {"fetch_all"}, {"a_b", "c_d"}),
        ("Avoid shared state such as `a_b` (like `fetch_one`)", {"a_b"}, {"fetch_one"}),
        ("Call helpers (such as `fetch_all`). Don't copy", {"fetch_all"}, set()),
        ("Don't copy. Call helpers (such as `fetch_all`)", {"fetch_all"}, set()),
        ("Call `fetch_all`, and `fetch_one` is gone", {"fetch_all"}, {"fetch_one"}),
        ("Call `fetch_all`, `fetch_one` no longer exists", {"fetch_all"}, {"fetch_one"}),
        ("`fetch_all` and `fetch_one` are gone", set(), {"fetch_all", "fetch_one"}),
        ("`fetch_all` or `fetch_one` was removed", set(), {"fetch_all", "fetch_one"}),
        ("Never use `fetch_one` instead of `fetch_all`", {"fetch_one", "fetch_all"}, set()),
        ("Don't call `a.one` rather than `fetch_all`", {"fetch_all"}, set()),
        ("Put the tag in place of `__VERSION__`", {"__VERSION__"}, set()),
        ("`stamp_it` writes the tag in place of `__VERSION__`", {"stamp_it", "__VERSION__"}, set()),
        ("Use `fetch_all` in place of `fetch_one`", {"fetch_all"}, {"fetch_one"}),
        ("Put it down. Use `fetch_all` in place of `fetch_one`", {"fetch_all"}, {"fetch_one"}),
        ("No mocks: use `fetch_all` instead of `fetch_one`", {"fetch_all"}, {"fetch_one"}),
        ("`prune_old` removes the files that are no longer used", {"prune_old"}, set()),
        ("`prune_old` runs once sessions are gone", {"prune_old"}, set()),
        ("`list_all` skips entries which were removed", {"list_all"}, set()),
        ("`get_user` rows do not exist", {"get_user"}, set()),
        ("`fetch_one` helper function is gone", set(), {"fetch_one"}),
        ("If `a.b` fails and `fetch_one` does not exist, stop", {"fetch_one"}, set()),
        ("`fetch_one` does not exist until `make_all` ran", {"fetch_one", "make_all"}, set()),
        ("`fetch_one` does not exist. When flagged, ask", set(), {"fetch_one"}),
        (
            "Use `fetch_all`; do not replace it with Acme's `fetch_one` attribute",
            {"fetch_all"},
            {"fetch_one"},
        ),
        ("`fetch_one` is replaced by `fetch_all`", {"fetch_all"}, {"fetch_one"}),
        ("`fetch_one()` will be superseded by the new `fetch_all()`", {"fetch_all"}, {"fetch_one"}),
        ("`fetch_one` is deprecated in favour of `fetch_all`", {"fetch_all"}, {"fetch_one"}),
        ("`fetch_one` is deprecated; use `fetch_all`", {"fetch_all"}, {"fetch_one"}),
        ("`fetch_one` was renamed to `fetch_all`", {"fetch_all"}, {"fetch_one"}),
        ("`fetch_one` will be removed in 3.0", set(), {"fetch_one"}),
        ("`fetch_one` goes away soon, `fetch_all` stays", {"fetch_all"}, {"fetch_one"}),
        ("`fetch_all` replaces `fetch_one`", {"fetch_all"}, {"fetch_one"}),
        ("We are migrating from `fetch_one` to `fetch_all`", {"fetch_all"}, {"fetch_one"}),
        ("If `fetch_one` is deprecated, call `fetch_all`", {"fetch_one", "fetch_all"}, set()),
        ("`fetch_all` replaces `fetch_one` with a stub", {"fetch_all", "fetch_one"}, set()),
        ("`fetch_one` is replaced when it fails", {"fetch_one"}, set()),
        ("Keep `fetch_all`; never swap it out for `fetch_one`", {"fetch_all"}, {"fetch_one"}),
        ("Never switch to `fetch_one`", {"fetch_one"}, set()),
        ("If you do not replace it with `fetch_one`, it hangs", {"fetch_one"}, set()),
        ("Do not replace it with `fetch_one` unless forced", {"fetch_one"}, set()),
        ("`fetch_all` does not swap it with `fetch_one`", {"fetch_all", "fetch_one"}, set()),
        ("Replace `fetch_one` with `fetch_all`", {"fetch_all"}, {"fetch_one"}),
        ("We replace `fetch_one` helpers by the new `fetch_all`", {"fetch_all"}, {"fetch_one"}),
        ("We are replacing `fetch_one` with `fetch_all`", {"fetch_all"}, {"fetch_one"}),
        ("Todo: swap `fetch_one` for `fetch_all`", {"fetch_all"}, {"fetch_one"}),
        ("- Replace all `fetch_one` with `fetch_all`", {"fetch_all"}, {"fetch_one"}),
        ("Do not replace `fetch_one` by `fetch_all`", {"fetch_one", "fetch_all"}, set()),
        ("Don't ever: replace `fetch_one` by `fetch_all`", {"fetch_one", "fetch_all"}, set()),
        ("We should never replace `fetch_one` with `fetch_all`", {"fetch_one", "fetch_all"}, set()),
        ("`make_all` will replace `a_b` with `c_d`", {"make_all", "c_d"}, set()),
        ("`stamp_it` has to replace `__VERSION__` with `v_tag`", {"stamp_it"}, set()),
        ("If it hangs, replace `fetch_one` with `fetch_all`", {"fetch_one", "fetch_all"}, set()),
        ("We move from `fetch_one` to `fetch_all`", {"fetch_all"}, {"fetch_one"}),
        ("We're moving away from `fetch_one` to `fetch_all`", {"fetch_all"}, {"fetch_one"}),
        ("We have switched from `fetch_one` over to `fetch_all`", {"fetch_all"}, {"fetch_one"}),
        ("We switch from `fetch_one` to another client", set(), {"fetch_one"}),
        ("Switching from `fetch_one` to `fetch_all`", {"fetch_all"}, {"fetch_one"}),
        ("TODO: switch from `fetch_one` to `fetch_all`", {"fetch_all"}, {"fetch_one"}),
        ("- [ ] Move from `fetch_one` to `fetch_all`", {"fetch_all"}, {"fetch_one"}),
        ("Let's change from `fetch_one` to `fetch_all`", {"fetch_all"}, {"fetch_one"}),
        ("Switch from `all_rows` to `tmp_rows`", {"all_rows", "tmp_rows"}, set()),
        ("Then switch from `all_rows` to `tmp_rows`", {"all_rows", "tmp_rows"}, set()),
        ("Change from `all_rows` to `tmp_rows` in tests", {"all_rows", "tmp_rows"}, set()),
        ("We switch from `all_rows` to `tmp_rows` before a dump", {"all_rows", "tmp_rows"}, set()),
        ("`fetch_one` will be deleted.", set(), {"fetch_one"}),
        ("`fetch_one` will be removed, so call `fetch_all`", {"fetch_all"}, {"fetch_one"}),
        ("`fetch_one` will be dropped in a future release", set(), {"fetch_one"}),
        ("`fetch_one` is going to be removed soon", set(), {"fetch_one"}),
        ("`fetch_one` will be removed when `fetch_all` ships", {"fetch_all"}, {"fetch_one"}),
        ("`fetch_one` goes away with the next release", set(), {"fetch_one"}),
        ("`fetch_one` is going away", set(), {"fetch_one"}),
        ("`fetch_one` will be removed in favour of `fetch_all`", {"fetch_all"}, {"fetch_one"}),
        ("`fetch_one` is being dropped in favor of `a.all`", {"a.all"}, {"fetch_one"}),
        ("`fetch_one` is going away in 2.0, `fetch_all` stays", {"fetch_all"}, {"fetch_one"}),
        ("`tmp_rows` is going away at each logout", {"tmp_rows"}, set()),
        ("`fetch_one` in src/net.py will be removed in 2.0", set(), {"fetch_one"}),
        ("`fetch_one` of `api.client` is deprecated", {"api.client"}, {"fetch_one"}),
        ("Delete `fetch_one` in src/net.py once nothing calls it", set(), {"fetch_one"}),
        ("`fetch_one` from `lib/net.py` was removed in May", set(), {"fetch_one"}),
        ("`tmp_rows` in src/net.py will be deleted at logout", {"tmp_rows"}, set()),
        ("`tmp_rows` will be deleted at logout", {"tmp_rows"}, set()),
        ("`tmp_rows` will be removed from the cache", {"tmp_rows"}, set()),
        ("`tmp_rows` will be dropped on restart", {"tmp_rows"}, set()),
        ("`tmp_rows` is to be deleted after 30 days", {"tmp_rows"}, set()),
        ("`tmp_rows` will be removed in 30 days", {"tmp_rows"}, set()),
        ("`tmp_rows` goes away at shutdown", {"tmp_rows"}, set()),
        ("`tmp_rows` will be deleted once the user logs out", {"tmp_rows"}, set()),
        ("`a_tag` is replaced by `b_tag` at build time", {"a_tag", "b_tag"}, set()),
        ("`a_tag` is replaced by `b_tag` during a release", {"a_tag", "b_tag"}, set()),
        ("Rows move from `tmp_rows` to `all_rows`", {"tmp_rows", "all_rows"}, set()),
        ("`move_rows` moves them from `tmp_rows` to `all_rows`", {"move_rows", "tmp_rows"}, set()),
        ("We never move from `fetch_one` to `fetch_all`", {"fetch_one", "fetch_all"}, set()),
        ("Delete `fetch_one` once nothing calls it", set(), {"fetch_one"}),
        (
            "Remove the old `fetch_one` helper as soon as `fetch_all` is out",
            {"fetch_all"},
            {"fetch_one"},
        ),
        ("We will drop `fetch_one` in v3", set(), {"fetch_one"}),
        ("Todo: remove `fetch_one` after the release", set(), {"fetch_one"}),
        ("Never delete `fetch_one` once it is there", {"fetch_one"}, set()),
        ("We must not delete `fetch_one` when `fetch_all` is out", {"fetch_one"}, set()),
        ("Delete rows with `fetch_one` once they are old", {"fetch_one"}, set()),
        ("Remove items from `all_rows` after `make_all`", {"all_rows", "make_all"}, set()),
        ("`fetch_one` can be deleted once `fetch_all` is out", {"fetch_all"}, {"fetch_one"}),
        ("`fetch_one` is scheduled for removal", set(), {"fetch_one"}),
        ("Delete `tmp_rows` once you are done", {"tmp_rows"}, set()),
        ("Delete `tmp_rows` once done", {"tmp_rows"}, set()),
        ("Delete `tmp_rows` when finished", {"tmp_rows"}, set()),
        ("Delete `tmp_rows`", {"tmp_rows"}, set()),
        ("TODO: drop `tmp_rows` from the cache", {"tmp_rows"}, set()),
        ("TODO: never drop `tmp_rows`", {"tmp_rows"}, set()),
        ("`tmp_rows` are merged into `all_rows`", {"tmp_rows", "all_rows"}, set()),
        ("If `tmp_rows` was merged into `all_rows`, stop", {"tmp_rows", "all_rows"}, set()),
        ("Delete `tmp_rows` after each run", {"tmp_rows"}, set()),
        ("Remove `tmp_rows` when the upload hangs", {"tmp_rows"}, set()),
        ("Please drop `tmp_rows` as soon as the tests pass", {"tmp_rows"}, set()),
        ("`tmp_rows` can be deleted after the import", {"tmp_rows"}, set()),
        ("`tmp_rows` will be deleted by `make_all`", {"tmp_rows", "make_all"}, set()),
        ("Replace `all_rows` by `tmp_rows` when testing", {"all_rows", "tmp_rows"}, set()),
        ("Switch from `all_rows` to `tmp_rows` for local work", {"all_rows", "tmp_rows"}, set()),
        ("Remove `fetch_one` when Python 3.9 is dropped", set(), {"fetch_one"}),
        ("TODO: drop `fetch_one`", set(), {"fetch_one"}),
        ("FIXME(ada): remove the legacy `fetch_one` helper.", set(), {"fetch_one"}),
        ("Use `fetch_all` (TODO: delete `fetch_one`)", {"fetch_all"}, {"fetch_one"}),
        ("Remove `fetch_one` once the port is done", set(), {"fetch_one"}),
        ("`fetch_one` was merged into `fetch_all`", {"fetch_all"}, {"fetch_one"}),
        ("`fetch_one` will be folded into `fetch_all`", {"fetch_all"}, {"fetch_one"}),
        ("Delete `fetch_one` once everybody runs `make each`", set(), {"fetch_one"}),
        ("Delete `fetch_one` after all callers have moved", set(), {"fetch_one"}),
        ("`fetch_one` is being retired", set(), {"fetch_one"}),
        ("`fetch_one` must be deleted before 2.0", set(), {"fetch_one"}),
        ("`fetch_one` has to be removed before version 3.1", set(), {"fetch_one"}),
        ("`tmp_rows` must be deleted before each release", {"tmp_rows"}, set()),
        ("`tmp_rows` must be deleted before the release", {"tmp_rows"}, set()),
        ("`fetch_one` must not be deleted before 2.0", {"fetch_one"}, set()),
        ("`fetch_one` must not be removed once it is there", {"fetch_one"}, set()),
        ("`fetch_one` should be removed from the cache", {"fetch_one"}, set()),
        ("`fetch_one` cannot be deleted after `make_all`", {"fetch_one", "make_all"}, set()),
    ],
)
def test_only_what_is_not_used_is_left_out(text, kept, left_out):
    found = set(mentions(text).symbols)
    assert kept <= found
    assert not left_out & found


def test_commands_of_other_programs_and_tools_of_agents_name_no_code():
    others = "`gh pr view --json statusRollup`, `git log --first-parent`, `brew install a_b`"
    tools = "`mcp__shop__add_row()`, `mcp__shop__list`"
    assert not any(mentions(text).words + mentions(text).symbols for text in (others, tools))
    assert not mentions("[Ann @AnnTheDev](https://github.com/AnnTheDev)").symbols
    assert "build_all" in mentions("`npm run build_all`, as `git_log` does").words


def test_paths_and_commands_are_left_out_too():
    found = mentions("Put it in `lib/new.py` instead of `lib/old.py`; `tools/x.sh` was removed")
    assert "lib/new.py" in found.paths
    assert not {"lib/old.py", "tools/x.sh"} & set(found.paths)


@given(texts)
def test_a_text_keeps_its_length_and_all_of_its_other_characters(text):
    plain = anchors_mentions.without(text)
    assert len(plain) == len(text)
    assert all(one in (other, " ") for one, other in zip(plain, text, strict=True))
    assert anchors_mentions.without(plain) == plain


@pytest.mark.parametrize(
    "text",
    [
        *("`a` " * 16_000, "instead of " * 5_000, "a_" * 30_000 + " gone", "a/" * 30_000 + "gone"),
        *("never instead of `a` if " * 2_500, "if `a` gone " * 5_000, "not " * 15_000 + "`a` gone"),
        *("replace `a` " * 5_000, "we are now " * 6_000 + "from", "delete `a`, " * 5_000 + "once"),
        *("we move from `a` " * 4_000, "- \n" * 20_000 + "from", "todo then we " * 5_000 + "once"),
        *("`x` and " * 8_000 + "gone", "a.b, " * 12_000 + "gone", "`" + "x" * 60_000 + " gone"),
    ],
    ids=range(16),
)
@pytest.mark.timeout(60)
def test_a_long_text_is_read_in_one_go(text):
    """A pattern that looks back again and again would take minutes."""
    assert len(anchors_mentions.without(text)) == len(text)
