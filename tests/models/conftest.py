"""What the model tests share: a model connected to a scripted server, a clock that only counts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from jupyter_agent.models.client import Credential, MessagesModel
from jupyter_agent.models.protocol import Endpoint
from jupyter_agent.models.retry import Policy, Retry
from jupyter_agent.testing.clock import CountedClock


@pytest.fixture
def clock() -> CountedClock:
    return CountedClock()


@pytest.fixture
async def connect(clock: CountedClock) -> AsyncIterator[Callable[..., MessagesModel]]:
    """`connect(url, anthropic=False, model="scripted-1", key="key", …)`; closed at the end of the test."""
    made: list[MessagesModel] = []

    def make(
        url: str, *, anthropic: bool = False, local: bool = True, model: str = "scripted-1", **more: Any
    ) -> MessagesModel:
        endpoint = Endpoint(url, "127.0.0.1", model, local=local, anthropic=anthropic, source="test")
        credential = more.pop("credential", Credential("key", "sk-test-1234567890"))
        retry = more.pop("retry", None) or Retry(Policy(), now=clock, sleep=clock.sleep)
        made.append(MessagesModel(endpoint, credential, retry=retry, **more))
        return made[-1]

    yield make
    for model in made:
        await model.close()
