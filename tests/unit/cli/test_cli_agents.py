"""Commands for agents: the brief on a terminal; and help for what agents start by themselves."""

from recording import command

BRIEF = (
    "From yaadwatch, the memory of this project.\n"
    "## May no longer be true\n"
    '- gone: "The retry limit lives in src/net.py" (f2e4ab37)\n'
    "  - src/net.py is gone\n"
    "## Rules\n"
    "- Use jose"
)
CONTEXT = {
    "brief": BRIEF,
    "stale": 1,
    "rules": 1,
    "tasks": 0,
    "checked": True,
    "budget": {"used": 60, "left": 1940},
}


def test_context_prints_the_brief_and_what_it_cost():
    ran = command("context", answers={"context": CONTEXT})

    assert ran.status == 0
    assert ran.calls == [("context", {"chars_max": 16000})]
    assert ran.out.startswith(BRIEF)
    assert ran.lines[-1] == "1 flag, 1 rule, 0 tasks; 60 tokens used, 1940 left"


def test_context_can_be_shorter_and_for_programs():
    ran = command("context", "--tokens", "300", "--json", answers={"context": CONTEXT})

    assert ran.calls == [("context", {"tokens_max": 300, "chars_max": 2400})]
    assert ran.json == CONTEXT


def test_context_with_nothing_to_tell_says_so():
    ran = command("context", answers={"context": CONTEXT | {"brief": ""}})

    assert ran.out.startswith("The brief is empty")
