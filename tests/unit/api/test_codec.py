"""From JSON to requests: laws of the round trip, and errors that name the field."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal

from yaadwatch.api import codec, frames, message
from yaadwatch.api.messages import graph, memories, store
from yaadwatch.api.operations import OPERATIONS
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.limits import ID_CHARS_MAX, QUERY_CHARS_MAX, TAGS_MAX, TOP_K_MAX
from yaadwatch.places import PROTOCOL

letters = st.characters(exclude_categories=("Cs",), exclude_characters="\0")
texts = st.text(letters, min_size=1, max_size=40).filter(lambda text: text.strip())
ids = st.text(letters, min_size=1, max_size=ID_CHARS_MAX).filter(lambda text: text.strip())
kinds = st.from_regex(r"[a-z][a-z0-9-]{0,20}[a-z0-9]", fullmatch=True)
few = {"max_size": 4}

requests = st.one_of(
    st.builds(
        memories.Remember,
        text=texts,
        kind=st.none() | kinds,
        tier=st.none() | st.integers(1, 3),
        tags=st.lists(texts, **few).map(tuple),
        files=st.lists(texts, **few).map(tuple),
        symbols=st.lists(texts, **few).map(tuple),
        pin=st.booleans(),
        scope=st.sampled_from(("project", "user")),
        key=st.none() | st.sampled_from(("tokens", "db/timeouts")),
        attributes=st.none() | st.dictionaries(texts, texts, max_size=3),
    ),
    st.builds(
        memories.Tag,
        id=ids,
        add=st.lists(texts, min_size=1, max_size=3).map(tuple),
        expected_version=st.none() | st.integers(1, 10**6),
    ),
    st.builds(
        memories.Recall,
        query=texts,
        top_k=st.integers(1, TOP_K_MAX),
        tokens_max=st.integers(1, message.TOKENS_MAX),
        kinds=st.lists(kinds, **few).map(tuple),
    ),
    st.builds(
        memories.Context,
        tokens_max=st.integers(1, message.TOKENS_MAX),
        chars_max=st.integers(1, memories.CHARS_MAX),
        wait_ms=st.integers(0, memories.WAIT_MS_MAX),
    ),
    st.builds(memories.Forget, id=ids, reason=st.text(letters, max_size=40)),
    *(
        st.builds(kind, id=ids)
        for kind in (
            memories.Show,
            memories.Restore,
            memories.Confirm,
            memories.Pin,
            memories.Unpin,
        )
    ),
    st.builds(memories.Stale, all=st.booleans(), check=st.booleans()),
    st.builds(store.Add, adopt=st.booleans()),
    st.builds(store.Add, separate=st.booleans()),
    st.builds(store.Add, restore=st.booleans()),
    st.builds(store.Remove, erase=st.booleans()),
    st.builds(memories.Upkeep, dry_run=st.booleans()),
    st.builds(store.Subscribe, after=st.none() | texts),
    st.sampled_from(
        [
            memories.Check(),
            store.Remove(),
            store.Projects(),
            store.Status(),
            store.Shutdown(),
        ]
    ),
)
names = st.text(st.characters(min_codepoint=97, max_codepoint=122), min_size=1, max_size=12)


def frame(method, params=None, **more):
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}} | more


def nested(levels):
    """Return an object of so many levels."""
    inner = "a"
    for _ in range(levels - 1):
        inner = [inner]
    return {"a": inner}


def complaint(act, *given):
    with pytest.raises((ValueError, YaadError)) as raised:
        act(*given)
    return str(raised.value)


@given(requests)
def test_what_was_sent_is_what_is_read(sent):
    name = next(row.name for row in OPERATIONS if row.request is type(sent))

    line = frames.encode(frame(name, dict(vars(sent))))
    read = codec.request(frames.decode(line))

    assert read.message == sent
    assert read.operation.name == name


@given(requests, names)
def test_an_unknown_field_is_always_named(sent, name):
    known = set(type(sent).FIELDS)
    given_fields = dict(vars(sent)) | {name: 1}

    if name not in known:
        assert repr(name) in complaint(codec.message, type(sent), given_fields)


@given(requests, st.data())
def test_a_wrong_type_is_told_with_field_wanted_and_got(sent, data):
    fields = dict(vars(sent))
    if fields:
        name = data.draw(st.sampled_from(sorted(fields)))

        wrong, what = ([], "a list") if name == "attributes" else ({}, "an object")

        told = complaint(codec.message, type(sent), fields | {name: wrong})

        assert told.startswith(f"{name} must be ")
        assert told.endswith(f"got {what}")


@given(st.binary(max_size=200))
def test_no_bytes_make_decoding_raise_anything_but_value_error(line):
    try:
        read = frames.decode(line)
    except ValueError:
        return
    assert isinstance(read, dict)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner, **few) | st.dictionaries(st.text(), inner, **few),
    )
)
def test_any_json_is_a_request_or_an_error_we_expect(value):
    with contextlib.suppress(YaadError):
        codec.request({"jsonrpc": "2.0", "id": 1, "method": "recall", "params": value})


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"\xff\n", "must be UTF-8"),
        (b"{\n", "must be JSON"),
        (b"[1]\n", "must be a JSON object, got a list"),
        (b"7\n", "must be a JSON object, got a number"),
        (b'{"a": NaN}\n', "NaN is not JSON"),
        (b'{"a": 1, "a": 2}\n', "'a' stands twice"),
        (b"[" * 100_000, "must not nest so deeply"),
        (b'{"a": ' + b"9" * 5000 + b"}\n", "digits"),
    ],
)
def test_what_is_wrong_with_a_line_is_said(line, told):
    assert told in complaint(frames.decode, line)


@pytest.mark.parametrize(
    ("kind", "given_fields", "told"),
    [
        (memories.Remember, {}, "text must be given"),
        (memories.Remember, {"text": "a", "tier": 4}, "tier must be within 1 and 3, got 4"),
        (memories.Remember, {"text": "a", "kind": "!"}, "a kind is a word"),
        (memories.Remember, {"text": "a", "tags": "x"}, "tags must be a list of texts, got text"),
        (memories.Remember, {"text": "a", "tags": ["x"] * (TAGS_MAX + 1)}, "at most 32 entries"),
        (memories.Remember, {"text": "a", "tags": ["x", 2]}, "tags[1] must be text, got a number"),
        (memories.Remember, {"text": "a", "files": [""]}, "a value of files must not be empty"),
        (memories.Remember, {"text": "a", "pin": 1}, "pin must be true or false, got a number"),
        (
            memories.Remember,
            {"text": "a", "version": 1},
            "no field 'version'; the nearest one is 'expected_version'",
        ),
        (memories.Remember, {"text": "a", "scope": "team"}, "scope must be one of project, user"),
        (memories.Remember, {"text": "a", "expected_version": 1}, "needs the key"),
        (memories.Remember, {"text": "a", "attributes": []}, "attributes must be an object"),
        (
            memories.Remember,
            {"text": "a", "attributes": nested(101)},
            "attributes must not nest over",
        ),
        (
            memories.Remember,
            {"text": "a", "attributes": nested(900)},
            "attributes must not nest over",
        ),
        (memories.Tag, {"id": "abcd"}, "add and remove must not both be empty"),
        (memories.Tag, {"id": "abcd", "add": ["a"], "remove": ["a"]}, "in add and in remove"),
        (memories.Tag, {"id": "abcd", "add": ["a"], "expected_version": 0}, "within 1 and"),
        (memories.Remember, {"text": "a\0b"}, "text must not hold a NUL"),
        (memories.Remember, {"text": "a\ud800b"}, "text holds half a character at 1"),
        (memories.Recall, {"query": "  "}, "query must not be empty"),
        (memories.Recall, {"query": "x" * (QUERY_CHARS_MAX + 1)}, "at most 8000 characters"),
        (memories.Recall, {"query": "a", "top_k": 2.5}, "got a number with a fraction"),
        (memories.Recall, {"query": "a", "at": "soon"}, "at must be a time such as"),
        (memories.Recall, {"query": "a", "depth": "deep"}, "depth must be one of summary, section"),
        (memories.Recall, {"query": "a", "min_score": 1.5}, "min_score must be within 0 and 1"),
        (memories.Recall, {"query": "a", "min_score": 10**400}, "min_score is out of range"),
        (
            graph.Inject,
            {"nodes": [], "edges": [{"from": "a", "kind": "led_to", "to": "b", "weight": 10**400}]},
            "is out of range",
        ),
        (store.FilesRestore, {"path": "a", "snapshot": 2**63}, "snapshot must be within 1 and"),
        (memories.Show, {"id": "x" * (ID_CHARS_MAX + 1)}, "id must have at most 128 characters"),
        (memories.Show, {"id": None}, "id must be text, got null"),
        (memories.Check, {"deep": True}, "there is no field 'deep'; it takes no fields"),
    ],
)
def test_what_is_wrong_with_a_field_is_said(kind, given_fields, told):
    assert told in complaint(codec.message, kind, given_fields)


def test_what_nests_a_hundred_levels_deep_is_taken():
    assert codec.message(memories.Remember, {"text": "a", "attributes": nested(100)})


def test_what_nests_too_deeply_to_be_written_is_a_value_error():
    with pytest.raises(ValueError, match="must not nest so deeply"):
        frames.to_text(nested(5_000))


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"jsonrpc": "1.0"}, 'jsonrpc must be "2.0"'),
        ({"id": None}, "id must be a number or text, got null"),
        ({"id": True}, "id must be a number or text, got true"),
        ({"method": 5}, "method must be text, got a number"),
        ({"params": []}, "params must be an object, got a list"),
        ({"parms": {}}, "there is no field 'parms'; the nearest one is 'params'"),
        ({"params": {"project": "src"}}, "project must be an absolute folder, got 'src'"),
        ({"params": {"project": 1}}, "project must be text, got a number"),
    ],
)
def test_what_is_wrong_with_a_request_is_said(wrong, told):
    assert told in complaint(codec.request, frame("status") | wrong)


def test_an_unknown_operation_is_not_found_and_the_nearest_is_named():
    error = refusal(codec.request, frame("recal"))

    assert error.code is Code.NOT_FOUND
    assert error.hint == "The nearest one is 'recall'."


def test_every_operation_can_be_asked_about_a_folder():
    read = codec.request(frame("stale", {"project": "/srv/api"}))

    assert read.project == "/srv/api"
    assert read.message == memories.Stale()


def test_a_folder_whose_name_is_not_utf8_is_understood():
    read = codec.request(
        frames.decode(
            b'{"jsonrpc":"2.0","id":1,"method":"status","params":{"project":"/srv/\\udcff"}}'
        )
    )

    assert read.project == "/srv/\udcff"


def hello(**wrong):
    said = {
        "protocol": PROTOCOL,
        "client": "shim/1",
        "cwd": "/srv/api",
        "agent": None,
        "speaks": "rpc",
    }
    return said | wrong


def test_the_first_line_says_who_asks():
    assert codec.hello(hello(agent="claude-code")) == store.Hello(
        protocol=PROTOCOL, client="shim/1", cwd="/srv/api", agent="claude-code", speaks="rpc"
    )


@pytest.mark.parametrize("protocol", [0, PROTOCOL + 1])
def test_another_protocol_is_refused_before_anything_else_is_looked_at(protocol):
    error = refusal(codec.hello, {"protocol": protocol, "wishes": "unheard of"})

    assert error.code is Code.REFUSED
    assert f"protocol {PROTOCOL} and the client {protocol}" in error.message


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"protocol": "1"}, "protocol must be a whole number, got text"),
        ({"cwd": "src"}, "cwd must be an absolute folder"),
        ({"agent": "a b"}, "agent must be 1 to 64 letters"),
        ({"agent": ""}, "agent must be 1 to 64 letters"),
        ({"speaks": "http"}, "speaks must be 'rpc' or 'mcp', got 'http'"),
        ({"client": ""}, "client must not be empty"),
        ({"clent": "x"}, "there is no field 'clent'; the nearest one is 'client'"),
    ],
)
def test_what_is_wrong_with_a_first_line_is_said(wrong, told):
    assert told in complaint(codec.hello, hello(**wrong))


def test_times_leave_as_rfc_3339_in_utc_with_milliseconds():
    from datetime import datetime, timedelta, timezone

    at = datetime(2026, 11, 21, 12, 30, tzinfo=timezone(timedelta(hours=3)))

    assert json.loads(frames.encode({"at": at})) == {"at": "2026-11-21T09:30:00.000Z"}


@pytest.mark.parametrize("value", [object(), {1, 2}])
def test_what_is_no_json_does_not_leave(value):
    with pytest.raises(TypeError):
        frames.encode({"value": value})


def test_a_name_that_is_not_utf8_leaves_with_question_marks():
    assert json.loads(frames.encode({"path": "a\udcffb"})) == {"path": "a?b"}


@given(st.sampled_from(Code), st.text(letters), st.text(letters))
def test_an_error_survives_the_wire(code, message, hint):
    frame_of_it = frames.failure(3, YaadError(code, message, hint))

    read = frames.to_error(frames.decode(frames.encode(frame_of_it))["error"])

    assert (read.code, read.message, read.hint) == (code, message, hint)


@pytest.mark.parametrize("found", [None, "no", {}, {"code": "brand_new", "message": "x"}])
def test_an_error_we_do_not_know_is_internal(found):
    assert frames.to_error(found).code is Code.INTERNAL
