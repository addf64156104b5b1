"""Which names does a text mention only to say that they are not used, or not there for long?

"Use `fetch()` instead of `requests.get`" stays true when nothing calls `requests.get` any more, and
so does "`client.on()` does not exist": nothing rests on such a name. Nor on what a text says is
about to go: "`make old` is replaced by `make new`" announces that `make old` goes.
"""

import re
from typing import Final

# No pattern may look at a character again and again: a text may be 64,000 characters of anything.
_NAME = (
    r"(?:`[^`\n]{1,120}`|(?<![\w$.:/-])[\w$]{1,60}(?:(?:[.:/#]|::)[\w$]{1,60}){1,6}(?:\(\))?"
    r"|(?<![\w$.:/-])(?:[\w$]{1,60}\(\)|[A-Za-z0-9]{1,30}(?:_[A-Za-z0-9]{1,30}){1,6}))"
)
_NAMES = rf"{_NAME}(?:(?:, ?(?:or |and )?| or | and | ?/ ?){_NAME}){{0,5}}"
_TO_USE = (
    r"(?:(?:us(?:e|ing)|call(?:ing)?|pass(?:ing)?|import(?:ing)?|rely(?:ing)? on|reach(?:ing)? for"
    r"|the|an?|any|your own|raw|plain|bare|old|legacy|direct|manual|hand-written|deprecated)"
    r"\s{1,3})"
)
_INSTEAD = re.compile(
    r"(?i)\b(?:instead of|rather than|in place of|as opposed to)\s{1,3}"
    rf"{_TO_USE}{{0,4}}({_NAMES})"
)
_NO_HEIR = re.compile(
    r"(?i)(?:\bdo not|\bdon['’]t|\bnever)\s{1,3}(?:replace|swap|switch)\s{1,3}"
    r"(?:it|them|this|that|these|those)\s{1,3}(?:out\s{1,3})?(?:with|by|for|to)\s{1,3}"
    rf"(?:(?:the|an?|any|another|\w{{1,30}}['’]s)\s{{1,3}}){{0,3}}({_NAMES})"
)
# Only a word for what it is may stand behind a name: "`prune()` removes rows that are gone" is
# about `prune()`, and no list of verbs is ever complete.
_SORT = (
    r"(?:api|argument|attribute|class|column|command|component|config|constant|decorator|dependency"
    r"|directory|endpoint|enum|env|event|field|file|fixture|flag|folder|function|header|helper|hook"
    r"|import|interface|job|key|library|macro|method|mixin|module|option|package|param|parameter"
    r"|plugin|prop|property|route|script|service|setting|struct|switch|table|target|task|test|trait"
    r"|type|variable|view|workaround|workflow|wrapper)s?"
)
_THING = rf"({_NAMES})(?:\s{{1,3}}{_SORT}){{0,2}}(?:\s{{1,3}}(?:in|of|from)\s{{1,3}}{_NAME})?"
"""Names, and what they are or where: "`fetch` helper in src/net.py"."""
_NO_MORE = r"no longer\s(?:needed|used|supported|available|required|necessary|there)"
_GONE = re.compile(
    rf"(?i){_THING},?\s{{1,3}}(?:(?:which|that)\s)?"
    r"(?:do(?:es)?(?:\snot|n['’]t)\sexist|no longer exists?"
    rf"|(?:is|are)\s(?:gone|{_NO_MORE})|(?:was|were|has been|have been)\sremoved)\b"
)
_BE = r"(?:is|are|was|were|has been|have been|will be|gets?|(?:is|are) (?:to be|being|going to be))"
_HEIR = rf"(?:(?:the|an?|its|our|new)\s{{1,3}}){{0,3}}{_NAME}"
_RELEASE = r"v?\d[\d.]*\b(?!\s?(?:ms|[smhd]|(?:second|minute|hour|day|week|month|year)s?)\b)"
_ONCE = (
    r"(?:(?:once|as soon as)\b|(?:in|with|by)\s(?:(?:the|a|an|our|some)\s)?"
    rf"(?:next|future|later|coming|upcoming|following|version|release|{_RELEASE})"
    r"|soon\b|shortly\b|eventually\b"
    rf"|(?:after|when)\b(?=[^.!?;\n]{{0,80}}\b(?:{_RELEASE}|releas|ship|migrat|merg|land|drop"
    r"|port|switch|deprecat|rollout|all\b|no (?:one|more|longer)\b|nobody|nothing|last\b"
    r"|is (?:out|gone)\b)))"
)
"""What happens once: a release, a migration. "After each run" is no such thing."""
_FOR_GOOD = rf"\b(?:\s{{1,3}}{_ONCE}|(?=\s*(?:$|[.,:;!)\n]|and\b|but\b|so\b)))"
"""What may stand behind a thing that goes: when, once, or nothing. "At logout" is each time."""
_ANNOUNCED = re.compile(
    rf"(?i){_THING},?\s{{1,3}}(?:"
    rf"{_BE}\s(?:(?:now|soon|gradually|slowly)\s)?(?:"
    rf"(?:(?:replaced|superseded)\s(?:by|with)|(?:renamed|migrated)\sto)\s{{1,3}}{_HEIR}"
    r"(?!\s{1,3}(?:at|during|on|upon|per)\b)"
    r"|deprecated\b|phased out\b|obsolete\b)"
    r"|(?:(?:will be|(?:is|are) (?:to be|being|going to be))\s(?:removed|deleted|dropped)"
    rf"|(?:goes|go|will go)\saway){_FOR_GOOD})"
)
"""What is said to go, or to be on its way out."""
_SUCCEEDED = re.compile(
    rf"(?i){_NAME}(?:\s{{1,3}}{_SORT}){{0,2}}\s{{1,3}}"
    rf"(?:(?:has|have|will)\s)?(?:replace[sd]?|supersede[sd]?)\s{{1,3}}"
    rf"(?:(?:the|our|its|old|legacy|former)\s{{1,3}}){{0,3}}({_NAMES})(?!\s{{1,3}}(?:with|by)\b)"
)
_MIGRATED = re.compile(
    rf"(?i)\bmigrat(?:e|es|ed|ing|ion)\s(?:away\s)?from\s{{1,3}}({_NAMES})\s{{1,3}}to\s{{1,3}}{_HEIR}"
)
_PLAN = (
    r"(?:(?:^|(?<=\n)|(?<=[.!?:;]\s)|(?<=[-*+]\s)|(?<=\]\s))"
    r"|\b(?:we|let['’]s|please|then|todo|fixme)(?:['’](?:re|ll|ve))?\s{1,3})"
    r"(?:(?:now|soon|gradually|slowly|currently|are|will|have to|should|must|plan to|want to"
    r"|going to|have|let['’]s|please|then|we)\s{1,3}){0,4}"
)
"""What begins a sentence that says what its writers do: "We are", "todo:", nothing at all."""
_WE = r"(?:\b(?:we|let['’]s|todo|fixme)\b:?\s{1,3}|(?<=\]\s))(?:\w{1,12}\s{1,3}){0,2}"
_MOVED = re.compile(
    rf"(?im)(?:{_PLAN}(?:mov|switch|chang|port)(?:ed|ing)|{_WE}(?:move|switch|change|port))"
    rf"\s(?:(?:away|over)\s)?from\s{{1,3}}(?:the\s{{1,3}})?({_NAMES})\s{{1,3}}(?:over\s)?to\s"
)
"""Without "we", "switch from `a` to `b`" is what a reader is to do, with both at hand."""
_REPLACED = re.compile(
    rf"(?im){_PLAN}(?:replac(?:e|ing)|swap(?:ping)?)\s{{1,3}}"
    rf"(?:(?:all|any|the|old|every)\s{{1,3}}){{0,3}}{_THING}\s{{1,3}}(?:with|by|for)\s{{1,3}}{_HEIR}"
)
_DELETED = re.compile(
    rf"(?im){_PLAN}(?:(?:delet|remov|retir)(?:e|ing)|drop(?:ping)?)\s{{1,3}}"
    rf"(?:(?:the|old|legacy)\s{{1,3}}){{0,2}}{_THING},?\s{{1,3}}{_ONCE}"
)
_TO_BE_DELETED = re.compile(
    rf"(?i){_THING}\s{{1,3}}(?:"
    rf"(?:can|could|may|should|must)\sbe\s(?:removed|deleted|dropped|retired),?\s{{1,3}}{_ONCE}"
    r"|(?:is|are)\s(?:scheduled|slated|due|up|marked)\sfor\s(?:removal|deletion)\b"
    r"|(?:(?:is|are)\s(?:being\s)?|will be\s)(?:retired|sunset)\b)"
)
_REST = r"(?:[^.!?\n]|[.!?](?=\S))*"
"""What may stand between a word and another one of its sentence: `a.py` ends none."""
_QUOTED = re.compile(r"`[^`\n]*`")
_AGAIN = re.compile(
    rf"(?i){_REST}\b(?:you(?:r|['’](?:re|ve))?|each|whenever|when|if|during|done|finished"
    r"|every (?:time|run|build|test|day|release)|the (?:tests?|suite|build|run)|fails?"
    r"|for (?:an?|each|every|local|testing|debugging|development)|by running|before|ends?"
    r"|logs? out|exits?|closes?|expires?|at (?:\w+ time|runtime|start|shutdown|log(?:in|out)))\b"
)
"""What makes an instruction one for each time: "Delete `a` once you are done" needs `a`."""
_PLANS = (_MOVED, _REPLACED, _DELETED, _TO_BE_DELETED)
"""What a text announces to go. When that comes true, the text is as true as it was."""
_GOES: Final = ("removed", "deleted", "dropped")
_PATTERNS: Final = (
    (_INSTEAD, ("instead of", "rather than", "in place of", "as opposed to")),
    (_NO_HEIR, ("replace", "swap", "switch")),
    (_GONE, ("exist", "gone", "no longer", "removed")),
    (
        _ANNOUNCED,
        (
            *("replaced", "superseded", "renamed", "migrated", "deprecated", "phased out"),
            *("obsolete", "away", *_GOES),
        ),
    ),
    (_SUCCEEDED, ("replace", "supersede")),
    (_MIGRATED, ("migrat",)),
    (_MOVED, ("from",)),
    (_REPLACED, ("replac", "swap")),
    (_DELETED, ("delet", "remov", "retir", "drop")),
    (_TO_BE_DELETED, (*_GOES, "retired", "sunset", "removal", "deletion")),
)
"""Each pattern, and the words of which a text that it matches has one."""
_REFUSED = re.compile(r"(?i)\b(?:not|never|no|avoid|cannot|without|nobody)\b|n['’]t\b")
_SENTENCE_ENDS = re.compile(r"[.!?]\s")
_ONE = re.compile(r"(?i)\b(?:does|exists|is|was|has)\b")
"""What is said of one thing: of `a`, and `b` is gone says nothing of `a`."""
_LAST_NAME = re.compile(rf".*(?:, ?(?:and )?| and )(?={_NAME}\Z)", re.DOTALL)
_WHEN = r"\b(?:if|when|whenever|unless|whether|until|while|where|in case)\b"
_CONDITION = re.compile(rf"(?i){_WHEN}{_REST}\Z")
_CONDITION_BEHIND = re.compile(rf"(?i)[^.!?;\n]*{_WHEN}")
_NOT = re.compile(
    r"(?i)(?:\b(?:not|never|no|nobody|nothing|avoid|why|cannot|without)|n['’]t)\b"
    r"(?:[^.!?;:\n]|[.!?:](?=\S))*\Z"
)
_PUT = re.compile(
    r"(?i)\b(?:put(?:s|ting)?|insert(?:s|ed|ing)?|substitut(?:es?|ed|ing)|paste[sd]?|type[sd]?"
    r"|writ(?:es?|ten|ing)|fill(?:s|ed|ing)?|enter(?:s|ed|ing)?)\b"
    r"(?:[^.!?;:\n]|[.!?:](?=\S))*\bin place of\b[^.!?;\n]*\Z"
)
"""What is put in place of a name needs the name to be there."""
_SENTENCE_MAX = 200
"""Characters before a name in which a condition, or a `not`, is looked for; behind it the same."""


def without(text: str) -> str:
    """Return a text with spaces in place of names of which it says that they are not used, or go.

    "If `config.toml` does not exist" is no such thing, nor is "never use `a()` instead of `b()`".
    """
    lowered = text.lower()
    for pattern, words in _PATTERNS:
        if not any(map(lowered.__contains__, words)):
            continue
        for found in list(pattern.finditer(text)):
            start, end = found.span(1)
            if pattern is _GONE and _ONE.search(text, end, found.end()):
                others = _LAST_NAME.match(text, start, end)
                start = others.end() if others is not None else start
            before = text[max(0, start - _SENTENCE_MAX) : start]
            behind = text[found.end() : found.end() + _SENTENCE_MAX]
            if pattern is _INSTEAD:
                kept = bool(_NOT.search(before) or _PUT.search(before))
            elif pattern is _ANNOUNCED:
                kept = _conditional(before, behind) or bool(_AGAIN.match(behind))
            elif pattern in _PLANS:
                said = _SENTENCE_ENDS.split(before)[-1]
                kept = bool(
                    _REFUSED.search(said)
                    or _CONDITION.search(said)
                    or _AGAIN.match(_QUOTED.sub("", behind))
                )
            else:
                kept = _conditional(before, behind)
            if not kept:
                text = text[:start] + " " * (end - start) + text[end:]
    return text


def _conditional(before: str, behind: str) -> bool:
    return bool(_CONDITION.search(before) or _CONDITION_BEHIND.match(behind))
