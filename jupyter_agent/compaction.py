"""Compaction: when the context is nearly full, a summary takes the history's place; three attempts, then a stop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_agent.context import is_near_limit, messages, summary_messages, system_prompt
from jupyter_agent.errors import ModelError
from jupyter_agent.events import Compaction, Event, Note, Stop, Usage
from jupyter_agent.text import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_agent.conversation import Conversation

ATTEMPTS = 3
"""Compactions in one turn before it stops (fault f47): a summary that never fits must not cost for ever."""
SUMMARY_TOKENS = 4_000


async def compact_if_needed(conversation: Conversation) -> None:
    """Compact until the next request should fit. Raises ModelError("overflow") when summaries do not help."""
    if conversation.model is None:
        return
    info = await conversation.model.info()
    while is_near_limit(context_used(conversation.events), info.context_limit, min(info.max_output, 16_000)):
        await compact(conversation)


async def compact(conversation: Conversation) -> None:
    """Replace the history by a summary. Raises ModelError("overflow") when the summaries of this turn did not help."""
    from jupyter_agent.loop import record_usage

    model = conversation.model
    assert model is not None
    info = await model.info()
    done = sum(isinstance(event, Compaction) for event in conversation.turn_events())
    if done >= ATTEMPTS:
        raise ModelError(
            "overflow",
            f"The conversation does not fit the model's {info.context_limit:,} tokens even after {done} summaries. "
            "Start a new conversation, or ask for less at once.",
        )
    conversation.publish(Note(level="info", text="The context is nearly full: summarising the conversation so far."))
    settings = conversation.settings
    notebook = str(settings.notebook) if settings.notebook else None
    reply = await model.reply(
        system=system_prompt(str(settings.root), notebook),
        messages=summary_messages(conversation.events, info.id),
        tools=[],
        max_tokens=min(SUMMARY_TOKENS, info.max_output),
        before_attempt=conversation.budget.check,
    )
    record_usage(conversation, reply, info.context_limit)
    conversation.publish(Compaction(summary=reply.text, through=conversation.journal.seq))


def context_used(events: Sequence[Event]) -> int:
    """Tokens the next request will hold: as the last reply counted them, or estimated after a compaction."""
    for event in reversed(events):
        if isinstance(event, Compaction):
            text = "".join(str(message["content"]) for message in messages(events, ""))
            return estimate_tokens(text)
        if isinstance(event, Usage):
            return event.context_used
        if isinstance(event, Stop):
            continue
    return 0
