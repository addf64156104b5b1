"""Define what a language needs, and the rows of Go, Rust, C, C++, Swift, Ruby and shell."""

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from yaadwatch.anchors import normal_forms as anchors_normal_forms
from yaadwatch.anchors import normal_others
from yaadwatch.anchors.naming import (
    Namer,
    called,
    declarators,
    each,
    go_method,
    itself,
    nothing,
    pattern,
    ruby_call,
    ruby_constant,
    ruby_singleton,
    with_body,
)
from yaadwatch.anchors.naming import field as field_name

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
        has_macros: its grammar has no macros, so a parse error may be valid code; only the token
            sequence is compared, not the tree.
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
    normal_forms: Mapping[str, anchors_normal_forms.Rule] = field(default_factory=dict)
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


_NAME = field_name("name")
_FUNCTION = Rule(Role.FUNCTION, _NAME)
_TYPE = Rule(Role.TYPE, _NAME)
_VALUE = Rule(Role.VALUE, _NAME)
_SHELL = Rule(Role.SHELL, nothing)
_BLOCK = Rule(Role.BLOCK, nothing)

GO = Language(
    title="Go",
    module="tree_sitter_go",
    endings=(".go",),
    rules={
        "function_declaration": _FUNCTION,
        "method_declaration": Rule(Role.FUNCTION, go_method),
        "type_spec": _TYPE,
        "type_alias": _TYPE,
        "const_spec": Rule(Role.VALUE, pattern("name")),
        "var_spec": Rule(Role.VALUE, pattern("name")),
        "field_declaration": Rule(Role.VALUE, each("field_identifier", itself)),
        "method_elem": _FUNCTION,
        "func_literal": _BLOCK,
    },
    strings=frozenset({"interpreted_string_literal", "raw_string_literal"}),
    dropped=frozenset({";"}),
    counted_in=frozenset({"for_clause"}),
    normal_forms=normal_others.GO,
)

RUST = Language(
    title="Rust",
    module="tree_sitter_rust",
    endings=(".rs",),
    rules={
        "function_item": _FUNCTION,
        "function_signature_item": _FUNCTION,
        "struct_item": _TYPE,
        "enum_item": _TYPE,
        "union_item": _TYPE,
        "trait_item": _TYPE,
        "type_item": _TYPE,
        "mod_item": Rule(Role.TYPE, with_body(_NAME)),
        "impl_item": Rule(Role.SCOPE, field_name("type")),
        "const_item": _VALUE,
        "static_item": _VALUE,
        "associated_type": _VALUE,
        "enum_variant": _VALUE,
        "field_declaration": _VALUE,
        "macro_definition": _FUNCTION,
        "closure_expression": _BLOCK,
    },
    strings=frozenset({"string_literal", "raw_string_literal", "char_literal"}),
    comments=frozenset({"line_comment", "block_comment"}),
    before=frozenset({"attribute_item"}),
    comma_counts=frozenset({"tuple_expression", "tuple_type", "tuple_pattern"}),
    normal_forms=normal_others.RUST,
)


def _declared(node: "Node") -> Role:
    """Distinguish a prototype from a variable."""
    inner = node.child_by_field_name("declarator")
    while inner is not None and inner.type in ("pointer_declarator", "reference_declarator"):
        inner = inner.child_by_field_name("declarator")
    is_function = inner is not None and inner.type == "function_declarator"
    return Role.FUNCTION if is_function else Role.VALUE


_C_RULES: "Mapping[str, Rule]" = {
    "function_definition": Rule(Role.FUNCTION, declarators),
    "declaration": Rule(Role.VALUE, declarators, refine=_declared),
    "field_declaration": Rule(Role.VALUE, declarators, refine=_declared),
    "type_definition": Rule(Role.TYPE, declarators),
    "struct_specifier": Rule(Role.TYPE, with_body(_NAME)),
    "union_specifier": Rule(Role.TYPE, with_body(_NAME)),
    "enum_specifier": Rule(Role.TYPE, with_body(_NAME)),
    "enumerator": _VALUE,
    "preproc_def": _VALUE,
    "preproc_function_def": _FUNCTION,
}
_C_STRINGS = frozenset({"string_literal", "char_literal", "raw_string_literal"})

C = Language(
    title="C",
    module="tree_sitter_c",
    endings=(".c",),
    rules=_C_RULES,
    strings=_C_STRINGS,
    has_macros=True,
    is_free_form=True,
)

CPP = Language(
    title="C++",
    module="tree_sitter_cpp",
    endings=(
        *(".cpp", ".cc", ".cxx", ".c++", ".h", ".hpp", ".hh", ".hxx", ".h++"),
        *(".ipp", ".inl", ".tpp", ".cu", ".cuh"),
    ),
    rules={
        **_C_RULES,
        "namespace_definition": Rule(Role.SCOPE, _NAME),
        "class_specifier": Rule(Role.TYPE, with_body(_NAME)),
        "alias_declaration": _TYPE,
        "concept_definition": _TYPE,
        "template_declaration": _SHELL,
        "lambda_expression": _BLOCK,
    },
    strings=_C_STRINGS,
    has_macros=True,
    is_free_form=True,
)


def _swift_kind(node: "Node") -> Role:
    """Distinguish an extension, which adds to a type, from a type."""
    kind = node.child_by_field_name("declaration_kind")
    return Role.SCOPE if kind is not None and kind.type == "extension" else Role.TYPE


def _swift_property(node: "Node") -> Role:
    """Distinguish a computed property, which has a body, from a stored one."""
    is_computed = node.child_by_field_name("computed_value") is not None
    return Role.FUNCTION if is_computed else Role.VALUE


SWIFT = Language(
    title="Swift",
    nests=True,
    module="tree_sitter_swift",
    endings=(".swift",),
    rules={
        "class_declaration": Rule(Role.TYPE, _NAME, refine=_swift_kind),
        "protocol_declaration": _TYPE,
        "typealias_declaration": _TYPE,
        "associatedtype_declaration": _VALUE,
        "function_declaration": _FUNCTION,
        "protocol_function_declaration": _FUNCTION,
        "init_declaration": Rule(Role.FUNCTION, called("init")),
        "deinit_declaration": Rule(Role.FUNCTION, called("deinit")),
        "subscript_declaration": Rule(Role.FUNCTION, called("subscript")),
        "property_declaration": Rule(Role.VALUE, pattern("name"), refine=_swift_property),
        "protocol_property_declaration": Rule(Role.VALUE, pattern("name")),
        "enum_entry": Rule(Role.VALUE, pattern("name")),
        "lambda_literal": _BLOCK,
    },
    strings=frozenset(
        (
            *("line_string_literal", "multi_line_string_literal", "raw_string_literal"),
            "regex_literal",
        )
    ),
    comments=frozenset({"comment", "multiline_comment"}),
    dropped=frozenset({";"}),
    normal_forms=normal_others.SWIFT,
)

RUBY = Language(
    title="Ruby",
    module="tree_sitter_ruby",
    endings=(".rb", ".rake", ".gemspec", ".ru", "rakefile", "gemfile"),
    rules={
        "class": _TYPE,
        "module": _TYPE,
        "method": _FUNCTION,
        "singleton_method": Rule(Role.FUNCTION, ruby_singleton),
        "alias": _VALUE,
        "assignment": Rule(Role.VALUE, ruby_constant),
        "call": Rule(Role.VALUE, ruby_call),
    },
    strings=frozenset({"string", "heredoc_body", "subshell", "regex", "delimited_symbol"}),
    dropped=frozenset({";", "then"}),
    dropped_in={
        "argument_list": frozenset({"(", ")"}),
        "method_parameters": frozenset({"(", ")"}),
    },
    comma_counts=frozenset({"block_parameters"}),
    normal_forms=normal_others.RUBY,
)

SHELL = Language(
    title="shell",
    module="tree_sitter_bash",
    endings=(".sh", ".bash", ".bashrc", ".bash_profile", ".profile"),
    rules={
        "function_definition": _FUNCTION,
        "variable_assignment": _VALUE,
        "command": _BLOCK,
    },
    strings=frozenset(
        (
            "string",
            "raw_string",
            "ansi_c_string",
            "translated_string",
            "heredoc_redirect",
            "heredoc_body",
            "regex",
        )
    ),
    dropped=frozenset({";"}),
    dropped_in={"case_item": frozenset({"("})},
    counted_in=frozenset({"c_style_for_statement"}),
    normal_forms=anchors_normal_forms.SHELL,
)
