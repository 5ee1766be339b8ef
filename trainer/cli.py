"""The commands of training: train, eval, play, compare, replay, export, validate, report."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer

from rlfactory.envs.api.errors import TaskError, UnknownName
from rlfactory.envs.wire.trust_options import ClientTrustFiles, token_from_environment
from rlfactory.options import takes_options
from rlfactory.trainer.record.compare import RunLog, compare
from rlfactory.trainer.record.export.run import ExportConfig, run_export
from rlfactory.trainer.record.report import write_report

app = typer.Typer()
AppFiles = Annotated[list[Path] | None, typer.Option(help="A Python file of apps for the phones; again for more.")]

RUNS = Path("runs")


@app.command()
def train(
    recipe: Annotated[str | None, typer.Argument(help="Of trainer/configs; by default tiny_phone.")] = None,
    overrides: Annotated[list[str] | None, typer.Argument(help="key=value, verl's own keys included.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Of model, episodes and sampling; by default 1.")] = None,
    transport: Annotated[
        Literal["direct", "adb", "docker"] | None, typer.Option(help="To the phones; by default direct.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Of the run's folder; by default recipe and time.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with NAME or latest, as it was configured.")] = False,
    runs: Annotated[Path, typer.Option(help="Where runs are kept.")] = RUNS,
    dry: Annotated[bool, typer.Option("--dry-run", help="Check all but weights and GPUs, and end.")] = False,
) -> None:
    """Train an agent by a recipe."""
    try:
        from rlfactory.trainer.run.train_view import check_in_terminal, train_in_terminal
    except ModuleNotFoundError as error:
        raise TaskError(f"training needs {error.name}: install rlfactory[train]") from None

    # A polite end goes the way of Ctrl-C, also for a shell's background job, which is born deaf to that: checkpoints
    # are kept, phones and servers are ended.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda _number, _frame: signal.raise_signal(signal.SIGINT))
    if recipe and "=" in recipe:  # an override: no recipe is named
        overrides = [recipe, *(overrides or [])]
        recipe = None
    if not resume:
        seed, transport = 1 if seed is None else seed, transport or "direct"
    chosen = {"rlfactory.seed": seed, "rlfactory.service.transport": transport}
    own = [f"{key}={value}" for key, value in chosen.items() if value is not None]
    if dry:
        raise typer.Exit(not check_in_terminal(recipe, [*own, *(overrides or [])]))
    train_in_terminal(recipe, [*own, *(overrides or [])], runs=runs, name=name, resume=resume)


@app.command()
def doctor(
    recipe: Annotated[str, typer.Argument(help="What it is to train.")] = "tiny_phone",
    overrides: Annotated[list[str] | None, typer.Argument(help="key=value, as for train.")] = None,
    runs: Annotated[Path, typer.Option(help="Where runs are kept.")] = RUNS,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Say what this machine lacks to train by a recipe, and what mends it. Exits 1 if it would fail."""
    from rlfactory.trainer.run.doctor import examine, show

    found = examine(recipe, overrides or [], runs=runs)
    raise typer.Exit(not show(found, title=f"{recipe} on this machine", as_json=as_json))


@app.command()
def recipes(as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False) -> None:
    """List the recipes: what they train, on what, and what a step is."""
    from rlfactory.trainer.run.plan import show_recipes

    show_recipes(as_json=as_json)


@app.command("eval")
@takes_options
def evaluate_policy(
    files: ClientTrustFiles,
    policy: Annotated[str, typer.Option(help="oracle, random, checkpoint:PATH or openai:URL,MODEL.")] = "oracle",
    tasks: Annotated[
        str, typer.Option(help="Names with commas between; empty: every task, or every one of --tasks-file.")
    ] = "",
    suite: Annotated[str, typer.Option(help="Only this suite.")] = "",
    tasks_file: Annotated[
        list[Path] | None, typer.Option(help="A Python file of tasks; again for more. With --address: for the oracle.")
    ] = None,
    android_world: Annotated[
        Path | None, typer.Option(help="A checkout of AndroidWorld, its interpreter in or beside it: that suite.")
    ] = None,
    apps: AppFiles = None,
    tools_file: Annotated[Path | None, typer.Option(help="Of tools; without --address.")] = None,
    split: Annotated[Literal["train", "validation", "test"], typer.Option(help="Which parameters.")] = "validation",
    episodes: Annotated[int, typer.Option(min=1, help="Distinct (task, seed) pairs.")] = 100,
    attempts: Annotated[int, typer.Option(min=1, help="Of each pair, for pass@k.")] = 1,
    concurrency: Annotated[int, typer.Option(min=1, help="Episodes at a time.")] = 8,
    seed: Annotated[int, typer.Option(min=0, help="The first seed.")] = 0,
    ablate: Annotated[Literal["image"] | None, typer.Option(help="Take this from the policy.")] = None,
    perturb: Annotated[
        str, typer.Option(metavar="NAME[:STRENGTH],...", help="What happens to the phones: popup,rotation:0.8; all.")
    ] = "",
    address: Annotated[str, typer.Option(help="A running service; empty: start one for this ")] = "",
    dialect: Annotated[str, typer.Option(help="How an endpoint's model writes actions: a name, or FILE:NAME.")] = "",
    max_pixels: Annotated[int | None, typer.Option(min=1, help="Pixel budget of a screenshot.")] = None,
    screen: Annotated[str, typer.Option(help="WIDTHxHEIGHT; empty: what the policy learnt on, or 1080x2400.")] = "",
    temperature: Annotated[float, typer.Option(min=0.0, help="Of the policy's sampling; 0 is greedy.")] = 0.0,
    out: Annotated[Path | None, typer.Option(help="Record the episodes and a report.html in this folder.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Figures as JSON.")] = False,
) -> None:
    """Evaluate a policy over a split of tasks."""
    from rlfactory.trainer.run.evaluation import (
        Ablation,
        EvalConfig,
        PolicyConfig,
        chosen_tasks,
        make_policy,
        phones_for,
        run_evaluation,
        show,
    )

    files_of_tasks = (*(tasks_file or ()), *((android_world,) if android_world else ()))
    player = make_policy(
        policy,
        PolicyConfig(
            dialect=dialect or PolicyConfig().dialect,
            max_pixels=max_pixels,
            temperature=temperature,
            api_key=os.environ.get("OPENAI_API_KEY", ""),
            task_files=files_of_tasks,
        ),
    )
    config = EvalConfig(
        split=split,
        tasks=chosen_tasks(tasks, suite=suite, files=() if address else tuple(tasks_file or ())),
        suite=suite or ("android_world" if android_world and not (tasks or tasks_file) else ""),
        episodes=episodes,
        attempts=attempts,
        concurrency=concurrency,
        first_seed=seed,
        ablation=Ablation(ablate) if ablate else None,
        perturb=perturb,
    )
    trust = files.load(token=token_from_environment()) if address else None
    count = min(concurrency, episodes * attempts)
    service = address or phones_for(
        player, screen, count=count, task_files=files_of_tasks, app_files=tuple(apps or ()), tools_file=tools_file
    )
    result = asyncio.run(run_evaluation(player, config, service=service, trust=trust, out=out, quiet=as_json))
    show(result, out=out, as_json=as_json)
    if policy.startswith("openai:") and not dialect:
        print(f"the model's text was read as {PolicyConfig().dialect}; --dialect chooses another", file=sys.stderr)


@app.command("play")
def play_task(
    task: Annotated[str, typer.Argument(help="A name of `rlfactory tasks`.")],
    seed: Annotated[int, typer.Option(min=0, help="Of its parameters.")] = 0,
    split: Annotated[Literal["train", "validation", "test"], typer.Option(help="Which parameters.")] = "train",
    tasks_file: Annotated[list[Path] | None, typer.Option(help="A Python file of tasks; again for more.")] = None,
    apps: AppFiles = None,
    tools_file: Annotated[Path | None, typer.Option(help="Of tools; without --address.")] = None,
    address: Annotated[str, typer.Option(help="A running service; empty: start one for this.")] = "",
    picture: Annotated[Path, typer.Option(help="Where the screen is written after each action.")] = Path("screen.png"),
) -> None:
    """Try a task by hand: type actions, see the screen as a file and the verdict. Exits 1 if it is not solved."""
    from rlfactory.trainer.run.playing import PlayConfig, play_in_terminal

    config = PlayConfig(
        task=task,
        seed=seed,
        split=split,
        picture=picture,
        address=address,
        task_files=tuple(tasks_file or ()),
        app_files=tuple(apps or ()),
        tools_file=tools_file,
    )
    raise typer.Exit(not play_in_terminal(config))


@app.command("compare")
def compare_runs(
    first: Annotated[Path, typer.Argument(help="A run's folder.")],
    second: Annotated[Path, typer.Argument(help="The folder of a run on the same tasks and seeds.")],
    as_json: Annotated[bool, typer.Option("--json", help="Figures as JSON.")] = False,
) -> None:
    """Compare two recorded evaluations pair by pair: the difference, its interval, and whether it may be chance."""
    found = compare(RunLog(first), RunLog(second))
    for problem in found.problems:
        print(problem, file=sys.stderr)
    if as_json:
        print(json.dumps(asdict(found), indent=2))
        return
    low, high = (f"{100 * side:+.1f}" for side in found.interval)
    print(f"{found.pairs} pairs: {found.first:.1%} and {found.second:.1%}")
    print(f"difference {100 * found.difference:+.1f} points (95 %: {low} to {high}), p = {found.p_value:.4f}")


@app.command("replay")
def replay_run(
    run: Annotated[Path, typer.Argument(help="A run's folder.")] = RUNS / "latest",
    episode: Annotated[str, typer.Option(help="Only the episode of this id.")] = "",
    video: Annotated[Path | None, typer.Option(help="Film the episode as WebM.")] = None,
    tasks_file: Annotated[
        list[Path] | None, typer.Option(help="A Python file of tasks that the run was played with; again for more.")
    ] = None,
    apps: AppFiles = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Episodes at a time.")] = 8,
    as_json: Annotated[bool, typer.Option("--json", help="Every difference as JSON.")] = False,
) -> None:
    """Play recorded actions again in another process, and compare state, screen and reward of every turn."""
    from rlfactory.trainer.run.replaying import ReplayConfig, run_replay

    config = ReplayConfig(
        run=run,
        episode=episode,
        video=video,
        task_files=tuple(tasks_file or ()),
        app_files=tuple(apps or ()),
        concurrency=concurrency,
    )
    done = asyncio.run(run_replay(config, as_json=as_json))
    raise typer.Exit(not all(each.equal for each in done))


@app.command("export")
def export_run(
    run: Annotated[Path, typer.Argument(help="A run's folder.")] = RUNS / "latest",
    form: Annotated[str, typer.Option("--format", help="parquet, atif or inspect.")] = "parquet",
    episode: Annotated[str, typer.Option(help="Only the episode of this id.")] = "",
    out: Annotated[Path | None, typer.Option(help="A new folder; by default RUN/export-FORMAT.")] = None,
) -> None:
    """Write a run's trajectories in a format that other programs read."""
    print(run_export(ExportConfig(run=run, format=form, episode=episode, out=out)))


@app.command()
def gateway(
    model: Annotated[Path, typer.Argument(help="A checkpoint: a Hugging Face directory, or a run's folder.")],
    out: Annotated[Path | None, typer.Option(help="Add the rows of ended sessions to this file, JSON lines.")] = None,
    dialect: Annotated[str, typer.Option(help="How the model writes calls, for agents that send tools.")] = "qwen3",
    temperature: Annotated[float, typer.Option(min=0.0, help="Of every turn, whatever agents ask for.")] = 1.0,
    max_tokens: Annotated[int, typer.Option(min=1, help="Of a turn, where no recipe says it.")] = 512,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Of loopback; 0: a free one.")] = 8000,
    as_json: Annotated[bool, typer.Option("--json", help="Say where it listens as one line of JSON.")] = False,
) -> None:
    """Serve a model to agents of others by OpenAI's API, and record their calls as rows to train on."""
    try:
        from rlfactory.trainer.verl.gateway import PolicyConfig, get_dialect, open_gateway
    except ModuleNotFoundError as error:
        raise TaskError(f"the gateway needs {error.name}: install rlfactory[train]") from None

    config = PolicyConfig(dialect=dialect, temperature=temperature, max_tokens=max_tokens)

    async def run() -> None:
        with socket.create_server(("127.0.0.1", port)) as listener:
            served = await open_gateway(model, dialect=get_dialect(dialect), config=config, out=out)
            where = f"http://127.0.0.1:{listener.getsockname()[1]}"
            line = f"serving {model} to agents on {where}/v1; POST {where}/sessions opens a session; Ctrl-C stops"
            print(json.dumps({"address": where, "template": served.template}) if as_json else line, flush=True)
            await served.serve(listener)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)  # uvicorn stops in order, then raises what stopped it once more
    asyncio.run(run())


@app.command("validate")
def validate_tasks(
    targets: Annotated[
        list[str] | None, typer.Argument(help="Suites, tasks or Python files of tasks; none: all.")
    ] = None,
    level: Annotated[str, typer.Option(help="Levels with commas between: static, runtime, semantic; empty: all.")] = "",
    policy: Annotated[Path | None, typer.Option(help="A YAML file: what warns, what is allowed, and why.")] = None,
    apps: AppFiles = None,
    page: Annotated[Path | None, typer.Option("--html", help="Write a page that opens offline.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Every finding as JSON.")] = False,
) -> None:
    """Check tasks: a verdict for each template and check, with evidence and what mends it. Exits 1 if any fails."""
    from rlfactory.trainer.run import validating

    names = level.split(",") if level else list(validating.Level)
    for name in names:
        if name not in set(validating.Level):
            raise UnknownName.of("level", name, validating.Level)
    levels = tuple(map(validating.Level, names))
    config = validating.ValidateConfig(
        targets=tuple(targets or ()), app_files=tuple(apps or ()), levels=levels, policy=policy
    )
    findings = asyncio.run(validating.validate(config, quiet=as_json))
    if page:
        page.write_text(validating.as_html(findings), encoding="utf-8")
    if as_json:
        print(validating.as_json(findings))
    else:
        validating.show(findings)
    raise typer.Exit(any(each.status in (validating.Status.FAILED, validating.Status.SKIPPED) for each in findings))


@app.command()
def report(
    run: Annotated[Path, typer.Argument(help="A run's folder.")] = RUNS / "latest",
) -> None:
    """Write report.html of a run, one file that opens offline."""
    print(write_report(run))
