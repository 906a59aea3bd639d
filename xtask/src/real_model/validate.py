"""Validates recorded requests with the types of the official Python SDKs.

The argument is a directory with one JSON file a request: `path`, the path of its URL, and `body`. Unknown keys are errors.
Prints one JSON object a line for each API: its name, the SDK and its version, and the numbers of requests and of valid
ones. Reasons are printed on standard error. Exits with 1 if a request is invalid.
"""

import collections
import collections.abc
import importlib
import json
import pathlib
import pkgutil
import sys
import typing

import anthropic
import openai
import pydantic
import typing_extensions

# The documented extensions of servers with Chat Completions. They are only sent back to a server that used them.
EXTENSIONS = {"reasoning_content", "reasoning", "reasoning_details"}


class Answered:
    """Stands for the types of answers, which SDKs also accept as input. They allow unknown keys, and nothing that was
    sent as JSON is an object of theirs."""


def is_model(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, pydantic.BaseModel)


def strict(kind: object) -> object:
    """Returns a type that reads lists at once, and without the types of answers."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if is_model(kind):
        return Answered
    if origin is typing.Literal or not parts:
        return kind
    if origin is typing.Annotated:
        return strict(parts[0])
    parts = tuple(strict(part) for part in parts)
    if origin is typing.Union:
        return typing.Union[parts]
    # An iterable is validated while it is read, which is never, so every list would be valid.
    if origin is collections.abc.Iterable or getattr(origin, "__name__", "") == "SequenceNotStr":
        return typing.List[parts[0]]
    return kind.copy_with(parts) if hasattr(kind, "copy_with") else kind


def prepare(package: str) -> None:
    """Makes the types of requests of a package strict: unknown keys are errors."""
    root = importlib.import_module(package)
    for found in pkgutil.walk_packages(root.__path__, package + "."):
        module = importlib.import_module(found.name)
        is_of_requests = module.__name__.endswith(("_param", "_params", "_union"))
        for name, value in list(vars(module).items()):
            if typing_extensions.is_typeddict(value):
                value.__pydantic_config__ = pydantic.ConfigDict(
                    extra="forbid", arbitrary_types_allowed=True
                )
            elif is_of_requests and name in ("Iterable", "SequenceNotStr"):
                setattr(module, name, typing.List)
            elif is_of_requests and (is_model(value) or typing.get_args(value)):
                setattr(module, name, strict(value))


prepare("anthropic.types")
prepare("openai.types")

from anthropic.types.message_create_params import MessageCreateParamsStreaming  # noqa: E402
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming  # noqa: E402
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming  # noqa: E402

APIS = {
    "/messages": ("Messages", f"anthropic {anthropic.__version__}", MessageCreateParamsStreaming),
    "/responses": ("Responses", f"openai {openai.__version__}", ResponseCreateParamsStreaming),
    "/chat/completions": ("Chat Completions", f"openai {openai.__version__}", CompletionCreateParamsStreaming),
}


def side(message: dict) -> str | None:
    """Returns the side of a message that templates compare; none for calls and their results."""
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    kinds = {part.get("type") for part in parts if isinstance(part, dict)}
    if message.get("role") == "tool" or "tool_result" in kinds:
        return None
    if message.get("tool_calls") or "tool_use" in kinds:
        return None
    return message.get("role")


def neighbors(messages: list) -> str | None:
    """Returns the role of two neighboring messages of the same side, which some templates reject."""
    roles = [side(message) for message in messages if message.get("role") not in ("system", "developer")]
    for one, other in zip(roles, roles[1:]):
        if one is not None and one == other:
            return one
    return None


def problems(adapter: pydantic.TypeAdapter, body: dict) -> list[str]:
    """Returns the reasons why a request is invalid."""
    found = []
    for message in body.get("messages", []):
        for name in EXTENSIONS & set(message):
            del message[name]
    role = neighbors(body.get("messages", []))
    if role is not None:
        found.append(f"two messages of the role {role} follow each other")
    try:
        adapter.validate_python(body)
    except pydantic.ValidationError as error:
        # The errors of all variants of a union are listed; the deepest ones belong to the variant that was meant.
        errors = sorted(error.errors(), key=lambda one: -len(one["loc"]))
        found += [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in errors[:4]]
    return found


def main() -> None:
    counts = collections.Counter()
    valid = collections.Counter()
    adapters = {path: pydantic.TypeAdapter(kind) for path, (_, _, kind) in APIS.items()}
    for file in sorted(pathlib.Path(sys.argv[1]).glob("*.json")):
        request = json.loads(file.read_text(encoding="utf-8"))
        path = next((end for end in APIS if request["path"].split("?")[0].endswith(end)), None)
        if path is None or not isinstance(request["body"], dict):
            continue
        counts[path] += 1
        found = problems(adapters[path], request["body"])
        if found:
            print(f"{file.name}: {request['path']}", *found, sep="\n    ", file=sys.stderr)
        else:
            valid[path] += 1
    for path, (name, sdk, _) in APIS.items():
        line = {"api": name, "sdk": sdk, "requests": counts[path], "valid": valid[path]}
        print(json.dumps(line))
    sys.exit(0 if counts == valid and counts else 1)


main()
