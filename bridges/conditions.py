"""Which headings and labels change what the words below them mean.

A rule below "Never", "If you write SQL" or "Windows only" says something else without them, so it
never travels without them.
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

_CHANGES_SECTION: Final = re.compile(
    r"""\b(?:
        # what stands below is unwanted
        nothing|no-?gos?|no-?nos?|off[- ]limits|out[ ]of[ ]scope|pitfalls?|gotchas?|traps?|taboos?
        |smells?|red[ ]flags?|stop|quit|refrain|beware|reject(?:s|ed|ing)?|refused?|things[ ]that
        |break(?:s|ing)?|broken|fails?|blocked|unacceptable|disallowed|illegal|unsafe|dangerous
        |hated?|disliked?|discouraged|instead[ ]of|niemals|nie|nicht|kein\w*|verboten|jamais|nunca
        # it is over, not decided, or an example
        |old|older|former(?:ly)?|previous(?:ly)?|past|history|historical|archived?|removed|dropped
        |retired|obsolete|outdated|no[ ]longer|any[ ]?more|not[ ](?:yet|valid)|discarded|abandoned
        |replaced|reverted|alternatives?|considered|declined|ideas?|roadmap|future|later|planned
        |plans|proposals?|open|questions?|undecided|discussions?|brainstorm\w*|maybe|might|could
        |wish(?:es|[ ]?list)?|someday|backlog|drafts?|experiments?|tbd|wip|examples?|samples?
        |templates?
        # it is meant for somebody, or for some occasion
        |reviewers?|humans?|maintainers?|authors?|owners?|admin(?:istrator)?s?|managers?
        |operators?|interns?|newcomers?|beginners?|designers?|testers?|emergenc(?:y|ies)|incidents?
        |outages?|hotfix(?:es)?|local(?:ly)?|offline|remote|debug(?:ging)?|v?\d+\.(?:\d+|x)
        |release/\S+|branch(?:es)?)\b""",
    re.IGNORECASE | re.VERBOSE,
)
"""Words by which a heading may change what stands below it: unwanted, over, open, for somebody."""

_PART = r"""(?:windows|mac\s?os|os\s?x|linux|unix|ios|ipados|android|wsl|docker|kubernetes|k8s|ci
    |production|staging|browsers?|web|mobile|desktop|server(?:[-\s]side)?|client(?:[-\s]side)?
    |front-?end|back-?end|api|rest|graphql|grpc|database|db|sql|cli|ui|ux|sdk|infra(?:structure)?
    |python|typescript|javascript|ts|js|go|golang|rust|java|kotlin|swift|ruby|php|c|c\+\+|c\#|csharp
    |\.net|dart|flutter|elixir|scala|bash|shell|powershell|css|scss|html|react|vue|angular|svelte
    |next\.?js|django|flask|fastapi|rails|laravel|spring|express|terraform|yaml|json|markdown
    |(?:unit\s|integration\s|e2e\s)?tests?|migrations?|scripts?|notebooks?|storybook|i18n
    |accessibility)"""
_FILLER = r"""(?:code|coding|styles?|guide|guidelines?|rules?|conventions?|standards?|practices?
    |best|specifics?|development|naming|formatting|files?|components?|modules?|packages?|apps?
    |services?|layer|side|stack|and|&|/|\+|notes?|the|builds?|users?|environments?|platforms?
    |projects?)"""
_ABOUT_A_PART: Final = re.compile(
    rf"\W*(?:\d+[.)]?\s+)?(?:{_FILLER}[\s/]+)*{_PART}(?:[\s/,&+]+(?:{_PART}|{_FILLER}))*\W*",
    re.IGNORECASE | re.VERBOSE,
)
"""A language, platform or layer, with words that say nothing more."""

_FOR_ALL: Final = re.compile(
    r"""^\W*(?:for|in|with|within|on|using|working[ ](?:on|in|with))\s+
        (?:general|short|summary|brief|depth|all\b.*|every\w*|any\w*
          |(?:this|the)[ ](?:file|repo(?:sitory)?|project|code[ ]?base|document|guide)
          |(?:ai|coding|llm|claude|human|other|new)?\W*
           (?:agents?|assistants?|contributors?|developers?))\W*$""",
    re.IGNORECASE | re.VERBOSE,
)
"""Headings that begin like a condition and hold for every reader."""


def turns_round(words: str) -> bool:
    """Return whether what stands below a heading would say the opposite without it."""
    return _TURNS_ROUND.search(words) is not None


def restricts(words: str, *, is_section: bool = True) -> bool:
    """Return whether what stands below a heading holds less often, or not at all, without it.

    Args:
        words: of the heading.
        is_section: whether it heads a section. A title, and a sentence above a list, are judged by
            fewer words: they name things, too.
    """
    plain = words.strip().strip("*_`#: ")
    if turns_round(words):
        return True
    if _FOR_ALL.match(plain):
        return False
    if _SAYS_WHEN.search(plain):
        return True
    if not is_section:
        return False
    return bool(_ABOUT_A_PART.fullmatch(plain) or _CHANGES_SECTION.search(plain))
