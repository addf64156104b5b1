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
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def shapes_of(request):
    """Return the shapes that the answer to a request may have."""
    own = {name: one for module in MODULES for name, one in vars(module).items()}
    return [own[name] for name in request.ANSWER.split(" | ")]


def check(operation, answer):
    """Raise AssertionError where an answer is not as it is declared."""
    found = json.loads(to_text(answer))
    shapes_there = shapes_of(BY_NAME[operation].request)
    tried = [list(problems(found, one, operation)) for one in shapes_there]
    if [] not in tried:
        raise AssertionError("\n".join(min(tried, key=len)))


def check_command(shape, answer):
    """Return the answer of a command that sends no request; raise where it is not as declared."""
    assert list(problems(json.loads(to_text(answer)), shape, shape.__name__)) == []
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
    """Yield where a value differs from its shape."""
    if typing.get_origin(shape) in {types.UnionType, typing.Union}:
        tried = [list(problems(value, one, at)) for one in typing.get_args(shape)]
        yield from () if [] in tried else tried[0]
    elif typing.is_typeddict(shape):
        yield from _of_object(value, shape, at)
    elif typing.get_origin(shape) is list:
        if not isinstance(value, list):
            yield f"{at}: {value!r} is no list"
            return
        for place, one in enumerate(value):
            yield from problems(one, typing.get_args(shape)[0], f"{at}[{place}]")
    elif typing.get_origin(shape) is dict:
        if not isinstance(value, dict):
            yield f"{at}: {value!r} is no object"
            return
        for key, one in value.items():
            yield from problems(one, typing.get_args(shape)[1], f"{at}.{key}")
    elif typing.get_origin(shape) is typing.Literal:
        if value not in typing.get_args(shape):
            yield f"{at}: {value!r} is none of {typing.get_args(shape)}"
    elif not _is_plain(value, shape):
        yield f"{at}: {value!r} is not {getattr(shape, '__name__', shape)}"


def _of_object(value, shape, at):
    if not isinstance(value, dict):
        yield f"{at}: {value!r} is no object"
        return
    declared = keys_of(shape)
    for key in sorted(value.keys() - declared.keys()):
        yield f"{at}.{key} is not declared in {shape.__name__}"
    for key, (is_needed, kind) in declared.items():
        if key in value:
            yield from problems(value[key], kind, f"{at}.{key}")
        elif is_needed:
            yield f"{at}.{key} is missing"


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
