"""Fault 5: a package manager writes tens of thousands of files, into ignored folders and others.

What that costs is measured by `python -m tests.bench`.
"""

import threading

import pytest
from living_daemon import SOAK, Shop

FILES = 50_000 if SOAK else 1_500


@pytest.mark.parametrize("where", ["node_modules", "src/vendored"])
def test_no_folder_more_is_watched_the_daemon_answers_and_every_verdict_is_right(machine, where):
    machine.live()
    shop = Shop.new(machine, files=3)
    shop.commit("ignored", {".gitignore": "node_modules/\n"})
    shop.edit(2, 7)
    shop.settles()
    before = machine.watches()

    def install():
        for number in range(FILES):
            shop.write(f"{where}/p{number // 10}/lib/f{number % 10}.js", "exports.a = 1\n")

    installing = threading.Thread(target=install)
    installing.start()
    shop.edit(0, 7)
    answers = 0
    while installing.is_alive() or not answers:
        assert shop.ask("recall", query="which rate is applied")["results"]
        answers += 1
    installing.join()

    shop.edit(1, 7)
    shop.settles()
    assert machine.watches() == before
    assert machine.logged("watch.overflowed") == 0
