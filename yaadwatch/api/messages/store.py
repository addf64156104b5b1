"""What is asked about a store as a whole: what goes in and out, its health, its vectors."""

from yaadwatch.api.limits import NAME_CHARS_MAX, NUMBER_MAX, PATH, OneOf, Text, Within
from yaadwatch.api.message import Message, field

EXPORTS = ("jsonl", "markdown", "store")
IMPORTS = ("jsonl", "markdown", "agent-file", "yaad", "store")
_OWN = "your own store instead of the project's"


class Export(Message, answer="Exported"):
    """Ask for a piece of what goes out: the first one, or, with `upload`, the one at `after`."""

    format: str = field(
        default="jsonl", limit=OneOf(EXPORTS), help="default: {default}", option="--format"
    )
    user: bool = field(default=False, help=_OWN, option="--user")
    upload: str | None = None
    after: int = field(default=0, limit=Within(0, NUMBER_MAX))


class Import(Message, answer="Imported"):
    """Hand in a piece (base64) of what comes in; `last`: that was all, now take it."""

    format: str = field(
        limit=OneOf(IMPORTS), help="default: found out from the file", option="--format"
    )
    upload: str | None = None
    part: str = "data"
    data: str = ""
    last: bool = False
    dry_run: bool = field(
        default=False, help="change nothing; count what would change", option="--dry-run"
    )
    user: bool = field(
        default=False, help="into your own store instead of the project's", option="--user"
    )
    source: str = field(default="", limit=Text(NAME_CHARS_MAX, may_be_empty=True))
    mine: bool = field(
        default=False,
        help="an export of your own: your words in it count as yours, and need no review",
        option="--mine",
    )


class Imports(Message, answer="Imports"):
    """Ask what was imported."""

    user: bool = False


class Verify(Message, answer="StoreVerified"):
    """Look for what is wrong in a store."""

    user: bool = field(default=False, help=_OWN, option="--user")
    repair: bool = field(
        default=False,
        help="rebuild what is derived from the rest: index, vectors",
        option="--repair",
    )


class Compact(Message, answer="Compacted"):
    """Rewrite a store without the space of deleted rows."""

    user: bool = field(default=False, help=_OWN, option="--user")


class Backup(Message, answer="BackedUp"):
    """Make a dated copy of a store now."""

    user: bool = field(default=False, help=_OWN, option="--user")


class EmbedStatus(Message, answer="Embedding"):
    """Ask which models there are, and how far each is."""


class EmbedEnable(Message, answer="Embedding"):
    """Have a model make vectors: a known one, or one in a folder (absolute). Nothing is fetched."""

    model: str | None = field(
        default=None,
        limit=PATH,
        help="for enable: a known name or a folder",
        option="[MODEL]",
    )


class EmbedDisable(Message, answer="Embedding"):
    """Have words answer; the vectors stay, unless `erase`."""

    erase: bool = field(
        default=False, help="for disable: also delete the vectors", option="--erase"
    )


class EmbedRebuild(Message, answer="Embedding"):
    """Compute all vectors again."""


class EmbedRollback(Message, answer="Embedding"):
    """Go back to the model before."""
