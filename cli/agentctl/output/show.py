"""One run whole: what was asked, said and decided, what waits, and what to type next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TextIO

from agentctl.output.describe import command, decided, indented, next_commands
from agentctl.output.escape import escape_line, escape_text
from agentctl.output.events_json import json_line
from agentctl.output.streams import put
from agentctl.output.style import Style, is_terminal, use_color

_RUN_FIELDS = (
    ("run", "run_id"),
    ("status", "status"),
    ("agent", "agent"),
    ("thread", "thread"),
    ("resource", "resource"),
    ("started", "started_at"),
    ("updated", "updated_at"),
    ("finished", "finished_at"),
)


def show_run(
    shown: Mapping[str, Any],
    *,
    json: bool,
    stdout: TextIO,
    color: bool | None = None,
    store: str | None = None,
) -> None:
    """Show `{"run", "suspensions", "decisions", "messages"}`; nothing in it is cut."""
    if json:
        put(stdout, json_line(shown, terminal=is_terminal(stdout)) + "\n")
        return
    style = Style(use_color(stdout, color))
    lines = [
        *_run(shown["run"], style),
        *_section(
            "conversation", [line for one in shown["messages"] for line in _message(one, style)], style
        ),
        *_section("decisions", [line for one in shown["decisions"] for line in _decision(one)], style),
        *_section(
            "waiting", [line for one in shown["suspensions"] for line in _suspension(one, style)], style
        ),
        *_section("next", _next(shown, store), style),
    ]
    put(stdout, "".join(line + "\n" for line in lines))


def _run(run: Mapping[str, Any], style: Style) -> list[str]:
    fields = [(head, escape_line(str(run[name]))) for head, name in _RUN_FIELDS if run.get(name)]
    if run.get("finish_reason") not in (None, "error", "stop", run["status"]):
        fields.append(("reason", escape_line(run["finish_reason"])))
    usage = ", ".join(f"{name} {count}" for name, count in (run.get("usage") or {}).items() if count)
    if usage:
        fields.append(("usage", usage))
    if run.get("error"):
        fields.append(("error", escape_line(f"{run['error']['code']}: {run['error']['message']}")))
    lines = [f"{style.bold(head.ljust(8))}  {text}" for head, text in fields]
    return lines + _section("prompt", _block(run["prompt"] or ""), style)


def _section(head: str, lines: list[str], style: Style) -> list[str]:
    return ["", style.bold(head), *(f"  {line}".rstrip() for line in lines)] if lines else []


def _block(text: str) -> list[str]:
    return escape_text(text).split("\n") if text else []


def _message(message: Mapping[str, Any], style: Style) -> list[str]:
    who = f"tool {message['tool']}" if message["role"] == "tool" else message["role"]
    said = _block(message.get("text", message.get("content", "")))
    calls = [
        f"calls {escape_line(call['tool'])} {escape_line(call['arguments'])}"
        for call in message.get("calls", ())
    ]
    return [style.dim(escape_line(who)), *(f"  {line}" for line in said + calls)]


def _decision(decision: Mapping[str, Any]) -> list[str]:
    given = {name: decision[name] for name in ("args", "data") if name in decision}
    lines = [decided({key: value for key, value in decision.items() if key not in given})]
    for name, value in given.items():
        lines += [f"  {name}", *_json_block(value)]
    return lines


def _suspension(suspension: Mapping[str, Any], style: Style) -> list[str]:
    kind, tool, at = (escape_line(suspension[name]) for name in ("kind", "tool", "suspended_at"))
    agent = escape_line("/".join(suspension["agent_path"]))
    lines = [style.bold(escape_line(suspension["id"])), f"  {kind} of {tool}, asked by {agent} at {at}"]
    if suspension.get("reason"):
        lines.append(f"  because: {escape_line(suspension['reason'])}")
    lines += ["  arguments", *_json_block(suspension["args"])]
    if suspension["kind"] == "data":
        lines += ["  asks", *_json_block(suspension["suspend_payload"])]
        if suspension.get("resume_schema"):
            lines += ["  schema of the answer", *_json_block(suspension["resume_schema"])]
    return lines


def _json_block(value: Any) -> list[str]:
    return [f"    {line}" for line in indented(value).split("\n")]


def _next(shown: Mapping[str, Any], store: str | None) -> list[str]:
    run = shown["run"]
    if shown["suspensions"]:
        return [line for one in shown["suspensions"] for line in next_commands(one, store)]
    match run["status"]:
        case "interrupted" if ((run.get("error") or {}).get("hint") or "").startswith("agentctl "):
            return [escape_line(run["error"]["hint"])]
        case "interrupted" | "suspended":
            return [command("resume", run["run_id"], store=store)]
        case "running":
            return [command("log", run["run_id"], "--follow", store=store)]
        case "damaged":
            return [command("verify", run["run_id"], store=store)]
        case _:
            return []
