"""Separate rules from other statements of an agent file, and choose the headings a rule needs.

List items are rules unless they only point somewhere, thank, give an example or are still to be
done. Prose is a rule when it instructs. Table rows, rules whose body is not part of their words,
and statements that mean nothing without their surroundings stay in their file.

No list can hold what headings mean: "Never", "Alice", "On release day", "Windows". So a rule keeps
every heading above it except those made of a few neutral words.
"""

import re
from collections.abc import Sequence
from typing import Final, Literal

Form = Literal["item", "step", "paragraph", "row"]

LINK: Final = "it points somewhere else"
TO_DO: Final = "it is still to be done"
STRUCK: Final = "it is struck out"
THANKS: Final = "it says thanks"
EXAMPLE: Final = "it is an example"
PROSE: Final = "it describes something and gives no instruction"
ROW: Final = "it is a row of a table"
STEP: Final = "it is one step of several"
BODY: Final = "its nested list, code or paragraphs cannot travel with it"
LIMITED: Final = "the text beside it says when it does not hold"
DOUBTFUL: Final = "a label or comment above may hold for it, too"
TAG: Final = "it stands inside a tag that may change what it means"
FRAGMENT: Final = "it makes no sense without the text around it"

_LINKS = re.compile(
    r"!?\[[^\[\]]*\]\([^()]*\)|<?https?://\S+>?|\[[^\[\]]+\]\[[^\[\]]*\]|(?<!\S)@\S+"
)
_ANCHOR = re.compile(r"^\W*\[[^\[\]]*\]\(#[^()]*\)")
_PATH = re.compile(r"[\w@-]*[/.][\w./@*-]+")
_CODE = re.compile(r"`[^`]*`")
_WORD = re.compile(r"[^\W\d_]{2,}")
_POINTS = re.compile(
    r"""^\W*
        (?:for[ ](?:more|further|full|details|the|additional|complete|examples?)\b[^.]{0,60}?,?[ ])?
        (?:please[ ])?(?:also[ ])?
        (?:see|cf\.?|read[ ]more|learn[ ]more|more[ ](?:info|information|details)
          |details[ ](?:in|are)|documented[ ]in|described[ ]in
          |(?:source|references?|links?|docs?|documentation)(?=\W*:))\b""",
    re.IGNORECASE | re.VERBOSE,
)
_SHOWS_WAY = re.compile(
    r"""^\W*(?:use|run|check|read|review|consult|refer[ ]to|look[ ](?:at|into))\b[^.]{1,120}
        \b(?:to[ ](?:see|understand|learn|find|know)|if[ ]you[ ](?:want|need)[ ]to[ ]know
          |for[ ](?:more|(?:a|the)[ ](?:full|complete)|details|examples?|information|reference
            |context))\b""",
    re.IGNORECASE | re.VERBOSE,
)
"""Where its reader finds something out."""
_TO_DO = re.compile(
    r"^\W*(?:TO[D]O|FIX[M]E|TBD|WIP|X{3}|to be (?:written|done|decided))\b", re.IGNORECASE
)
_OPEN_BOX = re.compile(r"^\W*\[ \]")
_STRUCK_OUT = re.compile(r"^[*_ ]*(?:~~(?:(?!~~).)+~~[*_ .,;]*)+$")
_THANKS = re.compile(
    r"^\W*(?:many )?(?:thanks?|thank you|credits?|kudos|courtesy)\b", re.IGNORECASE
)
_EXAMPLE = re.compile(
    r"""^\W*(?:for[ ])?(?:good|bad|examples?|e\.g\.?|correct|incorrect|wrong|right|before|after
        |input|output|sample|usage)(?:[ ](?:example|usage|code|output|input)s?)?\W*(?::|$)""",
    re.IGNORECASE | re.VERBOSE,
)
_EXAMPLES = re.compile(r"^\W*+(?:(?:quick|usage|code|command)\W*+)?examples\b", re.IGNORECASE)
_INTRODUCES = re.compile(
    r"""\b(?:the[ ]following|(?:listed|shown|described|given|see)[ ](?:below|above)|as[ ]follows
        |below[ ](?:is|are)|(?:is|are)[ ]below|here[ ](?:is|are))\b""",
    re.IGNORECASE | re.VERBOSE,
)
_ABOUT_ITSELF = re.compile(
    r"\b(?:this|the) (?:file|document|guide|page|section|list|table|rule set|readme)\b(?! must)"
    r"|\b(?:is|are|was|were) (?:auto(?:matically)?[- ])?generated\b",
    re.IGNORECASE,
)
_STATE = r"(?!embed|alias)(?:\w+(?<!e)ed|\w+(?<![su])s|been|had|true|false|safe)\b"
"""What `never` and `always` say of things: "never expires", "always signed"."""
_MUST = re.compile(
    rf"""\b(?:must(?!-)|(?:never|always)(?![ ]{_STATE})|should|shall|do[ ]not|don['’]t|avoid
        |prefer|ensure|make[ ]sure|required|forbidden|prohibited|mandatory|not[ ]allowed
        |only[ ]use)\b
      |\bwe[ ](?:always[ ]|only[ ]|never[ ])?
        (?:use|name|write|keep|put|follow|prefer|avoid|require)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_IMPERATIVE = re.compile(
    r"""^\W*+(?:please[ ]|then[ ]|also[ ]
          |(?:when|if|before|after|for|to|unless|once|in)\b[^,.;:]{2,80}[,:][ ]
          |[\w *`/&-]{1,40}:\W*+)?
        (?:use|follow|keep|put|write|add|commit|wrap|include|favou?r|choose|define|validate|adhere|stick
          |treat|respect|reuse|annotate|consider|remember|stay|place|name|document|format|run|import
          |return|test|update|limit|check|store|group|sort|create|remove|ask|stop|leave|split|declare
          |handle|log|pin|set|call|pass|build|start|install|execute|verify|review|place|apply|move|make
          |mark|match|mirror|open|order|organi[sz]e|push|rebase|squash|regenerate|replace|resolve
          |throw|type|assume|be|bump|cover|delete|deploy|enable|explain|expose|extend|fix|give|implement
          |inject|inherit|initiali[sz]e|let|lint|load|look|maintain|mock|model|provide|raise|refer
          |register|release|render|restart|save|separate|ship|skip|specify|sync|tag|translate|try
          |understand|wait|watch|work|read|confirm|preview|analy[sz]e|propose|suggest|select|stage|pull
          |close|link|preserve|default|access|activate|search|pick|report|escape|sanitize|quote|catch
          |drop|emit|exclude|export|fail|filter|flag|fetch|generate|guard|identify|inspect|investigate
          |invoke|isolate|measure|merge|mention|note|notify|parse|perform|propagate|query|rely|rename
          |reproduce|request|retry|route|scope|seed|send|share|show|simplify|strip|structure|surface
          |target|trace|track|trust|unwrap|upgrade|version|wire|copy|cite|break|bind|clean|compare|cast
          |configure|design|assert|attach|commit|edit|embed|encapsulate|favor|focus|help|hide|link|list
          |match|minimi[sz]e|maximi[sz]e|reduce|require|represent|design|end|begin|finish|escalate
          |respond|answer|reply|speak|tell|translate|submit|update|verify|group)\b
        (?!\**[ ]?[:=(!]|-|[ ](?:runs?|is|are|was|were|has|have|suites?|rules|files?)\b)""",
    re.IGNORECASE | re.VERBOSE,
)
_NO = re.compile(r"^\W*(?:no|not|one|only)\b|.*\bonly\W*$", re.IGNORECASE)
_EXPLAINS = re.compile(
    r"^\W*(?:why|because|rationale|reasons?|background|context|note that|example|result"
    r"|benefits?|here,? (?:we|it|is)"
    r"|(?:typical|usual)\b[^:.]{1,40}(?=:)"
    r"|no\b[^.:]{1,60}\b(?:needed|required|necessary)\b(?! (?:for|if|in|when)\b)"
    r"|(?:(?:tech )?stack|features?|purpose|status|use for)(?=\W*:))\b",
    re.IGNORECASE,
)
_ABOUT_USERS = re.compile(
    r"""^\W*(?:(?:all|any|both|only|our|new|existing|the|anonymous|guest|registered
          |end|logged[- ]?in|signed[- ]?in|(?:un)?authenticated|external|paying|premium|free
          |mobile)[ -]){0,3}
        (?:users|customers|visitors|guests|subscribers|buyers|sellers|shoppers|players|patients
          |students|admins|administrators|(?:an?|each|every)[ ](?:\w+[ ])?(?:user|customer|visitor
          |guest|subscriber|buyer|seller|shopper|player|patient|student|admin|administrator))
        (?:[ ](?:who|that|with|without|in|from|of)\b[^.;:,]{1,40}?)?[ ]
        (?:also[ ]|first[ ]|always[ ])?
        (?:must|should|shall|may|can(?:not)?|ha(?:s|ve)[ ]to|needs?[ ]to)\b
        (?!.*(?:`|\byour?\b|\w/\w|\b(?:agents?|functions?|class(?:es)?|tests?|commits?|code)\b))""",
    re.IGNORECASE | re.VERBOSE,
)
"""What the people who use a product do there. "The user" is the agent's."""
_COMMAND = re.compile(
    r"^\W*(?:[A-Za-z][\w /-]{0,40}\W{0,4}(?::|with|via|by|is|are)\W*)?`(?![A-Z][A-Z_]{2,})"
    r"(?:[^`]*[\s/][^`]*|make|just|pytest|tox|nox|ruff|mypy|jest|tsc|eslint|prettier)`"
)
_STAYS: Final = (
    (TO_DO, _TO_DO),
    (TO_DO, _OPEN_BOX),
    (STRUCK, _STRUCK_OUT),
    (THANKS, _THANKS),
    (EXAMPLE, _EXAMPLE),
    (PROSE, _EXPLAINS),
    (PROSE, _ABOUT_USERS),
)
_FORBIDS_BELOW = re.compile(
    r"\b(?:never|do not|don['’]ts?|must not|avoid|forbidden|prohibited|banned|not allowed)\b",
    re.IGNORECASE,
)
_LISTS_PARTS = re.compile(
    r"""\b(?:
        (?:use|uses)[ ](?:this|it)(?:[ ]skill|[ ]agent)?[ ](?:to|for)|is[ ]used[ ](?:to|for)
        |behaviou?rs?(?=\W*:)|observed|results?|outcomes?|symptoms?|failures?|statuses|purposes?
        |thresholds?|variables?|parameters?|options?|arguments?|fields?|columns?|values|features?
        |benefits?|types?|tools|components?|includes?|contains?|available|supported|overview
        )\b\W*$""",
    re.IGNORECASE | re.VERBOSE,
)
_REPORTS = re.compile(
    r"""^\W*+(?:observed|validated|verified|result|status|ci[ ]parity)\b[^:]{0,40}:
      |^[^\w`]*+[\w /()-]{0,40}`[^`]++`[ ]
       (?:fails?|passes|passed|includes?|contains?|can|will|returns?|does|has|is|are|was|available
         |runs[ ]on|creates[ ]a|defines|exports|provides|supports)\b
      |:[ ]`[^`]+`[ ](?:returns?|is|are)\b
      |`(?:GET|POST|PUT|PATCH|DELETE|HEAD)[ ]/
      |^\W*`[\w.*-]*/[\w./*-]*`\s*[:—–-]\s*(?:\w[\w-]*+\W*+){1,4}$
      |^[^`=.]{1,40}[ ]=[ ]
      |\b(?:is|are)[ ](?:\w+[ ])?not[ ](?:yet[ ])?(?:implemented|supported|available)\b
      |^\W*+(\w++(?:-++\w++)*+)(?=[^\w:]*+:)\W*+\1\b""",
    re.IGNORECASE | re.VERBOSE,
)
"""Descriptions of commands, endpoints, observations and symbols: facts, not rules."""
_DESCRIBES_BELOW = re.compile(
    r"""\W*(?:
        (?:(?:project|module|code|repo(?:sitory)?|folder|directory|file)[ ])?(?:structure|layout)
        |architecture(?:[ ]overview)?|(?:tech(?:nical|nology)?[ ])?stack|tools(?:[ ]and[ ]\w+)?
        |why\b.*|rationale|background
        |troubleshooting|faq|(?:common|known)[ ](?:issues|problems)(?:[ ]and[ ]\w+)?
        |(?:the|this|our)\b[^:.]{3,60}\b(?:is|are)\b[^:.]*:
        )\W*""",
    re.IGNORECASE | re.VERBOSE,
)
"""Headings and labels of facts: below them only strict words make a rule."""
_STRICT = re.compile(
    r"(?<!that )(?<!which )(?<!they )\bmust\b(?!-)"
    r"|(?:^|[.,;:(—–]|\s-\s)[\W_]{0,20}+(?:never|always|do not|don['’]t)(?:\*\*)?\s"
    rf"(?!{_STATE}|worry\b|be surprised\b)"
    r"|(?-i:\b(?:NEVER|DO NOT)\b)",
    re.IGNORECASE,
)
_BACK = re.compile(
    r"""^\W*(?:
        (?:(?:when|if|once|after|before|until|unless)[ ])?(?:that|those|such)\b(?![ ](?:is|are)[ ])
        |(?:when|if|once|after|before|until|unless)[ ](?:this|these|it|they)\b
        |(?:this|it|these|they)[ ]
         (?:\w+s|are|can|may|will|should|must|guidelines|rules|steps)\b
        |(?:then|next|afterwards),?[ ](?!to\b)
        |(?:run|execute)[ ](?:from|in|inside|within)[ ]\S+\W*$)
      |\b(?:use|run|follow)[ ](?:exactly[ ])?(?:these\b|this[ ](?:format|template|structure|for)\b)
      |\b(?:see|as|shown|listed|described|defined|documented|mentioned)\b[^.()]{0,40}
       \b(?:above|below)\b
      |\b(?:after|before|in|from|at|until|to|of)[ ]steps?[ ]\d
      |^\W*use[ ](?:before|after|when(?:ever)?|proactively)\b
      |^\W*(?:use|prefer|try|run|call)\b(?:(?!\b(?:not|never|avoid)\b|[–—]|[ ]-[ ])[^.!?(])*
       \binstead\W*(?:$|(?<=[.])[ ])
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""References of a statement to its neighbour, without which it is incomplete."""
_LEGEND = re.compile(r"[^\w\s`*_\"'“(\[#<>/.,:;|\\!?@&$%^+=~{}-]\ufe0f?\s+(?:[\w/-]+\W*){1,4}")
"""A symbol with its meaning."""
_TASK: Final = re.compile(
    r"""\W*+(?:\d+[.)]\s+\W*+)?(?:
        (?:adding|creating|implementing|updating|upgrading|releasing|deploying|publishing|migrating
          |installing|setting[ ]up|fixing|bootstrapping|add|create|update|implement|define|set[ ]up
          |run|call|install|fix|how[ ]to|quick[ ]?start|getting[ ]started)\b(?![:,])
        |(?:release|deploy(?:ment)?|upgrade|migration)[ ](?:process|procedure|checklist)\b
        |.*\bsteps?\b)""",
    re.IGNORECASE | re.VERBOSE,
)
"""Headings and labels of procedures."""
_DOES: Final = re.compile(
    r"""\W*(?:(?:then|first|next|finally|now|optionally)\b\W*)?
        (?:add|create|run|update|define|implement|call|include|register|copy|edit|install|start|open
          |build|generate|regenerate|set|configure|write|import|export|pass|return|make|rename|move
          |remove|delete|replace|commit|push|tag|bump|check|verify|test|merge|wire|declare|extend)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_WORDS_MIN: Final = 2
_FOOTNOTE = re.compile(r"\[\^[^\[\]\s]+\]")
_FRAGMENT_END = re.compile(
    r"(?:[,;:]|\b(?:and|or|e\.g\.?|i\.e\.?|such as|like))\W*$", re.IGNORECASE
)


def why_it_stays(words: str, form: Form, *, label: str = "", kind: str | None = None) -> str:
    """Return why a statement is not passed on to other agents; "" when it may be.

    Args:
        words: its own words, without its context.
        form: its form in the text: list item, prose or table row.
        label: the label that precedes it.
        kind: its kind according to its heading.
    """
    if form == "row":
        return ROW
    for reason, said in _STAYS:
        if said.match(words):
            return reason
    under = label.rpartition(" > ")[2]
    if _EXAMPLE.match(under) or _EXAMPLES.match(under):
        return EXAMPLE
    if _is_pointer(words):
        return LINK
    if _FRAGMENT_END.search(words) or _FOOTNOTE.search(words) or is_bare_ban(words):
        return FRAGMENT
    if _BACK.search(words) and not label.endswith(":"):
        return FRAGMENT
    if form == "paragraph":
        return "" if instructs(words) else PROSE
    return _why_an_item_stays(words, form, label, kind)


def _why_an_item_stays(words: str, form: Form, label: str, kind: str | None) -> str:
    if _FORBIDS_BELOW.search(label):
        return ""
    if _LISTS_PARTS.search(label):
        return PROSE
    if not is_strict(words) and any(map(_DESCRIBES_BELOW.fullmatch, label.split(" > "))):
        return PROSE
    if _MUST.search(words):
        return ""
    first, *others = _SENTENCE.split(words)
    if _REPORTS.search(first) and not any(map(_IMPERATIVE.match, others)):
        return PROSE
    if _LEGEND.fullmatch(words):
        return PROSE
    is_task = any(map(_TASK.match, label.split(" > ")))
    if is_task and (form == "step" or _DOES.match(words)):
        return STEP
    if form == "step":
        return STEP
    is_command = kind == "command" and _COMMAND.match(words)
    return "" if is_command or _NO.match(words) or instructs(words) else PROSE


def is_strict(words: str) -> bool:
    """Return whether the first sentence of a statement states an obligation or prohibition."""
    return _STRICT.search(_SENTENCE.split(words)[0]) is not None


def instructs(words: str) -> bool:
    """Return whether a piece of prose instructs its reader."""
    if _INTRODUCES.search(words):
        return False
    said = [
        bool(_MUST.search(sentence) or _IMPERATIVE.match(sentence))
        and not _ABOUT_ITSELF.search(sentence)
        for sentence in _SENTENCE.split(words)
    ]
    return said[0] or sum(said) * 2 >= len(said)


def _is_pointer(words: str) -> bool:
    if _ANCHOR.match(words):
        return True
    if _PATH.fullmatch(words.strip("`*_ ")):
        return True
    links = _LINKS.search(words)
    rest = _CODE.sub(" x ", _LINKS.sub(" ", words))
    if links and len(_WORD.findall(rest)) < _WORDS_MIN:
        return True
    return bool(_POINTS.match(words) or _SHOWS_WAY.match(words)) and not _MUST.search(words)


_TURNS_ROUND: Final = re.compile(
    r"\b(?:don['’]?ts?|do not|does not|never|avoid|forbidden|prohibited|banned|not allowed|not to"
    r"|must(?:n['’]t| not)|should(?:n['’]t| not)|anti-?patterns?|bad|wrong|mistakes?|deprecated"
    r"|outdated|no longer|not any ?more|used to)\b"
    r"|[❌✗🚫⛔]",
    re.IGNORECASE,
)
"""Without these headings the words below would mean the opposite."""

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


_BAN: Final = re.compile(
    r"""\W*(?:please[ ]|you[ ]|we[ ]|agents?[ ])?
        (?:never|don['’]?t|do[ ]not|avoid|stop|forbidden|prohibited|banned|not[ ]allowed|disallowed
          |(?:must|should|may|can|will)(?:[ ]not|n['’]t)|cannot|under[ ]no[ ]circumstances?
          |in[ ]no[ ]case|at[ ]no[ ]time|on[ ]no[ ]account|by[ ]no[ ]means)
        (?:\W+(?:ever|do|doing|be|so|please|under|any|no|circumstances?|in|at|for|of|time|case|reason
          |whatsoever|whatever|the|these|this|those|them|following|things?|here))*\W*""",
    re.IGNORECASE | re.VERBOSE,
)


_REMARK: Final = re.compile(
    r"(?:yaad|markdownlint|prettier|eslint|textlint|mdformat|rumdl|vale|cspell|spell|lint|toc\b|doctoc"
    r"|begin\b|end\b|start\b|stop\b|(?:this \w+ (?:is|was) )?(?:auto\W?)?generated)",
    re.IGNORECASE,
)
"""Comments for tools."""
_KEPT: Final = re.compile(r"\b(?:edit|editing|generated|(?:in )?sync|by hand)\b", re.IGNORECASE)
"""Comments about how a file is maintained."""
_DOUBTS: Final = re.compile(
    r"\b(?:todo|fixme|remove|drop|delete|old|maybe|unsure|ideas?|proposals?|rejected|disabled|hidden"
    r"|skip|ignore|not|none|temporar\w+)\b|\?",
    re.IGNORECASE,
)


def comment_restricts(comment: str) -> bool:
    """Return whether a comment may say when the text below it holds, or that it does not."""
    words = " ".join(comment.split())
    if _REMARK.match(words) or _ABOUT_ITSELF.search(words) or _KEPT.search(words):
        return False
    return bool(restricts(words) or _DOUBTS.search(words))


def is_bare_ban(words: str) -> bool:
    """Return whether words forbid without saying what: "Do not under any circumstances"."""
    return _BAN.fullmatch(words) is not None


def is_neutral(heading: str) -> bool:
    """Return whether the rules below a section heading mean the same without it."""
    words = without_number(heading)
    return bool(_PLAIN.fullmatch(words) and _NEUTRAL.fullmatch(words.replace("_", " ")))


def without_number(heading: str) -> str:
    """Return the words of a heading without the number of the section, and not all in bold."""
    words = _NUMBER.sub("", heading.strip(), count=1)
    return words[2:-2] if re.fullmatch(r"(\*\*|__)[^*_]+\1", words) else words


def restricts(words: str) -> bool:
    """Return whether text below a title or a sentence needs it for its meaning.

    Titles and sentences name things, too, so fewer words count than in a section heading.
    """
    if _TURNS_ROUND.search(words):
        return True
    plain = words.strip().strip("*_`#: ")
    return _SAYS_WHEN.search(plain) is not None and not _FOR_ALL.match(plain)


BARE_VALUE_CHARS_MAX: Final = 16
"""A second cell up to this length needs the name of its column."""


def row_words(names: Sequence[str], cells: Sequence[str]) -> str:
    """Return a table row as one statement; empty if less than two of several cells are filled."""
    turned = restricts(names[0])
    if len(names) == 1:
        return one_line(f"{names[0]}: {cells[0]}") if turned else cells[0]
    filled = [(name, cell) for name, cell in zip(names, cells, strict=False) if cell]
    if len(filled) < 2:
        return ""
    if len(names) == 2 and len(cells[1]) > BARE_VALUE_CHARS_MAX and not any(map(restricts, names)):
        return one_line(f"{cells[0].rstrip(':')}: {cells[1]}")
    return one_line("; ".join(f"{name}: {cell}" if name else cell for name, cell in filled))


def one_line(source: str) -> str:
    """Collapse white space; a backslash that breaks the line goes with the line end."""
    return " ".join(source.replace("\\\n", "\n").split())
