"""Commands for agents: context, and what an agent starts by itself: hook, mcp."""

from argparse import Namespace

from yaadwatch.api.messages.memories import Context
from yaadwatch.cli.commands import asked, command, option
from yaadwatch.cli.terminal import Terminal, styled
from yaadwatch.cli.words import count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yaadwatch.client.connection import Client


@command(
    "context",
    "show the brief that an agent gets when it starts",
    examples=[
        ("yaadwatch context", "doubts, rules, open tasks"),
        ("yaadwatch context --tokens 500 --json", "a shorter one, for scripts"),
    ],
    more="Doubts come first, then rules, then open tasks. What your agent files say\n"
    "already is left out, unless it is in doubt. Agents get it by themselves once\n"
    "you run: yaadwatch connect",
    takes=Context,
)
def context(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Print the brief."""
    tokens = args.tokens_max or int(str(Context.FIELDS["tokens_max"].default))
    answer = client.call("context", **asked(args, Context), chars_max=8 * tokens)
    if args.json:
        terminal.json(answer)
        return 0
    if not answer["brief"]:
        terminal.line(
            "Nothing to tell: no doubts, no rules but those in your agent files, no open tasks;"
            f" or none of them fits into {count(tokens, 'token')}."
        )
        return 0
    for line in str(answer["brief"]).splitlines():
        indent = len(line) - len(line.lstrip())
        terminal.line(styled(line, "bold" if line.startswith("#") else ""), hang=indent + 2)
    terminal.line(
        styled(
            f"{count(answer['stale'], 'doubt')}, {count(answer['rules'], 'rule')},"
            f" {count(answer['tasks'], 'task')}; {answer['budget']['used']} tokens used,"
            f" {answer['budget']['left']} left",
            "dim",
        )
    )
    return 0


@command(
    "hook",
    "answer the hook of an agent",
    examples=[
        ("yaadwatch hook session-start --agent claude", "what Claude Code runs"),
        ("echo {} | yaadwatch hook session-start --agent codex", "try it in this folder"),
    ],
    more="Agents run this by themselves; `yaadwatch connect` writes it into their\n"
    "settings. It reads the agent's JSON from standard input, takes at most 150 ms\n"
    "(2 s when a session starts), always exits with 0, and prints nothing when there\n"
    "is nothing to say. When it stays silent and should not: ~/.yaad/log/hook.log has\n"
    "the reason.",
    options=[
        option(
            "event",
            metavar="EVENT",
            help="session-start, prompt-submit, post-tool-use, session-end, subagent-start",
        ),
        option(
            "--agent",
            metavar="NAME",
            default="",
            help="claude, codex, gemini, cursor, copilot, opencode or cline",
        ),
    ],
    starts_daemon=False,
)
def hook(args: Namespace, client: "Client", terminal: Terminal) -> int:  # noqa: ARG001
    """Answer a hook; the process is its alone from here on."""
    from yaadwatch.client import hook as hooks

    hooks.main([args.event, "--agent", args.agent])


@command(
    "mcp",
    "be an MCP server (Model Context Protocol) on standard input",
    examples=[
        ("yaadwatch mcp", "what an agent starts"),
        ("yaadwatch mcp --project ~/src/api", "for an agent in another folder"),
    ],
    more="Agents start this by themselves; `yaadwatch connect` writes it into their\n"
    "settings. It passes everything on to the daemon, and starts the daemon when\n"
    "none runs.",
    options=[
        option(
            "--agent",
            metavar="NAME",
            default="",
            help="who asks (default: the name that the agent gives)",
        )
    ],
    starts_daemon=False,
)
def mcp(args: Namespace, client: "Client", terminal: Terminal) -> int:  # noqa: ARG001
    """Be the shim, until the agent is gone."""
    from yaadwatch.client import shim

    named = ["--agent", args.agent] if args.agent else []
    return shim.main([*named, *(["--project", args.project] if args.project else [])])
