"""Three ways to serve the Model Context Protocol, with the same tools, prompts and resources.

    python -m tests.bench.mcp_ways

For decision 0009: what the official SDK costs in a process for each agent, and in the daemon, and
what our own module costs there. Each way is a process that answers a handshake, a subscription and
a list of tools; what verbs do is left out, because that is the same in all.
"""

import json
import resource
import statistics
import subprocess
import sys
import textwrap

ROUNDS = 5
FRAMES = [
    {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": {"uri": "yaad://stale"}},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
]
COMMON = """
import json, os, resource, sys, time
FRAMES = json.loads(sys.argv[1])

def rss():
    with open("/proc/self/statm") as stream:
        return int(stream.read().split()[1]) * resource.getpagesize() / 2**20

def told(before, begun):
    print(json.dumps({"rss": rss() - before, "cpu": time.process_time() - begun, "all": rss()}))
"""
SDK = """
def server():
    import mcp_types as types
    from mcp.server.lowlevel import Server
    from yaadwatch.daemon.mcp_news import PROMPTS, RESOURCES
    from yaadwatch.daemon.mcp_tools import TOOLS

    async def tools(ctx, params):
        return types.ListToolsResult.model_validate({"tools": [one.listed() for one in TOOLS]})

    async def prompts(ctx, params):
        return types.ListPromptsResult.model_validate(
            {"prompts": [one.listed() for one in PROMPTS]}
        )

    async def resources(ctx, params):
        return types.ListResourcesResult.model_validate(
            {"resources": [one.listed() for one in RESOURCES]}
        )

    async def subscribe(ctx, params):
        return types.EmptyResult()

    made = Server(
        "yaadwatch",
        on_list_tools=tools,
        on_list_prompts=prompts,
        on_list_resources=resources,
        on_subscribe_resource=subscribe,
    )
    return made
"""
WAYS = {
    "the SDK in a process for each agent": COMMON
    + SDK
    + """
import anyio
from mcp.server.stdio import stdio_server

async def main():
    made = server()
    async with stdio_server() as (read, write):
        await made.run(read, write, made.create_initialization_options())

anyio.run(main)
""",
    "the SDK in the daemon": COMMON
    + SDK
    + """
import yaadwatch.daemon.wiring
import asyncio
before, begun = rss(), time.process_time()

async def main():
    import anyio
    from mcp.shared.message import SessionMessage
    from mcp_types import jsonrpc_message_adapter as adapter
    made = server()
    to_server, read = anyio.create_memory_object_stream(10)
    write, from_server = anyio.create_memory_object_stream(10)
    async with anyio.create_task_group() as group:
        group.start_soon(made.run, read, write, made.create_initialization_options())
        for frame in FRAMES:
            await to_server.send(SessionMessage(adapter.validate_python(frame)))
            if "id" in frame:
                answer = (await from_server.receive()).message
                assert hasattr(answer, "result"), answer
        told(before, begun)
        group.cancel_scope.cancel()

asyncio.run(main())
""",
    "our own module in the daemon": COMMON
    + """
import yaadwatch.daemon.wiring
import asyncio
before, begun = rss(), time.process_time()

async def nothing(after):
    yield {"cursor": "0"}
    await asyncio.Event().wait()

class Dispatcher:
    async def answer(self, hello, request, line, *, session):
        return line(request.id, {"brief": ""})

    async def stores_at(self, hello):
        return frozenset({"p"})

async def main():
    from yaadwatch.api.messages.store import Hello
    from yaadwatch.daemon.mcp import Session
    answers = asyncio.Queue()
    session = Session(
        Hello(protocol=1, client="b/1", cwd="/", agent=None, speaks="mcp"),
        Dispatcher(), version="1", at_once=3, start=asyncio.create_task, send=answers.put,
        events=nothing, wide=(), line_bytes_max=2**22,
    )
    for frame in FRAMES:
        session.hear(json.dumps(frame).encode())
        if "id" in frame:
            assert b'"result"' in await answers.get()
    told(before, begun)
    session.close()

asyncio.run(main())
""",
}


def main() -> None:
    """Print a row for each way."""
    print(f"{'':<40} {'memory':>10} {'CPU to tools/list':>18}")
    for name, code in WAYS.items():
        rounds = [_alone(code) if "each agent" in name else _inside(code) for _ in range(ROUNDS)]
        rss, cpu = (statistics.median(one) for one in zip(*rounds, strict=True))
        print(f"{name:<40} {rss:6.1f} MiB {cpu * 1000:15.0f} ms", flush=True)


def _inside(code: str) -> tuple[float, float]:
    """Return what was added in a process that was there already: MiB, seconds."""
    command = [sys.executable, "-c", textwrap.dedent(code), json.dumps(FRAMES)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    return found["rss"], found["cpu"]


def _alone(code: str) -> tuple[float, float]:
    """Return what a process of its own costs: MiB, seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-c", textwrap.dedent(code), json.dumps(FRAMES)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for frame in FRAMES:
            server.stdin.write(json.dumps(frame).encode() + b"\n")
            server.stdin.flush()
            if "id" in frame:
                assert b'"result"' in server.stdout.readline()
        with open(f"/proc/{server.pid}/statm", encoding="ascii") as stream:
            rss = int(stream.read().split()[1]) * resource.getpagesize() / 2**20
        server.stdin.close()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return rss, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
