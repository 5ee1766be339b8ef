"""Questions over passages: a made world with questions of one to three hops, and questions from files."""

from __future__ import annotations

from rlfactory.envs.tasks.search_qa.made import MADE_QUESTIONS

SEARCH_QA_TASKS = MADE_QUESTIONS
