"""Fault 6: a file is written in the same moment in which the folders above it are made."""

import shutil

from living_daemon import SOAK, Shop

ROUNDS = 125 if SOAK else 5


def test_what_is_written_into_a_folder_as_it_is_made_is_never_missed(machine):
    """Eight files a round: 1,000 races in all. First gone, then back, other or as they were."""
    machine.live()
    shop = Shop.new(machine, place="src/n{0}/deep/er/m{0}.py")
    for attempt in range(ROUNDS):
        for number in range(Shop.FILES):
            shutil.rmtree(shop.root / f"src/n{number}")
        shop.settles()
        for number in range(Shop.FILES):
            shop.edit(number, (attempt + number) % 2)
        shop.settles()
        assert shop.false == {number for number in range(Shop.FILES) if (attempt + number) % 2}
