"""What `check` says about an agent: errors, and warnings about what would surprise at run time.

Imports tools and policies and reads scripts; calls no tool, no policy and no model.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from agentctl.agents.agent import Agent
from agentctl.agents.loading import read_agent
from agentctl.errors import DefinitionError
from agentctl.tools.loading import load_object
from agentctl.tools.policy import Policy
from agentctl.yaml12.source import Document
from agentctl.yaml12.text import shown


def check_agent(path: Path) -> list[str]:
    """The warnings about the agent that `path` defines, each as `file:line:column: what`.

    Raises `NotFound` and `DefinitionError` for what keeps the agent from running.
    """
    agent, document = read_agent(path)
    _check_script(agent, document)
    return [
        *_model_warnings(agent, document),
        *_tool_warnings(agent, document),
        *_approval_warnings(agent, document),
    ]


def _check_script(agent: Agent, document: Document) -> None:
    if agent.model is None or agent.model.provider != "scripted":
        return
    from agentctl.models.scripted import open_scripted

    try:
        open_scripted(agent.model.name, agent.folder)
    except DefinitionError as error:
        raise document.error(("model",), error.message, *error.hints) from None


def _model_warnings(agent: Agent, document: Document) -> Iterator[str]:
    if agent.model is None:
        yield _warning(document, (), "there is no `model`: each run needs --model or AGENTCTL_MODEL")


def _tool_warnings(agent: Agent, document: Document) -> Iterator[str]:
    if not agent.tools:
        yield _warning(document, ("tools",), "the agent has no tools", key=True)


def _approval_warnings(agent: Agent, document: Document) -> Iterator[str]:
    match agent.require_tool_approval:
        case Policy(name=ref):
            if problem := _policy_problem(ref, agent.folder):
                message = f"every call will wait for approval: {problem}"
                yield _warning(document, ("require_tool_approval",), message)
        case tuple(globs):
            for index, glob in enumerate(globs):
                if not any(fnmatchcase(id, glob) for id in agent.tools):
                    message = f"`{shown(glob)}` matches no tool; tools: {', '.join(agent.tools) or 'none'}"
                    yield _warning(document, ("require_tool_approval", index), message)


def _policy_problem(ref: str, folder: Path) -> str | None:
    try:
        found = load_object(ref, folder)
    except DefinitionError as error:
        return error.message
    return None if callable(found) else f"`{ref}` is no function"


def _warning(document: Document, path: tuple[str | int, ...], message: str, *, key: bool = False) -> str:
    return document.error(path, message, key=key).message
