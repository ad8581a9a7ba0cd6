"""Finding tools: in files of the agent's folder and in installed modules, each folder a world of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentctl.errors import DefinitionError
from agentctl.tools.loading import load_object, load_policy, load_tools
from agentctl.tools.tool import Succeeded

HEAD = "from agentctl import tool, ToolContext\n"


def tools_source(*names: str) -> str:
    return HEAD + "".join(f"\n\n@tool\ndef {name}() -> str:\n    return '{name}'\n" for name in names)


def refusal(ref: str, folder: Path) -> str:
    with pytest.raises(DefinitionError) as refused:
        load_tools(ref, folder)
    assert "\n" not in refused.value.message
    return " | ".join([refused.value.message, *refused.value.hints])


# What is found


def test_every_tool_of_a_file_in_its_order(write_files: Any) -> None:
    folder = write_files(tools=tools_source("zebra", "ant", "mole") + "\n\ndef helper(): ...\n")
    assert [tool.id for tool in load_tools("tools.py", folder)] == ["zebra", "ant", "mole"]


def test_one_function_of_a_file(write_files: Any, run: Any) -> None:
    folder = write_files(tools=tools_source("a", "b") + "\n\ndef plain(n: int) -> int:\n    return n\n")
    [tool] = load_tools("tools.py:b", folder)
    assert run(tool) == Succeeded("b")
    [plain] = load_tools("tools.py:plain", folder)
    assert (plain.id, plain.require_approval) == ("plain", False)


def test_a_function_of_an_installed_module(tmp_path: Path, run: Any) -> None:
    [tool] = load_tools("glob:escape", tmp_path)
    assert tool.id == "escape"
    assert run(tool, {"pathname": "*"}) == Succeeded("[*]")


@pytest.mark.parametrize(
    "ref", ["./tools.py", "lib/../tools.py", "lib/more.py", "my-tools.py", "two.dots.py"]
)
def test_files_under_any_name_in_the_folder(ref: str, write_files: Any) -> None:
    folder = write_files(tools=tools_source("a"), lib__in__more=tools_source("a"))
    for odd in ("my-tools.py", "two.dots.py"):
        (folder / odd).write_text(tools_source("a"))
    assert [tool.id for tool in load_tools(ref, folder)] == ["a"]


def test_an_absolute_path_and_a_link_inside_the_folder(write_files: Any, tmp_path: Path) -> None:
    folder = write_files(tools=tools_source("a"))
    (folder / "linked.py").symlink_to(write_files("elsewhere", shared=tools_source("b")) / "shared.py")
    assert load_tools(str(folder / "tools.py"), folder)[0].id == "a"
    assert load_tools("linked.py", folder)[0].id == "b"


def test_a_folder_may_be_given_relative(write_files: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(write_files(tools=tools_source("a")).parent)
    assert load_tools("tools.py", Path("agent"))[0].id == "a"


def test_tools_that_a_file_imports_for_its_own_use_are_not_offered(write_files: Any) -> None:
    folder = write_files(
        tools=HEAD + "from helpers import delete\n\n@tool\ndef tidy() -> None:\n    delete()\n",
        helpers=tools_source("delete"),
    )
    assert [tool.id for tool in load_tools("tools.py", folder)] == ["tidy"]
    assert [tool.id for tool in load_tools("tools.py:delete", folder)] == ["delete"]


def test_tools_that_a_file_makes_are_offered(write_files: Any) -> None:
    made = """
        from agentctl import tool
        def reader(table):
            @tool(id=f"read_{table}")
            def read(id: str) -> str:
                return f"{table} {id}"
            return read
    """
    users = """
        from helpers import reader, tool, plain
        users = reader('users')
        orders = reader('orders')
        plain = tool(plain)
    """
    folder = write_files(tools=users, helpers=made + "\n        def plain() -> None: ...\n")
    assert [tool.id for tool in load_tools("tools.py", folder)] == ["plain", "read_users", "read_orders"]


def test_one_function_under_two_names_is_one_tool(write_files: Any) -> None:
    folder = write_files(tools=tools_source("a") + "\nalias = a\n")
    assert [tool.id for tool in load_tools("tools.py", folder)] == ["a"]


def test_objects_and_policies_by_name(write_files: Any) -> None:
    folder = write_files(policy="def gate(call):\n    return True\n\nLIMIT = 5\n")
    assert load_object("policy.py:LIMIT", folder) == 5
    assert load_object("policy.py:gate", folder)(None) is True
    assert load_object("math:pi", folder) > 3
    with pytest.raises(DefinitionError, match="does not name a function"):
        load_object("policy.py", folder)


# Modules


def test_two_agents_never_get_each_others_files(write_files: Any, run: Any) -> None:
    source = (
        HEAD
        + """
import helpers
from helpers import NAME
import lib.deep as deep

@tool
def names() -> list:
    import helpers as now
    from helpers import NAME as then
    import lib.deep
    return [helpers.NAME, NAME, now.NAME, then, deep.NAME, lib.deep.NAME]
"""
    )
    folders = [
        write_files(
            name,
            tools=source,
            helpers=f"NAME = '{name}'",
            lib__in____init__="",
            lib__in__deep="from helpers import NAME\nfrom . import deeper\nfrom .deeper import X",
            lib__in__deeper="X = 1",
        )
        for name in ("one", "two")
    ]
    loaded = [load_tools("tools.py", folder)[0] for folder in folders]
    assert run(loaded[0]) == Succeeded(["one"] * 6)
    assert run(loaded[1]) == Succeeded(["two"] * 6)
    assert run(loaded[0]) == Succeeded(["one"] * 6)


def test_relative_imports_work_too(write_files: Any, run: Any) -> None:
    folder = write_files(
        tools=HEAD
        + "from . import helpers\nfrom .helpers import X\n@tool\ndef x() -> int: return X + helpers.X\n",
        helpers="X = 2",
    )
    assert run(load_tools("tools.py", folder)[0]) == Succeeded(4)


def test_a_folder_of_files_without_init_is_a_package(write_files: Any, run: Any) -> None:
    folder = write_files(
        tools=HEAD + "from parts.one import X\n@tool\ndef x() -> int: return X\n", parts__in__one="X = 7"
    )
    assert run(load_tools("tools.py", folder)[0]) == Succeeded(7)


def test_a_data_folder_does_not_hide_an_installed_package(write_files: Any, run: Any) -> None:
    source = HEAD + "import json\n@tool\ndef x() -> str: return json.dumps(1)\n"
    folder = write_files(tools=source, json__in__example="")
    assert run(load_tools("tools.py", folder)[0]) == Succeeded("1")


def test_nothing_in_the_folder_takes_our_own_name(write_files: Any) -> None:
    folder = write_files(tools=tools_source("a"), agentctl="raise ValueError('not this one')")
    assert load_tools("tools.py", folder)[0].id == "a"


def test_files_of_an_agent_never_hide_modules_from_others(write_files: Any) -> None:
    folder = write_files(tools=tools_source("a"), colorsys="raise ValueError('not yours')")
    load_tools("tools.py", folder)
    import colorsys

    assert callable(colorsys.rgb_to_hsv)
    assert "helpers" not in sys.modules
    assert str(folder) not in sys.path


def test_two_references_to_one_file_execute_it_once(write_files: Any) -> None:
    folder = write_files(
        tools=tools_source("a", "b") + "\nfrom helpers import count\ncount.append(1)\n", helpers="count = []"
    )
    one, two = load_tools("tools.py:a", folder), load_tools("tools.py:b", folder)
    assert one[0].function.__globals__ is two[0].function.__globals__
    assert load_object("helpers.py:count", folder) == [1]


def test_a_changed_file_or_helper_is_executed_again(write_files: Any, run: Any) -> None:
    source = HEAD + "from helpers import X\n@tool\ndef x() -> int: return X\n"
    assert run(load_tools("tools.py", write_files(tools=source, helpers="X = 1"))[0]) == Succeeded(1)
    assert run(load_tools("tools.py", write_files(helpers="X = 2"))[0]) == Succeeded(2)
    assert run(
        load_tools("tools.py", write_files(tools=source.replace("return X", "return -X")))[0]
    ) == Succeeded(-2)


def test_types_may_stand_below_and_hints_may_be_strings(write_files: Any, run: Any) -> None:
    folder = write_files(
        tools="""
        from __future__ import annotations
        import dataclasses
        from typing import TYPE_CHECKING
        from pydantic import BaseModel
        from agentctl import tool
        if TYPE_CHECKING:
            from agentctl import ToolContext

        @tool
        def move(ctx: ToolContext[Question, Size], to: Size, by: list[Record] | None = None) -> Size:
            return dataclasses.replace(to, width=to.width + 1)

        @dataclasses.dataclass
        class Size:
            width: int
            inner: Size | None = None

        class Record(BaseModel):
            size: Size

        class Question(BaseModel):
            size: Size
        """
    )
    [tool] = load_tools("tools.py", folder)
    assert run(tool, {"to": {"width": 1}}) == Succeeded({"width": 2, "inner": None})
    assert tool.resume_schema is not None and tool.suspend_schema is not None


def test_nothing_is_written_into_the_folder(write_files: Any) -> None:
    folder = write_files(tools=tools_source("a") + "\nimport helpers\n", helpers="X = 1")
    load_tools("tools.py", folder)
    assert sorted(each.name for each in folder.iterdir()) == ["helpers.py", "tools.py"]


def test_old_bytecode_in_the_folder_is_not_used(write_files: Any, run: Any) -> None:
    folder = write_files(
        tools=HEAD + "from helpers import X\n@tool\ndef x() -> int: return X\n", helpers="X = 1"
    )
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(folder)], check=True)
    stamp = (folder / "helpers.py").stat()
    (folder / "helpers.py").write_text("X = 2")
    os.utime(folder / "helpers.py", ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert run(load_tools("tools.py", folder)[0]) == Succeeded(2)


def test_what_a_file_prints_at_import_goes_to_stderr(
    write_files: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    load_tools("tools.py", write_files(tools=tools_source("a") + "\nprint('hello')\n"))
    assert capsys.readouterr() == ("", "hello\n")


def test_tracebacks_show_the_lines_of_the_file(write_files: Any, tmp_path: Path) -> None:
    folder = write_files(tools=HEAD + "@tool\ndef x() -> None:\n    raise ValueError('here')\n")
    [tool] = load_tools("tools.py", folder)
    (folder / "tools.py").unlink()
    with pytest.raises(ValueError, match="here") as raised:
        tool.function()
    shown = "".join(traceback.format_exception(raised.value))
    assert "raise ValueError('here')" in shown


def test_files_state_their_encoding(write_files: Any, run: Any) -> None:
    folder = write_files()
    folder.mkdir()
    source = f"# -*- coding: latin-1 -*-\n{HEAD}@tool\ndef x() -> str: return 'é'\n"
    (folder / "tools.py").write_bytes(source.encode("latin-1"))
    assert run(load_tools("tools.py", folder)[0]) == Succeeded("é")


def test_two_threads_load_one_file_once(write_files: Any) -> None:
    folder = write_files(tools="import time\ntime.sleep(0.02)\n" + tools_source("a"))
    loaded: list[Any] = []
    threads = [
        threading.Thread(target=lambda: loaded.append(load_object("tools.py:a", folder))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loaded) == 8
    assert len({id(each) for each in loaded}) == 1


# What is refused, and where


def test_a_missing_file_names_a_similar_one(write_files: Any) -> None:
    folder = write_files(tools=tools_source("a"))
    message = refusal("tool.py", folder)
    assert "tool.py: no such file" in message
    assert "did you mean `tools.py`?" in message


def test_a_file_outside_the_folder(write_files: Any) -> None:
    write_files("other", tools=tools_source("a"))
    folder = write_files(tools=tools_source("a"))
    assert refusal("../other/tools.py", folder) == "`../other/tools.py` is outside the folder of the agent"
    assert "outside" in refusal("/etc/tools.py", folder)


def test_what_is_no_regular_file(write_files: Any) -> None:
    folder = write_files(tools=tools_source("a"))
    (folder / "dir.py").mkdir()
    os.mkfifo(folder / "fifo.py")
    assert "is no regular file" in refusal("dir.py", folder)
    assert "is no regular file" in refusal("fifo.py", folder)


@pytest.mark.parametrize(
    "ref", ["", ":", "a b", "tools", "os.path", "1.py:x y", "tools.py:", "tools.py:1", "a-b:c"]
)
def test_what_is_no_reference(ref: str, tmp_path: Path) -> None:
    assert refusal(ref, tmp_path)


def test_file_names_that_no_system_can_hold(tmp_path: Path) -> None:
    assert "is no file name" in refusal("a\0b.py", tmp_path)
    assert "File name too long" in refusal(f"{'x' * 5000}.py", tmp_path)


def test_an_unknown_name_suggests_one(write_files: Any) -> None:
    folder = write_files(tools=tools_source("delete_record"))
    message = refusal("tools.py:delete_recrod", folder)
    assert "tools.py: there is no function `delete_recrod`" in message
    assert "did you mean `delete_record`?" in message


def test_what_is_no_function(write_files: Any) -> None:
    folder = write_files(tools="x = 5\nclass C: ...\n")
    assert "`x` is no function, but int" in refusal("tools.py:x", folder)
    assert "`C` is no function, but type" in refusal("tools.py:C", folder)


def test_a_file_without_tools_says_what_to_write(write_files: Any) -> None:
    folder = write_files(tools="def save(): ...\n")
    message = refusal("tools.py", folder)
    assert "no function in it is marked with @tool" in message
    assert "`tools.py:save`" in message
    assert "no function in it" in refusal("empty.py", write_files(empty=""))


@pytest.mark.parametrize(
    ("source", "place", "what"),
    [
        ("x = 1\ndef broken(:\n", "tools.py:2:12", "invalid syntax"),
        ("import helpers\n", "helpers.py:3:1", "ZeroDivisionError: division by zero"),
        ("import json\njson.loads('{')\n", "tools.py:2:1", "JSONDecodeError"),
        ("\nimport nowhere_at_all\n", "tools.py:2:1", "No module named 'nowhere_at_all'"),
        ("from helpers2 import nothing\n", "tools.py:1:1", "cannot import name 'nothing'"),
        ("import sys\nsys.exit('bye')\n", "tools.py:2:1", "SystemExit: bye"),
        ("class Odd(BaseException): ...\nraise Odd('odd')\n", "tools.py:2:1", "Odd: odd"),
        ("raise ValueError('two\\nlines')\n", "tools.py:1:1", "ValueError: two lines"),
        (HEAD + "@tool(id='a b')\ndef x(): ...\n", "tools.py:2:1", "tool id `a b`"),
        (
            HEAD + "\n@tool(require_approval='yes')\ndef x(): ...\n",
            "tools.py:3:1",
            "require_approval must be",
        ),
        (HEAD + "@tool\ndef x():\n    yield 1\n", "tools.py:2:1", "`x` yields"),
        (HEAD + "@tool\ndef x(*a: int): ...\n", "tools.py:2:1", "tool `x`: `*a` has no schema"),
        ("# -*- coding: nonsense -*-\n", "tools.py:1:1", "nonsense"),
        ("x = '\0'\n", "tools.py:1:1", "null bytes"),
        ("(" * 500 + "\n", "tools.py:1", "too many nested"),
        (tools_source("a") + tools_source("a"), "tools.py:11:1", "tool `a` is defined again"),
        (
            HEAD + "@tool(id='z')\ndef x(): ...\n\n@tool(id='z')\ndef y(): ...\n",
            "tools.py:5:1",
            "tool id `z` is already that of",
        ),
    ],
)
def test_a_broken_file_is_one_line_with_its_place(
    source: str, place: str, what: str, write_files: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_files(helpers="def f():\n    pass\n1 / 0\n", helpers2="")
    (folder / "tools.py").write_text(source)
    monkeypatch.chdir(folder)
    message = refusal("tools.py", folder)
    assert message.startswith(place)
    assert what in message
    assert "agentctl_agent_" not in message


def test_bytes_that_are_no_text(write_files: Any) -> None:
    folder = write_files(tools="")
    (folder / "tools.py").write_bytes(b"x = '\xff'\n")
    assert "tools.py:" in refusal("tools.py", folder)


def test_ctrl_c_while_a_file_is_loaded_is_ctrl_c(write_files: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        load_tools("tools.py", write_files(tools="raise KeyboardInterrupt"))


def test_a_file_that_was_broken_can_be_loaded_when_it_is_mended(write_files: Any) -> None:
    refusal("tools.py", write_files(tools="1 / 0"))
    assert load_tools("tools.py", write_files(tools=tools_source("a")))[0].id == "a"


@pytest.mark.parametrize(
    ("ref", "what"),
    [
        ("nowhere_at_all:f", "there is no module `nowhere_at_all` for `nowhere_at_all:f`"),
        ("json.nowhere:f", "there is no module `json.nowhere`"),
        ("json:dunps", "module `json`: there is no function `dunps` | did you mean `dump"),
        ("math:sqrt", "module `math`: `sqrt` is no function"),
    ],
)
def test_modules_that_are_not_there(ref: str, what: str, tmp_path: Path) -> None:
    assert what in refusal(ref, tmp_path)


def test_a_module_that_breaks_names_its_line(
    write_files: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(write_files("site", broken_on_import="x = 1\nimport nowhere_at_all\n"))
    assert "broken_on_import.py:2:1: ModuleNotFoundError" in refusal("broken_on_import:f", tmp_path)


def test_policies_of_other_folders_do_not_collide(write_files: Any) -> None:
    gates: list[Callable[..., Any]] = [
        load_object("policy.py:gate", write_files(name, policy=f"def gate(call): return '{name}'"))
        for name in ("one", "two")
    ]
    assert [gate(None) for gate in gates] == ["one", "two"]
    assert load_policy("policy.py:gate", Path("/nowhere")).name == "policy.py:gate"
