"""What is asked of the memories: a question, which of them are meant, and how much is told."""

from dataclasses import dataclass

from yaadwatch.api.messages.checks import (
    KINDS_MAX,
    NAME_CHARS_MAX,
    TAG_CHARS_MAX,
    TOKENS_MAX,
    check_count,
    check_one_of,
    check_share,
    check_text,
    check_texts,
    check_within,
)
from yaadwatch.model.nodes import SCOPES, canonical_kind
from yaadwatch.model.recall import AUTO, BLEND, DEPTHS, MERGES, STRATEGIES
from yaadwatch.model.settings import QUERY_CHARS_MAX, TAGS_MAX, TOP_K_MAX
from yaadwatch.model.times import instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """Ask a question; get the memories that answer it, best first.

    `kinds` to `at` say which memories are meant, the rest how they are found and told. What is
    None is as the person set it.
    """

    query: str
    top_k: int | None = None
    tokens_max: int = 800
    kinds: tuple[str, ...] = ()
    scope: str | None = None
    path: str | None = None
    tags: tuple[str, ...] = ()
    agent: str | None = None
    session: str | None = None
    at: str | None = None
    depth: str = AUTO
    strategy: str = AUTO
    merge: str = BLEND
    min_score: float | None = None
    semantic_weight: float | None = None
    all_branches: bool = False

    def __post_init__(self) -> None:
        check_text("query", self.query, QUERY_CHARS_MAX)
        if self.top_k is not None:
            check_within("top_k", self.top_k, 1, TOP_K_MAX)
        check_within("tokens_max", self.tokens_max, 1, TOKENS_MAX)
        check_count("kinds", self.kinds, KINDS_MAX)
        for kind in self.kinds:
            canonical_kind(kind)
        if self.scope is not None:
            check_one_of("scope", self.scope, SCOPES)
        check_texts("tags", self.tags, TAGS_MAX, TAG_CHARS_MAX)
        for name in ("path", "agent", "session"):
            given = getattr(self, name)
            if given is not None:
                check_text(name, given, NAME_CHARS_MAX)
        if self.at is not None:
            instant("at", self.at)
        check_one_of("depth", self.depth, DEPTHS)
        check_one_of("strategy", self.strategy, STRATEGIES)
        check_one_of("merge", self.merge, MERGES)
        for name in ("min_score", "semantic_weight"):
            share = getattr(self, name)
            if share is not None:
                check_share(name, share)
