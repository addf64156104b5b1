"""Hold answers to the shapes in `yaadwatch/api/answers`: nothing undeclared, nothing missing."""

import functools
import json
import re
import sys
import types
import typing
from importlib import import_module

from yaadwatch.api.answers import files, graph, memories, shapes
from yaadwatch.api.frames import to_text
from yaadwatch.api.operations import BY_NAME
from yaadwatch.daemon.dispatch import VERBS

MODULES = (shapes, memories, graph, files)
UNIONS = (types.UnionType, typing.Union)
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def shapes_of(request):
    """Return the shapes that the answer to a request may have."""
    own = {name: one for module in MODULES for name, one in vars(module).items()}
    return [own[name] for name in request.ANSWER.split(" | ")]


def check(operation, answer):
    """Raise AssertionError where an answer is not as it is declared."""
    found = json.loads(to_text(answer))
    shapes_there = shapes_of(BY_NAME[operation].request)
    tried = [problems(found, one, operation) for one in shapes_there]
    if [] not in tried:
        raise AssertionError("\n".join(min(tried, key=len)))


def check_command(shape, answer):
    """Return the answer of a command that sends no request; raise where it is not as declared."""
    assert problems(json.loads(to_text(answer)), shape, shape.__name__) == []
    return answer


def checked(operation, verb):
    """Return a verb whose answers are checked, and whose request may be given field by field."""
    request = BY_NAME[operation].request

    @functools.wraps(verb)
    def call(home, call, *ask, **fields):
        if request.FIELDS and not ask:
            ask = (request(**fields),)
        answer = verb(home, call, *ask)
        check(operation, answer)
        return answer

    return call


def check_all():
    """Have the answer of every verb checked, wherever it is called from now on."""
    for operation, late in VERBS.items():
        module = import_module(f"yaadwatch.{late.module}")
        verb = getattr(module, late.name)
        for holder in {module, sys.modules[verb.__module__]}:
            setattr(holder, late.name, checked(operation, verb))


def problems(value, shape, at):
    """Return where a value differs from its shape."""
    origin, of, is_object = _taken_apart(shape)
    if origin in UNIONS:
        tried = [problems(value, one, at) for one in of]
        return [] if [] in tried else tried[0]
    if is_object:
        return _of_object(value, shape, at)
    if origin is list:
        if not isinstance(value, list):
            return [f"{at}: {value!r} is no list"]
        return [
            f"{at}[{place}]{rest}"
            for place, one in enumerate(value)
            for rest in problems(one, of[0], "")
        ]
    if origin is dict:
        if not isinstance(value, dict):
            return [f"{at}: {value!r} is no object"]
        return [
            f"{at}.{key}{rest}" for key, one in value.items() for rest in problems(one, of[1], "")
        ]
    if origin is typing.Literal:
        return [] if value in of else [f"{at}: {value!r} is none of {of}"]
    if _is_plain(value, shape):
        return []
    return [f"{at}: {value!r} is not {getattr(shape, '__name__', shape)}"]


def _of_object(value, shape, at):
    if not isinstance(value, dict):
        return [f"{at}: {value!r} is no object"]
    declared = keys_of(shape)
    found = [
        f"{at}.{key} is not declared in {shape.__name__}"
        for key in sorted(value.keys() - declared.keys())
    ]
    for key, (is_needed, kind) in declared.items():
        if key in value:
            found += [f"{at}.{key}{rest}" for rest in problems(value[key], kind, "")]
        elif is_needed:
            found.append(f"{at}.{key} is missing")
    return found


@functools.cache
def _taken_apart(shape):
    return typing.get_origin(shape), typing.get_args(shape), typing.is_typeddict(shape)


@functools.cache
def keys_of(shape):
    """Return of each key of a shape whether it is always there, and what its value is."""
    return {
        name.rstrip("_"): (name in shape.__required_keys__, kind)
        for name, kind in typing.get_type_hints(shape).items()
    }


def _is_plain(value, shape):
    if shape is shapes.Time:
        return isinstance(value, str) and TIME.fullmatch(value) is not None
    if shape is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if shape is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return shape is object or isinstance(value, shape)
