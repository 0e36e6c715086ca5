"""The agent loop: budget check → model reply → no calls? check the work → each call → its result."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jupyter_agent.call import new_call_id, run_call
from jupyter_agent.check import Check, check_turn
from jupyter_agent.compaction import compact, compact_if_needed
from jupyter_agent.context import messages, system_prompt, unseen_messages
from jupyter_agent.errors import AgentError, BudgetExceeded, ModelError, Stopped
from jupyter_agent.events import Assistant, Delta, Note, Stop, StopReason, ToolFinished, Usage, Verified
from jupyter_agent.models.protocol import Call, Model, Reply
from jupyter_agent.repetition import Repetition
from jupyter_agent.summary import changes_of, summary_of
from jupyter_agent.tool import ToolResult
from jupyter_agent.tools.cell_runs import all_ended

if TYPE_CHECKING:
    from jupyter_agent.conversation import Conversation

FORMAT_ERRORS = 3
"""Malformed tool calls in a row that end a turn (fault f58)."""


async def run_turn(conversation: Conversation) -> Stop:
    """Run until the model stops, a limit is reached, the person stops it or something fails. Never raises but
    CancelledError from outside a Stop; the Stop event returned is the last of the turn."""
    verified: Verified = "none"
    try:
        verified = await _steps(conversation)
        reason: StopReason = "denied" if conversation.denied_in_turn() else "done"
        return _stop(conversation, reason, verified)
    except BudgetExceeded as error:
        return _stop(conversation, "limit", _unchecked(conversation), error.message)
    except (Stopped, asyncio.CancelledError):
        # Stop cancels the task as well: where it was noticed before that arrived, the cancellation is still to come.
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(0)
        return _stop(conversation, "stopped", _unchecked(conversation), "Stopped by the person.")
    except AgentError as error:
        conversation.failure = error
        return _stop(conversation, "error", _unchecked(conversation), error.message)


async def _steps(conversation: Conversation) -> Verified:
    state, check = _Patience(), Check()
    while True:
        conversation.check_stopped()
        await compact_if_needed(conversation)
        seen = conversation.journal.seq
        try:
            reply = await ask_model(conversation, seen)
        except ModelError as error:
            if error.kind != "overflow":
                raise
            await compact(conversation)
            continue
        for call in reply.calls:
            await _carry_out(conversation, call, state)
        if reply.cut is not None or (reply.stop_reason == "max_tokens" and not reply.calls):
            state.cut(conversation, reply)
        elif not reply.calls:
            await _let_cells_end(conversation)
            check = await check_turn(conversation, check)
            conversation.check_stopped()
            if not check.again and not unseen_messages(conversation.events, seen):
                return check.verified


async def _let_cells_end(conversation: Conversation) -> None:
    """Where the kernel ends with the program, what still runs would be lost: it is waited for before the turn ends."""
    running = [execution for execution in conversation.executions.values() if not execution.done]
    if conversation.settings.kernel_life != "program" or not running:
        return
    text = "A cell is still running, in a kernel that ends with this program: waiting for it. Ctrl-C stops it."
    conversation.publish(Note(level="info", text=text))
    await all_ended()


async def _carry_out(conversation: Conversation, call: Call, state: _Patience) -> None:
    conversation.check_stopped()
    result = await run_call(conversation, call.id, call.name, call.arguments)
    state.malformed(result)
    warning = state.repetition.observe(call.name, call.arguments, str(result.content))
    if warning:
        tell_model(conversation, "repetition", warning)


@dataclass
class _Patience:
    """What a model may do wrong in a turn before the turn ends."""

    repetition: Repetition = field(default_factory=Repetition)
    malformed_in_a_row: int = 0
    cuts: int = 0

    def malformed(self, result: ToolResult) -> None:
        """Count a call that did not fit its tool; any other call starts anew. Raises ModelError at the limit."""
        wrong = result.details.get("refused", {}).get("kind") in ("arguments", "unknown_tool")
        self.malformed_in_a_row = self.malformed_in_a_row + 1 if wrong else 0
        if self.malformed_in_a_row >= FORMAT_ERRORS:
            raise ModelError(
                "invalid", f"The model's last {FORMAT_ERRORS} tool calls did not fit their tools. Stopped."
            )

    def cut(self, conversation: Conversation, reply: Reply) -> None:
        """Tell the model that its reply did not fit. Raises ModelError when that keeps happening."""
        self.cuts += 1
        if self.cuts >= FORMAT_ERRORS:
            raise ModelError(
                "cut", f"The model's replies were cut off {self.cuts} times at the output limit. Ask for less."
            )
        what = f"your call of {reply.cut} was cut off and not carried out" if reply.cut else "your reply was cut off"
        tell_model(conversation, "limit", f"At the output limit {what}. Go on in smaller steps.")


async def ask_model(conversation: Conversation, seen: int) -> Reply:
    """One reply to what the journal holds up to event `seen`, streamed and journalled with its usage."""
    model = _model(conversation)
    conversation.budget.start_turn_step()
    settings = conversation.settings
    info = await model.info()

    def show(block: str, text: str) -> None:
        conversation.publish(Delta(block="thinking" if block == "thinking" else "text", text=text))

    def retrying(reason: str, seconds: float) -> None:
        conversation.publish(Note(level="warning", text=f"{reason} Trying again in {seconds:.0f} s."))

    notebook = str(settings.notebook) if settings.notebook else None
    reply = await model.reply(
        system=system_prompt(str(settings.root), notebook, settings.instructions),
        messages=messages(conversation.events, info.id),
        tools=[tool.declaration() for tool in conversation.tools.values() if tool.always],
        max_tokens=info.max_output,
        on_delta=show,
        on_retry=retrying,
        before_attempt=conversation.budget.check,
    )
    conversation.publish(
        Assistant(
            text=reply.text,
            thinking=reply.thinking,
            calls=[{"id": call.id, "name": call.name, "arguments": call.arguments} for call in reply.calls],
            stop_reason=reply.stop_reason,
            model=reply.model,
            raw=list(reply.raw),
            seen=seen,
        )
    )
    record_usage(conversation, reply, info.context_limit)
    return reply


def tell_model(conversation: Conversation, name: str, text: str) -> None:
    """A remark of the program's own, journalled as the result of a call nobody made: the model reads it next."""
    call = new_call_id()
    conversation.publish(ToolFinished(call=call, name=name, content=[{"type": "text", "text": text}], is_error=True))


def record_usage(conversation: Conversation, reply: Reply, context_limit: int) -> None:
    """Book a reply's tokens into the budget and tell everyone."""
    usage = reply.usage
    cost = conversation.budget.book(reply.model, usage)
    # Attempts that broke off were paid for as well.
    conversation.budget.book(reply.model, reply.wasted)
    conversation.publish(
        Usage(
            input=usage.input,
            output=usage.output,
            cache_read=usage.cache_read,
            cache_write=usage.cache_write,
            cost=cost,
            context_used=usage.input + usage.cache_read + usage.cache_write + usage.output,
            context_limit=context_limit,
        )
    )


def _model(conversation: Conversation) -> Model:
    if conversation.model is None:
        raise ModelError("none", conversation.no_model)
    return conversation.model


def _unchecked(conversation: Conversation) -> Verified:
    return "unproven" if changes_of(conversation.turn_events()) else "none"


def _stop(conversation: Conversation, reason: StopReason, verified: Verified, because: str = "") -> Stop:
    events = conversation.turn_events()
    stop = Stop(reason=reason, verified=verified, summary=summary_of(events, because), changes=changes_of(events))
    stamped = conversation.publish(stop)
    assert isinstance(stamped, Stop)
    return stamped
