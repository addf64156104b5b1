"""`LANGUAGES`: one row for each language whose definitions are known."""

import functools
from dataclasses import replace
from typing import TYPE_CHECKING

from yaadwatch.anchors import normal_forms, normal_javascript, normal_others
from yaadwatch.anchors.language import Language, Role, Rule
from yaadwatch.anchors.naming import (
    called,
    declarators,
    destructor,
    each,
    field,
    first,
    go_method,
    itself,
    js_assignment,
    js_pair,
    kotlin_function,
    kotlin_parameter,
    kotlin_property,
    nothing,
    operator,
    pattern,
    php_assignment,
    php_define,
    ruby_call,
    ruby_constant,
    ruby_singleton,
    with_body,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tree_sitter import Node


_NAME = field("name")
_FUNCTION = Rule(Role.FUNCTION, _NAME)
_TYPE = Rule(Role.TYPE, _NAME)
_VALUE = Rule(Role.VALUE, _NAME)
_SHELL = Rule(Role.SHELL, nothing)
_BLOCK = Rule(Role.BLOCK, nothing)

_JS_RULES: "Mapping[str, Rule]" = {
    "function_declaration": _FUNCTION,
    "generator_function_declaration": _FUNCTION,
    "method_definition": _FUNCTION,
    "class_declaration": _TYPE,
    "field_definition": Rule(Role.VALUE, field("property"), value="value"),
    "variable_declarator": Rule(Role.VALUE, pattern("name"), value="value"),
    "assignment_expression": Rule(Role.VALUE, js_assignment, value="right"),
    "pair": Rule(Role.VALUE, js_pair, value="value"),
    "export_statement": _SHELL,
    "lexical_declaration": _SHELL,
    "variable_declaration": _SHELL,
    "arrow_function": _BLOCK,
    "function_expression": _BLOCK,
    "generator_function": _BLOCK,
    "decorator": _BLOCK,
}
_JS_FUNCTIONS = frozenset({"arrow_function", "function_expression"})
_JS_AROUND = frozenset({"expression_statement", "parenthesized_expression", "unary_expression"})


def _js_wrappers(root: "Node", source: bytes) -> "Iterator[Node]":
    """Yield the functions that wrap a module: `(function () {...})()`, `define([], () => {...})`.

    Their arguments may be wrappers too: `(function (factory) {...})(function (exports) {...})`.
    """
    for statement in root.named_children:
        called = _js_bare(statement) if statement.type == "expression_statement" else None
        if called is None or called.type != "call_expression":
            continue
        does = _js_bare(called.child_by_field_name("function"))
        given = called.child_by_field_name("arguments")
        inside = [
            one for one in (given.named_children if given else ()) if one.type in _JS_FUNCTIONS
        ]
        if does is not None and does.type in _JS_FUNCTIONS:
            yield does
            yield from inside
        elif does is not None and source[does.start_byte : does.end_byte] == b"define":
            yield from inside


def _js_bare(node: "Node | None") -> "Node | None":
    """Return the expression in a statement, in parentheses, or behind `!`."""
    while node is not None and node.type in _JS_AROUND:
        argument = node.child_by_field_name("argument")
        node = argument or (node.named_children[-1] if node.named_children else None)
    return node


JAVASCRIPT = Language(
    title="JavaScript",
    module="tree_sitter_javascript",
    endings=(".js", ".jsx", ".mjs", ".cjs"),
    rules=_JS_RULES,
    lambdas=frozenset({"arrow_function", "function_expression", "generator_function"}),
    classes=frozenset({"class"}),
    strings=frozenset({"string", "template_string", "template_literal_type", "regex"}),
    comments=frozenset({"comment", "html_comment"}),
    before=frozenset({"decorator"}),
    dropped=frozenset({";"}),
    counted_in=frozenset({"for_statement"}),
    normal_forms={**normal_javascript.JAVASCRIPT, **normal_javascript.JSX},
    wrappers=_js_wrappers,
)

_TS_RULES: "Mapping[str, Rule]" = {
    **{key: rule for key, rule in _JS_RULES.items() if key != "field_definition"},
    "abstract_class_declaration": _TYPE,
    "interface_declaration": _TYPE,
    "type_alias_declaration": _TYPE,
    "enum_declaration": _TYPE,
    "internal_module": _TYPE,
    "module": _TYPE,
    "enum_assignment": _VALUE,
    "enum_body/property_identifier": Rule(Role.VALUE, itself),
    "public_field_definition": Rule(Role.VALUE, _NAME, value="value"),
    "property_signature": _VALUE,
    "method_signature": _FUNCTION,
    "abstract_method_signature": _FUNCTION,
    "function_signature": _FUNCTION,
    "ambient_declaration": _SHELL,
}
TYPESCRIPT = replace(
    JAVASCRIPT,
    title="TypeScript",
    module="tree_sitter_typescript",
    function="language_typescript",
    endings=(".ts", ".mts", ".cts"),
    rules=_TS_RULES,
    normal_forms={**normal_javascript.TYPESCRIPT, **normal_javascript.JSX},
    dropped_in={"interface_body": frozenset({","}), "object_type": frozenset({","})},
)
TSX = replace(TYPESCRIPT, function="language_tsx", endings=(".tsx",))


def _kotlin_property(node: "Node") -> Role:
    """Distinguish a computed property, which has a body, from a stored one."""
    kinds = {child.type for child in node.named_children}
    return Role.VALUE if kinds.isdisjoint(("getter", "setter")) else Role.FUNCTION


def _c_sharp_property(node: "Node") -> Role:
    """Distinguish a computed property, which has a body, from a stored one."""
    value = node.child_by_field_name("value")
    accessors = node.child_by_field_name("accessors")
    is_computed = value is not None and value.type == "arrow_expression_clause"
    if accessors is not None:
        is_computed = is_computed or any(
            accessor.child_by_field_name("body") is not None
            for accessor in accessors.named_children
        )
    return Role.FUNCTION if is_computed else Role.VALUE


_JAVA_BODIES = ("class_body", "interface_body", "annotation_type_body", "enum_body_declarations")

JAVA = Language(
    title="Java",
    module="tree_sitter_java",
    endings=(".java",),
    rules={
        "class_declaration": _TYPE,
        "interface_declaration": _TYPE,
        "enum_declaration": _TYPE,
        "record_declaration": _TYPE,
        "annotation_type_declaration": _TYPE,
        "method_declaration": _FUNCTION,
        "constructor_declaration": _FUNCTION,
        "compact_constructor_declaration": _FUNCTION,
        "annotation_type_element_declaration": _FUNCTION,
        "enum_constant": _VALUE,
        "field_declaration": Rule(Role.VALUE, each("variable_declarator", _NAME)),
        "constant_declaration": Rule(Role.VALUE, each("variable_declarator", _NAME)),
        "record_declaration/formal_parameters/formal_parameter": _VALUE,
        "lambda_expression": _BLOCK,
    },
    strings=frozenset({"string_literal"}),
    comments=frozenset({"line_comment", "block_comment"}),
    dropped_in={kind: frozenset({";"}) for kind in _JAVA_BODIES},
    normal_forms=normal_others.JAVA,
    is_free_form=True,
)

KOTLIN = Language(
    title="Kotlin",
    nests=True,
    module="tree_sitter_kotlin",
    endings=(".kt", ".kts"),
    rules={
        "class_declaration": _TYPE,
        "object_declaration": _TYPE,
        "companion_object": _TYPE,
        "type_alias": Rule(Role.TYPE, field("type")),
        "function_declaration": Rule(Role.FUNCTION, kotlin_function),
        "secondary_constructor": Rule(Role.FUNCTION, called("constructor")),
        "property_declaration": Rule(Role.VALUE, kotlin_property, refine=_kotlin_property),
        "class_parameter": Rule(Role.VALUE, kotlin_parameter),
        "enum_entry": Rule(Role.VALUE, first("identifier")),
        "lambda_literal": _BLOCK,
        "anonymous_function": _BLOCK,
        "anonymous_initializer": _BLOCK,
    },
    strings=frozenset({"string_literal", "multiline_string_literal", "character_literal"}),
    comments=frozenset({"line_comment", "block_comment"}),
    dropped=frozenset({";"}),
    counted_in=frozenset({"enum_class_body"}),
    normal_forms=normal_others.KOTLIN,
)

C_SHARP = Language(
    title="C#",
    module="tree_sitter_c_sharp",
    endings=(".cs", ".csx"),
    rules={
        "namespace_declaration": Rule(Role.SCOPE, _NAME),
        "class_declaration": _TYPE,
        "struct_declaration": _TYPE,
        "interface_declaration": _TYPE,
        "record_declaration": _TYPE,
        "enum_declaration": _TYPE,
        "delegate_declaration": _TYPE,
        "method_declaration": _FUNCTION,
        "constructor_declaration": _FUNCTION,
        "destructor_declaration": Rule(Role.FUNCTION, destructor),
        "operator_declaration": Rule(Role.FUNCTION, operator),
        "indexer_declaration": Rule(Role.FUNCTION, called("this")),
        "local_function_statement": _FUNCTION,
        "property_declaration": Rule(Role.VALUE, _NAME, refine=_c_sharp_property),
        "event_declaration": Rule(Role.VALUE, _NAME, refine=_c_sharp_property),
        "field_declaration": Rule(
            Role.VALUE, each("variable_declaration", each("variable_declarator", _NAME))
        ),
        "event_field_declaration": Rule(
            Role.VALUE, each("variable_declaration", each("variable_declarator", _NAME))
        ),
        "enum_member_declaration": _VALUE,
        "record_declaration/parameter_list/parameter": _VALUE,
        "lambda_expression": _BLOCK,
        "anonymous_method_expression": _BLOCK,
    },
    strings=frozenset(
        (
            *("string_literal", "verbatim_string_literal", "raw_string_literal"),
            *("interpolated_string_expression", "character_literal"),
        )
    ),
    comments=frozenset({"comment", "preproc_region", "preproc_endregion"}),
    normal_forms=normal_others.C_SHARP,
    is_free_form=True,
)

PHP = Language(
    title="PHP",
    module="tree_sitter_php",
    function="language_php",
    endings=(".php", ".phtml"),
    rules={
        "namespace_definition": Rule(Role.SCOPE, _NAME),
        "class_declaration": _TYPE,
        "interface_declaration": _TYPE,
        "trait_declaration": _TYPE,
        "enum_declaration": _TYPE,
        "function_definition": _FUNCTION,
        "method_declaration": _FUNCTION,
        "enum_case": _VALUE,
        "const_declaration": Rule(Role.VALUE, each("const_element", first("name"))),
        "property_declaration": Rule(Role.VALUE, each("property_element", _NAME)),
        "property_promotion_parameter": _VALUE,
        "assignment_expression": Rule(Role.VALUE, php_assignment),
        "function_call_expression": Rule(Role.VALUE, php_define),
        "anonymous_function": _BLOCK,
        "arrow_function": _BLOCK,
    },
    strings=frozenset(
        (
            *("string", "encapsed_string", "heredoc_body", "nowdoc_body"),
            *("shell_command_expression", "text"),
        )
    ),
    normal_forms=normal_others.PHP,
)

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
    normal_forms=normal_forms.SHELL,
)


PYTHON = Language(title="Python", module="tree_sitter_python", endings=(".py", ".pyi"))
JSON = Language(
    title="JSON",
    module="tree_sitter_json",
    endings=(".json", ".jsonc", ".webmanifest"),
    is_settings=True,
)
TOML = Language(title="TOML", module="tree_sitter_toml", endings=(".toml",), is_settings=True)
YAML = Language(
    title="YAML",
    module="tree_sitter_yaml",
    endings=(".yaml", ".yml"),
    indents=True,
    is_settings=True,
)

LANGUAGES = (
    *(PYTHON, JAVASCRIPT, TYPESCRIPT, TSX, GO, RUST, JAVA, KOTLIN, C, CPP, C_SHARP, RUBY, PHP),
    *(SWIFT, SHELL, TOML, YAML, JSON),
)


def language_of(path: str) -> Language | None:
    """Return the language of a file; None when it is unknown."""
    name = path.rpartition("/")[2].lower()
    return _by_ending().get(name[name.rfind(".") :] if "." in name else name)


@functools.cache
def _by_ending() -> dict[str, Language]:
    return {ending: language for language in LANGUAGES for ending in language.endings}
