"""OPERATIONS: every operation of the daemon, and the wires on which it is offered."""

from dataclasses import dataclass
from typing import Final, Literal

from yaadwatch.api.message import Message
from yaadwatch.api.messages import graph, memories, store

SOCKET: Final = frozenset({"socket"})
BOTH: Final = frozenset({"socket", "cli"})
ALL: Final = BOTH | {"mcp"}
"""An agent can ask it as a tool, too."""
WIDE: Final = BOTH | {"mcp-wide"}
"""Likewise, as a part of a wide tool, where a setting asks for that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One row. `help` is a line for people; the daemon finds the verb by the name."""

    name: str
    request: type[Message]
    kind: Literal["read", "write"]
    help: str
    wires: frozenset[str] = BOTH


def _read(name: str, request: type[Message], text: str, wires: frozenset[str] = BOTH) -> Operation:
    return Operation(name=name, request=request, kind="read", help=text, wires=wires)


def _write(name: str, request: type[Message], text: str, wires: frozenset[str] = BOTH) -> Operation:
    return Operation(name=name, request=request, kind="write", help=text, wires=wires)


OPERATIONS: Final = (
    _write("remember", memories.Remember, "keep a statement, and what it is about", ALL),
    _read("recall", memories.Recall, "find what is remembered about a question", ALL),
    _read("context", memories.Context, "say what an agent should know before it starts", ALL),
    _read("show", memories.Show, "show one memory with its places, anchors and versions", WIDE),
    _write("forget", memories.Forget, "archive one memory", ALL),
    _write("erase", memories.Erase, "erase one memory from everything, backups too"),
    _write("restore", memories.Restore, "bring an archived memory back, or an older version", WIDE),
    _read("history", memories.History, "show every version of a memory, who made it and why", WIDE),
    _write("confirm", memories.Confirm, "say that a memory still holds; its flag is cleared", WIDE),
    _write("update", memories.Update, "give a memory new words", WIDE),
    _write("reanchor", memories.Reanchor, "accept what a flag proposes: a place, or words", WIDE),
    _write("pin", memories.Pin, "keep a memory from ageing", WIDE),
    _write("unpin", memories.Unpin, "let a pinned memory age again", WIDE),
    _write("tag", memories.Tag, "put tags on a memory, and take others off", WIDE),
    _read("stale", memories.Stale, "list the memories that may no longer be true", ALL),
    _read("impact", memories.Impact, "list the memories that rest on a file, and on those", ALL),
    _read("facts", memories.Facts, "list what a project is made of, and what rests on it", WIDE),
    _write("link", graph.Link, "relate a memory to another one; flags follow the relation", ALL),
    _write("unlink", graph.Unlink, "end a relation between two memories", ALL),
    _write("close_link", graph.CloseLink, "end one relation by its number, at a time", WIDE),
    _read("subgraph", graph.Subgraph, "show what is around a memory, or a question", ALL),
    _read("traverse", graph.Traverse, "walk from a memory along its relations", WIDE),
    _write("inject", graph.Inject, "take in many memories and relations, all or none", WIDE),
    _read("graph_stats", graph.GraphStats, "count the nodes and edges of a project", WIDE),
    _write("delete_node", graph.DeleteNode, "delete a memory for good, with its relations"),
    _write("delete_edge", graph.DeleteEdge, "delete a relation as if it had never been"),
    _read("tasks", store.Tasks, "list what is to be done, what comes first at the front"),
    _write("task_update", store.TaskUpdate, "add a task, or say how far one is", ALL),
    _read("skills", store.Skills, "list the ways of working that are kept, or show one"),
    _write("skill_add", store.SkillAdd, "keep a way of working under a name"),
    _read("sessions", store.Sessions, "list past sessions, find one, or show its receipt", ALL),
    _write("session_start", store.SessionStart, "begin a session; get its id and the brief"),
    _write("session_note", store.SessionNote, "note something in a session"),
    _write("session_end", store.SessionEnd, "end a session; say what it is remembered by"),
    _read("handoff", store.Handoff, "make a prompt for the next session"),
    _write(
        "session_news", store.SessionNews, "say what is new since this session last asked", SOCKET
    ),
    _write(
        "session_touched",
        store.SessionTouched,
        "note which files an agent touched; say what rests on them",
        SOCKET,
    ),
    _read("claims", graph.Claims, "list what memories claim: values of things", WIDE),
    _write("add_claim", graph.AddClaim, "add a claim to a memory: a subject has a value", WIDE),
    _write("end_claim", graph.EndClaim, "say that a claim no longer holds", WIDE),
    _read("contradictions", graph.Contradictions, "list what cannot all be true", WIDE),
    _write("resolve", graph.Resolve, "settle a contradiction", WIDE),
    _read("gaps", graph.Gaps, "list how often questions had no good answer", WIDE),
    _write("approve_gap", graph.ApproveGap, "keep the words of such a question", WIDE),
    _write("drop_gap", graph.DropGap, "forget such a question", WIDE),
    _read("review", graph.Review, "list the notes of agents and imports that wait for a person"),
    _write("decide", graph.Decide, "approve, edit or dismiss such a note; for persons only"),
    _write("check", memories.Check, "compare every memory of a project with its files now"),
    _write("add", store.Add, "watch a repository and read its agent files"),
    _write("remove", store.Remove, "stop watching a repository; its memories are kept"),
    _read("projects", store.Projects, "list the watched repositories"),
    _read("files", store.Files, "list the agent files, and the copies kept of them"),
    _read("files_diff", store.FilesDiff, "show what a sync of the agent files would change"),
    _write("files_sync", store.FilesSync, "bring agent files and memories together"),
    _write("files_adopt", store.FilesAdopt, "have an agent file take part in another way"),
    _read("files_statements", store.Statements, "say which statements of agent files travel"),
    _write("files_share", store.FilesShare, "send what an agent file states to other agents"),
    _write("files_release", store.FilesRelease, "take our block out of an agent file"),
    _read("files_history", store.FilesHistory, "say what happened to an agent file"),
    _write("files_restore", store.FilesRestore, "bring a copy of an agent file back"),
    _read("status", store.Status, "say what runs, what is watched and what is wrong", ALL),
    _write("upkeep", memories.Upkeep, "archive what has faded, prune what was archived long ago"),
    _read("export", store.Export, "hand out what is in a store, a piece at a time", WIDE),
    _write("import", store.Import, "take in what was handed out, or comes from elsewhere"),
    _read("imports", store.Imports, "list what was imported"),
    _read("verify", store.Verify, "look for what is wrong in a store"),
    _write("compact", store.Compact, "rewrite a store without the space of deleted rows"),
    _write("backup", store.Backup, "make a dated copy of a store now"),
    _read("embed_status", store.EmbedStatus, "say how questions are answered, and which models"),
    _write("embed_enable", store.EmbedEnable, "have a model find memories by what they mean"),
    _write("embed_disable", store.EmbedDisable, "answer questions by words alone"),
    _read("subscribe", store.Subscribe, "follow the events from a cursor on", SOCKET),
    _read("config", store.Config, "say which settings hold, and where each is from"),
    _read("health", store.Health, "say whether all is well, from memory alone", SOCKET),
    _write("shutdown", store.Shutdown, "end the daemon"),
)
"""In the order of docs/contracts.md."""

BY_NAME: Final = {operation.name: operation for operation in OPERATIONS}
