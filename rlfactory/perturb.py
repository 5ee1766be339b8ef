"""A phone that fights back: what may happen to it while an agent uses it, seeded and scheduled.

`rlfactory serve --perturb popup,rotation:0.8` and `rlfactory eval --perturb all` name perturbations by these names;
`SessionOptions.perturb` does for one session. How they are drawn: `rlfactory.envs.perturb.perturbation`.
"""

from rlfactory.envs.perturb.catalogue import PERTURBATIONS
from rlfactory.envs.perturb.perturbation import Perturbation, Plan, Scene, parse, plan

__all__ = ["PERTURBATIONS", "Perturbation", "Plan", "Scene", "parse", "plan"]
