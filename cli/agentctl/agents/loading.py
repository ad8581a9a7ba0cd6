"""From an agent file to an `Agent`: reads, validates, imports the tools. Runs none of them."""

from __future__ import annotations

from pathlib import Path

from agentctl.agents.agent import Agent, Approval, digests
from agentctl.agents.definition import Definition
from agentctl.agents.finding import find_agent_file, relocate
from agentctl.agents.validation import Place, Problem, report, validate
from agentctl.errors import UsageError
from agentctl.models.providers import ModelRef, check_model, parse_model
from agentctl.tools.loading import load_policy, load_tools
from agentctl.tools.tool import Tool
from agentctl.yaml12.source import Document, read_yaml_file

__all__ = ["find_agent_file", "load_agent", "relocate"]


def load_agent(path: Path) -> Agent:
    """The agent that `path`, a file or a folder, defines.

    Raises `NotFound` where there is none, and `DefinitionError` that names everything that is wrong
    in the file and in the tools it names, each as `file:line:column: what`.
    """
    return read_agent(path)[0]


def read_agent(path: Path) -> tuple[Agent, Document]:
    """The agent, and the document it was made of, for places in messages. Raises as `load_agent`."""
    file = find_agent_file(path)
    document = read_yaml_file(file)
    return _Loading(document, validate(document), _absolute(file)).agent(), document


def _absolute(file: Path) -> Path:
    """As the user named it, symlinks kept, unless `..` makes that another place."""
    return file.parent.resolve() / file.name if ".." in file.parts else file.absolute()


class _Loading:
    """One agent being loaded: goes on after a problem, so that all are told at once."""

    def __init__(self, document: Document, definition: Definition, path: Path) -> None:
        self._document = document
        self._definition = definition
        self._path = path
        self._problems: list[Problem] = []

    def agent(self) -> Agent:
        definition = self._definition
        tools, approval, model = self._tools(), self._approval(), self._model()
        if self._problems:
            raise report(self._document, self._problems)
        digest, parts = digests(self._document.data, tools, approval)
        return Agent(
            id=definition.id,
            name=definition.name or definition.id,
            description=definition.description,
            instructions=definition.instructions,
            model=model,
            path=self._path,
            folder=self._path.parent,
            tools=tools,
            require_tool_approval=approval,
            max_steps=definition.options.max_steps,
            parameters=definition.options.parameters(),
            digest=digest,
            parts=parts,
        )

    def _tools(self) -> dict[str, Tool]:
        tools: dict[str, Tool] = {}
        origins: dict[str, str] = {}
        for index, ref in enumerate(self._definition.tools):
            place = ("tools", index)
            try:
                found = load_tools(ref, self._path.parent)
            except UsageError as error:
                self._problem(place, error)
                continue
            for tool in found:
                if tool.id in tools:
                    message = f"`{ref}` has a tool `{tool.id}`, and so has `{origins[tool.id]}`"
                    self._problems.append(Problem(place, message, ("tools of an agent need different ids",)))
                    continue
                tools[tool.id], origins[tool.id] = tool, ref
        return tools

    def _approval(self) -> Approval:
        match self._definition.require_tool_approval:
            case bool(answer):
                return answer
            case str(ref):
                try:
                    return load_policy(ref, self._path.parent)
                except UsageError as error:
                    self._problem(("require_tool_approval",), error)
                    return True
            case globs:
                return tuple(globs)

    def _model(self) -> ModelRef | None:
        model = self._definition.model
        try:
            if model is None or isinstance(model, str):
                return None if model is None else parse_model(model)
            ref = ModelRef(model.provider, model.name, model.base_url, model.api_key_env, model.api)
            check_model(ref)
        except UsageError as error:
            self._problem(("model",), error)
            return None
        return ref

    def _problem(self, place: Place, error: UsageError) -> None:
        self._problems.append(Problem(place, error.message, tuple(error.hints)))
