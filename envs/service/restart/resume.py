"""Sessions that were open when the service ended: begun anew from its journal, before anybody is served."""

from __future__ import annotations

import asyncio
import logging

from rlfactory.envs.api.errors import InfrastructureError, RLFactoryError
from rlfactory.envs.service.manager import SessionManager
from rlfactory.envs.service.restart.journal import Journal, SavedSession
from rlfactory.envs.service.services import TENANT
from rlfactory.envs.service.session import Session

log = logging.getLogger(__name__)


async def resume_sessions(manager: SessionManager, journal: Journal) -> None:
    """Let all sessions of the journal go on; those that cannot are void, which their next step says."""
    saved = journal.sessions()
    went_on = await asyncio.gather(*(asyncio.create_task(_resume(manager, journal, each)) for each in saved))
    if saved:
        log.warning("the service was started again: %d sessions were open, %d of them go on", len(saved), sum(went_on))


async def _resume(manager: SessionManager, journal: Journal, saved: SavedSession) -> bool:
    """Admit a session as it was, or as void; tell whether it goes on."""
    TENANT.set(saved.tenant)
    try:
        about = (saved.task, saved.seed, saved.split, saved.options, saved.client)
        episode = await manager.episode(*about, alone=True)
    except RLFactoryError as error:
        log.warning("session %s of task %s is forgotten: %s", saved.id, saved.task, error)
        journal.closed(saved.id)
        return False
    session = Session(saved.id, episode, None, listener=manager)
    try:
        if not saved.lives_on:
            raise InfrastructureError("the service was started again, and what this session stood on ended with it")
        await session.resume(manager.tools, journal.turns(saved.id))
    except RLFactoryError as error:
        session.end_as_void(error)
    manager.admit(session)
    return session.void is None
