"""What does an agent read in the person's own files anyway, so that we need not say it again?"""

from collections.abc import Iterable
from functools import cached_property

from bridges import agents
from bridges.agents import AGENTS, Agent
from yaadwatch.core.text import text_hash
from yaadwatch.engine.agent_files import finding, reading
from yaadwatch.engine.agent_files.finding import Fleet, Found
from yaadwatch.engine.syncing.deciding import as_stored
from yaadwatch.engine.workspace import Space
from yaadwatch.model.settings import AGENT_FILE_BYTES_MAX
from yaadwatch.system import files


class Saying:
    """The words of the agent files of a work tree, as hashes; each file is read once at most."""

    def __init__(self, space: Space, fleet: Fleet) -> None:
        self._space = space
        self._fleet = fleet
        self._words: dict[str, frozenset[str]] = {}

    @cached_property
    def formats(self) -> dict[str, frozenset[str]]:
        """The formats of each file that is there; see `Fleet.formats`."""
        return self._fleet.formats(self._space.root)

    @cached_property
    def personal(self) -> frozenset[str]:
        """The files that git does not share; see `finding.personal`."""
        return finding.personal(self._space.repository, self._fleet)

    @cached_property
    def _read_by(self) -> dict[str, frozenset[str]]:
        """What each agent takes in, by its name."""
        return {agent.name: agents.read_by(agent, self.formats) for agent in AGENTS}

    def beside(self, found: Found) -> frozenset[str]:
        """Return what is said where everybody who reads this file reads it too.

        Only files that have no block of ours count: what another block says, this one says too.
        """
        own = {name for name, read in self._read_by.items() if found.path in read}
        others = [
            path
            for path in self.formats
            if not self._fleet.files[path].may_have_block
            and all(path in self._read_by[name] for name in own)
        ]
        others += self._fleet.taken_in.get(found.path, ())
        return frozenset[str]().union(*map(self._says, others))

    def to_all(self, readers: Iterable[Agent]) -> frozenset[str]:
        """Return what each of these agents reads at the top of the project."""
        return frozenset.intersection(*map(self._to, readers))

    def _to(self, agent: Agent) -> frozenset[str]:
        read = self._read_by[agent.name]
        taken_in = (other for path in read for other in self._fleet.taken_in.get(path, ()))
        return frozenset[str]().union(*map(self._says, {*read, *taken_in}))

    def _says(self, path: str) -> frozenset[str]:
        """Return the words of a file that hold everywhere."""
        if path not in self._words:
            seen = files.observe(self._space.root, path, bytes_max=AGENT_FILE_BYTES_MAX, now_ns=0)
            bridge = self._fleet.files[path].bridge
            document = reading.parsed(bridge, seen.data) if seen.data is not None else None
            told = document.statements if document is not None and document.travels else ()
            self._words[path] = frozenset(text_hash(as_stored(one.text)) for one in told)
        return self._words[path]
