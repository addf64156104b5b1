"""What `facts` prints: a heading for each sort, where it is declared, and what rests on it."""

from recording import command

from yaadwatch.cli.terminal import short

ZOD = {"id": "5c01f2e4aa", "text": "Input is validated with zod."}
FACTS = {
    "facts": [
        {
            "slot": "runtime",
            "name": "node",
            "value": "20",
            "path": ".nvmrc",
            "line": 1,
            "memories": [],
        },
        {
            "slot": "package",
            "name": "zod",
            "value": "^3.22.0",
            "path": "web/package.json",
            "line": 9,
            "memories": [ZOD],
        },
    ],
    "invalid": ["api/pyproject.toml"],
    "packages": 12,
    "more": 0,
    "not_read": 3,
}


def test_facts_stand_by_sort_with_their_place_and_their_memories():
    ran = command("facts", "web", answers={"facts": FACTS})

    assert ran.calls == [("facts", {"path": "web"})]
    assert ran.lines == [
        "package",
        "  zod ^3.22.0  web/package.json:9",
        f"    {short(ZOD['id'])}  Input is validated with zod.",
        "runtime",
        "  node 20  .nvmrc:1",
        "api/pyproject.toml is not valid now, or too large; nothing is judged by it",
        "3 files further down were not read",
    ]


def test_a_project_that_declares_nothing_is_told_so():
    nothing = {"facts": [], "invalid": [], "packages": 0, "more": 0, "not_read": 0}

    lines = command("facts", "--all", answers={"facts": nothing}).lines

    assert lines == ["Nothing here declares what the project is made of."]
