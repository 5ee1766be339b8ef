"""Writes what verl's own tool agent loop needs to know of a service: its tools, and rows that name episodes."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from rlfactory.envs.api.errors import RLFactoryError, TaskError
from rlfactory.envs.api.types import JSON, CoordinateFrame, SessionOptions, Split, ToolSchema
from rlfactory.envs.client import EnvClient

CLASS: Final = "rlfactory.trainer.verl.tools.SessionTool"
LOOP: Final = "session_tools"


def verl_schema(schema: ToolSchema) -> dict[str, Any]:
    """Return a schema in verl's model of one, which knows types, descriptions and choices, and nothing within.

    What it cannot hold (the items of a list, a range) is said in the description.
    """
    parameters = schema.parameters
    properties = parameters.get("properties") or {}
    assert isinstance(properties, dict)
    told = {name: _property(each) for name, each in properties.items() if isinstance(each, dict)}
    function = {
        "name": schema.name,
        "description": schema.description,
        "parameters": {"type": "object", "properties": told, "required": parameters.get("required") or []},
    }
    return {"type": "function", "function": function}


def _property(value: Mapping[str, JSON]) -> dict[str, JSON]:
    known = ("type", "description", "enum")
    kept = {name: value[name] for name in known if name in value}
    more = {name: each for name, each in value.items() if name not in known}
    kept.setdefault("type", "string")
    if more:
        kept["description"] = f"{kept.get('description', '')} {json.dumps(more)}".strip()
    return kept


async def ask(
    client: EnvClient, tasks: Sequence[str], *, split: Split, episodes: int, first_seed: int, options: SessionOptions
) -> tuple[list[ToolSchema], list[dict[str, Any]]]:
    """Return the tools of the tasks and a row for each episode, its goal being the prompt.

    Raises: TaskError: two tasks have different tools of one name. RLFactoryError: see `EnvClient.reset`.
    """
    schemas: dict[str, ToolSchema] = {}
    begun: list[tuple[str, int, str, list[str]]] = []
    for index in range(episodes):
        task, seed = tasks[index % len(tasks)], first_seed + index // len(tasks)
        async with client.session(task, seed=seed, split=split, options=options) as session:
            for schema in session.tools:
                if schemas.setdefault(schema.name, schema) != schema:
                    raise TaskError(f"the tool {schema.name!r} of {task} is another than that of the tasks before it")
            begun.append((task, seed, session.goal, [schema.name for schema in session.tools]))
    rows = [
        _row(index, {"task": task, "seed": seed, "split": split}, goal=goal, selection=names, tools=list(schemas))
        for index, (task, seed, goal, names) in enumerate(begun)
    ]
    return list(schemas.values()), rows


def _row(
    index: int, episode: Mapping[str, Any], *, goal: str, selection: Sequence[str], tools: Sequence[str]
) -> dict[str, Any]:
    """Return a row of verl's dataset. Every tool knows the episode: any may be called first."""
    return {
        "data_source": episode["task"],
        "agent_name": LOOP,
        "prompt": [{"role": "user", "content": goal}],
        "reward_model": {"style": "environment", "ground_truth": ""},
        "extra_info": {
            "index": index,
            "need_tools_kwargs": True,
            "tool_selection": list(selection),
            "tools_kwargs": {name: {"create_kwargs": dict(episode)} for name in tools},
        },
    }


def tools_file(schemas: Sequence[ToolSchema], *, address: str, options: SessionOptions) -> dict[str, Any]:
    """Return the content of verl's `tool_config_path`."""
    config: dict[str, Any] = {"type": "native", "address": address}
    if options.with_image:
        config |= {"images": True, "max_pixels": options.max_pixels, "coordinates": options.coordinates.value}
    return {
        "tools": [
            {"class_name": CLASS, "config": dict(config), "tool_schema": verl_schema(schema)} for schema in schemas
        ]
    }


async def gather(asked: argparse.Namespace, options: SessionOptions) -> tuple[list[ToolSchema], list[dict[str, Any]]]:
    async with EnvClient(asked.address) as client:
        return await ask(
            client,
            asked.task,
            split=asked.split,
            episodes=asked.episodes,
            first_seed=asked.first_seed,
            options=options,
        )


def write(asked: argparse.Namespace) -> str:
    """Write both files; return what was written. Raises: RLFactoryError, OSError."""
    frame = CoordinateFrame(asked.coordinates)
    options = SessionOptions(with_image=asked.images, max_pixels=asked.max_pixels, coordinates=frame)
    schemas, rows = asyncio.run(gather(asked, options))
    folder: Path = asked.folder
    folder.mkdir(parents=True, exist_ok=True)
    tools, data = folder / "tools.yaml", folder / f"{asked.split}.jsonl"
    content = tools_file(schemas, address=asked.address, options=options)
    tools.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return f"{len(schemas)} tools: {tools}; {len(rows)} rows: {data}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the files; a mistake is told in one line, with exit code 1."""
    about = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m rlfactory.trainer.verl.tools_cli", description=about)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--address", default="127.0.0.1:7000", help="of the environment service")
    parser.add_argument("--task", action="append", required=True, help="may be given several times")
    parser.add_argument("--split", default="train", choices=["train", "validation", "test"])
    parser.add_argument("--episodes", type=int, default=256)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--images", action="store_true", help="show screenshots; for models that see")
    parser.add_argument("--max-pixels", type=int, help="of a screenshot")
    parser.add_argument("--coordinates", default="device_px", choices=[frame.value for frame in CoordinateFrame])
    try:
        print(write(parser.parse_args(arguments)))
    except (RLFactoryError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
