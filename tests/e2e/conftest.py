"""A machine with a checkout on it, for each story."""

import pytest
from machine import NET, Checkout, Machine


@pytest.fixture
def machine(tmp_path):
    machine = Machine(tmp_path)
    yield machine
    machine.end()
    print(machine.log())


@pytest.fixture
def checkout(machine):
    checkout = Checkout(machine.home / "code" / "shop", machine.env)
    checkout.write("src/net.py", NET)
    checkout.write(
        "CLAUDE.md",
        "# Conventions\n\n- Use `fetch_with_retry` for every call to the shop's API.\n"
        "- Prices are integers, in cents.\n",
    )
    checkout.commit("first")
    return checkout
