"""Tools made of functions and classes: schema from types and docstring, arguments checked before the call.

    async def population(city: str, year: int = 2020) -> int:
        '''Return how many people lived in a city.

        Args:
            city: Its English name.
            year: From 1950.
        '''

    default_tools().add("population", tool_of(population))

A plain function is called in a thread of its own. A class makes one object for each session, with its state; its
`__call__` is the tool. What a call returns is said to the model as it is, if it is a string, else as JSON.
"""

from __future__ import annotations

import copy
import inspect
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import MethodType
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

import docstring_parser
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model

from rlfactory.envs.api.types import JSON, ToolSchema
from rlfactory.envs.tools.runtime.policy import DEFAULT_POLICY, ToolPolicy
from rlfactory.envs.tools.runtime.threads import in_thread
from rlfactory.envs.tools.tool import CallContext, Rejected, Tool, ToolContext, ToolFactory

NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
"""What every model family accepts as a tool's name."""
MAX_COMPLAINTS: Final = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Described:
    """What a docstring says, in whichever of the usual styles."""

    summary: str = ""
    """All that stands before the first section, as one line."""
    arguments: Mapping[str, str] = field(default_factory=dict)


def described(thing: object) -> Described:
    """Return what a function's or class's own docstring says."""
    parsed = docstring_parser.parse(getattr(thing, "__doc__", None) or "")
    return Described(
        summary=" ".join((parsed.description or "").split()),
        arguments={each.arg_name: " ".join((each.description or "").split()) for each in parsed.params},
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Signature:
    """What a function takes from the model, and what from us."""

    schema: ToolSchema
    model: type[BaseModel]
    """Field i is the i-th name, by alias."""
    names: tuple[str, ...]
    context: str
    """The parameter that wants the `CallContext`; "" if none does."""

    def read(self, arguments: Mapping[str, JSON]) -> dict[str, Any]:
        """Return the arguments as the types ask. Raises: Rejected: they do not fit; the message says where."""
        try:
            values = self.model.model_validate(dict(arguments))
        except ValidationError as error:
            raise Rejected(_complaints(error)) from None
        return {name: getattr(values, f"a{index}") for index, name in enumerate(self.names)}


def signature_of(
    function: Callable[..., Any], *, name: str, description: str = "", documented: Described | None = None
) -> Signature:
    """Read a function's signature.

    Raises: ValueError: a name that no model could call, a parameter without a type, *args or **kwargs, or a type that
        no JSON value fits.
    """
    if not NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name for a tool: letters, digits, _ and -, at most 64")
    documented = documented or described(function)
    hints = get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    names: list[str] = []
    context = ""
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise ValueError(f"{name}: parameter {parameter} cannot be given by name")
        hint = hints.get(parameter.name)
        if hint is None:
            raise ValueError(f"{name}: parameter {parameter.name!r} has no type")
        if hint is CallContext:
            context = parameter.name
            continue
        fields[f"a{len(names)}"] = (hint, _field(parameter, hint, documented))
        names.append(parameter.name)
    try:
        model = create_model(name, __config__=ConfigDict(extra="forbid", allow_inf_nan=False), **fields)
        parameters = _without_titles(model.model_json_schema(by_alias=True))
    except Exception as error:
        raise ValueError(f"{name}: its types make no JSON schema: {str(error).splitlines()[0]}") from error
    parameters.pop("description", None)
    schema = ToolSchema(name=name, description=description or documented.summary or name, parameters=parameters)
    return Signature(schema=schema, model=model, names=tuple(names), context=context)


def _field(parameter: inspect.Parameter, hint: Any, documented: Described) -> Any:
    said = next((each for each in get_args(hint)[1:] if isinstance(each, str)), None)
    text = said if get_origin(hint) is Annotated and said else documented.arguments.get(parameter.name)
    default = ... if parameter.default is parameter.empty else parameter.default
    return Field(default=default, alias=parameter.name, description=text)


def _without_titles(schema: Any) -> Any:
    """Return the schema without the titles that pydantic adds: they say a name again, and cost tokens."""
    if isinstance(schema, list):
        return [_without_titles(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: _without_titles(each) for name, each in value.items()}
        if key in ("properties", "$defs")
        else _without_titles(value)
        for key, value in schema.items()
        if key != "title" or not isinstance(value, str)
    }


def _complaints(error: ValidationError) -> str:
    lines = [
        f"{'.'.join(map(str, each['loc'])) or 'arguments'}: {each['msg'][:1].lower()}{each['msg'][1:]}"
        for each in error.errors(include_url=False, include_input=False)
    ]
    more = f"; and {len(lines) - MAX_COMPLAINTS} more" if len(lines) > MAX_COMPLAINTS else ""
    return "; ".join(lines[:MAX_COMPLAINTS]) + more


class FunctionTool(Tool):
    """Calls a function. It has no state, so forks share it."""

    lives_on = True

    def __init__(self, function: Callable[..., Any], signature: Signature, policy: ToolPolicy) -> None:
        self.schema = signature.schema
        self.policy = policy
        self.acts_outside = not (policy.pure or policy.idempotent)
        self._function = function
        self._signature = signature

    async def call(self, arguments: Mapping[str, JSON], context: CallContext) -> str:
        return await called(self._function, self._signature, arguments, context)

    def fork(self, context: ToolContext) -> Tool:
        return self


class ObjectTool(Tool):
    """Calls an object that a session has for itself. A fork gets a deep copy, or what the object's `fork()` returns."""

    def __init__(self, subject: Any, signature: Signature, policy: ToolPolicy) -> None:
        self.schema = signature.schema
        self.policy = policy
        self.resource = f"{signature.schema.name} {id(subject)}"
        """An object's calls run one after another: it has state."""
        self.subject = subject
        self._signature = signature

    async def call(self, arguments: Mapping[str, JSON], context: CallContext) -> str:
        return await called(self.subject, self._signature, arguments, context)

    def fork(self, context: ToolContext) -> Tool:
        make = getattr(self.subject, "fork", None)
        subject = make() if callable(make) else copy.deepcopy(self.subject)
        return ObjectTool(subject, self._signature, self.policy)

    async def close(self) -> None:
        end = getattr(self.subject, "close", None)
        if callable(end):
            try:
                ended = end()
                if inspect.isawaitable(ended):
                    await ended
            except Exception:  # noqa: BLE001 - closing never raises, and the session is over anyway
                return


async def called(
    function: Callable[..., Any], signature: Signature, arguments: Mapping[str, JSON], context: CallContext
) -> str:
    """Call with checked arguments and return what the model reads."""
    values = signature.read(arguments)
    if signature.context:
        values[signature.context] = context
    target = function if inspect.isroutine(function) else type(function).__call__
    if inspect.iscoroutinefunction(target):
        result = await function(**values)
    else:
        result = await in_thread(lambda: function(**values))
        if isinstance(result, Awaitable):
            result = await result
    return said(result)


def said(result: object) -> str:
    """Return a result as the model reads it: a string as it is, anything else as JSON."""
    if isinstance(result, str):
        return result
    if result is None:
        return "Done."
    value = (
        TypeAdapter(type(result)).dump_python(result, mode="json") if not isinstance(result, dict | list) else result
    )
    return json.dumps(value, ensure_ascii=False, default=str)


def tool_of(
    subject: Callable[..., Any],
    *,
    name: str = "",
    description: str = "",
    policy: ToolPolicy = DEFAULT_POLICY,
    options: Mapping[str, Any] | None = None,
) -> ToolFactory:
    """Return a factory of tools made of a function, of a class with `__call__`, or of a subclass of `Tool`.

    Args:
        name: by default the function's, or the class's in snake case.
        options: what a class is made with.

    Raises: ValueError: its signature does not make a schema; see `signature_of`.
    """
    made_with = dict(options or {})
    if not inspect.isclass(subject):
        if made_with:
            raise ValueError(f"{subject!r} is a function, and takes no options")
        signature = signature_of(subject, name=name or subject.__name__, description=description)
        return lambda context: FunctionTool(subject, signature, policy)
    if issubclass(subject, Tool):
        make: Callable[..., Tool] = subject
        return lambda context: make(context, **made_with)
    called_name = name or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", subject.__name__).lower()
    own = described(subject)
    of_call = described(subject.__call__)
    documented = Described(summary=own.summary or of_call.summary, arguments={**own.arguments, **of_call.arguments})
    bound = inspect.signature(subject.__call__)
    if "self" not in bound.parameters:
        raise ValueError(f"{subject.__name__} has no method __call__(self, ...)")
    method = MethodType(subject.__call__, subject)  # whose signature is without `self`
    signature = signature_of(method, name=called_name, description=description, documented=documented)
    return lambda context: ObjectTool(subject(**made_with), signature, policy)
