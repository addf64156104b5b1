"""`Language`: what a row of `LANGUAGES` (`languages.py`) says of a language."""

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from yaadwatch.anchors.naming import Namer
from yaadwatch.anchors.normal_forms import Rule as NormalForm

if TYPE_CHECKING:
    from tree_sitter import Node


class Role(StrEnum):
    """The role of a node for the definitions in it.

    A type has members and is fingerprinted by its outline. Assignments inside a function are local.
    A scope qualifies its contents and is no definition: `impl Retry`, `namespace net`. A shell is
    the outer part of one definition: `export`, `template <T>`. A block hides its assignments: a
    lambda.
    """

    FUNCTION = "function"
    TYPE = "type"
    VALUE = "value"
    SCOPE = "scope"
    SHELL = "shell"
    BLOCK = "block"


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """What a node type defines, and how it is named.

    `value`: the field that decides, when it is a function or a class: `const a = () => 1`.
    `refine`: distinguishes nodes of one type with different roles.
    """

    role: Role
    names: Namer
    value: str = ""
    refine: "Callable[[Node], Role] | None" = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Language:
    """One language: its grammar, and the rules for its definitions.

    The fields up to `classes` find definitions. The others say what counts as a change of one, or
    what the parser has to be kept from; without them, more counts as a change.

    Args:
        title: its display name.
        module: the module of the grammar's wheel.
        function: the function that returns the grammar.
        endings: suffixes or whole names of its files, in lower case.
        rules: by node type; `a/b` is a `b` directly inside an `a`.
        lambdas: the types of values that are functions.
        classes: the types of values that are classes.
        strings: nodes whose white space counts; interpolations in them are code.
        comments: nodes that a compiler ignores.
        before: nodes before a definition that belong to it: attributes.
        dropped: tokens that a line end can replace.
        dropped_in: tokens dropped only in some node types.
        counted_in: nodes in which no token is dropped.
        comma_counts: nodes in which a trailing comma has a meaning.
        has_macros: it has macros, which its grammar takes for errors, so a parse error may be valid
            code; only the token sequence is compared, not the tree.
        nests: comments nest, and the grammar hangs on unclosed ones.
        indents: the grammar crashes at hundreds of levels of indentation.
        is_free_form: white space and line ends outside of texts have no meaning.
        is_settings: it defines keys.
        normal_forms: by node type, rules for spellings that formatters change.
        wrappers: given root and source, yields the functions whose body is the whole module.
    """

    title: str
    module: str
    function: str = "language"
    endings: tuple[str, ...]
    rules: Mapping[str, Rule] = field(default_factory=dict)
    lambdas: frozenset[str] = frozenset()
    classes: frozenset[str] = frozenset()
    strings: frozenset[str] = frozenset()
    comments: frozenset[str] = frozenset({"comment"})
    before: frozenset[str] = frozenset()
    dropped: frozenset[str] = frozenset()
    dropped_in: Mapping[str, frozenset[str]] = field(default_factory=dict)
    counted_in: frozenset[str] = frozenset()
    comma_counts: frozenset[str] = frozenset()
    has_macros: bool = False
    nests: bool = False
    indents: bool = False
    is_free_form: bool = False
    is_settings: bool = False
    normal_forms: Mapping[str, NormalForm] = field(default_factory=dict)
    wrappers: "Callable[[Node, bytes], Iterable[Node]] | None" = None

    def role_of(self, node: "Node", rule: Rule) -> Role:
        """Return the role of a node that `rule` applies to."""
        if rule.refine is not None:
            return rule.refine(node)
        value = node.child_by_field_name(rule.value) if rule.value else None
        if value is None:
            return rule.role
        if value.type in self.lambdas:
            return Role.FUNCTION
        return Role.TYPE if value.type in self.classes else rule.role


@functools.cache
def rules_by_type(language: Language) -> Mapping[str, Rule]:
    """Return the rules of a language by node type."""
    return {key.rpartition("/")[2]: rule for key, rule in language.rules.items()}


@functools.cache
def patterns(language: Language) -> str:
    """Return the query for every node with a rule, and for errors."""
    found = ["(ERROR) @it"]
    for key in language.rules:
        *outer, inner = key.split("/")
        pattern = f"({inner}) @it"
        for kind in reversed(outer):
            pattern = f"({kind} {pattern})"
        found.append(pattern)
    return "\n".join(found)
