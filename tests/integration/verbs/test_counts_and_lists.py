"""How many there are, and which, is bound to the one set of the code that a text means."""

import pytest

from yaadwatch.staleness import stale

TOOLS = "".join(f'  s.tool("{name}", f);\n' for name in "abc")
SERVER = f"export function registerTools(s) {{\n{TOOLS}}}\n"
KINDS = "pub enum Kind {\n    Tcp,\n    Udp,\n    Unix,\n}\n"
ENUM = "class Role(StrEnum):\n    ADMIN = 'admin'\n    EDITOR = 'editor'\n    VIEWER = 'viewer'\n"
LANGUAGES = 'LANGUAGES: Final = (\n    "python",\n    "go",  # 1.22\n    "rust",\n)\n'
COMPOSE = "services:\n  web:\n    image: a\n  db:\n    image: b\n  cache:\n    image: c\n"
MODULES = {f"src/modules/{name}.py": "x = 1\n" for name in ("auth", "billing", "users", "__init__")}
CRATES = {f"crates/{name}/src/lib.rs": "fn f() {}\n" for name in ("core", "cli", "server")}
MIGRATIONS = {f"db/migrations/00{at}_x{at}.sql": "select 1;\n" for at in range(1, 5)}


def reasons(repo, before, said, after):
    repo.commit("before", before)
    repo.remember(said)
    for path in (path for path, text in after.items() if text is None):
        (repo.path / path).unlink()
    repo.commit("the change", {path: text for path, text in after.items() if text is not None})
    rows = stale.stale(repo.home, repo.call, all=True)["stale"]
    return [row for row in rows if row["level"]]


CHANGED = [
    # calls of one name, in a file that the text names
    (
        {"src/tools.ts": SERVER},
        "The server registers 3 tools in `src/tools.ts`.",
        {"src/tools.ts": SERVER.replace("}\n", '  s.tool("d", f);\n}\n')},
        "s.tool in src/tools.ts: was 3, is now 4; d came",
    ),
    (
        {"api.py": '@app.get("/a")\ndef a(): ...\n@app.post("/b")\ndef b(): ...\n'},
        "`api.py` has two endpoints.",
        {"api.py": '@app.get("/a")\ndef a(): ...\n'},
        "",
    ),
    # an array, found by its name
    (
        {"app/config.py": LANGUAGES},
        "Three languages are supported.",
        {"app/config.py": LANGUAGES.replace(")\n", '    "java",\n)\n')},
        "LANGUAGES in app/config.py: was 3, is now 4; java came",
    ),
    (
        {"app/config.py": LANGUAGES},
        "Supported languages: Python, Go and Rust.",
        {"app/config.py": LANGUAGES.replace('"go"', '"zig"')},
        "LANGUAGES in app/config.py: zig came; go went",
    ),
    (
        {"src/modes.ts": "export const MODES = ['fast', 'slow', 'auto'] as const;\n"},
        "The mode is one of fast, slow or auto (`src/modes.ts`)",
        {"src/modes.ts": "export const MODES = ['fast', 'slow'] as const;\n"},
        "MODES in src/modes.ts: auto went",
    ),
    (
        {"lib/kinds.rb": "KINDS = %w[a1 b1 c1].freeze\n"},
        "There are 3 kinds.",
        {"lib/kinds.rb": "KINDS = %w[a1 b1 c1 d1].freeze\n"},
        "KINDS in lib/kinds.rb: was 3, is now 4; d1 came",
    ),
    # the members of an enum
    (
        {"app/roles.py": ENUM},
        "The roles are admin, editor and viewer.",
        {"app/roles.py": f"{ENUM}    OWNER = 'owner'\n"},
        "Role in app/roles.py: OWNER came",
    ),
    (
        {"src/level.rs": "pub enum Level {\n    Low,\n    High,\n}\n"},
        "`Level` has two variants",
        {"src/level.rs": "pub enum Level {\n    Low,\n    Middle,\n    High,\n}\n"},
        "",
    ),
    (
        {"Color.java": "public enum Color { RED(1), GREEN(2), BLUE(3); int x; }\n"},
        "There are three colors, see `Color.java`",
        {"Color.java": "public enum Color { RED(1), GREEN(2); int x; }\n"},
        "Color in Color.java: was 3, is now 2; BLUE went",
    ),
    (
        {"state.go": "const (\n\tOpen State = iota\n\tClosed\n\tDone\n)\n"},
        "The states are open, closed and done (`state.go`)",
        {"state.go": "const (\n\tOpen State = iota\n\tClosed\n)\n"},
        "State in state.go: Done went",
    ),
    # keys of a table of settings
    (
        {"compose.yml": COMPOSE},
        "`compose.yml` starts three services: web, db and cache.",
        {"compose.yml": f"{COMPOSE}  queue:\n    image: d\n"},
        "services in compose.yml: queue came",
    ),
    (
        {"Cargo.toml": '[workspace]\nmembers = ["crates/a1", "crates/b1"]\n'},
        "The workspace has two members (`Cargo.toml`)",
        {"Cargo.toml": '[workspace]\nmembers = ["crates/a1", "crates/b1", "crates/c1"]\n'},
        "workspace.members in Cargo.toml: was 2, is now 3; crates/c1 came",
    ),
    # files and folders of a folder
    (
        MODULES,
        "The modules in `src/modules/` are auth, billing and users.",
        {"src/modules/teams.py": "x = 1\n"},
        "*.py in src/modules: teams came",
    ),
    (CRATES, "There are three crates.", {"crates/web/src/lib.rs": "fn f() {}\n"}, ""),
    (
        MIGRATIONS,
        "db/migrations/ has 4 migrations.",
        {"db/migrations/005_x5.sql": "select 1;\n"},
        "*.sql in db/migrations: was 4, is now 5; 005_x5 came",
    ),
    (
        {"main.go": 'var commands = map[string]func(){\n\t"run": run,\n\t"stop": stop,\n}\n'},
        "`main.go` has two commands.",
        {"main.go": 'var commands = map[string]func(){\n\t"run": run,\n}\n'},
        "commands in main.go: was 2, is now 1; stop went",
    ),
    # an open list needs the members that it names
    (
        MODULES,
        "Modules, for example `auth` and `users`, are in `src/modules/`.",
        {"src/modules/users.py": None},
        "*.py in src/modules: users went",
    ),
    (
        {"app/config.py": LANGUAGES},
        "Languages such as Go and Rust are built in (`app/config.py`)",
        {"app/config.py": LANGUAGES.replace('    "rust",\n', "")},
        "LANGUAGES in app/config.py: Rust went",
    ),
]


@pytest.mark.parametrize(("before", "said", "after", "reason"), CHANGED)
def test_a_set_that_is_no_longer_as_stated_is_flagged(repo, before, said, after, reason):
    (row,) = reasons(repo, before, said, after)

    assert (row["verdict"], row["level"]) == ("changed", "warn")
    assert row["reason"] == reason or not reason
    assert row["evidence"][0]["commit"]["subject"] == "the change"


ENUM = "class State(Enum):\n    OPEN = 1\n    DONE = 2\n    ERROR = 3\n"
SILENT = [
    # a formatter, a comment, another order, another value
    (
        {"a.py": LANGUAGES},
        "Three languages are supported.",
        {"a.py": 'LANGUAGES = ("rust", "python", "go")  # all\n'},
    ),
    (
        {"src/tools.ts": SERVER},
        "The server registers 3 tools in `src/tools.ts`.",
        {"src/tools.ts": SERVER.replace('s.tool("a", f);', '// s.tool("x", f);\n s.tool("a1", g)')},
    ),
    (
        {"c.yml": COMPOSE},
        "`c.yml` has three services",
        {"c.yml": COMPOSE.replace("image: a", "image: z")},
    ),
    # an open list, a number that is not exact, an instruction, another time or case
    (
        MODULES,
        "`src/modules/` has modules such as auth and users.",
        {"src/modules/z.py": "x = 1\n"},
    ),
    (MODULES, "The modules in `src/modules/` include auth and users.", {"src/modules/z.py": "\n"}),
    (MODULES, "Modules in `src/modules/`: auth, users and more.", {"src/modules/z.py": "\n"}),
    (MODULES, "`src/modules/` has about 3 modules.", {"src/modules/z.py": "x = 1\n"}),
    (MODULES, "`src/modules/` has at least 3 modules.", {"src/modules/z.py": "x = 1\n"}),
    (MODULES, "Add 3 modules to `src/modules/` at once.", {"src/modules/z.py": "x = 1\n"}),
    (MODULES, "If `src/modules/` has 3 modules, split it.", {"src/modules/z.py": "x = 1\n"}),
    # false when stated, or of several sets
    (MODULES, "`src/modules/` has 7 modules.", {"src/modules/z.py": "x = 1\n"}),
    (MODULES, "The modules in `src/modules/` are auth and users.", {"src/modules/z.py": "\n"}),
    (
        {"a.py": LANGUAGES, "b.py": 'LANGUAGES = ("a1", "b1", "c1")\n'},
        "There are three languages.",
        {"a.py": 'LANGUAGES = ("a1",)\n'},
    ),
    (
        {"a.py": LANGUAGES, "ui/b.ts": 'export const languages = ["en", "de"];\n'},
        "There are three languages.",
        {"a.py": 'LANGUAGES = ("a1",)\n'},
    ),
    (
        {"hints.json": '{"ui": {"skills": {"label": 1, "help": 2, "order": 3}}}'},
        "There are three skills.",
        {"hints.json": '{"ui": {"skills": {"label": 1, "help": 2}}}'},
    ),
    (
        {"run.py": "a = Node(1)\nb = Node(2)\n"},
        "`run.py` starts 2 nodes",
        {"run.py": "a = Node(1)\nb = Node(2)\nc = Node(3)\n"},
    ),
    ({"a.py": LANGUAGES}, "Speak three languages.", {"a.py": 'LANGUAGES = ("a1", "b1")\n'}),
    # a test, or a file that holds a folder together, is no module
    (MODULES, "`src/modules/` has 3 modules.", {"src/modules/test_auth.py": "x = 1\n"}),
    (MODULES, "`src/modules/` has 3 modules.", {"src/modules/README.md": "x\n"}),
    (MODULES, "`src/modules/` has 3 modules.", {"src/modules/_util.py": "x = 1\n"}),
    (MODULES, "`src/modules/` has 3 modules.", {"src/modules/base.py": "x = 1\n"}),
    # the same members, written in another way, or one that has another name, or is not built
    (
        {"a.py": LANGUAGES},
        "The languages in `a.py` are python, go and rust.",
        {"a.py": "LANGUAGES = (L_PYTHON, L_GO, L_RUST)\n"},
    ),
    (
        {"v.ts": "export const plugins = ['alpha', 'beta', 'gamma'];\n"},
        "The plugins in `v.ts` are alpha, beta and gamma.",
        {"v.ts": "export const plugins = ['alpha', 'beta', 'gamma', isDev && 'delta'];\n"},
    ),
    (
        {"s.py": ENUM},
        "The states in `s.py` are open, done and error.",
        {"s.py": ENUM + "    ERR = ERROR\n"},
    ),
    (
        {"k.rs": KINDS},
        "`Kind` in `k.rs` has three kinds.",
        {"k.rs": KINDS.replace("}", "    #[cfg(test)]\n    Fake,\n}")},
    ),
    # what is worked out, or broken at the moment, has no known size
    (
        {"a.py": LANGUAGES},
        "Three languages are supported.",
        {"a.py": "LANGUAGES = tuple(load())\n"},
    ),
    ({"c.yml": COMPOSE}, "`c.yml` has three services", {"c.yml": "services: [\n"}),
    (
        {"c.yml": COMPOSE},
        "`c.yml` has three services",
        {"c.yml": COMPOSE.replace("  db:\n", "  db: {\n")},
    ),
    (
        {"a.py": LANGUAGES},
        "Three languages are supported.",
        {
            "a.py": LANGUAGES.replace(
                '    "rust",\n', '<<<<<<< ours\n    "c",\n=======\n>>>>>>> theirs\n'
            )
        },
    ),
    ({"a.py": LANGUAGES}, "Three languages are supported.", {"a.py": LANGUAGES.replace(")", "")}),
]


@pytest.mark.parametrize(("before", "said", "after"), SILENT)
def test_what_says_nothing_exact_of_one_set_is_not(repo, before, said, after):
    assert [row["reason"] for row in reasons(repo, before, said, after)] == []


@pytest.mark.parametrize(
    ("said", "now"),
    [
        ("Three languages are supported.", "Four languages are supported."),
        ("We support 3 languages.", "We support 4 languages."),
        ("The 3 languages, and 3 of each.", None),
    ],
)
def test_the_text_with_the_new_number_is_proposed(repo, said, now):
    after = {"a.py": LANGUAGES.replace(")\n", '    "java",\n)\n')}

    (row,) = reasons(repo, {"a.py": LANGUAGES}, said, after)

    assert row.get("suggestion", {}).get("text") == now


def test_the_flag_goes_when_the_set_is_as_it_was(repo):
    said = "The modules in `src/modules/` are auth, billing and users."
    assert reasons(repo, MODULES, said, {"src/modules/teams.py": "x = 1\n"})

    (repo.path / "src/modules/teams.py").unlink()
    repo.commit("back", {"z.txt": "z\n"})

    assert stale.stale(repo.home, repo.call, all=True)["stale"] == []


def test_reanchor_puts_the_new_number_in_and_clears_the_flag(repo):
    repo.commit("before", {"a.py": LANGUAGES, **MODULES})
    memories = [
        repo.remember(said)
        for said in ("Three languages are supported.", "`src/modules/` has 3 modules.")
    ]
    grown = {
        "a.py": LANGUAGES.replace(")\n", '    "java",\n)\n'),
        "src/modules/teams.py": "x = 1\n",
    }
    repo.commit("the change", grown)
    assert len(repo.stale()["stale"]) == 2

    repo.reanchor(all=True)

    texts = [repo.show(memory)["text"] for memory in memories]
    assert texts == ["Four languages are supported.", "`src/modules/` has 4 modules."]
    assert repo.stale(all=True)["stale"] == []


def test_a_set_is_counted_before_its_commit_and_on_each_branch(repo):
    repo.commit("before", MODULES)
    repo.write("src/modules/teams.py", "x = 1\n")
    repo.remember("`src/modules/` has 4 modules.")
    assert repo.stale(all=True)["stale"] == []

    repo.commit("add it", {"z.txt": "z\n"})
    assert repo.stale(all=True)["stale"] == []

    repo.write("src/modules/plans.py", "x = 1\n")
    (row,) = repo.stale(all=True)["stale"]
    assert row["reason"] == "*.py in src/modules: was 4, is now 5; plans came"
    assert row["uncommitted"]


def test_a_set_whose_file_moved_is_followed_and_one_whose_folder_did_is_silent(repo):
    repo.commit("before", {"a.py": LANGUAGES, **MODULES})
    for said in ("Three languages are supported.", "There are three modules."):
        repo.remember(said)

    repo.git("mv", "a.py", "b.py")
    repo.git("mv", "src/modules", "src/parts")
    repo.commit("move both, change one", {"b.py": LANGUAGES.replace('    "rust",\n', "")})

    (row,) = repo.stale(all=True)["stale"]
    assert row["reason"] == "LANGUAGES in a.py: was 3, is now 2; rust went"


def test_a_set_that_may_hold_a_secret_is_not_kept(repo):
    token = "ghp_" + "a1B2" * 9
    repo.commit("before", {"a.py": f'LANGUAGES = ("go", "rust", "{token}")\n'})

    remembered = repo.remembered("Three languages are supported.")

    assert [anchor["path"] for anchor in remembered["anchors"]] == []
