"""Files that are ours from the first byte: OpenCode's plugin, hooks for Cline, our skill."""

import json
from pathlib import Path
from typing import Final

from yaadwatch.connecting.programs import Program

PLUGIN_TIME_MS: Final = 2000
"""After this the plugin goes on without an answer. A hook takes 150 ms; node may start it late."""
PLUGIN_START_TIME_MS: Final = 4000
"""The same when a session starts, where a hook takes 2 s."""

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
        .replace("@TIME@", str(PLUGIN_TIME_MS))
        .replace("@START@", str(PLUGIN_START_TIME_MS))
    )


def skill() -> str:
    """Return what teaches an agent when to remember, recall, confirm and correct."""
    return Path(__file__).with_name("SKILL.md").read_text(encoding="utf-8")


def cline_hook(program: Program, event: str) -> str:
    """Return the program that Cline starts for one of its events."""
    return _HOOK.replace("@HOOK@", program.line(event, "cline"))
