"""Every example in a docstring runs, and the Python of the how-to about own parts."""

from __future__ import annotations

import doctest
import importlib
import os
import pkgutil
import re
from pathlib import Path
from types import ModuleType

import pytest

import ssdtune

WITHOUT = {"_arrays", "_engine", "_parts", "_worker"}
MODULES = [name for _, name, _ in pkgutil.iter_modules(ssdtune.__path__) if name != "__main__"]


@pytest.mark.parametrize("name", ["", *MODULES])
def test_examples_run(name: str) -> None:
    module = importlib.import_module(f"ssdtune.{name}") if name else ssdtune
    finder = doctest.DocTestFinder()
    options = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    runner = doctest.DocTestRunner(optionflags=options)
    examples = 0
    tests = finder.find(module)
    for own in compiled(module):
        tests += finder.find(own, getattr(own, "__name__", name), module=False)
    for test in tests:
        examples += len(test.examples)
        runner.run(test)
    assert runner.failures == 0
    assert examples > 0 or name in WITHOUT, "a module without an example"


def test_the_how_to_runs() -> None:
    if "SSDTUNE_DOCS" not in os.environ:
        pytest.skip("SSDTUNE_DOCS names no folder of docs")
    page = Path(os.environ["SSDTUNE_DOCS"], "howto-own-parts.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "howto-own-parts.md", "exec"), names)
    found = names["found"]
    assert isinstance(found, ssdtune.SearchResult) and len(blocks) == 2


def compiled(module: ModuleType) -> list[object]:
    """The classes and functions of the extension, which name the package as their home."""
    if module.__name__ != "ssdtune._ssdtune":
        return []
    return [own for own in vars(module).values() if callable(own)]


def test_everything_public_says_what_it_is() -> None:
    for name in ssdtune.__all__:
        own = getattr(ssdtune, name)
        if name.startswith("__"):
            continue
        assert own.__doc__, name
        if isinstance(own, type):
            for member, value in vars(own).items():
                if not member.startswith("_") and callable(value):
                    assert value.__doc__, f"{name}.{member}"
