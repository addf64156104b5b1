"""Read what a text says of a set: how many there are ("12 tools"), or which ("modules: a, b, c").

A number that is not exact, of another time, or part of an instruction states nothing. A list that
goes on ("such as a and b", "a, b and more") says only that its members are there.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from yaadwatch.anchors import counts, values
from yaadwatch.anchors.code_sets import CodeSet, member
from yaadwatch.text.words import cached, word_set

STATED_MAX: Final = 8
"""Sets that one text may state; a text with more is a table."""
SIZE_MAX: Final = 200
_TEXT_CHARS_MAX: Final = 20_000
_MARKS: Final = str.maketrans("`*", "  ")
_WORD: Final = r"[A-Za-z][\w.-]{0,40}"
_NOUN: Final = r"[A-Za-z][\w-]{0,40}(?<![suiS])s"
_COUNTED: Final = re.compile(
    r"\s{1,3}((?:(?!(?:of|or|and|in|to|is|are|for|with|at|the|per|by|on|as)\b)"
    rf"{_WORD}\s{{1,3}}){{0,3}}?)({_NOUN})\b"
    r"(?!\s{1,3}(?:or more|each|per|at a time|at once|long|old|ago|later|apart|in a row|fixed|added"
    r"|removed|changed|updated|passing|passed|pass|failed|failing|skipped|created|resolved|left)\b)"
    r"(?![-/+])"
)
"""What is counted, behind a number."""
_NOT_EXACT: Final = re.compile(
    r"(?i)(?:(?<![\w-])(?:about|around|over|under|above|below|than|least|most|to|nearly|almost"
    r"|roughly|approximately|approx\.?|some|maximum|max|minimum|min|every|first|last|next|top|another|other"
    r"|additional|extra|more|or|between \S{1,20} and|within|after|before|was|were|had|any|version|v"
    r"|until|per|up to the|once|add|adds|create|creates|write|use|run|choose"
    r"|pick|try|make|generate|provide|need|needs|keep|limit|spawn|wait|allow|allows|takes?|accept"
    r"|requires?|returns?|fetch|shows?|sends?|batch|start|launch|open|read|wants?|do|give|split"
    r"|follow|see|touch|touches|change|changes|remove|removed|deleted?|added|spends?|retry|retries)"
    r"|[~<>≤≥#=–-])\s*\Z"
)
_TOLD: Final = re.compile(
    r"(?:\A|[.!?:;]\s|\n)[\s>*_-]{0,8}"
    r"(?!(?:The|All|Our|These|Those|Exactly|Only|Its|Has|Have|Now|Currently|Both)\b)"
    r"[A-Z][a-z]{1,20}(?<!s)\s{1,3}\Z"
)
"""The only word before a number: what the reader is told to do."""
_TIME_OR_SIZE: Final = word_set(
    """
    milliseconds seconds secs minutes mins hours days weeks months years quarters bytes bits
    kilobytes megabytes gigabytes lines times tries attempts retries spaces characters chars columns
    rows percent points pixels dots cores cpus digits tokens sentences paragraphs words letters
    spaces tabs levels ways reasons things rules steps phases persons people users engineers
    reviewers approvals commits requests connections threads workers replicas instances copies
    """
)
"""What is no set of the code, or is as many for another reason."""
_SINGLE: Final = r"(?:is one of|is either|can be|may be|must be|are one of)"
_JOINER: Final = re.compile(
    rf"(?i)\s{{0,3}}(?P<open>\b(?:including|includes?|such as|like|e\.g\.|for example)[:,]?"
    rf"|\([ ]?(?:e\.g\.|such as|like|including),?)\s{{1,3}}"
    rf"|(?P<one>\s{{0,3}}\b{_SINGLE}:?\s{{1,3}})"
    r"|\s{0,3}(?P<all>\b(?:are|supports?|handles?|exposes?|offers?|accepts?|registers?|contains?|has"
    r"|provides?|namely)(?::|\s)|:\s|\(|\s[—–-]\s)\s{0,3}"
)
_ITEM: Final = (
    r"(?!(?:and|or|the|an?|not|no|in|of|to|by|for|with|that|which|is|are|was|were|has|have|can|must"
    r"|should|each|both|but|so|see|etc|more|others?|several|many|some|lives?)\b)"
    r"[\"']?[A-Za-z_.@][\w@.#+/-]{0,60}[\"']?(?:\(\))?"
)
_GLOSS: Final = r"(?:\s?\([^()\n]{1,80}\))?"
_LIST: Final = re.compile(
    rf"(?:(?:the|one of|either)\s{{1,3}})?({_ITEM}{_GLOSS}"
    rf"(?:(?:\s{{0,3}},\s{{0,3}}(?:(?:and|or)\s{{1,3}}|&\s)?|\s{{1,3}}(?:and|or|&)\s{{1,3}}|\s[/|]\s){_ITEM}{_GLOSS}){{1,40}})"
)
_SPLIT: Final = re.compile(
    r"\s{0,3},\s{0,3}(?:(?:and|or)\s{1,3}|&\s)?|\s{1,3}(?:and|or|&)\s{1,3}|\s[/|]\s"
)
_IN_BRACKETS: Final = re.compile(r"\s?\([^()\n]{1,80}\)")
_GOES_ON: Final = re.compile(
    r"(?i)\s{0,3},?\s{0,3}(?:and\s{1,3}|or\s{1,3})?"
    r"(?:etc\b|more\b|others?\b|so on|\.\.\.|…|several|many|a few|some\b"
    r"|\d{1,3} (?:more|other)|among\b|the like|similar)"
)
_ENDS: Final = re.compile(
    r"\s{0,3}(?:\Z|[.;:!)\n]|\s[—–-]\s|,\s(?:which|each|all|both|in|from|under|see)\b"
    r"|(?:in|from|under|of|at|\(|below)\b|\()"
)
_PLACE: Final = re.compile(
    r"(?:\s{1,3}(?:in|of|from|under|below|at|for|by)\s{1,3}[\w@./-]{1,100}|\s{0,3}\([^()\n]{1,80}\))"
    r"\s{0,3}\Z"
)
_PHRASE: Final = re.compile(rf"((?:{_WORD}\s{{1,3}}){{0,3}})({_WORD})\s{{0,3}}\Z")
_OPEN_BEFORE: Final = re.compile(
    r"(?i)\b(?:mainly|mostly|currently|some|example|e\.g|usually|among)\b"
)
_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_AFFIXES: Final = word_set(
    """
    all known supported available registered valid builtin built in list names registry map
    table types kinds options values choices enum set items by name the our
    """
)
"""Parts of the name of a set that do not say what is in it."""
_MEMBERS: Final = word_set("entries values items members variants elements cases keys constants")
"""Nouns for the members of a set that the text names itself."""
_ROUTES: Final = word_set("endpoints routes")
_COMMON: Final = word_set(
    """
    types tests fixes issues bugs errors files cases examples options values fields parameters
    params arguments args functions methods classes changes results items parts sections features
    improvements problems tasks nodes layers subtasks objects elements entries keys names numbers
    """
)
"""Nouns that any folder or list may have as its name; one alone does not say which is meant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedSet:
    """What a text says of a set.

    Args:
        number: how many members it has; 0 when that is not said.
        start: where the number begins in the text.
        end: where it ends.
        noun_end: where the noun ends.
        members: those that are listed; empty when none are.
        is_open: the list goes on.
        noun: what they are, as the text says it; '' when it does not.
        words: the words before the noun.
    """

    number: int = 0
    start: int = 0
    end: int = 0
    noun_end: int = 0
    members: tuple[str, ...] = ()
    is_open: bool = False
    noun: str = ""
    words: tuple[str, ...] = ()

    def holds(self, members: tuple[str, ...]) -> bool:
        """Return whether a set with these members is as it is said to be."""
        if self.number and len(members) != self.number:
            return False
        said, there = set(map(member, self.members)), set(map(member, members))
        return not said or (said <= there if self.is_open else said == there)

    def rank(self, found: CodeSet) -> int:
        """Return how well a set is called what the text says: 3 exactly, 1 in part, 0 not."""
        parts = [one.lower() for one in _PARTS.findall(found.name)]
        heads = _forms(self.noun)
        if found.name == "route" and self.noun in _ROUTES:
            return 3
        last = [one.lower() for one in _PARTS.findall(found.name.rpartition(".")[2])]
        if found.sort == "calls":
            parts = last  # `tools.push()` adds anything to them
        bare = [one for one in last if one not in _AFFIXES or one in heads]
        if bare and bare[-1] in heads and set(bare[:-1]) <= {*map(str.lower, self.words)}:
            return 3
        return 1 if heads & set(parts) else 0


@cached(4)
def stated(text: str) -> tuple[StatedSet, ...]:
    """Return the sets that a text says something exact of, at most twice STATED_MAX."""
    if len(text) > _TEXT_CHARS_MAX:
        return ()
    plain = text.translate(_MARKS)
    lists = list(islice(_lists(plain), STATED_MAX))
    found = []
    for counted in islice(_counted(plain), STATED_MAX):
        beside = next((one for one in lists if one.noun_end == counted.noun_end), None)
        if beside and len(beside.members) == counted.number and not beside.is_open:
            lists.remove(beside)
            found.append(replace(counted, members=beside.members))
        else:
            found.append(counted)
    return (*found, *lists)


def _counted(plain: str) -> Iterator[StatedSet]:
    """Yield what a text counts."""
    for number in islice(counts.NUMBER.finditer(plain), counts.COUNTS_MAX):
        value = counts.value_of(number)
        start, end = number.span()
        if number["unit"] or not value.isdecimal() or not 2 <= int(value) <= SIZE_MAX:
            continue
        noun = _COUNTED.match(plain, end)
        if noun is None or noun[2].lower() in _TIME_OR_SIZE:
            continue
        before = plain[max(0, start - 40) : start]
        if _NOT_EXACT.search(before) or _TOLD.search(before):
            continue
        if values.is_conditional(plain, start, noun.end()):
            continue
        yield StatedSet(
            number=int(value),
            start=start,
            end=end,
            noun_end=noun.end(2),
            noun=noun[2].lower(),
            words=tuple(noun[1].split()),
        )


def _lists(plain: str) -> Iterator[StatedSet]:
    """Yield the lists of a text."""
    done = 0
    for joiner in _JOINER.finditer(plain):
        if joiner.start() < done:
            continue
        listed = _LIST.match(plain, joiner.end())
        before = plain[max(0, joiner.start() - 160) : joiner.start()].rstrip(", ")
        stripped = _PLACE.sub("", before)
        phrase = _PHRASE.search(stripped)
        if listed is None or phrase is None:
            continue
        goes_on = _GOES_ON.match(plain, listed.end())
        if goes_on is None and not joiner["open"] and not _ENDS.match(plain, listed.end()):
            continue
        if values.is_conditional(plain, joiner.start(), listed.end()):
            continue
        names = [one.strip("\"'. ") for one in _SPLIT.split(_IN_BRACKETS.sub("", listed[1]))]
        done = listed.end()
        said = stripped[max(0, phrase.start() - 30) :]
        noun = phrase[2].lower()
        is_plural = joiner["one"] is not None or noun.endswith("s")
        if len(set(map(member, names))) < len(names) or not all(map(member, names)):
            continue
        yield StatedSet(
            members=tuple(names),
            is_open=bool(joiner["open"] or goes_on or _OPEN_BEFORE.search(said)),
            noun=noun if is_plural else "",
            words=tuple(phrase[1].split()),
            noun_end=max(0, joiner.start() - 160) + phrase.end(2),
        )


def _forms(noun: str) -> frozenset[str]:
    """Return a noun in singular and plural."""
    if not noun:
        return frozenset()
    for ending, put in (("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ches", "ch"), ("s", "")):
        if noun.endswith(ending) and not noun.endswith("ss"):
            return frozenset((noun, noun[: -len(ending)] + put))
    return frozenset((noun, f"{noun}s", f"{noun[:-1]}ies" if noun.endswith("y") else noun))


def search_words(stated: StatedSet) -> Iterator[str]:
    """Yield the names that code gives such a set: `LOG_LEVELS`, `LogLevel`, `logLevels`.

    None where neither a list nor a rare noun and a number above two say which set is meant.
    """
    is_vague = not stated.members and (stated.number < 3 or stated.noun in _COMMON)
    if is_vague or not stated.noun.isalpha():
        return
    singular = min(_forms(stated.noun), key=len)
    before = [word.lower() for word in stated.words if word.isalpha()]
    for start in range(max(0, len(before) - 1), len(before) + 1):
        first = before[start:]
        for last in (stated.noun, singular):
            parts = [*first, last]
            camel = "".join(map(str.capitalize, parts))
            if last == stated.noun:
                yield "_".join(parts).upper()
                yield "_".join(parts)
                if first:
                    yield camel[0].lower() + camel[1:]
            yield camel


def names_members(stated: StatedSet) -> bool:
    """Return whether the noun says only that they are members: "`TOOLS` has 12 entries"."""
    return stated.noun in _MEMBERS


def folder_names(stated: StatedSet) -> frozenset[str]:
    """Return the names of folders that hold such things: `tools`, `tool`."""
    return _forms(stated.noun)
