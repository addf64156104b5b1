"""The retrieval benchmark on a small set: by words, by meaning, and resumed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from refusals import refusal
from tiny_model import DIMENSIONS, build

from tests.bench.kept_vectors import KeptVectors
from yaadwatch.model.errors import Code, YaadError

DOCUMENTS = {
    "car": "We log the red car",
    "tests": "The tests retry in the queue",
    "port": "The colour of the port",
}
QUERIES = {"q1": ("the red car", "car"), "q2": ("checks in the queue", "tests")}
OTHER_WORDS = {"q1": ("automobile", "car"), "q2": ("hue", "port")}
SPACE = "a"


def write(folder, documents=DOCUMENTS, queries=QUERIES):
    """Write a set; return its file."""
    found = {
        "docs": [{"id": name, "text": text} for name, text in documents.items()],
        "queries": [
            {"id": name, "text": text, "relevant": [there]}
            for name, (text, there) in queries.items()
        ],
    }
    (folder / "set.json").write_text(json.dumps(found))
    return folder / "set.json"


def bench(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "tests.bench.retrieval", *map(str, arguments)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_the_ranked_ids_are_written_and_how_good_they_are_is_told(tmp_path):
    done = bench(write(tmp_path), "--out", tmp_path / "run.json")

    told = json.loads(done.stdout)
    run = json.loads((tmp_path / "run.json").read_text())
    assert done.returncode == 0, done.stderr
    assert (told["documents"], told["queries"]) == (3, 2)
    assert told["hit_at_1"] == told["ndcg_at_10"] == 1.0
    assert told["cpu_ms_median"] > 0
    assert run["q1"][0] == "car"
    assert run["q2"][0] == "tests"


def test_with_a_model_the_meaning_counts_and_vectors_are_made_once(tmp_path):
    pytest.importorskip("onnxruntime", reason="the extra `onnx` is not installed")
    model, kept = build(tmp_path / "tiny"), tmp_path / "vectors"
    asked = write(tmp_path, queries=OTHER_WORDS)
    by_words = json.loads(bench(asked).stdout)

    first = json.loads(bench(asked, "--vectors", model, "--kept", kept).stdout)
    whole = kept.read_bytes()
    kept.write_bytes(whole[:-3])  # as if it had been ended while it wrote
    again = bench(asked, "--vectors", model, "--kept", kept)

    assert by_words["hit_at_1"] == 0.0
    assert first["hit_at_1"] == 1.0
    assert json.loads(again.stdout)["hit_at_1"] == 1.0, again.stderr
    assert kept.read_bytes() == whole


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("no json", "is no set of documents and questions"),
        ('{"docs": []}', "is no set of documents and questions"),
        ('{"docs": [], "queries": []}', "no documents or no questions"),
    ],
)
def test_what_is_no_set_is_refused(tmp_path, content, told):
    (tmp_path / "set.json").write_text(content)

    done = bench(tmp_path / "set.json")

    assert done.returncode == 2
    assert told in " ".join(done.stderr.split())


def test_kept_vectors_are_those_of_the_same_words_and_another_model_is_refused(tmp_path):
    one, other = bytes(range(DIMENSIONS)), bytes(reversed(range(DIMENSIONS)))
    kept = KeptVectors(tmp_path / "kept", space=SPACE, dimensions=DIMENSIONS)
    kept.add({"a": one, "b": other})

    again = KeptVectors(tmp_path / "kept", space=SPACE, dimensions=DIMENSIONS)

    assert again.of(["a", "b", "c"]) == {"a": one, "b": other}
    for given in ({"space": "b", "dimensions": DIMENSIONS}, {"space": SPACE, "dimensions": 8}):
        assert refusal(KeptVectors, tmp_path / "kept", **given).code is Code.BAD_REQUEST
    with pytest.raises(YaadError, match="cannot be read and written"):
        KeptVectors(tmp_path, space=SPACE, dimensions=DIMENSIONS)
