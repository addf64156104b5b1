"""Claims: a subject has a value as its attribute, so that values of different memories compare.

A caller gives them; of the words of a memory only one form makes a claim, see `of_text`.
"""

import re
from dataclasses import dataclass
from typing import Final

from yaadwatch.core.truth.claiming.parts import NUMBER, UNIT, VERSION, as_noun, sense, stripped
from yaadwatch.model.nodes import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """`subject` has `value` as its `attribute`.

    `value` is as it was given, `sense` as it is compared: "30 s" and "30 seconds" are the same.
    """

    subject: str
    attribute: str
    value: str
    sense: str
    evidence: str = ""


def given(*, subject: str, attribute: str, value: str, evidence: str = "") -> Claim:
    """Return a claim in the words of a caller, as it is compared with others.

    Raises:
        ValueError: subject, attribute or value has no words.
    """
    plain = {"subject": as_noun(subject), "attribute": as_noun(attribute), "value": stripped(value)}
    for name, words in plain.items():
        if not words:
            raise ValueError(f"{name} must have words, got {words!r}")
    return Claim(
        subject=plain["subject"],
        attribute=plain["attribute"],
        value=plain["value"],
        sense=_version_sense(value) if plain["attribute"] == VERSION else sense(value),
        evidence=evidence,
    )


def of_text(text: str) -> Claim | None:
    """Return the claim of a statement that is "THING is AMOUNT" and nothing else, or None.

    "The API timeout is 30 seconds" gives `api` the `timeout` 30 seconds. "The timeout is 30 s"
    does not say which timeout and makes no claim, nor does a longer sentence.
    """
    found = _IS_AMOUNT.fullmatch(text)
    subject, _, attribute = as_noun(found["thing"]).rpartition(" ") if found else ("", "", "")
    if found is None or not subject or not attribute[0].isalpha():
        return None
    return given(subject=subject, attribute=attribute, value=found["value"], evidence=text)


def subject_of(words: str) -> str:
    """Return a subject in the words of a caller, as it is compared with others."""
    return as_noun(words)


HOLDS_IN: Final = "holds_in"
"""The attribute of a memory that says in which package it was stated."""


def holds_in(node: Node) -> str:
    """Return the folder that a memory holds for; '' for the whole project."""
    said = node.attributes.get(HOLDS_IN)
    return said if isinstance(said, str) else place_of(node.origin)


def place_of(origin: str) -> str:
    """Return the folder that a statement from `origin` holds for: that of an agent file below.

    Folders of tools (`.github`, `.cursor/rules`) hold for the folder that they are in.
    """
    kind, _, path = origin.partition(":")
    if kind != "file":
        return ""
    folders = path.split("/")[:-1]
    hidden = next((at for at, name in enumerate(folders) if name.startswith(".")), len(folders))
    return "/".join(folders[:hidden])


def _version_sense(value: str) -> str:
    """Return a version as it is compared; 3.1 and 3.10 are two, 18.x and 18 are one."""
    plain = stripped(value).lower()
    found = _A_VERSION.fullmatch(plain)
    return found["version"].removesuffix(".x").removesuffix(".*") if found else plain


_IS_AMOUNT = re.compile(
    rf"(?!(?:if|when|while|unless|once|until)\b)(?P<thing>[^\W\d_][\w ./-]{{2,60}}?) (?:is|are)"
    rf" (?P<value>{NUMBER} ?(?:{UNIT})?)\.?",
    re.IGNORECASE,
)
_A_VERSION = re.compile(r"v?(?P<version>\d+(?:\.\d+){0,3}(?:\.[x*])?)")
