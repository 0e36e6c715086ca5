"""What is said once before anything goes to a host: what leaves the machine, and who gets it. Pure."""

from __future__ import annotations

from jupyter_agent.models.protocol import Endpoint


def first_use_notice(endpoint: Endpoint, *, outputs: bool = True, variables: bool = True) -> str:
    """The text for a remote endpoint's first use (`Consent.notice_due`); `outputs` and `variables` say whether these
    are sent at all under the settings."""
    sent = ["your messages", "cells", *(["outputs"] if outputs else []), *(["variables"] if variables else [])]
    kept = [name for name, included in (("outputs", outputs), ("variables", variables)) if not included]
    text = (
        f"From here on {', '.join(sent)} and the files the agent reads go to {endpoint.host}, "
        f"where {endpoint.model} answers."
    )
    if kept:
        text += f" Turned off and kept here: {' and '.join(kept)}."
    else:
        text += " Outputs and variables stay here with the options --no-outputs and --no-variables."
    return text + " Files named in .agentignore are never read."
