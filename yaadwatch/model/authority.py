"""Authority: whose word a memory is, and whether a person approved it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

PERSON: Final = "person"
AGENT: Final = "agent"
REPOSITORY: Final = "repository"
IMPORT: Final = "import"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """New words that an agent or an import proposes for a memory of a person.

    Args:
        node: the memory.
        text: the new words, masked.
        actor: who proposes them: 'agent:NAME', 'import' or 'import:NAME'.
        at: when.
        decision: `approve`, `edit` or `dismiss`; '' while it waits.
        version: of the memory: the one it was made for, while it waits; after that, the one right
            after the decision.
    """

    node: str
    text: str
    actor: str
    at: datetime
    decision: str = ""
    version: int = 0

    @property
    def by(self) -> str:
        """Return who proposes it: `agent NAME` or `import NAME`."""
        return of_origin(self.actor, self.at).by


@dataclass(frozen=True, slots=True, kw_only=True)
class Authority:
    """Whose word a memory is.

    Args:
        kind: PERSON, AGENT, REPOSITORY or IMPORT.
        name: of the agent or the import, or the path of the file; '' for a person.
        at: when it was said first.
        approved_at: when a person approved words that are not a person's; None before that.
        scope: `project`, or `user` for what holds in all projects of a person.
        package: the folder that it was stated for; '' when the store names none.
        branch: whose uncommitted work it is about; '' when it holds wherever its code is.
        proposal: new words for it that wait for a person.
        is_personal: it is for one person: it holds in all projects of theirs, or only files that
            git does not share say it.
    """

    kind: str
    name: str
    at: datetime
    approved_at: datetime | None = None
    scope: str = "project"
    package: str = ""
    branch: str = ""
    proposal: Proposal | None = None
    is_personal: bool = False

    @property
    def is_persons(self) -> bool:
        """Whether a person said it, or approved it."""
        return self.kind == PERSON or self.approved_at is not None

    @property
    def is_unverified(self) -> bool:
        """Whether it is the word of an agent or an import that no person has approved."""
        return self.kind in (AGENT, IMPORT) and self.approved_at is None

    @property
    def by(self) -> str:
        """Return who said it: `person`, `agent NAME`, `repository` or `import NAME`."""
        named = self.name if self.kind in (AGENT, IMPORT) else ""
        return f"{self.kind} {named}".strip()


def of_origin(origin: str, at: datetime, *, from_git: bool = False) -> Authority:
    """Return whose word a memory of this origin is, before any approval.

    Args:
        origin: 'cli', 'agent:NAME', 'file:PATH', 'import' or 'import:NAME'.
        at: when it was said.
        from_git: the words of the file came with git.
    """
    kind, _, name = origin.partition(":")
    if kind == "file":
        return Authority(kind=REPOSITORY if from_git else PERSON, name=name, at=at)
    if kind in (AGENT, IMPORT):
        return Authority(kind=kind, name=name, at=at)
    return Authority(kind=PERSON, name="", at=at)
