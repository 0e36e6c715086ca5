"""The model of a conversation, found as the person configured it; what is said before anything leaves the machine."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from jupyter_agent.events import Note
from jupyter_agent.models.consent import Consent
from jupyter_agent.models.notice import first_use_notice
from jupyter_agent.models.resolve import Offer, resolve

if TYPE_CHECKING:
    from jupyter_agent.conversation import Conversation

AskYesNo = Callable[[str], Awaitable[bool]]


async def connect(
    conversation: Conversation,
    *,
    model: str | None = None,
    base_url: str | None = None,
    environment: Mapping[str, str] | None = None,
    ask: AskYesNo | None = None,
) -> None:
    """Give the conversation its model. `ask` puts a yes/no question (a local server that was found) to the person.

    The first use of a remote host, and a money limit where no price is known, are said as notes. Raises ModelError.
    """

    async def offer(found: Offer) -> bool:
        return ask is not None and await ask(found.question)

    resolved = await resolve(
        model=model, base_url=base_url, environment=environment, ask=offer if ask is not None else None
    )
    consent, endpoint = Consent(), resolved.endpoint
    if not endpoint.local and consent.notice_due(endpoint.host):
        kept = conversation.settings.withhold
        notice = first_use_notice(endpoint, outputs=not kept.outputs, variables=not kept.variables)
        conversation.publish(Note(level="info", text=notice))
        consent.noticed(endpoint.host)
    unknown_price = conversation.budget.notice(endpoint.model)
    if unknown_price:
        conversation.publish(Note(level="warning", text=unknown_price))
    conversation.model = resolved.connect()
