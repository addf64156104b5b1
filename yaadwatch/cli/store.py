"""Commands that look after a store: upkeep, verify, compact, backup, embed."""
# ruff: noqa: PTH100, PTH111, PTH112

import os
import time
from argparse import Namespace
from itertools import groupby

from yaadwatch.api.messages.memories import Upkeep
from yaadwatch.api.messages.store import Backup, Compact, EmbedDisable, EmbedEnable, Verify
from yaadwatch.cli.commands import asked, command, option
from yaadwatch.cli.terminal import Terminal, styled
from yaadwatch.cli.words import count, folder, listed, short, size
from yaadwatch.model.errors import Code, YaadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yaadwatch.client.connection import Client


@command(
    "verify",
    "check a store for damage",
    examples=[
        ("yaadwatch verify", "the memories of this project"),
        ("yaadwatch verify --repair", "rebuild what can be rebuilt"),
    ],
    more="Nothing is written without --repair. Exit status 1 when something is wrong.\n"
    "A store that cannot be opened at all: yaadwatch doctor",
    takes=Verify,
)
def verify(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Print what is wrong in a store, and the command that mends it."""
    answer = client.call("verify", **asked(args, Verify))
    status = 0 if answer["sound"] else 1
    if args.json:
        terminal.json(answer)
        return status
    for done in answer["repaired"]:
        terminal.line(f"Rebuilt: {done}.")
    for found in answer["findings"]:
        terminal.line(styled(str(found["what"]), "red"))
        terminal.line(f"fix: {found['mend']}", indent=2)
    where = folder(answer["path"])
    if answer["sound"]:
        terminal.line(f"{where} is sound. Checked: {listed(answer['checks'])}.")
    else:
        terminal.line(f"{count(len(answer['findings']), 'fault')} in {where}.")
    return status


@command(
    "compact",
    "shrink a store: give back the space of deleted data",
    examples=[
        ("yaadwatch compact", "the store of this project"),
        ("yaadwatch export --format store FILE", "a single file, to take elsewhere"),
    ],
    takes=Compact,
)
def compact(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Print how large the store was and is."""
    answer = client.call("compact", **asked(args, Compact))
    if args.json:
        terminal.json(answer)
    else:
        terminal.line(
            f"{folder(answer['path'])}: {size(answer['before'])} before,"
            f" {size(answer['after'])} now."
        )
    return 0


@command(
    "backup",
    "back up a store now",
    examples=[
        ("yaadwatch backup", "the memories of this project"),
        ("yaadwatch backup --user", "your own store, for all projects"),
    ],
    more="The daemon does this daily. The newest seven copies that differ are kept, and\n"
    "of these at most three from the same day while there are older ones. When the\n"
    "store is lost, yaadwatch add --restore brings the newest copy back.",
    takes=Backup,
)
def backup(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Print where the copy is."""
    answer = client.call("backup", **asked(args, Backup))
    if args.json:
        terminal.json(answer)
        return 0
    done = "Copied to" if answer["made"] else "Nothing has changed since"
    terminal.line(f"{done} {folder(answer['path'])} ({size(answer['bytes'])}).")
    terminal.line(f"{count(len(answer['kept']), 'copy')} kept.")
    if answer.get("restore"):
        terminal.line(f"To go back to it when the store is lost: {answer['restore']}")
    return 0


@command(
    "upkeep",
    "archive faded memories, erase what was archived long ago",
    examples=[
        ("yaadwatch upkeep --dry-run", "what it would do"),
        ("yaadwatch upkeep", "do now what the daemon does daily"),
        ("yaadwatch upkeep --accept", "even if that is most of them"),
    ],
    more="The daemon does this daily. A memory fades with age, each kind at its own pace,\n"
    "unless it is confirmed, recalled or pinned. A faded memory is archived, and 90\n"
    "days later erased if no other memory needs it. When more than half of a store\n"
    "would go at once, nothing goes: check the clock first, then use --accept.",
    takes=Upkeep,
)
def upkeep(args: Namespace, client: "Client", terminal: Terminal) -> int:
    """Print what was archived and pruned, or would be."""
    answer = client.call("upkeep", **asked(args, Upkeep))
    if args.json:
        terminal.json(answer)
        return 0
    archived, pruned, dry = answer["archived"], answer["pruned"], answer["dry_run"]
    archive, erase, drop = (
        ("Would archive", "erase", "drop") if dry else ("Archived", "erased", "dropped")
    )
    names = count(answer["orphans"], "file or symbol", "files or symbols")
    terminal.line(
        f"{archive} {len(archived)}, {erase} {len(pruned)}, {drop} {names} that no memory is about;"
        f" looked at {count(answer['checked'], 'memory')}."
    )
    _tell(archive, archived, terminal)
    _tell("Would erase for good" if dry else "Erased for good", pruned, terminal)
    for held in answer.get("held", ()):
        terminal.line(
            styled(
                f"Held back in {folder(held['where'])}: {held['count']} of {held['of']} would be "
                f"{held['what']} at once. If that is right: yaadwatch upkeep --accept",
                "yellow",
            )
        )
    for skipped in answer["skipped"]:
        terminal.line(styled(f"skipped: {skipped}", "red"))
    if archived and not dry:
        terminal.line("Undo for one: yaadwatch restore ID --project DIR")
    return 0


def _tell(done: str, memories: "list[dict[str, Any]]", terminal: Terminal) -> None:
    for project, here in groupby(memories, key=lambda one: one["project"]):
        terminal.line(f"{done} in ", styled(folder(project), "bold"))
        terminal.table(
            [
                (styled(short(one["id"]), "bold"), *_confidence(one), str(one["text"]))
                for one in here
            ]
        )


def _confidence(memory: "dict[str, Any]") -> tuple[str, ...]:
    return (f"{memory['confidence']:.2f}",) if "confidence" in memory else ()


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
        _tell_embed(answer, terminal)
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


def _tell_embed(answer: "dict[str, Any]", terminal: Terminal) -> None:
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
