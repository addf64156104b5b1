"""`CONNECTIONS`: the files that connect each agent, their entries, and the steps left to a person.

docs/agents.md describes these files, with sources. The files that are wholly ours are here as well:
OpenCode's plugin, hooks for Cline, and our skill.
"""

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bridges.rules import AGENTS
from yaadwatch.client import hook_agents
from yaadwatch.connect.places import Program, Spot

_PLUGIN: Final = """\
// Written by `yaadwatch connect opencode`, taken away by `yaadwatch disconnect opencode`.
// It asks yaadwatch what the agent should know. Whatever goes wrong there, OpenCode works on.
import { spawn } from "node:child_process"

const HOOK = @HOOK@
const ENV = @ENV@
const TIME_MS = @TIME@
const START_TIME_MS = @START@
const EDITS = new Set(["edit", "write", "patch", "apply_patch", "multiedit"])

function ask(event, payload) {
  return new Promise((resolve) => {
    try {
      const [program, ...rest] = HOOK
      const child = spawn(program, [...rest, event, "--agent", "opencode"], {
        env: { ...process.env, ...ENV },
        stdio: ["pipe", "pipe", "ignore"],
      })
      let out = ""
      const end = (text) => {
        clearTimeout(timer)
        resolve(text)
      }
      const timer = setTimeout(() => {
        child.kill()
        resolve("")
      }, event === "session-start" ? START_TIME_MS : TIME_MS)
      child.on("error", () => end(""))
      child.stdin.on("error", () => {})
      child.stdout.on("data", (chunk) => (out += chunk))
      child.on("close", () => {
        try {
          end(out ? String(JSON.parse(out).text || "") : "")
        } catch {
          end("")
        }
      })
      child.stdin.end(JSON.stringify(payload))
    } catch {
      resolve("")
    }
  })
}

export const Yaadwatch = async ({ directory, worktree }) => {
  const cwd = directory || worktree || process.cwd()
  const briefs = new Map()
  const news = new Map()
  const brief = (session) => {
    if (!briefs.has(session)) briefs.set(session, ask("session-start", { cwd, session }))
    return briefs.get(session)
  }
  const note = (session, text) => {
    if (text) news.set(session, [news.get(session), text].filter(Boolean).join("\\n"))
  }
  return {
    "chat.message": async ({ sessionID }) => {
      try {
        const isFirst = !briefs.has(sessionID)
        await brief(sessionID)
        if (!isFirst) note(sessionID, await ask("prompt-submit", { cwd, session: sessionID }))
      } catch {}
    },
    "tool.execute.after": async (input, output) => {
      try {
        if (!EDITS.has(input.tool)) return
        const { sessionID: session, tool, args } = input
        const meta = (output && output.metadata) || {}
        note(session, await ask("post-tool-use", { cwd, session, tool, args, meta }))
      } catch {}
    },
    "experimental.chat.system.transform": async (input, output) => {
      try {
        const session = (input && input.sessionID) || ""
        for (const text of [await brief(session), news.get(session)]) {
          if (text) output.system.push(text)
        }
      } catch {}
    },
    event: async ({ event }) => {
      try {
        if (event.type !== "session.deleted") return
        const session = event.properties.info.id
        briefs.delete(session)
        news.delete(session)
        await ask("session-end", { cwd, session })
      } catch {}
    },
  }
}
"""

_HOOK: Final = """\
#!/bin/sh
# Written by `yaadwatch connect cline`, taken away by `yaadwatch disconnect cline`.
# Whatever is missing, Cline gets an answer and works on.
answer=$(@HOOK@)
[ -n "$answer" ] || answer='{"cancel": false}'
printf '%s\\n' "$answer"
exit 0
"""


def opencode_plugin(program: Program) -> str:
    """Return the plugin that speaks for us in OpenCode. It is run in OpenCode's own process."""
    return (
        _PLUGIN.replace("@HOOK@", json.dumps(program.hooks(), ensure_ascii=False))
        .replace("@ENV@", json.dumps(dict(program.env), ensure_ascii=False))
        # A hook takes 150 ms, and node may start it late; 2 s when a session starts.
        .replace("@TIME@", "2000")
        .replace("@START@", "4000")
    )


def skill() -> str:
    """Return what teaches an agent when to remember, recall, confirm and correct."""
    return Path(__file__).with_name("SKILL.md").read_text(encoding="utf-8")


def cline_hook(program: Program, event: str) -> str:
    """Return the program that Cline starts for one of its events."""
    return _HOOK.replace("@HOOK@", program.line(event, "cline"))


SERVER: Final = "yaad"
"""The name of our MCP server in every agent's settings."""
TIME_S: Final = 5
"""The time limit of a hook in agents' settings. A hook takes 2 s; a waking machine more."""

_START, _TOUCHED, _END = "session-start", "post-tool-use", "session-end"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where files of settings are looked for.

    Args:
        home: the person's home folder.
        project: the top of a work tree, for what holds there only; None: for the person.
        env: of this process: some agents take their folder from it.
        platform: as in `sys.platform`.
    """

    home: Path
    project: Path | None = None
    env: Mapping[str, str]
    platform: str = sys.platform

    def of(self, user: str, project: str, *, moved: str = "", instead: str = "") -> str:
        """Return a path: below the home folder, or below the project.

        Args:
            user: relative to the home folder.
            project: relative to the project.
            moved: a variable that names a folder to take in place of `instead`.
            instead: the first part of `user`.
        """
        if self.project is not None:
            return str(self.project / project)
        folder = self.env.get(moved, "") if moved else ""
        if folder and os.path.isabs(folder):  # noqa: PTH117
            return os.path.join(folder, os.path.relpath(user, instead))  # noqa: PTH118
        return str(self.home / user)


Spots = Callable[[Program, Place], Sequence[Spot]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """How an agent is connected.

    Args:
        agent: its name, as in `bridges.rules` where that knows it.
        title: what people call it.
        homes: what is in a person's home folder once the agent was used.
        spots: what is written where, in this order.
        by_project: whether it can be connected for one project only.
        todo: what the person still has to do, at the level of the person.
        todo_project: the same for a project.
        strict_json: whether it reads its JSON files as strict JSON: one with a comment or a comma
            before a closing bracket counts for nothing.
    """

    agent: str
    title: str
    homes: tuple[str, ...]
    spots: Spots
    by_project: bool = True
    todo: str = ""
    todo_project: str = ""
    strict_json: bool = False


def _server(program: Program, agent: str, *more: str, **extra: Any) -> dict[str, Any]:
    command, *arguments = program.mcp(agent, *more)
    entry = {**extra, "command": command, "args": arguments}
    return entry | ({"env": dict(program.env)} if program.env else {})


def _mode(place: Place) -> int:
    return 0o600 if place.project is None else 0o644


def _claude(program: Program, place: Place) -> Sequence[Spot]:
    moved = {"moved": "CLAUDE_CONFIG_DIR", "instead": ".claude"}
    settings = place.of(".claude/settings.json", ".claude/settings.local.json", **moved)
    servers = place.of(".claude.json", ".mcp.json")
    if place.project is None and place.env.get("CLAUDE_CONFIG_DIR"):
        servers = os.path.join(place.env["CLAUDE_CONFIG_DIR"], ".claude.json")  # noqa: PTH118
    server = _server(program, "claude", type="stdio")
    return [
        _member(servers, place, server),
        *_groups(settings, program, "claude", "Edit|MultiEdit|Write|NotebookEdit"),
    ]


def _codex(program: Program, place: Place) -> Sequence[Spot]:
    moved = {"moved": "CODEX_HOME", "instead": ".codex"}
    settings = place.of(".codex/config.toml", ".codex/config.toml", **moved)
    hooks = place.of(".codex/hooks.json", ".codex/hooks.json", **moved)
    server = _server(program, "codex")
    return [
        Spot(path=settings, how="table", at=("mcp_servers", SERVER), value=server),
        *_groups(hooks, program, "codex", "apply_patch|Edit|Write"),
    ]


def _gemini(program: Program, place: Place) -> Sequence[Spot]:
    settings = place.of(".gemini/settings.json", ".gemini/settings.json")
    more = {"name": SERVER}
    return [
        _member(settings, place, _server(program, "gemini")),
        *_groups(settings, program, "gemini", "write_file|replace", unit=1000, **more),
    ]


def _member(path: str, place: Place, server: object, *at: str) -> Spot:
    """Return our server as a member of an object in JSON."""
    where = (*(at or ("mcpServers",)), SERVER)
    return Spot(path=path, how="member", at=where, value=server, mode=_mode(place))


def _groups(
    path: str, program: Program, agent: str, matcher: str, *, unit: int = 1, **more: str
) -> list[Spot]:
    """Return hooks in the form of Claude Code, which others took over: groups with a matcher.

    `matcher`: of the tools that change files; `unit`: of time limits, in a second.
    """
    spots = []
    for event, name in hook_agents.AGENTS[agent].names.items():
        # Codex gives the end of a session no more than 3 s.
        time_s = 3 if event == _END else TIME_S
        command = {"type": "command", **more, "command": program.line(event, agent)}
        group = {"hooks": [command | {"timeout": time_s * unit}]}
        value = ({"matcher": matcher} if event == _TOUCHED else {}) | group
        spots.append(Spot(path=path, how="element", at=("hooks", name), value=value, event=event))
    return spots


def _copilot(program: Program, place: Place) -> Sequence[Spot]:
    moved = {"moved": "COPILOT_HOME", "instead": ".copilot"}
    servers = place.of(".copilot/mcp-config.json", ".github/mcp.json", **moved)
    hooks = place.of(".copilot/hooks/yaadwatch.json", ".github/hooks/yaadwatch.json", **moved)
    names = hook_agents.AGENTS["copilot"].names
    lines = {name: program.line(event, "copilot") for event, name in names.items()}
    limit = {"timeoutSec": TIME_S}
    wanted = {
        "version": 1,
        "hooks": {
            name: [{"type": "command", "bash": line} | limit] for name, line in lines.items()
        },
    }
    return [
        _member(servers, place, _server(program, "copilot", type="local") | {"tools": ["*"]}),
        Spot(path=hooks, how="file", value=json.dumps(wanted, indent=2) + "\n", mode=_mode(place)),
    ]


def _cursor(program: Program, place: Place) -> Sequence[Spot]:
    hooks, mode = place.of(".cursor/hooks.json", ".cursor/hooks.json"), _mode(place)
    return [
        _member(
            place.of(".cursor/mcp.json", ".cursor/mcp.json"), place, _server(program, "cursor")
        ),
        Spot(path=hooks, how="default", at=("version",), value=1, mode=mode),
        *(
            Spot(
                path=hooks,
                how="element",
                at=("hooks", name),
                value={"command": program.line(event, "cursor")},
                event=event,
                mode=mode,
            )
            for event, name in hook_agents.AGENTS["cursor"].names.items()
            if event != "prompt-submit"  # whose answer the model does not hear
        ),
    ]


def _xdg(place: Place, user: str, project: str) -> str:
    return place.of(user, project, moved="XDG_CONFIG_HOME", instead=".config")


def _opencode(program: Program, place: Place) -> Sequence[Spot]:
    settings = _xdg(place, ".config/opencode/opencode.json", "opencode.json")
    plugin = _xdg(place, ".config/opencode/plugins/yaadwatch.js", ".opencode/plugins/yaadwatch.js")
    if Path(f"{settings}c").exists() and not Path(settings).exists():
        settings = f"{settings}c"
    entry: dict[str, Any] = {"type": "local", "command": program.mcp("opencode"), "enabled": True}
    if program.env:
        entry["environment"] = dict(program.env)
    return [
        _member(settings, place, entry, "mcp"),
        Spot(path=plugin, how="file", value=opencode_plugin(program), mode=_mode(place)),
    ]


def _cline(program: Program, place: Place) -> Sequence[Spot]:
    names = {_START: "TaskStart", _TOUCHED: "PostToolUse", _END: "SessionShutdown"}
    hooks = [
        Spot(
            path=place.of(f"Documents/Cline/Hooks/{name}", f".clinerules/hooks/{name}"),
            how="file",
            value=cline_hook(program, event),
            mode=0o700 if place.project is None else 0o755,
        )
        for event, name in names.items()
    ]
    if place.project is not None:
        return hooks  # it has no servers of a project
    settings = place.of(
        ".cline/data/settings/cline_mcp_settings.json", "", moved="CLINE_DIR", instead=".cline"
    )
    return [_member(settings, place, _server(program, "cline")), *hooks]


def _servers_only(agent: str, user: str, project: str, *at: str) -> Spots:
    def spots(program: Program, place: Place) -> Sequence[Spot]:
        moved = user.startswith(".config/") and place.platform != "darwin"
        path = _xdg(place, user, project) if moved else place.of(user, project)
        return [_member(path, place, _server(program, agent), *at)]

    return spots


def _vscode(program: Program, place: Place) -> Sequence[Spot]:
    user, project = "Code/User/mcp.json", ".vscode/mcp.json"
    if place.platform == "darwin":
        path = place.of(f"Library/Application Support/{user}", project)
    else:
        path = _xdg(place, f".config/{user}", project)
    server = _server(program, "vscode", "--project", "${workspaceFolder}", type="stdio")
    return [_member(path, place, server, "servers")]


_KNOWN: Final = {agent.name: agent for agent in AGENTS}


def _row(agent: str, spots: Spots, **more: Any) -> Connection:
    known = _KNOWN[agent]
    return Connection(agent=agent, title=known.title, homes=known.homes, spots=spots, **more)


SKILL: Final = "skill"
"""The row of our skill, which no agent's traces ask for: `yaadwatch skill install` does."""


def _skill(program: Program, place: Place) -> Sequence[Spot]:  # noqa: ARG001
    folders = [".claude", ".agents"]
    if place.project is None:
        others = any((place.home / one).exists() for row in AGENTS[1:] for one in row.homes)
        claude = (place.home / ".claude").exists()
        folders = [".claude"] * claude + [".agents"] * (others or not claude)
    paths = [f"{folder}/skills/yaadwatch/SKILL.md" for folder in folders]
    return [
        Spot(path=place.of(path, path), how="file", value=skill(), mode=_mode(place))
        for path in paths
    ]


_TRUST_FOLDER: Final = "has to trust the folder once; it asks when it starts there"

CONNECTIONS: Final = (
    _row(
        "claude",
        _claude,
        strict_json=True,
        todo_project="Claude Code asks once, in this folder, whether it may start the server.",
    ),
    _row(
        "codex",
        _codex,
        strict_json=True,
        todo="Codex runs new hooks only once you trust them: start codex, type /hooks, approve"
        " those of yaadwatch. The MCP server works at once.",
        todo_project="Codex reads this only in a folder that it trusts, and runs hooks only once"
        " you approve them: start codex here, type /hooks.",
    ),
    _row(
        "gemini",
        _gemini,
        todo_project=f"Gemini CLI {_TRUST_FOLDER}.",
    ),
    _row("cursor", _cursor, todo="Cursor may ask once to enable the server: Settings, MCP."),
    _row("copilot", _copilot, todo_project=f"Copilot CLI {_TRUST_FOLDER}."),
    _row("opencode", _opencode),
    _row(
        "cline",
        _cline,
        todo="In the editor, switch hooks on in Cline's settings; its command line needs nothing.",
    ),
    Connection(
        agent="vscode",
        title="Visual Studio Code",
        homes=(".config/Code", "Library/Application Support/Code", ".vscode"),
        spots=_vscode,
        todo="VS Code asks once whether it may start the server.",
        todo_project="VS Code asks once whether it may start the server.",
    ),
    Connection(
        agent="zed",
        title="Zed",
        homes=(".config/zed",),
        spots=_servers_only(
            "zed", ".config/zed/settings.json", ".zed/settings.json", "context_servers"
        ),
    ),
    _row(
        "kiro",
        _servers_only("kiro", ".kiro/settings/mcp.json", ".kiro/settings/mcp.json"),
    ),
    _row(
        "devin",
        _servers_only("devin", ".devin/mcp_config.json", ".devin/mcp_config.json"),
    ),
    _row(
        "windsurf",
        _servers_only("windsurf", ".codeium/windsurf/mcp_config.json", ""),
        by_project=False,
    ),
    Connection(agent=SKILL, title="Skill", homes=(), spots=_skill),
)
"""Every agent that can be connected, in the order of the help."""
