"""Fingerprints of the test runner, taken before any code of the tree runs and compared later.

Code under test shares the process with its tests. An honest test undoes its changes. So functions of the runner are
compared after each test, and everything else at the end of the session: their code, the functions that compile and
import, the registered plug-ins, the code of the collected tests. A change counts when code of the tree made it.
Conftest files do not count, because the judge restores them, and a runner that is itself part of the tree may change
itself. The judge leaves out what the base changes as well.

Only the standard library is used. Code objects compare by value, with all constants and names. Code that knows this
file can evade it: it is a second defence behind inverted tests.
"""

import os
import sys
import types
import unittest.case  # noqa: F401  (part of the runner, whether or not a test has asked for it yet)
from typing import Any, Dict, Iterator, List, Mapping, Set, Tuple  # noqa: UP035  (old interpreters)

RUNNER = ("_pytest", "pytest", "pluggy", "unittest", "proctor_results", "proctor_fingerprints")
MACHINERY = ("ast", "builtins", "importlib", "importlib._bootstrap", "importlib._bootstrap_external")
OFTEN_REPLACED = ("print", "open", "input", "breakpoint", "help", "exit", "quit")
FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType)
METHODS = (types.FunctionType, classmethod, staticmethod, property)
TEST_CODE = "the code of a collected test"
MOST_CHANGES = 20

_compile = compile

Part = Tuple[str, Mapping[str, Any], str, Any]  # noqa: UP006
Change = Tuple[str, str]  # noqa: UP006


class Tree:
    """Distinguishes code of the tree below ``top`` from other code."""

    def __init__(self, top: str) -> None:
        self.top = os.path.join(os.path.abspath(top), "")
        self._runner = tuple(
            os.path.join(os.path.dirname(os.path.abspath(str(module.__file__))), "")
            for name, module in list(sys.modules.items())
            if name in RUNNER and hasattr(module, "__path__") and getattr(module, "__file__", None)
        )

    def owns_file(self, name: str) -> bool:
        """Whether a file belongs to the tree and is neither a conftest file nor part of the runner."""
        file = os.path.abspath(name)
        inside = file.startswith(self.top) and not file.startswith(self._runner)
        return inside and os.path.basename(file) != "conftest.py"

    def owns(self, value: Any) -> bool:
        """Whether something was defined in the tree, by code without a file, or by code that is not visible."""
        code = code_of(value)
        if code is None:
            return not isinstance(value, type) or self.owns_type(value)
        return code.co_filename.startswith("<") or self.owns_file(code.co_filename)

    def owns_type(self, kind: type) -> bool:
        """Whether the module of a class is a file of the tree."""
        file = getattr(sys.modules.get(kind.__module__), "__file__", None)
        return bool(file) and self.owns_file(str(file))

    def place(self, value: Any) -> str:
        """The file below the top and the line where something was defined; empty if that is not visible."""
        code = code_of(value)
        if code is None or code.co_filename.startswith("<"):
            return ""
        file = os.path.abspath(code.co_filename)
        name = file[len(self.top) :] if file.startswith(self.top) else file
        return f"{name}:{code.co_firstlineno}"


def function_of(value: Any) -> Any:
    """The plain function in a method, a property or a bound method; else the value itself."""
    return getattr(value, "__func__", None) or getattr(value, "fget", None) or value


def code_of(value: Any) -> Any:
    """The code of a function, method or property, or a code object itself; ``None`` for other objects."""
    if isinstance(value, types.CodeType):
        return value
    code = getattr(function_of(value), "__code__", None)
    return code if isinstance(code, types.CodeType) else None


def _inner(function: Any) -> Tuple[Any, ...]:  # noqa: UP006
    """The parts of a function besides its code: its defaults and the functions that it wraps."""
    cells = []
    for cell in getattr(function, "__closure__", None) or ():
        try:
            content = cell.cell_contents
        except ValueError:
            continue
        if isinstance(content, types.FunctionType):
            cells.append(content)
    keywords = getattr(function, "__kwdefaults__", None) or {}
    return (getattr(function, "__defaults__", None), tuple(sorted(keywords.items(), key=str)), tuple(cells))


class Fingerprint:
    """Functions by the place where callers find them, with the parts of each."""

    def __init__(self, parts: List[Part]) -> None:  # noqa: UP006
        self._parts = parts
        known = {id(function_of(part[3])): (part[0] + "." + part[2], function_of(part[3])) for part in parts}
        self._code = [(name, one, code_of(one), _inner(one)) for name, one in known.values() if code_of(one)]

    def replaced(self, tree: Tree) -> Iterator[Change]:
        """Which functions were replaced by functions of the tree."""
        for name, holder, key, value in self._parts:
            now = holder.get(key)
            if now is not value and tree.owns(now):
                yield name + "." + key, tree.place(now)

    def altered(self, tree: Tree) -> Iterator[Change]:
        """Which functions have other code, by value, other defaults, or wrap other functions."""
        for name, function, code, inner in self._code:
            if function.__code__ is not code and function.__code__ != code:
                yield name, tree.place(function.__code__)
            elif _ids(inner) != _ids(_inner(function)):
                yield name, ""


def _ids(value: Any) -> Any:
    """The identities of the objects in tuples at any depth."""
    return tuple(_ids(one) for one in value) if isinstance(value, tuple) else id(value)


def parts_of(modules: Mapping[str, Any]) -> Iterator[Part]:
    """The functions of modules, their classes, and the methods of those."""
    for name, module in modules.items():
        for key, value in list(vars(module).items()):
            if isinstance(value, FUNCTIONS) and key not in OFTEN_REPLACED:
                yield name, vars(module), key, value
            elif isinstance(value, type) and value.__module__ == name:
                yield name, vars(module), key, value
                for part, inner in list(vars(value).items()):
                    if isinstance(inner, METHODS):
                        yield name + "." + key, vars(value), part, inner


def _loaded(names: Tuple[str, ...], inner: bool) -> Dict[str, Any]:  # noqa: UP006
    """The loaded modules of these names, with those below them if ``inner``."""
    return {
        name: module
        for name, module in list(sys.modules.items())
        if (name.partition(".")[0] if inner else name) in names and isinstance(module, types.ModuleType)
    }


class Fingerprints:
    """Everything that is compared, with the changes that were seen so far."""

    def __init__(self, top: str) -> None:
        self._tree = Tree(top)
        self._modules = _loaded(RUNNER, inner=True)
        parts = list(parts_of(self._modules))
        self._runner = Fingerprint(parts)
        self._machinery = Fingerprint(list(parts_of(_loaded(MACHINERY, inner=False))))
        classes = {id(value): (name + "." + key, value) for name, _, key, value in parts if isinstance(value, type)}
        self._classes = [(name, one, set(vars(one))) for name, one in classes.values()]
        self._hooks: Dict[int, Tuple[Any, Any, Any]] = {}  # noqa: UP006
        self._objects: List[Tuple[str, Any, Dict[str, Any]]] = []  # noqa: UP006
        self._tests: Dict[int, Tuple[Any, Any]] = {}  # noqa: UP006
        self._items: Set[int] = set()  # noqa: UP006
        self._seen: Dict[Change, None] = {}  # noqa: UP006

    def changes(self) -> List[Change]:  # noqa: UP006
        """What was changed, and by which file and line, in order; only the first ones if there are very many."""
        return sorted(self._seen)[:MOST_CHANGES]

    def begin(self, manager: Any, objects: Mapping[str, Any]) -> None:
        """Record the registered plug-ins, and objects on whose methods the report depends."""
        self._hooks = {id(one): (one, one.function, code_of(one.function)) for _, one in _hooks_of(manager)}
        for name, one in {"plug-in manager": manager, **objects}.items():
            self._objects.append((name, one, {key: each for key, each in vars(one).items() if callable(each)}))

    def collected(self, items: List[Any]) -> None:  # noqa: UP006
        """Record the code of the collected tests, and compare it with their files."""
        self._items = {id(item) for item in items}
        files: Dict[str, List[Any]] = {}  # noqa: UP006
        for item in items:
            function = function_of(vars(item).get("_obj"))
            code = code_of(function)
            if code is not None and id(function) not in self._tests:
                self._tests[id(function)] = (function, code)
                files.setdefault(os.path.abspath(code.co_filename), []).append(function)
        for file, functions in files.items():
            if file.startswith(self._tree.top):
                self._compare(file, functions)

    def _compare(self, file: str, functions: List[Any]) -> None:  # noqa: UP006
        """Compare tests with the compiled code of their file; rewritten assertions only have to be present."""
        try:
            with open(file, "rb") as source:
                whole = _compile(source.read(), file, "exec", dont_inherit=True)
        except (OSError, SyntaxError, ValueError, MemoryError, RecursionError):
            return
        written = {(code.co_name, code.co_firstlineno): code for code in _inner_codes(whole)}
        for function in functions:
            code = function.__code__
            wanted = written.get((code.co_name, code.co_firstlineno))
            module = sys.modules.get(function.__module__)
            # Packages such as hypothesis give a wrapper, made in a namespace of theirs, the place of what it wraps.
            wraps = module is not None and function.__globals__ is not vars(module)
            if code.co_name.isidentifier() and not wraps and (wanted is None or not _means(code, wanted)):
                self._note(TEST_CODE, self._tree.place(code))
            loader = getattr(getattr(module, "__spec__", None), "loader", None)
            if loader is not None and self._tree.owns_type(type(loader)):
                self._note("the loader of a test file", type(loader).__module__)

    def after_test(self) -> None:
        """Compare the functions of the runner, which a test may change only while it runs."""
        self._note_all(self._runner.replaced(self._tree))

    def after_item(self, item: Any) -> None:
        """Compare a test after it has run and before it is torn down."""
        if self._items and id(item) not in self._items:
            self._note("a test that was not collected", "")
        for key, value in list(vars(item).items()):
            if key != "_obj" and code_of(value) and hasattr(type(item), key) and self._tree.owns(value):
                self._note(type(item).__name__ + "." + key + " of a collected test", self._tree.place(value))
        now = function_of(vars(item).get("_obj"))
        if self._tests and code_of(now) is not None and id(now) not in self._tests and self._tree.owns(now):
            self._note("the function of a collected test", self._tree.place(now))
        self._note_all(_exchanged([self._tests[id(now)]] if id(now) in self._tests else [], self._tree))

    def end(self, manager: Any) -> None:
        """Compare everything after all fixtures are torn down."""
        self.after_test()
        self._note_all(self._runner.altered(self._tree))
        self._note_all(self._machinery.replaced(self._tree))
        self._note_all(self._machinery.altered(self._tree))
        self._note_all(self._overridden())
        self._note_all(self._registered(manager))
        self._note_all(_exchanged(list(self._tests.values()), self._tree))
        for name, one, before in self._objects:
            for key, value in list(vars(one).items()):
                if code_of(value) and before.get(key) is not value and self._tree.owns(value):
                    self._note(name + "." + key, self._tree.place(value))
        for name, module in self._modules.items():
            file = getattr(sys.modules.get(name), "__file__", None)
            if sys.modules.get(name) is not module and file and self._tree.owns_file(str(file)):
                self._note("sys.modules[" + repr(name) + "]", str(file))
        for name, function in (("sys.settrace", sys.gettrace()), ("sys.setprofile", sys.getprofile())):
            if code_of(function) is not None and self._tree.owns(function):
                self._note(name, self._tree.place(function))

    def _overridden(self) -> Iterator[Change]:
        """Methods of the tree that were added to a class of the runner and hide inherited ones."""
        for name, one, before in self._classes:
            for key, value in list(vars(one).items()):
                added = key not in before and isinstance(value, METHODS)
                if added and any(key in vars(base) for base in one.__mro__[1:]) and self._tree.owns(value):
                    yield name + "." + key, self._tree.place(value)

    def _registered(self, manager: Any) -> Iterator[Change]:
        """Hooks of the tree that were registered later or replaced others."""
        for name, one in _hooks_of(manager):
            _, function, code = self._hooks.get(id(one), (None, None, None))
            if one.function is not function and self._tree.owns(one.function):
                yield "plug-in " + _plugin_name(one.plugin), self._tree.place(one.function)
            elif function is not None and code is not None and code_of(function) != code:
                yield "hook " + name, self._tree.place(function)

    def _note(self, what: str, by: str) -> None:
        self._seen[(what, by)] = None

    def _note_all(self, changes: Iterator[Change]) -> None:
        for what, by in changes:
            self._note(what, by)


def _hooks_of(manager: Any) -> Iterator[Tuple[str, Any]]:  # noqa: UP006
    """Every registered implementation of a hook, with the hook's name."""
    for name, caller in list(vars(manager.hook).items()):
        if hasattr(caller, "get_hookimpls"):
            for one in caller.get_hookimpls():
                yield name, one


def _plugin_name(plugin: Any) -> str:
    if isinstance(plugin, types.ModuleType):
        return plugin.__name__
    kind = plugin if isinstance(plugin, type) else type(plugin)
    return kind.__module__ + "." + kind.__qualname__


def _inner_codes(code: Any) -> Iterator[Any]:
    """The code objects in a code object, at any depth."""
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from _inner_codes(constant)


def _means(code: Any, wanted: Any) -> bool:
    """Whether ``code`` matches the source; code with rewritten assertions differs, and must have assertions."""
    same = code.co_code == wanted.co_code and code.co_names == wanted.co_names
    return bool(same or "AssertionError" in code.co_names)


def _exchanged(tests: List[Tuple[Any, Any]], tree: Tree) -> Iterator[Change]:  # noqa: UP006
    """Collected tests whose code was replaced in place."""
    for function, code in tests:
        if function.__code__ is not code and function.__code__ != code:
            yield TEST_CODE, tree.place(function.__code__)
