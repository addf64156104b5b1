"""Options that do no more than pass a value on reach the operation they are meant for."""

import pytest
from recording import command


@pytest.mark.parametrize(
    ("line", "operation", "fields"),
    [
        ("recall jwt --agent claude", "recall", {"agent": "claude"}),
        ("recall jwt --session 5c01f2e4", "recall", {"session": "5c01f2e4"}),
        ("recall jwt --at 2026-03-01", "recall", {"at": "2026-03-01"}),
        ("recall jwt --depth full", "recall", {"depth": "full"}),
        ("recall jwt --strategy bm25", "recall", {"strategy": "bm25"}),
        ("files restore CLAUDE.md --snapshot 7", "files_restore", {"snapshot": 7}),
        ("stale --all-branches", "stale", {"all_branches": True}),
        ("claims --subject api", "claims", {"subject": "api"}),
        (
            "claims add ab12 api port 8080 --evidence release --evidence-at 2026-03-01",
            "add_claim",
            {"evidence": "release", "evidence_at": "2026-03-01"},
        ),
        ("tasks --all-branches", "tasks", {"all_branches": True}),
        ("traverse ab12 --direction descendants", "traverse", {"direction": "descendants"}),
        ("add --mode read --separate", "add", {"separate": True}),
        ("add --restore --date 2026-03-01", "add", {"date": "2026-03-01"}),
        ("show ab12 --view all", "show", {"view": "all"}),
        ("reanchor ab12 --accept-change", "reanchor", {"accept_change": True}),
        ("review --list", "review", {}),
        ("remove --erase", "remove", {"erase": True}),
        (
            "remember jose --key tokens --version 3",
            "remember",
            {"key": "tokens", "expected_version": 3},
        ),
        ("link a led_to b --since 2026-03-01", "link", {"since": "2026-03-01"}),
        ("upkeep --accept", "upkeep", {"accept": True}),
        ("embed disable --erase", "embed_disable", {"erase": True}),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_an_option_reaches_its_operation(line, operation, fields):
    ran = command(*line.split(), "--json", answers={operation: {}})

    assert ran.status == 0, ran.err
    (given,) = [given for asked, given in ran.calls if asked == operation]
    assert {name: given.get(name) for name in fields} == fields
