"""The command `embed`: which model finds memories by what they mean, and how far it is."""
# ruff: noqa: PTH100, PTH111, PTH112

import os
import time
from argparse import Namespace

from yaadwatch.api.messages.store import EmbedDisable, EmbedEnable
from yaadwatch.cli.commands import asked, command, option
from yaadwatch.cli.terminal import Terminal, styled
from yaadwatch.cli.words import count, folder, size
from yaadwatch.model.errors import Code, YaadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yaadwatch.client.connection import Client

ACTIONS = ("status", "enable", "disable", "rebuild", "rollback")
WAIT_PAUSE_S = 0.5
STATES = {
    "active": "answers questions",
    "filling": "is being filled",
    "kept": "kept, to go back to",
}


@command(
    "embed",
    "search by meaning, with a model on this machine",
    examples=[
        ("yaadwatch embed", "how questions are answered now"),
        ("yaadwatch embed enable", "the first known model installed"),
        ("yaadwatch embed enable ~/e5 --wait", "use a model in a folder, and wait"),
        ("yaadwatch embed rollback", "back to the previous model, at once"),
        ("yaadwatch embed disable", "words only; the vectors are kept"),
    ],
    more="Without a model, questions are answered by words. Nothing is ever downloaded: a\n"
    "missing model is named, with the command that installs it. MODEL may be a\n"
    "folder with model.onnx and tokenizer.json, or with a sentence-transformers\n"
    "model. Vectors are computed in the background, and used once every memory has\n"
    "one.",
    takes=(EmbedEnable, EmbedDisable),
    options=[
        option(
            "action",
            choices=ACTIONS,
            nargs="?",
            default="status",
            help="what to do (default: status)",
        ),
        option("--wait", action="store_true", help="wait until every memory has a vector"),
    ],
)
def embed(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Do what was asked about models, and print how they are then."""
    answer = _ask(args, client)
    if args.wait:
        answer = _wait(answer, client, terminal)
    if args.json:
        terminal.json(answer)
    else:
        _tell(answer, terminal)
    return 0


def _ask(args: Namespace, client: "Client") -> "dict[str, Any]":
    if args.model and args.action != "enable":
        raise YaadError(
            Code.BAD_REQUEST,
            f"{args.action} is not about one model; nothing was done.",
            hint=f"yaadwatch embed enable {args.model}",
        )
    if args.erase and args.action != "disable":
        raise YaadError(
            Code.BAD_REQUEST, "Only disable takes --erase; nothing was done.", hint="embed --help"
        )
    if args.action == "enable":
        return client.call("embed_enable", model=_model(args.model))
    if args.action == "disable":
        return client.call("embed_disable", **asked(args, EmbedDisable))
    return client.call(f"embed_{args.action}")


def _model(given: str | None) -> str | None:
    """Return a folder as the daemon finds it, and everything else as it was typed."""
    if given is None:
        return None
    place = os.path.expanduser(given)
    return os.path.abspath(place) if os.sep in given or os.path.isdir(place) else given


def _wait(answer: "dict[str, Any]", client: "Client", terminal: Terminal) -> "dict[str, Any]":
    """Ask again until no model is being filled, or its worker broke."""
    while True:
        filling = [model for model in answer["models"] if model["state"] == "filling"]
        broken = [model for model in filling if (model["worker"] or {}).get("state") == "broken"]
        if not filling or broken:
            terminal.end_progress()
            return answer
        terminal.progress(f"{filling[0]['space']}: {filling[0]['percent']} %")
        time.sleep(WAIT_PAUSE_S)
        answer = client.call("embed_status")


def _tell(answer: "dict[str, Any]", terminal: Terminal) -> None:
    terminal.line(styled(f"searches by {answer['search']}", "bold"), f" ({answer['why']})")
    for model in answer["models"]:
        terminal.line(
            styled(str(model["space"]), "bold"),
            f"  {STATES[model['state']]}, {model['percent']} % of the memories",
            indent=2,
        )
        terminal.line(f"{model['name']}, {model['dimensions']} dimensions", indent=4)
        terminal.line(*_worker(model["worker"]), indent=4)
        terminal.table(
            [
                (
                    folder(store["path"]),
                    f"{store['filled']} of {count(store['memories'], 'memory')}",
                )
                for store in model["stores"]
            ],
            indent=4,
        )
    if not answer["models"]:
        _tell_known(answer["known"], terminal)
    if not answer["extension"]:
        terminal.line(styled("sqlite-vec is not installed: the same answers, slower", "yellow"))
    for problem in answer["problems"]:
        terminal.line(styled(str(problem), "red"))


def _store(store: "dict[str, Any]") -> tuple[str, str]:
    return folder(store["path"]), f"{store['filled']} of {count(store['memories'], 'memory')}"


def _worker(worker: "dict[str, Any] | None") -> tuple[str, ...]:
    if worker is None or worker["state"] == "cold":
        return ("its process is not running; it starts when it is needed",)
    if worker["state"] == "broken":
        return ("its process ", styled(f"broke: {worker['why']}", "red"))
    memory = f", memory {size(worker['rss_bytes'])}" if worker.get("rss_bytes") else ""
    return (f"its process is {worker['state']}, pid {worker['pid']}{memory}",)


def _tell_known(known: "list[dict[str, Any]]", terminal: Terminal) -> None:
    for model in known:
        state = "installed" if not model["missing"] else f"not installed; it is {model['fetches']}"
        terminal.line(styled(str(model["name"]), "bold"), f"  {state}", indent=2)
    ready = next((model["name"] for model in known if not model["missing"]), "")
    if ready:
        terminal.line(f"Enable it: yaadwatch embed enable {ready}")
    else:
        terminal.line(
            "Install one: uv tool install 'yaadwatch[onnx]', or: pipx install --force"
            " 'yaadwatch[onnx]'"
        )
