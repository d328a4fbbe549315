"""Every subcommand as a function: what ``ssdtune.commands`` has, made of the command line itself.

A function runs ``python -m ssdtune`` in a process of its own and gives its document. So names,
defaults, results and what is refused are the command's, and nothing is written twice.
"""

from __future__ import annotations

import inspect
import json
import keyword
import os
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from . import _ssdtune
from ._errors import DataError, UsageError, WorkError
from ._result import Record, _shown
from ._ssdtune import Device, Trace, Workload

_ABSENT = {"json", "color", "quiet"}
"""Flags that have no meaning for a function."""

_ENDED_BY_SIGNAL = 130
_GRACE_S = 5.0


class Answer:
    """What a command gave. The fields of its document are attributes and items; a document that is
    a list has a length and is walked through.

    >>> import ssdtune as st
    >>> answer = st.commands.config.show("z-ssd")
    >>> answer.bus.channels == answer["bus"]["channels"] == st.Device("z-ssd")["bus.channels"]
    True
    """

    notes: list[str]
    """What the command said beside its result, a sentence each."""

    def __init__(self, text: str, notes: Iterable[str]):
        self._text = text
        self.notes = list(notes)
        try:
            self._document: Any = _shown(json.loads(text))
        except ValueError:
            self._document = text

    def to_json(self) -> str:
        """What the command prints with ``--json``, to the byte."""
        return self._text

    def to_dict(self) -> Any:
        """The document as dictionaries, lists, texts and numbers."""
        return json.loads(self._text)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._document, name)

    def __getitem__(self, key: Any) -> Any:
        return self._document[key]

    def __len__(self) -> int:
        return len(self._document)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._document)

    def __dir__(self) -> Iterable[str]:
        fields = self._document if isinstance(self._document, Record) else ()
        return [*super().__dir__(), *fields]

    def __repr__(self) -> str:
        return f"Answer({self._document!r})"


@dataclass(frozen=True)
class Argument:
    """An argument of a command, as the command line describes it."""

    name: str
    flag: str | None
    kind: str
    value: str
    help: str
    required: bool
    values: list[str]
    default: list[str]

    @property
    def python(self) -> str:
        """The name in Python."""
        return named((self.flag or self.name).removeprefix("--"))

    @property
    def takes_many(self) -> bool:
        """Whether a list is a value for it."""
        return self.kind in ("repeated", "several", "commas")

    def words(self, texts: list[str]) -> list[str]:
        """The words that state it."""
        if self.flag is None:
            return texts
        if self.kind == "several":
            return [self.flag, *texts]
        if self.kind == "commas":
            return [f"{self.flag}={','.join(texts)}"]
        return [f"{self.flag}={text}" for text in texts]

    def parameter(self) -> inspect.Parameter:
        """The parameter of the function."""
        own = inspect.Parameter
        if self.flag is None and self.takes_many:
            return own(self.python, own.VAR_POSITIONAL)
        kind = own.POSITIONAL_OR_KEYWORD if self.flag is None else own.KEYWORD_ONLY
        return own(self.python, kind, default=own.empty if self.required else None)

    def type(self) -> str:
        """Its type, as the stub has it."""
        one = "Value"
        if self.values:
            one = f"Literal[{', '.join(json.dumps(value) for value in self.values)}]"
        if self.kind == "switch":
            return "bool"
        if self.kind == "optional":
            return f"{one} | bool"
        return f"{one} | Sequence[{one}]" if self.takes_many and self.flag else one

    def text(self) -> str:
        """A line of the documentation."""
        help = " ".join(self.help.split())
        words = [f"{self.python}:", help if help.endswith(".") else f"{help}."]
        if self.kind != "switch":
            words[0] = f"{self.python} ({self.value}):"
            words += [f"One of: {', '.join(self.values)}."] if self.values else []
            words += [f"Default: {', '.join(self.default)}."] if self.default else []
        return " ".join(words)


@dataclass(frozen=True)
class Command:
    """A command: its words, and its arguments or the commands below it."""

    words: tuple[str, ...]
    about: str
    arguments: list[Argument]
    below: dict[str, Command]

    @classmethod
    def of(cls, described: Mapping[str, Any], above: tuple[str, ...] = ()) -> Command:
        """The command of a description; the first one is the program itself."""
        words = above + ((described["name"],) if described["name"] != "ssdtune" or above else ())
        arguments = [
            argument
            for argument in (Argument(**own) for own in described["arguments"])
            if argument.name not in _ABSENT
        ]
        arguments.sort(key=lambda own: (own.flag is not None, own.takes_many and not own.flag))
        below = {own["name"]: cls.of(own, words) for own in described["commands"]}
        return cls(words, described["about"], arguments, below)

    @property
    def runs_in_parts(self) -> bool:
        """Whether several jobs can do a part each."""
        return any(own.flag == "--part" for own in self.arguments)

    def signature(self) -> inspect.Signature:
        """The signature of its function."""
        parameters = [own.parameter() for own in self.arguments]
        own = ["progress", "executor"] if self.runs_in_parts else ["progress"]
        keyword_only = inspect.Parameter.KEYWORD_ONLY
        for name in own:
            default = False if name == "progress" else None
            parameters.append(inspect.Parameter(name, keyword_only, default=default))
        order = sorted(parameters, key=lambda own: (own.kind, own.default is not own.empty))
        return inspect.Signature(order)

    def documentation(self) -> str:
        """What ``help`` shows."""
        line = f"``ssdtune {' '.join(self.words)}``: {' '.join(self.about.split())}"
        arguments = [
            textwrap.fill(own.text(), 96, initial_indent="- ", subsequent_indent="  ")
            for own in self.arguments
        ]
        return "\n".join([textwrap.fill(line, 96), "", *arguments])


class Folder:
    """A temporary folder for what a command reads from files and Python has in memory."""

    def __init__(self) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._count = 0

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *_: object) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def text(self, value: Any) -> str:
        """A value as a word of the command line."""
        if isinstance(value, (Device, Workload)):
            path = self.path(f"{value.name}.toml")
            path.write_text(value.to_toml())
            return str(path)
        if isinstance(value, Trace):
            path = self.path(f"{Path(value.name).stem}.ssdt")
            value.write(path)
            return str(path)
        if isinstance(value, tuple):
            name, of = value
            return f"{name}={self.text(of)}"
        if isinstance(value, bool):
            return "true" if value else "false"
        return os.fspath(value) if isinstance(value, (str, os.PathLike)) else str(value)

    def path(self, name: str) -> Path:
        """A path of this name, which nothing else has."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="ssdtune-")
        self._count += 1
        folder = Path(self._folder.name, str(self._count))
        folder.mkdir()
        return folder / re.sub(r"[^\w.+-]", "_", name)


def named(word: str) -> str:
    """A word of the command line as a name of Python."""
    name = word.replace("-", "_")
    return f"{name}_" if keyword.iskeyword(name) else name


@cache
def program() -> Command:
    """All commands."""
    return Command.of(json.loads(_ssdtune.command_line()))


@cache
def functions() -> dict[str, Any]:
    """The functions and groups of functions, by their names."""
    return {named(name): _shown_as(own) for name, own in program().below.items()}


def _shown_as(command: Command) -> Any:
    if command.below:
        group = SimpleNamespace(
            **{named(name): _shown_as(own) for name, own in command.below.items()}
        )
        group.__doc__ = command.about
        return group
    return function(command)


def function(command: Command) -> Callable[..., Answer]:
    """The function of a command."""
    signature = command.signature()

    def call(*positional: Any, **named: Any) -> Answer:
        unknown = set(named) - set(signature.parameters)
        if unknown:
            raise UsageError(f"no such option: {', '.join(sorted(unknown))}")
        try:
            given = signature.bind(*positional, **named).arguments
        except TypeError as error:
            raise UsageError(f"{' '.join(command.words)}: {error}") from None
        executor = given.pop("executor", None)
        progress = given.pop("progress", False)
        if executor is not None:
            from ._parts import in_parts

            return in_parts(command, given, executor, progress)
        with Folder() as folder:
            return run(words(command, given, folder), bool(progress))

    call.__name__ = call.__qualname__ = named(command.words[-1])
    call.__module__ = "ssdtune.commands"
    call.__doc__ = command.documentation()
    call.__signature__ = signature  # type: ignore[attr-defined]
    return call


def words(command: Command, given: Mapping[str, Any], folder: Folder) -> list[str]:
    """The command line of a call."""
    flags: list[str] = []
    places: list[str] = []
    for own in command.arguments:
        value = given.get(own.python)
        if value is None or value == ():
            continue
        if own.kind in ("switch", "optional") and isinstance(value, bool):
            flags += [own.flag or own.name] if value else []
            continue
        is_one = isinstance(value, (str, os.PathLike, Device, Trace, Workload))
        is_many = own.takes_many and isinstance(value, Iterable) and not is_one
        # A tuple is a name with a value, but where it has come as the arguments by their places.
        is_pair = isinstance(value, tuple) and own.flag is not None
        values = list(value) if is_many and not is_pair else [value]
        texts = [folder.text(one) for one in values]
        (flags if own.flag else places).extend(own.words(texts) if texts else [])
    return [*command.words, "--json", *flags, *(["--", *places] if places else [])]


def run(line: Sequence[str], is_heard: bool = False) -> Answer:
    """Runs the command in a process. What it says goes to standard error if that ``is_heard``, and
    into the notes of the answer if not."""
    child = subprocess.Popen(
        [sys.executable, "-m", "ssdtune", *line],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=None if is_heard else subprocess.PIPE,
        # Ctrl-C comes from here alone: the second one would end it before its results are kept.
        start_new_session=True,
    )
    try:
        out, said = child.communicate()
    except KeyboardInterrupt:
        child.send_signal(signal.SIGINT)
        try:
            child.communicate(timeout=_GRACE_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
        raise
    lines = (said or b"").decode(errors="replace").splitlines()
    answer = Answer(out.decode(), [line for line in lines if line])
    if child.returncode != 0:
        raise _failure(child.returncode, answer)
    return answer


def _failure(code: int, answer: Answer) -> BaseException:
    """The exception of a command that has failed."""
    if code == _ENDED_BY_SIGNAL:
        return KeyboardInterrupt()
    kinds = {2: UsageError, 3: DataError}
    kind = kinds.get(code, WorkError)
    document = answer._document
    if isinstance(document, Record) and "error" in document and "message" in document.error:
        faults = document.faults if "faults" in document else [document.error]
        return kind(
            # Of the help that the command offers there is none here.
            document.error.message.partition("\n\nFor more information")[0],
            [(own.message, own.file, own.line) for own in faults],
        )
    # It has a result that is no success, as when results disagree.
    said = answer.notes[-1] if answer.notes else f"the command ended with code {code}"
    error = kind(said.removeprefix("error: "))
    error.results = [answer]
    return error


def stub() -> str:
    """The text of ``commands.pyi``."""
    head = '''\
# Made from the command line: python -c "from ssdtune._command import stub; print(stub(), end='')"
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Literal

from ._command import Answer as Answer
from ._ssdtune import Device, Trace, Workload

One = str | int | float | os.PathLike[str] | Device | Trace | Workload
Value = One | tuple[str, One]
'''
    classes: list[str] = []
    names: list[str] = []
    for name, command in program().below.items():
        _stub_of(named(name), command, classes, names, "")
    return "\n".join([head, *classes, *names]) + "\n"


def _stub_of(
    name: str, command: Command, classes: list[str], into: list[str], indent: str
) -> None:
    if not command.below:
        into.append(_stub_function(name, command, indent))
        return
    own = "_" + "".join(word.title().replace("-", "") for word in command.words)
    members: list[str] = []
    for below, one in command.below.items():
        _stub_of(named(below), one, classes, members, "    ")
    classes.append("\n".join([f"class {own}:", *members, ""]))
    into.append(f"{indent}{name}: {own}")


def _stub_function(name: str, command: Command, indent: str) -> str:
    types = {own.python: own.type() for own in command.arguments}
    types |= {
        "progress": "bool | Callable[[int, int], object]" if command.runs_in_parts else "bool",
        "executor": "Executor | None",
    }
    inside = indent + "    "
    lines = [f"{inside}self,"] if indent else []
    is_keyword = False
    for own in command.signature().parameters.values():
        if own.kind is own.VAR_POSITIONAL:
            lines.append(f"{inside}*{own.name}: {types[own.name]},")
            is_keyword = True
            continue
        if own.kind is own.KEYWORD_ONLY and not is_keyword:
            lines.append(f"{inside}*,")
            is_keyword = True
        kind, default = types[own.name], ""
        if own.default is not own.empty:
            default = " = ..."
            kind += "" if own.name in ("progress", "executor") or kind == "bool" else " | None"
        lines.append(f"{inside}{own.name}: {kind}{default},")
    return "\n".join([f"{indent}def {name}(", *lines, f"{indent}) -> Answer: ..."])
