"""Which words of software mean the same, near enough to look for the one when asked for the other?

A small table of our own. A word stands in the group of what people interchange in notes about
code; words with several meanings in there (`call`, `key`, `run`) are left out. What the index
stems to the same (`deploy`, `deployed`) needs no row.
"""

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Final

_GROUPS: Final = (
    "auth, authentication, login, signin, sign in",
    "authorization, permission, access",
    "credential, secret, password, passphrase",
    "jwt, token",
    "db, database",
    "postgres, postgresql, psql",
    "mongo, mongodb",
    "k8s, kubernetes",
    "config, configuration, setting, option, preference",
    "env, environment",
    "repo, repository",
    "dir, directory, folder",
    "doc, documentation, docs",
    "dep, dependency",
    "pkg, package",
    "lib, library",
    "func, function, method",
    "param, parameter, argument, arg",
    "var, variable",
    "const, constant",
    "attr, attribute, property",
    "int, integer",
    "str, string",
    "bool, boolean",
    "js, javascript",
    "ts, typescript",
    "py, python",
    "golang, go",
    "rb, ruby",
    "bug, defect, issue",
    "error, exception, failure",
    "crash, panic, segfault",
    "fix, repair, patch, hotfix",
    "remove, delete, drop",
    "add, insert, append",
    "create, make, generate",
    "modify, change, edit, update",
    "rename, move",
    "fetch, retrieve, download",
    "send, submit, post",
    "store, persist, save",
    "start, launch, boot",
    "stop, halt, terminate, shutdown, quit",
    "retry, reattempt, backoff",
    "timeout, deadline",
    "slow, latency, sluggish",
    "fast, quick, performant",
    "performance, speed, throughput",
    "memory, ram, heap",
    "cache, memoize",
    "concurrent, parallel, simultaneous",
    "async, asynchronous",
    "sync, synchronize, synchronise",
    "lock, mutex, semaphore",
    "deadlock, contention",
    "queue, backlog",
    "worker, consumer",
    "job, cron",
    "log, logging, trace",
    "monitor, observe, observability, metric",
    "alert, alarm, notification",
    "email, mail",
    "ui, interface, frontend",
    "backend, server",
    "client, consumer",
    "endpoint, route, url",
    "api, rest",
    "request, req",
    "response, resp, reply",
    "db migration, schema change",
    "migration, migrate, upgrade",
    "schema, ddl",
    "deploy, release, rollout, ship",
    "rollback, revert, undo",
    "pipeline, ci, workflow, continuous integration",
    "test, spec",
    "mock, stub, fake",
    "lint, linter",
    "format, formatter, style",
    "indent, indentation",
    "convention, guideline, standard",
    "decide, decision, choose, chose, choice",
    "prefer, favor, favour",
    "avoid, forbid, prohibit",
    "required, mandatory, must",
    "optional, nullable",
    "deprecated, obsolete, legacy",
    "encrypt, encryption, cipher",
    "hash, digest, checksum",
    "validate, validation, verify, check",
    "sanitize, escape, clean",
    "parse, parser, decode",
    "serialize, serialise, encode, marshal",
    "compress, gzip, zip",
    "image, picture, photo",
    "container, docker",
    "vm, virtualization",
    "host, machine",
    "network, connection",
    "socket, websocket",
    "proxy, gateway",
    "user, account, member",
    "admin, administrator",
    "invoice, bill, billing",
    "payment, checkout, charge",
    "currency, money",
    "date, day",
    "time, timestamp, datetime",
    "id, identifier",
    "unique, distinct",
    "duplicate, repeated",
    "limit, quota, cap, maximum",
    "paginate, pagination, page",
    "sort, order, ordering",
    "search, find, lookup, query",
    "feature flag, toggle",
    "experiment, trial",
    "branch, fork",
    "merge, rebase",
    "commit, changeset",
    "pull request, pr, merge request",
    "review, approve, approval",
    "license, licence",
    "i18n, internationalization, translation, locale",
    "a11y, accessibility",
    "regex, regexp, pattern",
    "cli, command line, terminal, shell",
    "build, compile, bundle",
    "prod, production",
    "dev, development",
    "perf, performance",
    "infra, infrastructure",
    "expire, expiry, expiration, ttl, lifetime",
    "liveness, readiness, health",
    "cart, basket",
    "timezone, time zone, tz",
    "2fa, mfa, two factor, second factor",
    "sso, single sign on",
    "color, colour",
    "behavior, behaviour",
    "initialize, initialise",
    "optimize, optimise",
    "authorize, authorise",
    "artifact, artefact",
    "catalog, catalogue",
    "max, maximum",
    "min, minimum",
    "msg, message",
    "temp, temporary",
    "install, setup",
)
_WORD = re.compile(r"[^\W_]+")
_ENDING = re.compile(r"(?<=\w{3})(?:s|es|ed|ing)\Z")


def _table() -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for group in _GROUPS:
        names = group.split(", ")
        for name in names:
            others = dict.fromkeys(other for other in names if other != name)
            found.setdefault(name, {}).update(others)
    return {name: tuple(others) for name, others in found.items()}


TABLE: Final[Mapping[str, tuple[str, ...]]] = _table()
"""What else to look for, by a word or by two that belong together; in lower case."""


def synonyms(question: str) -> dict[str, list[str]]:
    """Return what means the same as words of the question, by those words, in lower case.

    Words that the question has itself are not among them.
    """
    words = [word.lower() for word in _WORD.findall(question)]
    there = {form for word in words for form in (word, _ENDING.sub("", word))}
    found: dict[str, list[str]] = {}
    for name in (*words, *map(" ".join, pairwise(words))):
        forms = dict.fromkeys((name, _ENDING.sub("", name)))
        others = dict.fromkeys(other for form in forms for other in TABLE.get(form, ()))
        if fresh := [other for other in others if other not in there]:
            found[name] = fresh
    return found
