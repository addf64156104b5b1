"""Laws of the edits of settings: they say what they said and ours, and not a byte else changes."""

import contextlib
import copy
import json
import re
import tomllib

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from yaadwatch.text import jsonc, toml
from yaadwatch.text.toml import Added, NotUnderstoodError

OURS = {"type": "stdio", "command": "/opt/ö/python", "args": ["-I", "-S", "/opt/shim.py"]}
OTHER = {"command": "/elsewhere/python", "args": []}
GROUP = {"hooks": [{"type": "command", "command": "yaadwatch hook 'x y'", "timeout": 5}]}

names = st.sampled_from(["hooks", "mcpServers", "SessionStart", "a", "b.c", "ü", 'q"q', ""])
plain = (
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.sampled_from(["", "//", "/*x*/", "},", "\\"])
)
values = st.recursive(
    plain,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(names, values, max_size=4)
paths = st.sampled_from([("mcpServers", "yaad"), ("yaad",), ("hooks", "mcpServers", "yaad")])
lists = st.sampled_from([("hooks", "SessionStart"), ("hooks",), ("a", "hooks", "SessionStart")])


@st.composite
def settings(draw, said=objects):
    """A text of settings as a person may leave it: what it says, and how."""
    value = draw(said)
    ends = draw(st.sampled_from(["\n", "\n", "\r\n"]))
    loose = draw(st.booleans())
    unit = draw(st.sampled_from(["  ", "    ", "\t", "", None]))

    def gap(depth, *, line):
        text = ""
        if unit is not None and line:
            text += ends + unit * depth
        for _ in range(draw(st.integers(0, 1)) if loose else 0):
            text += draw(
                st.sampled_from(
                    [" ", '/* { " */', f"// it's {ends}", f" // , {ends}{ends}  ", ends]
                )
            )
        return text

    def write(one, depth):
        if not isinstance(one, dict | list) or (not one and not loose):
            return json.dumps(one, ensure_ascii=False)
        is_object = isinstance(one, dict)
        opening, closing = "{}" if is_object else "[]"
        items = []
        for item in one.items() if is_object else one:
            named = ""
            if is_object:
                named = json.dumps(item[0]) + gap(0, line=False) + ":" + gap(0, line=False)
            said = write(item[1] if is_object else item, depth + 1)
            items.append(gap(depth + 1, line=True) + named + said + gap(0, line=False))
        comma = "," if items and loose and draw(st.booleans()) else ""
        tail = gap(depth, line=bool(items))
        return opening + ",".join(items) + comma + tail + closing

    mark = draw(st.sampled_from(["", "", "\ufeff"]))
    around = draw(st.sampled_from([("", ""), ("", ends), (f"// head{ends}", ends), (ends, "  ")]))
    return mark + around[0] + write(value, 0) + around[1], value


def free(value, path):
    """Say whether something may be put at a path: objects only on the way, and nothing there."""
    for key in path:
        if not isinstance(value, dict):
            return False
        if key not in value:
            return True
        value = value[key]
    return False


def placed(value, path, ours):
    value = copy.deepcopy(value)
    inner = value
    for key in path[:-1]:
        inner = inner.setdefault(key, {})
    inner[path[-1]] = ours
    return value


def appended(value, path, ours):
    value = copy.deepcopy(value)
    inner = value
    for key in path[:-1]:
        inner = inner.setdefault(key, {})
    inner.setdefault(path[-1], []).append(ours)
    return value


def is_kept(before, after):
    """Say whether all of `before` is in `after`, in its order."""
    rest = iter(after)
    return all(char in rest for char in before)


@given(settings())
def test_a_text_says_what_it_says(drawn):
    text, value = drawn

    assert jsonc.read(text) == value


@given(settings(), paths)
def test_a_member_is_put_in_beside_what_was_there_and_taken_out_again(drawn, path):
    text, value = drawn
    assume(free(value, path))

    after, added = jsonc.put(text, path, OURS)

    assert jsonc.read(after) == placed(value, path, OURS)
    assert list(jsonc.read(after)) == list(placed(value, path, OURS))
    assert is_kept(text, after)
    assert jsonc.take(after, added) == text


@given(settings(), lists)
def test_an_element_is_appended_and_taken_out_again(drawn, path):
    text, value = drawn
    there = value
    for key in path:
        there = there.get(key) if isinstance(there, dict) else None
    assume(free(value, path) or isinstance(there, list))

    after, added = jsonc.append(text, path, GROUP)

    assert jsonc.read(after) == appended(value, path, GROUP)
    assert jsonc.take(after, added) == text


@given(settings(), st.lists(st.sampled_from(["A", "B", "C"]), min_size=1, max_size=4))
def test_several_go_as_they_came(drawn, events):
    """A file has hooks for several events; each is taken out by what is known of it."""
    text, value = drawn
    assume(all(free(value, ("hooks", event)) for event in events))
    texts, added = [text], []
    for event in events:
        after, one = jsonc.append(texts[-1], ("hooks", event), GROUP)
        texts.append(after)
        added.append(one)

    for one, before in zip(reversed(added), reversed(texts[:-1]), strict=True):
        texts[-1] = jsonc.take(texts[-1], one)
        assert texts[-1] == before


@given(settings(), paths, names, values)
def test_what_a_person_adds_afterwards_stays(drawn, path, name, value):
    text, before = drawn
    assume(free(before, path))
    after, added = jsonc.put(text, path, OURS)
    assume(name not in jsonc.read(after))
    changed, _ = jsonc.put(after, (name,), value)

    left = jsonc.take(changed, added)

    wanted = jsonc.read(changed)
    inner = wanted
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    found = jsonc.read(left)
    assert found[name] == value
    assert _pruned(found, path) == _pruned(wanted, path)


def _pruned(value, path):
    """Without the empty objects that may have been made for a path."""
    value = copy.deepcopy(value)
    for depth in range(len(path) - 1, 0, -1):
        inner = value
        for key in path[: depth - 1]:
            inner = inner.get(key, {})
        if inner.get(path[depth - 1]) == {}:
            del inner[path[depth - 1]]
    return value


@given(settings(), paths)
def test_it_is_taken_out_also_when_nothing_is_known_of_how_it_was_put_in(drawn, path):
    text, value = drawn
    assume(free(value, path))
    after, added = jsonc.put(text, path, OURS)

    left = jsonc.take(after, Added(at=added.at, made=added.at))

    assert _pruned(jsonc.read(left) or {}, path) == _pruned(value, path)
    for comment in re.findall(r"// it's|// ,|/\* \{ \" \*/|// head", text):
        assert comment in left


@given(settings(), paths)
def test_another_value_takes_the_place_of_ours(drawn, path):
    text, value = drawn
    assume(free(value, path))
    after, added = jsonc.put(text, path, OURS)

    changed, again = jsonc.replace(after, added, OTHER)

    assert jsonc.read(changed) == placed(value, path, OTHER)
    assert jsonc.take(changed, again) == text


@given(settings(values), paths)
def test_what_is_in_the_way_is_never_written_over(drawn, path):
    text, value = drawn
    assume(not free(value, path))

    with pytest.raises(NotUnderstoodError):
        jsonc.put(text, path, OURS)


@given(st.text() | settings(values).map(lambda drawn: drawn[0][:-1]), paths)
@example('{"a": 1,,}', ("yaad",))
@example("{,}", ("yaad",))
@example('{"a": NaN}', ("yaad",))
@example('{"a": 1, "a": 2}', ("yaad",))
@example("[" * 100_000, ("yaad",))
@example("1" * 5000, ("yaad",))
@example("{'a': 1}", ("yaad",))
@example('{"a": "\n"}', ("yaad",))
@example("{} {}", ("yaad",))
@example("/*", ("yaad",))
def test_no_text_does_any_harm(text, path):
    for edit in (
        lambda: jsonc.put(text, path, OURS),
        lambda: jsonc.append(text, path, OURS),
        lambda: jsonc.replace(text, Added(at=path, made=path), OURS),
        lambda: jsonc.take(text, Added(at=path, made=path)),
        lambda: toml.put(text, path, OURS),
        lambda: toml.take(text, Added(at=path, made=path)),
    ):
        with contextlib.suppress(NotUnderstoodError):
            edit()


@given(settings())
def test_the_strict_reader_agrees_where_there_are_no_comments(drawn):
    text = drawn[0].removeprefix("\ufeff")
    try:
        said = json.loads(text)
    except ValueError:
        return
    assert jsonc.read(text) == said


keys = st.sampled_from(["model", "x y", "ü", "a-b", 'q"'])
tables = st.sampled_from(
    ["[mcp_servers.other]", "[a.b]", "[[list]]", "[mcp_servers]", '["x y"]', "[a] # [mcp_servers]"]
)
lines = st.sampled_from(
    [
        *("# a comment", "", 'name = "x" # why', "other = '''\n[mcp_servers.yaad]\n'''", "n = 1"),
        *("list2 = [\n  1, # one\n]", "dotted.key = 2", "flag = true", "when = 2026-11-22"),
    ]
)


@st.composite
def toml_settings(draw):
    end = draw(st.sampled_from(["\n", "\r\n"]))
    parts = draw(st.lists(lines, max_size=3, unique=True))
    for table in draw(st.lists(tables, max_size=3, unique=True)):
        parts += [table, *draw(st.lists(lines, max_size=2, unique=True))]
    text = "\n".join(parts).replace("\n", end)
    return draw(st.sampled_from(["", "\ufeff"])) + text + draw(st.sampled_from(["", end, end * 2]))


SERVER = {"command": '/opt/ö \x7f"/python', "args": ["-I", "'"], "env": {"YAAD_HOME": "/a b"}}


@given(toml_settings())
def test_a_table_is_appended_and_taken_out_again(text):
    try:
        before = toml.read(text)
    except NotUnderstoodError:
        assume(False)

    after, added = toml.put(text, ("mcp_servers", "yaad"), SERVER)

    assert after.startswith(text)
    assert toml.read(after)["mcp_servers"]["yaad"] == SERVER
    assert tomllib.loads(after.removeprefix("\ufeff")) == placed(
        before, ("mcp_servers", "yaad"), SERVER
    )
    assert toml.take(after, added) == text


@given(
    toml_settings(), st.sampled_from(["[mcp_servers.yaad.tools.x]\na = 1\n", "[zz]\nb = 2\n# c"])
)
def test_a_table_is_taken_out_of_what_was_added_since(text, more):
    try:
        toml.read(text)
    except NotUnderstoodError:
        assume(False)
    after, added = toml.put(text, ("mcp_servers", "yaad"), SERVER)

    for known in (added, Added(at=added.at, made=added.at)):
        left = toml.take(f"{after}\n{more}".replace("\r\n", "\n"), known)

        assert "yaad" not in toml.read(left).get("mcp_servers", {})
        assert ("# c" in left) == ("# c" in more)
        assert toml.read(left).get("zz") == toml.read(more).get("zz")


@given(toml_settings())
def test_another_table_takes_the_place_of_ours(text):
    try:
        toml.read(text)
    except NotUnderstoodError:
        assume(False)
    after, added = toml.put(text, ("mcp_servers", "yaad"), SERVER)

    changed, again = toml.replace(after, added, {"command": "x"})

    assert toml.read(changed)["mcp_servers"]["yaad"] == {"command": "x"}
    assert toml.take(changed, again) == text


def test_a_table_in_braces_takes_no_more():
    with pytest.raises(NotUnderstoodError, match="cannot be added"):
        toml.put("mcp_servers = { other = { command = 'x' } }\n", ("mcp_servers", "yaad"), OURS)
