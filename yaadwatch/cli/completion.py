"""The command `completion`: what a shell needs to complete our command lines."""

from argparse import Namespace, _SubParsersAction

from yaadwatch.cli.commands import command, option
from yaadwatch.cli.parsing import Parser, whole_parser
from yaadwatch.cli.terminal import Terminal
from yaadwatch.model.errors import Code, YaadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yaadwatch.client.connection import Client

SHELLS = ("bash", "zsh", "fish", "tcsh")


def _offering(parser: Parser) -> Parser:
    """Return the parser with the words that the commands themselves know, and take care of."""
    from yaadwatch.connecting.table import CONNECTIONS
    from yaadwatch.installing.configuring import keys

    agents = [row.agent for row in CONNECTIONS]
    offered = {
        ("connect", "agents"): agents,
        ("disconnect", "agents"): agents,
        ("config", "words"): keys(),
    }
    (commands,) = [one for one in parser._actions if isinstance(one, _SubParsersAction)]
    for name, parser_ in commands.choices.items():
        for argument in parser_._actions:
            argument.choices = offered.get((name, argument.dest), argument.choices)
    return parser


@command(
    "completion",
    "print the completion script for a shell",
    examples=[
        ('eval "$(yaadwatch completion bash)"', "in ~/.bashrc"),
        ("yaadwatch completion zsh > ~/.zfunc/_yaadwatch", "for zsh"),
        ("yaadwatch completion fish | source", "in ~/.config/fish/config.fish"),
    ],
    more="The package shtab makes it, which comes with 'yaadwatch[completion]':\n"
    "uv tool install 'yaadwatch[completion]', or pipx install --force with that.",
    options=[
        option(
            "shell",
            metavar="SHELL",
            choices=SHELLS,
            help=f"{', '.join(SHELLS[:-1])} or {SHELLS[-1]}",
        )
    ],
    starts_daemon=False,
)
def completion(args: Namespace, client: "Client", terminal: Terminal) -> int:  # noqa: ARG001
    """Print the script for a shell.

    Raises:
        YaadError: unavailable, when the package that makes it is not installed.
    """
    try:
        import shtab
    except ImportError:
        raise YaadError(
            Code.UNAVAILABLE,
            "Completion is made by the package shtab, which is not installed.",
            hint="Install it with yaadwatch: uv tool install 'yaadwatch[completion]'",
        ) from None
    script = shtab.complete(_offering(whole_parser()), shell=args.shell)
    if args.json:
        terminal.json({"shell": args.shell, "script": script})
    else:
        terminal.write(f"{script}\n")
    return 0
