"""The pictures and the table of what things cost say what was measured last."""

import pytest

from tests.bench import plots

FILES = plots.drawn()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_what_stands_in_the_docs_is_what_was_measured(path):
    """Else: python -m tests.bench.plots."""
    assert path.read_text(encoding="utf-8") == FILES[path]
