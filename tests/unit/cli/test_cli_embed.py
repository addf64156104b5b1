"""The command about models: what it asks, and how it tells what there is."""

import os

import pytest
from recording import command

MODEL = {
    "name": "/srv/models/e5",
    "space": "e5-0123456789ab",
    "dimensions": 384,
    "state": "active",
    "enabled_at": "2026-11-21T09:00:00.000Z",
    "active_at": "2026-11-21T09:10:00.000Z",
    "percent": 99,
    "worker": {"state": "warm", "pid": 4712, "rss_bytes": 232_000_000, "why": ""},
    "stores": [{"path": "/srv/api", "memories": 124, "filled": 123}],
}
KNOWN = [
    {"name": "minilm", "provider": "onnx", "missing": [], "fetches": "a model"},
    {
        "name": "minilm-torch",
        "provider": "sentence-transformers",
        "missing": ["sentence_transformers"],
        "fetches": "PyTorch (1.5 GB)",
    },
]
STATUS = {
    "search": "vectors",
    "why": "e5-0123456789ab",
    "models": [MODEL],
    "known": KNOWN,
    "problems": [],
}
NONE = STATUS | {"search": "words", "why": "no model is enabled", "models": []}


def test_it_tells_how_questions_are_answered_and_by_which_model():
    ran = command("embed", answers={"embed_status": STATUS})

    assert ran.calls == [("embed_status", {})]
    assert ran.lines == [
        "searches by vectors (e5-0123456789ab)",
        "  e5-0123456789ab  answers questions, 99 % of the memories",
        "    /srv/models/e5, 384 dimensions",
        "    its process is warm, pid 4712, memory 232 MB",
        "    /srv/api  123 of 124 memories",
    ]


def test_without_a_model_it_tells_which_can_be_enabled_and_what_others_would_fetch():
    ran = command("embed", answers={"embed_status": NONE})

    assert ran.lines == [
        "searches by words (no model is enabled)",
        "  minilm  installed",
        "  minilm-torch  not installed; it is PyTorch (1.5 GB)",
        "Enable it: yaadwatch embed enable minilm",
    ]


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        (["enable"], ("embed_enable", {})),
        (["enable", "minilm"], ("embed_enable", {"model": "minilm"})),
        (["enable", "/srv/models/e5"], ("embed_enable", {"model": "/srv/models/e5"})),
        (["enable", "./e5"], ("embed_enable", {"model": os.path.abspath("e5")})),
        (["disable"], ("embed_disable", {})),
        (["disable", "--erase"], ("embed_disable", {"erase": True})),
        (["status"], ("embed_status", {})),
    ],
)
def test_what_is_typed_is_what_is_asked(given, asked):
    ran = command("embed", *given, answers={asked[0]: STATUS})

    assert ran.calls == [asked]


def test_it_can_wait_until_every_memory_has_a_vector(monkeypatch):
    monkeypatch.setattr("yaadwatch.cli.store.WAIT_PAUSE_S", 0.0)
    filling = STATUS | {"models": [MODEL | {"state": "filling", "percent": 40}]}

    ran = command(
        "embed",
        "enable",
        "minilm",
        "--wait",
        answers={"embed_enable": filling, "embed_status": STATUS},
    )

    assert [name for name, _ in ran.calls] == ["embed_enable", "embed_status"]
    assert ran.lines[0] == "searches by vectors (e5-0123456789ab)"


@pytest.mark.parametrize("given", [["disable", "minilm"], ["enable", "--erase"]])
def test_what_makes_no_sense_is_refused(given):
    ran = command("embed", *given)

    assert ran.status == 2
    assert ran.calls == []
