"""An upgrade is noticed when it is done, and nothing else is taken for one."""

import sys

import pytest

from yaadwatch.system.settings_files import Installation, stamp


@pytest.fixture
def site(tmp_path):
    install(tmp_path, "1.0")
    return tmp_path


def install(site, version):
    folder = site / f"yaadwatch-{version}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Name: yaadwatch\nVersion: {version}\n")


def uninstall(site, version):
    folder = site / f"yaadwatch-{version}.dist-info"
    (folder / "METADATA").unlink()
    folder.rmdir()


def test_another_version_is_noticed_at_the_second_look(site):
    program = Installation([str(site)])
    assert not program.was_replaced()

    uninstall(site, "1.0")
    install(site, "1.1")

    assert [program.was_replaced(), program.was_replaced()] == [False, True]


def test_the_same_version_installed_again_is_noticed(site):
    program = Installation([str(site)])
    uninstall(site, "1.0")
    install(site, "1.0")
    (site / "yaadwatch-1.0.dist-info" / "METADATA").write_text("Name: yaadwatch\n")

    assert [program.was_replaced(), program.was_replaced()] == [False, True]


def test_a_program_that_is_gone_is_not_replaced_until_it_is_back(site):
    program = Installation([str(site)])
    uninstall(site, "1.0")

    assert [program.was_replaced() for _ in range(3)] == [False] * 3

    install(site, "1.1")
    assert [program.was_replaced(), program.was_replaced()] == [False, True]


def test_an_installer_that_is_still_at_work_is_waited_for(site):
    program = Installation([str(site)])
    metadata = site / "yaadwatch-1.0.dist-info" / "METADATA"
    answers = []
    for text in ("a", "ab", "abc"):
        metadata.write_text(text)
        answers.append(program.was_replaced())

    assert answers == [False] * 3
    assert program.was_replaced()


def test_other_packages_do_not_count(site, tmp_path):
    program = Installation([str(site), str(tmp_path / "nowhere"), str(site)])
    other = site / "yaadwatch_extras-2.0.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Name: yaadwatch-extras\n")

    assert [program.was_replaced(), program.was_replaced()] == [False, False]
    assert len(stamp([str(site)])) == 1


def test_a_program_that_was_never_installed_is_never_replaced(tmp_path):
    program = Installation([str(tmp_path)])
    install(tmp_path, "1.0")

    assert [program.was_replaced(), program.was_replaced()] == [False, False]


def test_the_program_that_runs_the_tests_is_found():
    assert len(stamp(sys.path)) == 1
