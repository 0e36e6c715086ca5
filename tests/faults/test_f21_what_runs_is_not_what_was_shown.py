"""f21: an answer carries the digest of what was shown; any other answer is a no."""

from __future__ import annotations

import pytest
from gates import answering, effect, gate

from jupyter_agent.errors import Denied, NotGranted
from jupyter_agent.events import Approval


async def test_f21_an_answer_with_another_digest_is_a_no() -> None:
    made, events = gate(asker=answering("once", digest="0" * 64))
    wanted = effect()
    with pytest.raises(Denied):
        await made.allow("edit_file", wanted)
    with pytest.raises(NotGranted):
        await wanted.commit()
    assert isinstance(events[-1], Approval)
    assert events[-1].decision == "reject"
