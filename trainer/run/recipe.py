"""Recipes: Hydra configurations in `trainer/configs`, composed on top of verl's own."""

from __future__ import annotations

import difflib
import importlib.util
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import yaml
from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException, MissingConfigException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from rlfactory.envs.api.errors import TaskError, UnknownName
from rlfactory.envs.api.types import ToolCall
from rlfactory.trainer.dialects import ParseError, Unrenderable, get_dialect
from rlfactory.trainer.episode.context import Past
from rlfactory.trainer.record.runlog import replace_text
from rlfactory.trainer.run.limits import check_limits

SMOLLM2 = "HuggingFaceTB/SmolLM2-135M-Instruct"
"""The one pretrained model that a run can make by itself."""
CONFIGS = Path(__file__).parents[1] / "configs"
_NOT_RECIPES = frozenset({"base", "agent_loops"})

WHOLE_NUMBERS: Final = {
    "rlfactory.service.phones": 0,
    "trainer.total_training_steps": 0,
    "data.train_batch_size": 1,
    "data.val_batch_size": 1,
    "actor_rollout_ref.rollout.n": 1,
}
"""Keys of a recipe that newcomers change, and the least that each may be."""
LISTS: Final = ("rlfactory.service.tasks", "rlfactory.service.apps", "data.episodes.tasks")
"""Keys where one name without brackets is easily written."""


def recipe_names() -> list[str]:
    return sorted(path.stem for path in CONFIGS.glob("*.yaml") if path.stem not in _NOT_RECIPES)


def compose_recipe(name: str, overrides: Sequence[str] = ()) -> DictConfig:
    """Return the recipe with overrides (`key=value`, `+new.key=value`), interpolations unresolved.

    Args:
        name: of `recipe_names`, or the path of a YAML file; what such a file builds on, it names under `defaults`.

    Raises:
        UnknownName: no such recipe, or an override names no key; the message has close names.
        TaskError: an override is malformed, its value does not fit, or two limits contradict each other.
    """
    if _is_path(name):
        if not Path(name).is_file():
            raise UnknownName(f"no recipe file {name}")
    elif name not in recipe_names():
        raise UnknownName.of("recipe", name, recipe_names())
    try:
        config = _compose(name, overrides)
    except (HydraException, OmegaConfBaseException) as error:
        _check_keys(name, overrides)
        raise _told(error) from None
    except yaml.YAMLError as error:
        raise TaskError(f"{name}: {' '.join(str(error).split())}") from None
    _check_own_keys(config.rlfactory, Path(name) if _is_path(name) else None)
    _check_values(config)
    _own_files(config.rlfactory, Path(name).parent if _is_path(name) else Path())
    _check_notes(config.rlfactory)
    if _is_path(name):
        config.rlfactory.recipe = Path(name).stem
    return config


def resumed_recipe(path: Path, recipe: str | None, overrides: Sequence[str] = ()) -> DictConfig:
    """Return the configuration that a run keeps in its folder, with these overrides and nothing else changed.

    Args:
        path: of the run's config.yaml.
        recipe: None: whatever the run's is.

    Raises:
        UnknownName: an override names no key.
        TaskError: the run is of another recipe or seed, or an override is malformed or does not fit.
    """
    config = OmegaConf.load(path)
    assert isinstance(config, DictConfig)
    own = config.rlfactory
    if recipe is not None and Path(recipe).stem != own.recipe:
        raise TaskError(f"{path.parent} is a run of recipe {own.recipe!r}, not {recipe!r}; to go on with it, name none")
    seed = own.seed
    override_recipe(config, overrides)
    if own.seed != seed:
        raise TaskError(f"{path.parent} began with seed {seed}, and goes on with no other")
    return config


def override_recipe(config: DictConfig, overrides: Sequence[str]) -> None:
    """Set keys of a configuration that is composed already, where groups (`hardware=gpu`) can be chosen no more.

    Raises:
        UnknownName: an override names no key.
        TaskError: an override is malformed or does not fit.
    """
    known = set(_keys(config))
    try:
        for override in OverridesParser.create().parse_overrides(list(overrides)):
            key = override.key_or_group
            if override.is_delete() or (key not in known and not override.is_add()):
                raise UnknownName(f"no config key {key!r} of the run; {_hint(key, known)}")
            OmegaConf.update(config, key, override.value(), force_add=True)
    except (HydraException, OmegaConfBaseException) as error:
        raise _told(error) from None
    _check_values(config)
    _check_notes(config.rlfactory)


def _check_values(config: DictConfig) -> None:
    for key, least in WHOLE_NUMBERS.items():
        value = OmegaConf.select(config, key, throw_on_resolution_failure=False)
        if value is not None and not (isinstance(value, int) and value >= least):
            raise TaskError(f"{key} is {value!r}; a whole number of at least {least} is wanted")
    for key in LISTS:
        value = OmegaConf.select(config, key, throw_on_resolution_failure=False)
        if isinstance(value, str):
            raise TaskError(f"{key} is the text {value!r}; a list is wanted: [{value}]")
    _check_warm_start(config.rlfactory)
    check_limits(config)


def _compose(name: str, overrides: Sequence[str]) -> DictConfig:
    GlobalHydra.instance().clear()
    folder, name = (Path(name).absolute().parent, Path(name).stem) if _is_path(name) else (CONFIGS, name)
    with initialize_config_dir(config_dir=str(folder), version_base=None):
        return compose(name, overrides=[f"hydra.searchpath=[file://{CONFIGS},file://{_verl_configs()}]", *overrides])


def _is_path(name: str) -> bool:
    return name.endswith((".yaml", ".yml"))


def _own_files(own: DictConfig, folder: Path) -> None:
    """Make files of the user's own findable from any process: what a recipe's file names lies relative to it."""
    if ".py:" in own.dialect:
        own.dialect = str((folder / own.dialect).absolute())
    if service := own.service:
        service.tasks = [str((folder / path).absolute()) for path in service.tasks]
        service.apps = [str((folder / path).absolute()) for path in service.apps]
        service.tools = str((folder / service.tools).absolute()) if service.tools else None


def _verl_configs() -> Path:
    """Return verl's configurations, found without importing verl: that takes seconds and half a gigabyte.

    Raises: TaskError: verl is not installed.
    """
    spec = importlib.util.find_spec("verl")
    if spec is None or spec.origin is None:
        raise TaskError("training needs verl; install it with: pip install 'rlfactory[train]'")
    return Path(spec.origin).parent / "trainer" / "config"


def _check_keys(name: str, overrides: Sequence[str]) -> None:
    """Say what is wrong with overrides that Hydra refused, if it is their form or their keys."""
    plain = [override for override in overrides if re.match(r"[A-Za-z_]", override)]
    for override in plain:
        if "=" not in override:
            raise TaskError(f"override {override!r} is not key=value")
    groups = {path.parent.name for path in CONFIGS.glob("*/*.yaml")}
    chosen = [override for override in plain if override.partition("=")[0] in groups]
    try:
        known = set(_keys(_compose(name, chosen)))
    except HydraException as error:
        raise _told(error) from None
    for override in plain:
        key = override.partition("=")[0]
        if key not in known and key not in groups:
            raise UnknownName(f"no config key {key!r}; {_hint(key, known)}")


def _check_own_keys(own: DictConfig, file: Path | None) -> None:
    """Refuse keys of ours that nobody reads: those that neither base.yaml nor models/tiny.yaml explains."""
    files = (CONFIGS / "base.yaml", CONFIGS / "models" / "tiny.yaml")
    known = {key for path in files for key in _keys(OmegaConf.load(path).rlfactory, "rlfactory.")}
    for key in _keys(own, "rlfactory."):
        if key not in known:
            raise UnknownName(f"{_line_of(key, file)}nobody reads {key!r}; {_hint(key, known)}")


def _line_of(key: str, file: Path | None) -> str:
    """Return FILE:LINE and a colon, if a line of the file sets something of the key's last name; else ""."""
    pattern = re.compile(rf"\s*{re.escape(key.rpartition('.')[2])}\s*:")
    lines = file.read_text(encoding="utf-8").splitlines() if file else []
    return next((f"{file}:{number}: " for number, line in enumerate(lines, 1) if pattern.match(line)), "")


def _check_warm_start(own: DictConfig) -> None:
    """Refuse what verl's SFT trainer would stumble over minutes later."""
    start = own.warm_start
    if start is None:
        return
    if (own.tiny_model is None) != (start.model is not None):
        raise TaskError(f"the lessons begin with rlfactory.tiny_model or with rlfactory.warm_start.model={start.model}")
    if start.model not in (None, SMOLLM2):
        raise TaskError(f"rlfactory.warm_start.model={start.model} is none that a run can make; there is {SMOLLM2}")
    if not start.lessons:
        raise TaskError("rlfactory.warm_start.lessons is empty; a tiny model needs one to start from")
    if not 1 <= start.batch <= start.episodes:
        raise TaskError(f"rlfactory.warm_start.batch={start.batch} must be within 1..{start.episodes} (its episodes)")
    if start.micro_batch < 1 or start.batch % start.micro_batch:
        raise TaskError(
            f"rlfactory.warm_start.micro_batch={start.micro_batch} must divide rlfactory.warm_start.batch={start.batch}"
        )
    for lesson in start.lessons:
        shares = [lesson.get(name, 0.0) for name in ("sloppiness", "guesses")]
        if not all(0 <= share <= 1 for share in shares) or all(shares) or lesson.steps < 1:
            raise TaskError(f"a lesson needs a sloppiness within 0..1, or guesses, and at least one step, not {lesson}")


def _check_notes(own: DictConfig) -> None:
    """Refuse notes in a dialect whose models write nothing before their calls."""
    context = own.get("context")  # a run that was begun before there was a choice has none
    if not context or context.row_turns is None or context.past != Past.NOTES:
        return
    dialect, note = get_dialect(own.dialect), "a note"
    with suppress(ParseError, Unrenderable):
        written = dialect.render([ToolCall(id="0", name="finish", arguments={"answer": "x"})], thought=note)
        if dialect.parse(written).thought == note:
            return
    raise TaskError(
        f"rlfactory.context.past=notes keeps what a model writes before its calls, and dialect {dialect.name} has no "
        "place for it: past=text or past=none"
    )


def _hint(key: str, known: set[str]) -> str:
    leaf = key.rpartition(".")[2]
    close = difflib.get_close_matches(key, known, n=3, cutoff=0.6)
    close += sorted(other for other in known if other.rpartition(".")[2] == leaf and other not in close)[:3]
    return f"close: {', '.join(close[:4])}" if close else "see the recipe in trainer/configs"


def _keys(config: Any, prefix: str = "") -> Iterator[str]:
    for name in config:
        path = f"{prefix}{name}"
        yield path
        child = config._get_node(name)
        if isinstance(child, DictConfig) and not child._is_none() and not child._is_missing():
            yield from _keys(child, f"{path}.")


def _told(error: Exception) -> TaskError:
    """Say in one line what Hydra or OmegaConf refused."""
    if isinstance(error, MissingConfigException) and error.missing_cfg_file and error.options:
        group, _, option = error.missing_cfg_file.rpartition("/")
        return UnknownName.of(group, option, error.options)
    cause = error.__cause__ or error
    return TaskError(str(cause).strip().splitlines()[0])


def save_config(config: DictConfig, path: Path) -> None:
    """Write a composed recipe; `OmegaConf.load` reads it back."""
    replace_text(path, OmegaConf.to_yaml(config))
