"""What is asked about vectors, and the models that make them."""

from dataclasses import dataclass

from yaadwatch.api.messages.checks import NAME_CHARS_MAX, check_text


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedStatus:
    """Ask which models there are, and how far each is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedEnable:
    """Have a model make vectors: a known one, or one in a folder (absolute). Nothing is fetched."""

    model: str | None = None

    def __post_init__(self) -> None:
        if self.model is not None:
            check_text("model", self.model, NAME_CHARS_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedDisable:
    """Have words answer; the vectors stay, unless `erase`."""

    erase: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedRebuild:
    """Have all vectors made anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedRollback:
    """Go back to the model before."""
