"""Rows of the table of languages: Go, Rust, C, C++, Swift, Ruby, shell."""

from typing import TYPE_CHECKING

from yaadwatch.core.truth.language import Language, Role, Rule
from yaadwatch.core.truth.naming import (
    called,
    declarators,
    each,
    field,
    go_method,
    itself,
    nothing,
    pattern,
    ruby_call,
    ruby_constant,
    ruby_singleton,
    with_body,
)
from yaadwatch.core.truth.normal_forms import others, shell

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tree_sitter import Node

_NAME = field("name")
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
    normal_forms=others.GO,
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
        "impl_item": Rule(Role.SCOPE, field("type")),
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
    normal_forms=others.RUST,
)


def _declared(node: "Node") -> Role:
    """Tell a prototype from a variable."""
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
)


def _swift_kind(node: "Node") -> Role:
    """Tell an extension, which adds to a type, from a type."""
    kind = node.child_by_field_name("declaration_kind")
    return Role.SCOPE if kind is not None and kind.type == "extension" else Role.TYPE


def _swift_property(node: "Node") -> Role:
    """Tell a property that is computed, which has a body, from one that holds a value."""
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
    normal_forms=others.SWIFT,
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
    normal_forms=others.RUBY,
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
    normal_forms=shell.SHELL,
)
