"""What does a statement claim? Values that can be compared: "Python 3.11", "the port is 8080".

Two statements can only contradict each other where both give a value to the same thing, so a claim
is taken from a sentence that says nothing else: a whole sentence must fit one of a few forms, and
what a form does not name (a condition, a past, a guess, a comparison) makes it no claim. A claim
that is missed costs nothing; one that is none costs somebody's trust.

A qualifier belongs to the subject: "tabs in Go files" and "spaces in Python files" are about two
things.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from yaadwatch.core.truth.claiming import verbs
from yaadwatch.core.truth.claiming.parts import (
    AMOUNT,
    NUMBER,
    QUALIFIER,
    UNIT,
    VERSION,
    as_noun,
    differ,
    may_hold,
    qualified,
    sense,
    stripped,
    without_article,
)
from yaadwatch.core.truth.claiming.words import (
    ALONE,
    CHOICES,
    EMPTY_WORDS,
    ENVIRONMENTS,
    NAMED_VALUES,
    OF_THE_PROJECT,
    PARTS,
    PHRASES,
    TOOLS,
    TOPICS,
    WORD_VALUES,
)
from yaadwatch.model.nodes import Node

SENTENCE_CHARS_MAX: Final = 240
"""A longer sentence says more than one value."""
SENTENCES_MAX: Final = 200
"""Sentences of a text that are looked at."""
CLAIMS_MAX: Final = 16
"""Claims taken from one text; a longer list of values is a document."""
VALUE: Final = "value"
PROJECT: Final = "project"
"""The subject of what is said of nothing in particular."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """`subject` has `value` as its `attribute`.

    `value` is as it was written, `sense` as it is compared: "30 s" and "30 seconds" are one.
    `place` is the folder in which it holds, from the top of the project; '' for all of it.
    `evidence` is the sentence.
    """

    subject: str
    attribute: str
    value: str
    sense: str
    place: str = ""
    evidence: str = ""


def extract(text: str, *, place: str = "", headings: Sequence[str] = ()) -> tuple[Claim, ...]:
    """Return what a text claims, in its order, each subject and attribute once; at most 16.

    A text that gives one thing two values claims neither.

    Args:
        text: a statement, masked.
        place: the folder it holds for; '' for the whole project.
        headings: those that it stands under, outermost first: "the port is 80" is about the last.
            What stands under a heading in the text, or under a line that ends with a colon, stands
            under that, too.
    """
    found: dict[tuple[str, str], Claim] = {}
    unsure = set()
    for sentence, intros in _placed(text):
        around = (*headings, *intros)
        if any(map(_OF_MANY.search, around)):
            continue
        claim = _claim(sentence, around)
        if claim is None:
            continue
        if claim.subject == PROJECT and claim.attribute in NAMED_VALUES and around:
            about = as_noun(around[-1])
            if about.endswith(f"{claim.attribute}s"):
                continue  # one of several: "Ports" stands over "Port 80" and "Port 443"
            claim = replace(claim, subject=about or PROJECT)
        claim = _scoped(claim, around) if around else claim
        key = claim.subject, claim.attribute
        if key in found and differ(claim.attribute, found[key].sense, claim.sense):
            unsure.add(key)
        found.setdefault(key, replace(claim, place=place, evidence=sentence))
    return tuple(claim for key, claim in found.items() if key not in unsure)[:CLAIMS_MAX]


def given(
    *, subject: str, attribute: str, value: str, place: str = "", evidence: str = ""
) -> Claim:
    """Return a claim in the words of a caller, as it is compared with others.

    Raises:
        ValueError: subject, attribute or value has no words.
    """
    plain = {"subject": as_noun(subject), "attribute": as_noun(attribute), "value": stripped(value)}
    for name, words in plain.items():
        if not words:
            raise ValueError(f"{name} must have words, got {words!r}")
    return Claim(
        subject=plain["subject"],
        attribute=plain["attribute"],
        value=plain["value"],
        sense=_version_sense(value) if plain["attribute"] == VERSION else sense(value),
        place=place,
        evidence=evidence,
    )


def subject_of(words: str) -> str:
    """Return a subject in the words of a caller, as it is compared with others."""
    return as_noun(words)


HOLDS_IN: Final = "holds_in"
"""The attribute of a memory that says in which package it was stated."""


def holds_in(node: Node) -> str:
    """Return the folder that a memory holds for; '' for the whole project."""
    said = node.attributes.get(HOLDS_IN)
    return said if isinstance(said, str) else place_of(node.origin)


def place_of(origin: str) -> str:
    """Return the folder that a statement from `origin` holds for: that of an agent file below.

    Folders of tools (`.github`, `.cursor/rules`) hold for the folder that they are in.
    """
    kind, _, path = origin.partition(":")
    if kind != "file":
        return ""
    folders = path.split("/")[:-1]
    hidden = next((at for at, name in enumerate(folders) if name.startswith(".")), len(folders))
    return "/".join(folders[:hidden])


def _version_sense(value: str) -> str:
    """Return a version as it is compared; 3.1 and 3.10 are two, 18.x and 18 are one."""
    plain = stripped(value).lower()
    found = _A_VERSION.fullmatch(plain)
    return found["version"].removesuffix(".x").removesuffix(".*") if found else plain


_A_VERSION = re.compile(r"v?(?P<version>\d+(?:\.\d+){0,3}(?:\.[x*])?)")
_NOT_SURE = re.compile(
    r"\b(?:not|no|never|cannot|can't|don't|doesn't|isn't|aren't|won't|without|unless|except|if|when"
    r"|whether|until|before|after|while|once|was|were|had|been|used to|old|legacy|formerly"
    r"|previously|originally|no longer|deprecated|will|would|could|may|might|maybe|perhaps|probably"
    r"|likely|consider|considering|try|trying|want|wants|plan|planned|propose|proposed|suggest"
    r"|either|or|between|at least|at most|up to|about|around|approximately|roughly|almost|over"
    r"|under|above|below|least|most|more|less|fewer|than|from|(?<!defaults )(?<!set )to|since"
    r"|into|also|additionally|sometimes|usually|often|typically|normally|instead|temporarily|todo|fixme|example|e\.g|eg|and|but"
    r"|supports?|tested|compatible|works?|introduced|removed|added|dropped|broke|broken|fails?"
    r"|upgrade|upgraded|migrate|migrated|moved|switched|changed|bumped|raised|increased|lowered"
    r"|reduced|other|others|another|some|any|each|every|per|both|all)\b|[?<>~≥≤±^]",
    re.IGNORECASE,
)
"""What makes a sentence something else than the plain value of one thing now."""
_REASON = re.compile(r",? \(?(?:because|so that|due to|as it|which)\b.*$|; .*$", re.IGNORECASE)
_REPLACED = re.compile(
    r",? (?:and )?(?:not|instead of|rather than|never) (?:with |the )?"
    r"[`\"']?(?P<other>[\w.+-]+)[`\"']?$",
    re.IGNORECASE,
)
_OF_MANY = re.compile(
    r"\b(?:supported|supports?|supporting|compatib\w+|matri(?:x|ces)|tested|options"
    r"|alternatives|choices|history|changelog|changes|release notes|migrat\w+|upgrad\w+"
    r"|deprecat\w+|legacy|old|former\w*|previous\w*|obsolete|removed|roadmap|planned|proposals?"
    r"|proposed|ideas?|todo|future)\b",
    re.IGNORECASE,
)
"""What makes a heading one over several things that hold beside each other, or not now."""
_LEAD = re.compile(
    r"(?:(?:note|decision|rule|convention|important|reminder|decided)(?::| that) )"
    r"|(?:always|please|only|just|now|currently|we|i|this project|the project|this repo(?:sitory)?"
    r"|the repo(?:sitory)?|the team|our team|everyone|it) (?=\S)",
    re.IGNORECASE,
)
REASONS: Final = ("because", "so that", "due to", "as it", "which", "; ")
REPLACINGS: Final = ("not ", "instead of ", "rather than ", "never ")
PORTS: Final = ("port",)
"""Of these words every match of the pattern in ASCII has one; most sentences have none."""
_MARK = re.compile(r"^(?:[-*+•]|\d{1,3}[.)])\s+|\*\*|`|\"|“|”")
_SET_TO = re.compile(
    r"set (?:the |our )?(?P<name>(?!.*\bis\b)\S.*?) to (?P<value>\d.*)", re.IGNORECASE
)
_END = re.compile(r"(?<!\b[eE]\.[gG])(?<!\b[iI]\.e)(?<=[\w`)\]\"'*])[.!](?=\s|$)|\n+")
_VERB_USE = (
    r"(?:use|uses|using|require|requires|run|runs|run on|runs on|target|targets|need|needs|are on"
    r"|is on|pin|pins|pinned to|must use|should use|are using|is using|stay on)"
)
_NAME = r"(?P<tool>[A-Za-z.][\w.+-]*)"
_NUMBER = r"v?\d+(?:\.\d+){0,3}(?:\.[x*])?"
_NOUN = r"(?P<noun>[A-Za-z_][\w./-]*(?: [\w./-]+){0,4}?)"
_IS = (
    r"(?: (?:is|are|is set to|defaults to|must be|should be|is always|has to be|equals|stays"
    r"|stays at|must stay at|should stay at|remains at)|:| ?=)"
)
_WORD = r"[A-Za-z0-9][\w./+:-]*(?:/[\w+-]+)?"

_USES_VERSION = re.compile(
    rf"(?:{_VERB_USE} )?{_NAME} (?:version )?(?P<version>{_NUMBER})"
    rf"(?: (?:is|are) (?:used|required|the (?:target|version)))?(?: everywhere)?{QUALIFIER}",
    re.IGNORECASE,
)
_VERSION_IS = re.compile(rf"{_NAME} version{_IS} (?P<version>{_NUMBER}){QUALIFIER}", re.IGNORECASE)
_USES_CHOICE = re.compile(
    rf"(?:{_VERB_USE}|indent with|package manager(?: is|:)) {_NAME}"
    r"(?: (?:as (?:the |our )?(?:package manager|test runner|formatter)|for indentation"
    r"|everywhere))?"
    rf"{QUALIFIER}",
    re.IGNORECASE,
)
_CHOICE_IS = re.compile(
    rf"{_NAME} is (?:the|our) (?:package manager|test runner|formatter){QUALIFIER}", re.IGNORECASE
)
_INDENT = re.compile(
    rf"(?:indent(?: with| by|ation is|ation:)|use|uses) (?P<amount>\d+[ -](?:spaces?|columns?))"
    rf"(?: for indentation| indentation)?(?: everywhere)?{QUALIFIER}",
    re.IGNORECASE,
)
_BARE_PORT = re.compile(r"port:? (?P<value>\d{2,5})", re.IGNORECASE)
_LISTENS = re.compile(
    rf"{_NOUN} (?:listens|listen|runs|run|is|is served|serves|is reachable|starts|answers) on port "
    rf"(?P<value>\d{{2,5}}){QUALIFIER}",
    re.IGNORECASE,
)
_VALUE_IS = re.compile(
    rf"{_NOUN}{_IS} (?P<value>{NUMBER} ?(?:{UNIT})?|{_WORD}){QUALIFIER}",
    re.IGNORECASE,
)


_OURS: Final = ("repo", "repository", "project")
_OF = re.compile(
    rf"(?P<name>default branch|time zone|{'|'.join(NAMED_VALUES)}) of (?P<whose>[^\W\d].*)"
)

_DIGIT = re.compile(r"[0-9]")
_LETTERS = re.compile(r"[a-z]+")
_HINTS: Final = frozenset((*CHOICES, *WORD_VALUES, "zone"))


def _may_claim(text: str) -> bool:
    """Return whether a form may fit: most texts have no number and none of the words in them."""
    lowered = text.lower()
    if _DIGIT.search(lowered):
        return True
    words = _LETTERS.findall(lowered)
    return not _HINTS.isdisjoint(words) or verbs.tells_without_digit(words)


def _sentences(text: str) -> Iterator[str]:
    if not _may_claim(text):
        return
    may_end = "." in text or "!" in text or "\n" in text
    pieces = _END.split(text, maxsplit=SENTENCES_MAX)[:SENTENCES_MAX] if may_end else [text]
    for piece in pieces:
        sentence = " ".join(piece.split())
        if len(sentence) <= SENTENCE_CHARS_MAX and _may_claim(sentence):
            yield sentence


def _placed(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Return the sentences of a text, each with the headings in it that it stands under."""
    if ":\n" not in text and ("#" not in text or not _HEADED.search(text)):
        for sentence in _sentences(text):
            yield sentence, ()
        return
    if not _may_claim(text):
        return
    left = SENTENCES_MAX
    for block, intros in _blocks(text):
        for sentence in _sentences(block):
            if not left:
                return
            left -= 1
            yield sentence, intros


def _blocks(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Return what stands under each heading of a text, or under a line that ends with a colon.

    What follows such a list after an empty line is not in it any more.
    """
    headings: list[tuple[int, str]] = []
    for block in _BLOCK.split(text):
        head, _, rest = block.partition("\n")
        under = tuple(name for _, name in headings)
        if marked := _HEADED.match(head):
            level = marked[0].count("#")
            headings = [one for one in headings if one[0] < level]
            headings.append((level, head[marked.end() :].rstrip(" #")))
            yield rest, tuple(name for _, name in headings)
        elif head.endswith(":") and rest:
            listed, *after = _LIST_END.split(rest, maxsplit=1)
            yield listed, (*under, " ".join(_MARK.sub("", head).split()).rstrip(":"))
            for paragraph in after:
                yield paragraph, under
        else:
            yield block, under


_HEADED = re.compile(r"^ {0,3}#{1,6} +(?=\S)", re.MULTILINE)
_BLOCK = re.compile(r"\n(?= {0,3}#{1,6} +\S|[^\n]*:\n)")
_LIST_END = re.compile(r"\n[ \t]*\n(?=[^\s\-*+\d•])")


def _claim(sentence: str, around: Sequence[str]) -> Claim | None:
    plain = " ".join(_MARK.sub("", sentence).split())
    if may_hold(plain, REASONS):
        plain = _REASON.sub("", plain)
    plain = plain.rstrip(" .!,;")
    replaced = _REPLACED.search(plain) if may_hold(plain, REPLACINGS) else None
    if replaced:
        plain = plain[: replaced.start()]
    while lead := _LEAD.match(plain):
        plain = plain[lead.end() :]
    plain = without_article(plain)
    if plain[:4].lower() == "set ":
        plain = _SET_TO.sub(r"\g<name> is set to \g<value>", plain)
    claim = (
        _version(plain)
        or _indentation(plain)
        or _choice(plain, replaced["other"] if replaced else "")
        or (None if replaced else _port(plain) or _value(plain))
    )
    # Few sentences fit a form, and to look for all that may stand in the way takes long.
    if claim is not None:
        return None if _NOT_SURE.search(plain) else claim
    return None if replaced else _told(plain, around)


def _told(plain: str, around: Sequence[str]) -> Claim | None:
    """Return the claim of a verb; "after", "every" and the like are of its form, not in its way."""
    found = verbs.told(plain)
    if found is None or _NOT_SURE.search(found.open_words):
        return None
    subject = found.subject
    if found.bare and around:
        subject = f"{as_noun(around[-1])} {subject}".strip()
    elif found.vague:
        return None
    subject = qualified(subject or PROJECT, found.where)
    return Claim(
        subject=subject, attribute=found.attribute, value=found.value, sense=sense(found.value)
    )


def _scoped(claim: Claim, around: Sequence[str]) -> Claim:
    """Return a claim about what it is about under headings: "api in production".

    What the claim says itself is not said again, and what is the same in all of a project is not
    qualified by a heading that may be its topic.
    """
    said = set(_LETTERS.findall(claim.subject))
    subject = claim.subject
    part = _part(around)
    if part and said.isdisjoint(part.split()):
        subject = qualified(subject, f"in {part}")
    place = _environment(around)
    topic = place in TOPICS and claim.attribute in OF_THE_PROJECT
    if place and not topic and said.isdisjoint(ENVIRONMENTS):
        subject = qualified(subject, f"in {place}")
    return replace(claim, subject=subject)


def _part(around: Sequence[str]) -> str:
    """Return the innermost heading that names a part of the project; '' if none does."""
    nouns = map(as_noun, reversed(around))
    return next((noun for noun in nouns if noun.rpartition(" ")[2] in PARTS), "")


def _environment(around: Sequence[str]) -> str:
    """Return where what stands under headings holds: "production"; '' for everywhere."""
    words = (word for heading in around for word in _LETTERS.findall(heading.lower()))
    return next((ENVIRONMENTS[word] for word in words if word in ENVIRONMENTS), "")


def _version(plain: str) -> Claim | None:
    found = _USES_VERSION.fullmatch(plain) or _VERSION_IS.fullmatch(plain)
    if found is None:
        return None
    tool = TOOLS.get(found["tool"].lower())
    if tool is None:
        return None
    return Claim(
        subject=qualified(tool, found["where"]),
        attribute=VERSION,
        value=found["version"],
        sense=_version_sense(found["version"]),
    )


def _indentation(plain: str) -> Claim | None:
    found = _INDENT.fullmatch(plain)
    if found is None:
        return None
    amount = found["amount"].replace("-", " ")
    return Claim(
        subject=qualified(PROJECT, found["where"]),
        attribute="indentation",
        value=amount,
        sense=sense(amount),
    )


def _choice(plain: str, replaced: str) -> Claim | None:
    """Return the claim of a choice; what it replaces, if that is said, must be of the same row."""
    found = _USES_CHOICE.fullmatch(plain) or _CHOICE_IS.fullmatch(plain)
    if found is None:
        return None
    name = found["tool"].lower()
    attribute = CHOICES.get(name, "")
    if not attribute or (replaced and CHOICES.get(replaced.lower()) != attribute):
        return None
    return Claim(
        subject=qualified(PROJECT, found["where"]),
        attribute=attribute,
        value=found["tool"],
        sense=name,
    )


def _port(plain: str) -> Claim | None:
    if not may_hold(plain, PORTS):
        return None
    bare = _BARE_PORT.fullmatch(plain)
    found = bare or _LISTENS.fullmatch(plain)
    if found is None or int(found["value"]) > verbs.PORT_MAX:
        return None
    if bare:
        value = bare["value"]
        return Claim(subject=PROJECT, attribute="port", value=value, sense=sense(value))
    subject = as_noun(found["noun"])
    if not subject:
        return None
    return Claim(
        subject=qualified(subject, found["where"]),
        attribute="port",
        value=found["value"],
        sense=sense(found["value"]),
    )


def _value(plain: str) -> Claim | None:
    """Return the claim of "the cache size is 12 MB": a noun whose last word has one value."""
    found = _VALUE_IS.fullmatch(plain)
    if found is None:
        return None
    noun = as_noun(found["noun"])
    if of := _OF.fullmatch(noun):  # the port of the api: the api port
        whose = as_noun(of["whose"])
        noun = of["name"] if whose in _OURS else f"{whose} {of['name']}"
    for phrase, word in PHRASES.items():
        noun = re.sub(rf"\b{phrase}$", word, noun)
    name = next((one for one in ("default branch", *NAMED_VALUES) if _ends(noun, one)), None)
    value = found["value"].strip()
    if name is None or not _is_value(name, value):
        return None
    subject = noun.removesuffix(name).strip(" _-.") or PROJECT
    if subject == PROJECT and name not in ALONE:
        return None
    return Claim(
        subject=qualified(subject, found["where"]),
        attribute=name,
        value=value,
        sense=_version_sense(value) if name == VERSION else sense(value),
    )


def _is_value(name: str, value: str) -> bool:
    """Return whether this can be the value of what is called so: no state, and no amount in what
    nobody can say in other units ("2g", "10k", "100/min", "1M").
    """
    if name == VERSION:
        return _A_VERSION.fullmatch(value.lower()) is not None
    if AMOUNT.fullmatch(value.lower()) and not _MILLIONS.search(value):
        return True
    is_word = name.rpartition(" ")[2] in WORD_VALUES and value.lower() not in EMPTY_WORDS
    return is_word and not _STATE.search(value)


_MILLIONS: Final = re.compile(r"\d ?M$")
_STATE: Final = re.compile(
    r"^(?!stable$|live$).*[a-z](?:ed|able|ible|less|ful|ive|ous|tten|dden)$", re.IGNORECASE
)


def _ends(noun: str, name: str) -> bool:
    """Return whether `name` is the last word of `noun`, or of the identifier that it ends in."""
    return noun == name or noun.endswith((f" {name}", f"_{name}", f".{name}", f"-{name}"))
