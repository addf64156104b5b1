"""Twelve programs write at the same time, to a real daemon, and none fails."""

import json
import subprocess
import sys
import textwrap

CLIENTS = 12
EACH = 15
WRITER = textwrap.dedent(
    """
    import sys
    from yaadwatch.client.connection import Client

    client = Client(cwd=sys.argv[1], agent=f"writer-{sys.argv[2]}")
    for number in range(int(sys.argv[3])):
        text = f"Writer {sys.argv[2]} says its sentence number {number}"
        print(client.call("remember", text=text, tags=[sys.argv[2]])["id"], flush=True)
    """
)


def test_twelve_clients_write_at_once_and_nothing_is_lost(machine, checkout):
    machine.ask("add", checkout.root)
    before = machine.ask("status")["projects"][0]["memories"]
    running = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(checkout.root), str(number), str(EACH)],
            env=machine.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(CLIENTS)
    ]
    told = [one.communicate(timeout=100) for one in running]

    assert [one.returncode for one in running] == [0] * CLIENTS, told
    ids = {line for out, _ in told for line in out.split()}
    assert len(ids) == CLIENTS * EACH
    answer = machine.ask("verify", cwd=checkout.root)
    assert answer["findings"] == []
    out = checkout.root.parent / "out.jsonl"
    machine.ask("export", out, cwd=checkout.root)
    kept = {row.get("id") for row in map(json.loads, out.read_text().splitlines())}
    assert ids <= kept
    assert machine.ask("status")["projects"][0]["memories"] >= before + CLIENTS
    copy = machine.ask("backup", cwd=checkout.root)
    assert copy["made"] is True
