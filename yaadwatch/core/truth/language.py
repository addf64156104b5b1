"""What has to be known of a language to find its definitions: the shape of a row of the table."""

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from yaadwatch.core.truth.naming import Namer
from yaadwatch.core.truth.normal_forms import common

if TYPE_CHECKING:
    from tree_sitter import Node


class Role(StrEnum):
    """What a node is to the definitions in it.

    A type holds members, and is known by its outline. What a function assigns is its own affair. A
    scope names what is in it, and is no definition: `impl Retry`, `namespace net`. A shell is the
    outer part of one definition: `export`, `template <T>`. A block hides what it assigns: a lambda.
    """

    FUNCTION = "function"
    TYPE = "type"
    VALUE = "value"
    SCOPE = "scope"
    SHELL = "shell"
    BLOCK = "block"


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """What a type of node defines, and how it is called.

    `value`: the field that decides, when it holds a function or a class: `const a = () => 1`.
    `refine`: tells nodes of one type apart that have different roles.
    """

    role: Role
    names: Namer
    value: str = ""
    refine: "Callable[[Node], Role] | None" = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Language:
    """One language.

    Args:
        title: its name, as people write it.
        module: the module of the wheel that has its grammar.
        function: what gives the grammar there.
        endings: how the names of its files end: a suffix, or a whole name; in lower case.
        rules: by type of node; `a/b` is a `b` that stands directly in an `a`.
        lambdas: the types of values that are functions.
        classes: the types of values that are classes.
        strings: nodes whose white space counts; what is interpolated in them is code again.
        comments: nodes that say nothing to a compiler.
        before: nodes in front of a definition that belong to it: attributes.
        dropped: tokens that separate what the end of a line separates as well.
        dropped_in: tokens that are dropped in some nodes only, by the node's type.
        counted_in: nodes in which no token is dropped.
        comma_counts: nodes in which a comma at the end makes a difference.
        has_macros: what its grammar takes for an error may be none, because macros are no part of
            it; the sequence of its tokens says everything, and their tree nothing more.
        nests: comments may stand in comments, and the grammar takes for ever over unclosed ones.
        indents: the grammar crashes at hundreds of levels of indentation.
        is_settings: keys are what it defines.
        normal_forms: by type of node, rules for what formatters write in more than one way.
        wrappers: given the root and the source, the functions whose body is the whole of a module.
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
    is_settings: bool = False
    normal_forms: Mapping[str, common.Rule] = field(default_factory=dict)
    wrappers: "Callable[[Node, bytes], Iterable[Node]] | None" = None

    def role_of(self, node: "Node", rule: Rule) -> Role:
        """Return the role of a node that `rule` is about."""
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
    """Return the rules of a language by the type of the node itself."""
    return {key.rpartition("/")[2]: rule for key, rule in language.rules.items()}


@functools.cache
def patterns(language: Language) -> str:
    """Return the query that finds every node that a rule of `language` is about, and errors."""
    found = ["(ERROR) @it"]
    for key in language.rules:
        *outer, inner = key.split("/")
        pattern = f"({inner}) @it"
        for kind in reversed(outer):
            pattern = f"({kind} {pattern})"
        found.append(pattern)
    return "\n".join(found)
