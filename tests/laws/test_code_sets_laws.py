"""Laws of the sets of a file: its layout plays no part, and any text can be read."""

from hypothesis import given
from hypothesis import strategies as st

from yaadwatch.anchors.code_sets import member, sets_in
from yaadwatch.anchors.stated_sets import stated

NAMES = st.lists(
    st.from_regex(r"[a-z]{2,8}[0-9]", fullmatch=True), min_size=2, max_size=9, unique=True
)
FORMS = {
    "a.py": ("XS = [", '"{}"', "]\n", "#"),
    "b.py": ("XS: Final = frozenset((", "'{}'", "))\n", "#"),
    "a.ts": ("export const XS: X[] = [", '"{}"', "];\n", "//"),
    "b.ts": ("export enum XS {", "{}", "}\n", "//"),
    "a.go": ("var XS = []string{", '"{}"', "}\n", "//"),
    "a.rs": ("pub enum XS {", "{}", "}\n", "//"),
    "A.java": ("enum XS {", "{}", "}\n", "//"),
    "a.kt": ("val XS = listOf(", '"{}"', ")\n", "//"),
    "a.php": ("<?php\nconst XS = [", "'{}'", "];\n", "#"),
}


@given(NAMES, st.sampled_from(sorted(FORMS)), st.randoms())
def test_layout_order_and_comments_change_no_set(names, path, random):
    begins, item, ends, mark = FORMS[path]
    flat = begins + ", ".join(map(item.format, names)) + ends
    random.shuffle(names)
    lines = [f"    {item.format(name)},  {mark} {name}, and {{more}}\n" for name in names]
    spread = f"{begins}\n{''.join(lines)}{ends}"

    for source in (flat, spread):
        found = {one.name: set(map(member, one.members)) for one in sets_in(path, source)}
        assert found["XS"] == set(names)


@given(NAMES, st.sampled_from(["and", "or"]), st.sampled_from(["", "`", "**"]))
def test_a_list_is_read_as_it_is_written(names, joint, mark):
    ticked = [f"{mark}{name}{mark}" for name in names]
    text = f"The modules are {', '.join(ticked[:-1])} {joint} {ticked[-1]}."

    (found,) = stated(text)

    assert found.members == tuple(names)
    assert not found.is_open


@given(
    st.text(alphabet="([{}])\"'`,;:=@ \n\\ab1#/*<>", max_size=400),
    st.sampled_from(["x.py", "x.rs", "x.go"]),
)
def test_any_text_is_read(source, path):
    sets_in(path, source * 20)
    list(stated(source * 20))
