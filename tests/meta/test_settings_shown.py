"""Every setting has a test that shows what it does; a new one must name its own here."""

import ast
import dataclasses
from pathlib import Path

import pytest

from yaadwatch.model.settings import Settings

TESTS = Path(__file__).parents[1]
VERBS = "integration/verbs"
SHOWN = {
    "memory.half_life_days": f"{VERBS}/test_upkeep_verb.py::test_the_settings_of_ageing_are_read",
    "memory.half_lives": f"{VERBS}/test_upkeep_verb.py::test_the_half_life_of_a_kind_is_a_setting",
    "memory.min_confidence": f"{VERBS}/test_upkeep_verb.py::test_the_settings_of_ageing_are_read",
    "memory.prune_after_days": (
        f"{VERBS}/test_upkeep_verb.py::test_the_time_until_pruning_is_a_setting"
    ),
    "recall.top_k": f"{VERBS}/test_recall_verb.py::test_how_many_and_how_good_is_a_setting",
    "recall.min_score": f"{VERBS}/test_recall_verb.py::test_how_many_and_how_good_is_a_setting",
    "recall.semantic_weight": (
        f"{VERBS}/test_settings_effects.py::test_how_much_the_meaning_counts_is_a_setting"
    ),
    "store.budget_mib": (
        f"{VERBS}/test_keeping_verbs.py::"
        "test_at_its_budget_a_store_takes_nothing_new_and_the_rest_goes_on"
    ),
    "store.events_days": (
        f"{VERBS}/test_keeping_verbs.py::test_how_long_events_are_kept_is_a_setting"
    ),
    "watch.quiet_ms": (
        f"{VERBS}/test_settings_effects.py::test_how_long_a_burst_must_be_quiet_is_a_setting"
    ),
    "watch.poll_s": (
        "unit/daemon/test_scheduler.py::test_the_runs_of_the_poll_are_not_written_down"
    ),
    "watch.directories_max": (
        f"{VERBS}/test_settings_effects.py::test_how_many_folders_are_watched_is_a_setting"
    ),
    "git.timeout_ms": f"{VERBS}/test_hostile_store.py::impatient",
    "agent_files.idle_s": (
        f"{VERBS}/test_agent_files_formats.py::test_with_no_time_set_nobody_is_waited_for"
    ),
    "agent_files.also": f"{VERBS}/test_agent_files_formats.py::test_they_are_read_like_any_other",
    "agents.rules": f"{VERBS}/test_review.py::test_a_person_may_open_the_rules_files_to_agents",
    "mcp.wide": (
        "integration/test_mcp_protocol.py::test_a_wide_tool_is_served_where_the_setting_names_it"
    ),
    "vectors.idle_s": (
        f"{VERBS}/test_settings_effects.py::test_how_long_the_process_of_a_model_stays_is_a_setting"
    ),
    "daemon.memory_mib": (
        "integration/test_restarts.py"
        "::test_above_its_memory_limit_it_is_started_again_once_it_has_settled"
    ),
}
"""Key to the test, or to the fixture that its tests stand on."""
KEYS = [
    f"{section.name}.{row.name}"
    for section in dataclasses.fields(Settings)
    for row in dataclasses.fields(getattr(Settings(), section.name))
]


@pytest.mark.parametrize("key", KEYS)
def test_every_setting_has_a_test_that_shows_what_it_does(key):
    file, _, name = SHOWN[key].partition("::")
    source = (TESTS / file).read_text(encoding="utf-8")
    found = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef) and node.name == name
    ]

    assert len(found) == 1
    text = "".join(ast.get_source_segment(source, node) or "" for node in found)
    text += "".join(ast.unparse(one) for one in found[0].decorator_list)
    short = key.partition(".")[2]
    assert short in text or f"YAAD_{key.upper().replace('.', '_')}" in text


def test_no_test_is_named_for_a_setting_that_is_gone():
    assert sorted(SHOWN) == sorted(KEYS)
