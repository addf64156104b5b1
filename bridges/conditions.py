"""Which headings and labels a rule needs in front of it, so that it says the same elsewhere.

No list holds what headings mean: "Never", "Alice", "On release day", "Windows". So every heading
of a section is needed, but those made of a few neutral words.
"""

import re
from typing import Final

_TURNS_ROUND: Final = re.compile(
    r"\b(?:don['’]?ts?|do not|does not|never|avoid|forbidden|prohibited|banned|not allowed|not to"
    r"|must(?:n['’]t| not)|should(?:n['’]t| not)|anti-?patterns?|bad|wrong|mistakes?|deprecated)\b"
    r"|[❌✗🚫⛔]",
    re.IGNORECASE,
)
"""Without these the words below would say the opposite."""

_SAYS_WHEN: Final = re.compile(
    r"""^\W*(?:\d+[.)]?\s+)?
        (?:if|when(?:ever)?|while|unless|until|once|before|after|during|only|for|in[ ]case|except
          |optional(?:ly)?|on|in|inside|under|within|with|without|working[ ](?:on|in|with)
          |(?:writing|editing|changing|adding|touching|reviewing|creating|updating|modifying
            |deploying|releasing|committing|debugging|migrating|using|upgrading)\b(?=\s+\S))\b
      |\b(?:only|specific|specifics|exceptions?)\W*$
      |\b(?:if[ ]you|when[ ]you|only[ ](?:for|on|in|if|when)|applies[ ]to|not[ ]for|draft
          |experimental|proposed|legacy|obsolete|superseded)\b""",
    re.IGNORECASE | re.VERBOSE,
)

_NEUTRAL: Final = re.compile(
    r"""(?:\W*(?:
        all|always|an?|and|any|do(?:['’]?s)?|of|or|our|the|this|your
        |about|additional|basics?|best|common|core|critical|essential|further|general|global|hard
        |important|key|main|mandatory|more|must|primary|required|standards?|useful
        |code|codebase|coding|development|engineering|programming|project|repo|repository|software
        |commands?|context|conventions?|details|expectations|guidance|guide|guidelines?|info
        |information|instructions?|introduction|notes?|overview|policies|policy|practices?
        |preferences?|principles?|process|quality|reminders?|requirements?|rules?|styles?|summary
        |tips?|workflows?
        )\b)*\W*""",
    re.IGNORECASE | re.VERBOSE,
)
"""A heading of these words alone narrows nothing, so that the rules below it do without it."""

_PLAIN: Final = re.compile(r"[A-Za-z0-9 ,;:&/.!()*_'\"#-]*")
"""Any other sign in a heading may mean something: a platform, a ban, words that are struck out."""
_NUMBER: Final = re.compile(r"\A[*_]*\d{1,2}(?:\.\d{1,2})*[.):]\s+(?=\S)")

_FOR_ALL: Final = re.compile(
    r"""^\W*(?:for|in|with|within|on|using|working[ ](?:on|in|with))\s+
        (?:general|short|summary|brief|depth|all\b.*|every\w*|any\w*
          |(?:this|the)[ ](?:file|repo(?:sitory)?|project|code[ ]?base|document|guide)
          |(?:ai|coding|llm)?\W*(?:agents?|assistants?))\W*$""",
    re.IGNORECASE | re.VERBOSE,
)
"""Words that begin like a condition and hold for every reader."""


def is_neutral(heading: str) -> bool:
    """Return whether the rules below a heading of a section say the same without it."""
    words = without_number(heading)
    return bool(_PLAIN.fullmatch(words) and _NEUTRAL.fullmatch(words.replace("_", " ")))


def without_number(heading: str) -> str:
    """Return the words of a heading without the number of the section, and not all in bold."""
    words = _NUMBER.sub("", heading.strip(), count=1)
    return words[2:-2] if re.fullmatch(r"(\*\*|__)[^*_]+\1", words) else words


def restricts(words: str) -> bool:
    """Return whether what stands below a title or a sentence changes its meaning without it.

    Both name things, too, so that fewer words count than in the heading of a section.
    """
    if _TURNS_ROUND.search(words):
        return True
    plain = words.strip().strip("*_`#: ")
    return _SAYS_WHEN.search(plain) is not None and not _FOR_ALL.match(plain)
