"""Measures that a Python file of a user declares."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from traceback import extract_tb

from calipers.errors import CalipersError
from calipers.measures.registry import Declaration, all_declared


def import_measures(path: str | Path) -> list[Declaration]:
    """Run a Python file that declares measures, and return the measures that it declares.

    Afterwards the names of these measures are known everywhere.
    """
    before = {id(declaration) for declaration in all_declared()}
    run_python_file(path)
    found = [declaration for declaration in all_declared() if id(declaration) not in before]
    if not found:
        raise CalipersError("declares no measure: decorate a function with @calipers.measure('NAME')", file=str(path))
    return found


def run_python_file(path: str | Path) -> None:
    """Run a Python file of a user. Errors name the file and its line."""
    file = Path(path)
    if not file.is_file():
        raise CalipersError("there is no such file", file=str(path))
    name = f"calipers_import_{file.stem}"
    spec = spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise CalipersError("is not a Python file: its name must end in .py", file=str(path))
    module = module_from_spec(spec)
    sys.modules[name] = module  # for pickle
    try:
        spec.loader.exec_module(module)
    except CalipersError as error:
        raise CalipersError(error.message, file=str(path)) from None
    except SyntaxError as error:
        raise CalipersError(f"is not valid Python: {error.msg}", file=str(path), line=error.lineno) from None
    except Exception as error:  # the file is a program of the user, which may raise anything
        lines = [frame.lineno for frame in extract_tb(error.__traceback__) if Path(frame.filename) == file]
        message = f"raised {type(error).__name__}: {error}"
        raise CalipersError(message, file=str(path), line=lines[-1] if lines else None) from error
