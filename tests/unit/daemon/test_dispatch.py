"""Which verb answers which operation."""

import inspect
import sys
import threading
from importlib import import_module
from types import ModuleType

import pytest

import yaadwatch
from yaadwatch.api.operations import BY_NAME, OPERATIONS
from yaadwatch.daemon import dispatch
from yaadwatch.daemon.dispatch import VERBS, Late

ANSWERED_BY_THE_SERVER = {"subscribe", "shutdown"}


def test_every_operation_has_a_verb_and_every_verb_an_operation():
    assert VERBS.keys() == BY_NAME.keys() - ANSWERED_BY_THE_SERVER


@pytest.mark.parametrize(
    "operation",
    [row for row in OPERATIONS if row.name in VERBS],
    ids=lambda row: row.name,
)
def test_a_verb_takes_its_request_if_that_has_fields(operation):
    verb = VERBS[operation.name].find()
    home, call, *ask = inspect.signature(verb).parameters.values()

    assert (home.name, call.name) == ("home", "call")
    assert [one.annotation for one in ask] == [operation.request] * bool(operation.request.FIELDS)


def test_a_verb_that_another_thread_is_just_importing_is_waited_for(tmp_path, monkeypatch):
    """The daemon imports what judges in a thread, while it answers already."""
    gate = ModuleType("gate_of_this_test")
    gate.begun, gate.asked = threading.Event(), threading.Event()
    monkeypatch.setitem(sys.modules, "gate_of_this_test", gate)
    (tmp_path / "slow.py").write_text(
        "import gate_of_this_test as gate\n"
        "gate.begun.set()\n"
        "gate.asked.wait(20)\n"
        "def answer(home, call): return {}\n"
    )
    monkeypatch.setattr(yaadwatch, "__path__", [str(tmp_path)])

    def asked(name):
        gate.asked.set()
        return import_module(name)

    monkeypatch.setattr(dispatch, "import_module", asked)
    importing = threading.Thread(target=import_module, args=["yaadwatch.slow"])
    importing.start()
    try:
        assert gate.begun.wait(20)
        assert Late("slow", "answer")(None, None) == {}
    finally:
        gate.asked.set()
        importing.join()
        sys.modules.pop("yaadwatch.slow", None)


def test_fields_are_handed_over_by_name():
    recall = BY_NAME["recall"].request(query="jose")

    assert vars(recall) == {
        "query": "jose",
        "top_k": None,
        "tokens_max": 800,
        "kinds": (),
        "scope": None,
        "path": None,
        "tags": (),
        "agent": None,
        "session": None,
        "at": None,
        "depth": "auto",
        "strategy": "auto",
        "min_score": None,
        "semantic_weight": None,
        "all_branches": False,
    }
