"""The commands of training: train, eval, report."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rlfactory.envs.api.errors import InfrastructureError
from rlfactory.envs.wire.trust_options import (
    Authority,
    ClientCertificate,
    ClientKey,
    ClientPlaintext,
    ServerName,
    TokenFile,
    token_from_environment,
)

if TYPE_CHECKING:
    from rlfactory.envs.wire.trust import ClientTrust
    from rlfactory.trainer.episode.policies import Policy
    from rlfactory.trainer.record.evaluate import EvalConfig, Evaluation
    from rlfactory.trainer.run.local_service import ServiceConfig

app = typer.Typer()

RUNS = Path("runs")


@app.command()
def train(
    recipe: Annotated[str, typer.Argument(help="A recipe of trainer/configs.")] = "tiny_phone",
    overrides: Annotated[list[str] | None, typer.Argument(help="key=value, verl's own keys included.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of model, episodes and sampling.")] = 1,
    transport: Annotated[
        Literal["direct", "adb", "docker"], typer.Option(help="How the service reaches its phones.")
    ] = "direct",
    name: Annotated[str | None, typer.Option(help="Of the run's folder; by default recipe and time.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the last checkpoint of NAME or latest.")] = False,
    runs: Annotated[Path, typer.Option(help="Where runs are kept.")] = RUNS,
) -> None:
    """Train an agent by a recipe."""
    from rich.console import Console

    from rlfactory.processes.descendants import ChildFailed
    from rlfactory.trainer.record.report import write_report
    from rlfactory.trainer.run.train import run
    from rlfactory.trainer.run.train_view import summary_view, training_view

    # A polite end goes the way of Ctrl-C, also for a shell's background job, which is born deaf to that: checkpoints
    # are kept, phones and servers are ended.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda _number, _frame: signal.raise_signal(signal.SIGINT))
    own = [f"rlfactory.seed={seed}", f"rlfactory.service.transport={transport}", *(overrides or [])]
    console = Console(highlight=False)
    folder = runs / (name or "latest")
    with training_view(console) as view:
        try:
            summary = run(recipe, own, runs=runs, name=name, resume=resume, progress=view.tell)
        except ChildFailed as error:
            raise InfrastructureError(str(error)) from error
        except KeyboardInterrupt:
            kept = f"stopped; what was learnt is kept in {folder.resolve()}; go on with: rlfactory train --resume"
            console.print(kept, soft_wrap=True)
            raise
        finally:
            if view.began:  # also a run that was stopped or failed has something to show
                page = write_report(folder)
    console.print(summary_view(summary, page), soft_wrap=True)


@app.command("eval")
def evaluate_policy(
    policy: Annotated[str, typer.Option(help="oracle, random, checkpoint:PATH or openai:URL,MODEL.")],
    tasks: Annotated[str, typer.Option(help="Names with commas between; empty: every task.")] = "",
    suite: Annotated[str, typer.Option(help="Only this suite.")] = "",
    split: Annotated[Literal["train", "validation", "test"], typer.Option(help="Which parameters.")] = "validation",
    episodes: Annotated[int, typer.Option(min=1, help="Distinct (task, seed) pairs.")] = 100,
    attempts: Annotated[int, typer.Option(min=1, help="Of each pair, for pass@k.")] = 1,
    concurrency: Annotated[int, typer.Option(min=1, help="Episodes at a time.")] = 8,
    seed: Annotated[int, typer.Option(min=0, help="The first seed.")] = 0,
    ablate: Annotated[Literal["image"] | None, typer.Option(help="Take this from the policy.")] = None,
    address: Annotated[str, typer.Option(help="A running service; empty: start one for this evaluation.")] = "",
    token_file: TokenFile = None,
    tls_ca: Authority = None,
    tls_cert: ClientCertificate = None,
    tls_key: ClientKey = None,
    tls_server_name: ServerName = "",
    plaintext: ClientPlaintext = False,
    dialect: Annotated[str, typer.Option(help="How an endpoint's model writes actions.")] = "qwen2_5_vl",
    max_pixels: Annotated[int | None, typer.Option(min=1, help="Pixel budget of a screenshot.")] = None,
    screen: Annotated[str, typer.Option(help="WIDTHxHEIGHT; empty: what the policy learnt on, or 1080x2400.")] = "",
    temperature: Annotated[float, typer.Option(min=0.0, help="Of the policy's sampling; 0 is greedy.")] = 0.0,
    out: Annotated[Path | None, typer.Option(help="Record the episodes and a report.html in this folder.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Figures as JSON.")] = False,
) -> None:
    """Evaluate a policy over a split of tasks."""
    from rlfactory.envs.wire.trust import ClientTrustFiles
    from rlfactory.trainer.episode.policies import PolicyConfig, make_policy
    from rlfactory.trainer.episode.session import Ablation
    from rlfactory.trainer.record.evaluate import EvalConfig

    player = make_policy(
        policy,
        PolicyConfig(
            dialect=dialect,
            max_pixels=max_pixels,
            temperature=temperature,
            api_key=os.environ.get("OPENAI_API_KEY", ""),
        ),
    )
    config = EvalConfig(
        split=split,
        tasks=tuple(name for name in tasks.split(",") if name),
        suite=suite,
        episodes=episodes,
        attempts=attempts,
        concurrency=concurrency,
        first_seed=seed,
        ablation=Ablation(ablate) if ablate else None,
    )
    files = ClientTrustFiles(
        token_file=token_file,
        ca=tls_ca,
        certificate=tls_cert,
        key=tls_key,
        server_name=tls_server_name,
        plaintext=plaintext,
    )
    trust = files.load(token=token_from_environment()) if address else None
    service = address or phones_for(player, screen, count=min(concurrency, episodes * attempts))
    result = asyncio.run(run_evaluation(player, config, service=service, trust=trust, out=out, quiet=as_json))
    show(result, out=out, as_json=as_json)


def phones_for(policy: Policy, screen: str, *, count: int) -> ServiceConfig:
    """Return a service whose phones have the screen that is asked for, or that the policy learnt on.

    Raises: TaskError: the text is no screen.
    """
    from rlfactory.envs.api.errors import TaskError
    from rlfactory.trainer.run.local_service import ServiceConfig

    config = ServiceConfig(phones=count)
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
    """Evaluate against the service at the address, or against one of its own."""
    from contextlib import AsyncExitStack

    from rich.console import Console

    from rlfactory.envs.client import EnvClient
    from rlfactory.trainer.record.evaluate import evaluate
    from rlfactory.trainer.record.evaluation_view import progress_bar
    from rlfactory.trainer.record.runlog import RunLog
    from rlfactory.trainer.run.local_service import local_service

    log = RunLog(out) if out else None
    if log:
        log.create()
        log.episodes_path.unlink(missing_ok=True)
    async with AsyncExitStack() as stack:
        if isinstance(service, str):
            address = service
        else:
            address = (await stack.enter_async_context(local_service(service))).address
        client = await stack.enter_async_context(EnvClient(address, trust=trust))
        stack.push_async_callback(policy.close)
        await policy.open()
        bar = stack.enter_context(progress_bar(Console(stderr=True, quiet=quiet), config.episodes * config.attempts))
        return await evaluate(client, policy, config, log=log, progress=bar)


def show(result: Evaluation, *, out: Path | None, as_json: bool) -> None:
    """Print the figures, and write them beside the recorded episodes."""
    from rich.console import Console

    from rlfactory.trainer.record.evaluation_view import evaluation_view
    from rlfactory.trainer.record.report import write_report

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


@app.command()
def report(
    run: Annotated[Path, typer.Argument(help="A run's folder.")] = RUNS / "latest",
) -> None:
    """Write report.html of a run, one file that opens offline."""
    from rlfactory.trainer.record.report import write_report

    print(write_report(run))
