"""From the words of a command line to the task of a file's questions, and to a judge of answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rlfactory.envs.api.errors import TaskError
from rlfactory.envs.rewards.model_judge import JudgeConfig, ModelJudge
from rlfactory.envs.service.services import Services
from rlfactory.envs.tasks.registry import TaskRegistry
from rlfactory.envs.tasks.search_qa.files import question_task
from rlfactory.envs.tasks.suites import default_registry
from rlfactory.envs.tools.search.passages import SearchMode
from rlfactory.envs.tools.search.retriever import LocalRetriever, RemoteRetriever, Retriever

JUDGE_KEY_VARIABLE = "RLFACTORY_JUDGE_API_KEY"


@dataclass(frozen=True, kw_only=True, slots=True)
class QuestionOptions:
    """What `rlfactory serve` is told of questions."""

    questions: Path | None = None
    index: str = ""
    """A folder that `rlfactory index` made, or the URL of a retrieval server."""
    mode: SearchMode = SearchMode.BM25
    judge: str = ""
    """URL,MODEL"""
    judge_api_key: str = ""

    def registry(self) -> TaskRegistry | None:
        """Return what ships and the file's questions; None without a file.

        Raises: TaskError: the file is none of questions, there is no index, or it cannot be searched so.
        """
        if self.questions is None:
            if self.index:
                raise TaskError("--search-index says where questions are looked up; give --questions, too")
            return None
        if not self.questions.is_file():
            raise TaskError(f"no questions {self.questions}")
        task = question_task(self.questions, self._retriever(), judged=bool(self.judge))
        registry = default_registry()
        registry.add(task)
        return registry

    def _retriever(self) -> Retriever:
        if self.index.startswith(("http://", "https://")):
            return RemoteRetriever(self.index)
        if not self.index:
            raise TaskError("--questions needs --search-index: a folder made by `rlfactory index`, or a server's URL")
        from rlfactory.envs.tools.search.index import SearchIndex

        index = SearchIndex.open(Path(self.index))
        if self.mode not in index.modes:
            raise TaskError(f"{self.index} has no vectors for mode {self.mode}: make it with `rlfactory index --dense`")
        return LocalRetriever(index, self.mode)

    def services(self) -> Services:
        """Return the shared services with the judge, if there is one. Raises: TaskError: not URL,MODEL."""
        if not self.judge:
            return Services()
        url, found, model = self.judge.partition(",")
        if not found or not model or not url.startswith(("http://", "https://")):
            raise TaskError(f"--judge is {self.judge!r}; it must be URL,MODEL as in http://127.0.0.1:8000/v1,qwq")
        return Services(ModelJudge(JudgeConfig(url=url, model=model, api_key=self.judge_api_key)))
