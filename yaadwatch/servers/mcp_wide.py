"""WIDE: tools that hold many operations each, listed only where the setting `mcp.wide` asks.

Most agents never need them, and every agent would read them at the start of each session.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from yaadwatch.api import codec
from yaadwatch.api.operations import BY_NAME
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.settings import WIDE_TOOLS
from yaadwatch.servers.mcp_arguments import object_of
from yaadwatch.servers.mcp_tools import PREFIX, PROJECT, Schema, failed, succeeded


@dataclass(frozen=True, slots=True, kw_only=True)
class WideTool:
    """A tool whose argument `do` names what it shall do.

    Args:
        short: its name, as the setting has it.
        about: what it is for, told to the agent.
        operations: the rows it can ask for.
    """

    short: str
    about: str
    operations: tuple[str, ...]

    @property
    def name(self) -> str:
        """Return the name that an agent calls it by."""
        return PREFIX + self.short

    def listed(self) -> Schema:
        """Return how the tool is listed."""
        properties: Schema = {
            "do": {"type": "string", "enum": list(self.operations)},
            "with": {"type": "object", "description": "the fields of what is done"},
            "project": PROJECT,
        }
        told = "; ".join(_told(name) for name in self.operations)
        return {
            "name": self.name,
            "description": f"{self.about} {told}. A * must be given.",
            "inputSchema": {"type": "object", "properties": properties, "required": ["do"]},
            "annotations": {"destructiveHint": False},
        }

    def asked(self, given: Mapping[str, object]) -> tuple[str, Mapping[str, object]]:
        """Return the row that is asked for, and its fields.

        Raises:
            YaadError: BAD_REQUEST when there is none in `do`, or what is given makes no sense.
        """
        do, more = given.get("do"), object_of(given.get("with", {}))
        if do not in self.operations:
            meant = codec.nearest(do, self.operations) if isinstance(do, str) else None
            listed = ", ".join(self.operations)
            raise YaadError(
                Code.BAD_REQUEST,
                f"do must be one of {listed}; nothing was done.",
                hint=f"The nearest one is {meant!r}." if meant else "",
            )
        if not isinstance(more, dict):
            raise YaadError(
                Code.BAD_REQUEST,
                "with must be an object; nothing was done.",
                hint=f"It holds the fields of {do}.",
            )
        odd = sorted(given.keys() - {"do", "with", "project"})
        if odd:
            raise YaadError(
                Code.BAD_REQUEST,
                f"There is no field {odd[0]!r}; nothing was done.",
                hint=f"The fields of {do} belong in `with`.",
            )
        folder = {"project": given["project"]} if "project" in given else {}
        return str(do), more | folder

    def result(self, found: "dict[str, object] | YaadError") -> Schema:
        """Return the result of a call: the answer, or what went wrong and what to do next."""
        return failed(found) if isinstance(found, YaadError) else succeeded(found)


def _told(operation: str) -> str:
    row = BY_NAME[operation]
    listed = ", ".join(one.name + "*" * one.is_needed for one in row.request.FIELDS.values())
    return f"{operation}({listed}): {row.help}"


_GRAPH: Final = WideTool(
    short="graph",
    about="The memories as a graph, many at once.",
    operations=("inject", "traverse", "close_link", "graph_stats", "export"),
)
_CURATE: Final = WideTool(
    short="curate",
    about="Keep the memories in order: one at a time, and what they claim.",
    operations=(
        *("show", "history", "update", "confirm", "reanchor", "restore"),
        *("pin", "unpin", "tag", "feedback"),
        *("claims", "add_claim", "end_claim", "contradictions", "resolve"),
        *("gaps", "approve_gap", "drop_gap"),
    ),
)
WIDE: Final = dict(zip(WIDE_TOOLS, (_GRAPH, _CURATE), strict=True))
"""By the name that the setting has for each."""
