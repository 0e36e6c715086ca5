"""Whatever the SDK or the network raised, as one ModelError with a kind and a sentence. Pure.

Kinds (errors.py) and what each is made of:

overloaded   429, 408, 409, 5xx and their events in a stream                        retryable
cut          the connection or the stream broke after it stood                      retryable
unreachable  refused, no route, time-out of the connection (retryable); unknown host, certificate, wrong URL (not)
auth, permission, quota, not_found, overflow, invalid                               permanent
"""

from __future__ import annotations

import errno
import json
import socket
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from jupyter_agent.errors import ModelError
from jupyter_agent.models.protocol import Endpoint

_OVERFLOW = (
    "prompt is too long",
    "context length",
    "context window",
    "context limit",
    "context size",
    "context_length_exceeded",
    "exceed_context_size",
    "maximum context",
    "max_model_len",
    "too many tokens",
    "request_too_large",
    "input is too long",
)
_QUOTA = (
    "credit balance",
    "insufficient_quota",
    "exceeded your current quota",
    "spend_limit_reached",
    "spend limit",
    "usage limit",
    "billing",
    "payment required",
)
_HOLD = ("organization_on_hold", "organization has been disabled")
_NO_MEMORY = ("more system memory", "out of memory", "failed to load model", "unable to load model")
_WRONG_KEY = ("invalid api key", "invalid x-api-key", "incorrect api key", "authentication_error")
_OVERLOADED_TYPES = frozenset({"overloaded_error", "rate_limit_error", "api_error", "timeout_error", "conflict_error"})
_TYPE_KINDS = {
    "authentication_error": "auth",
    "permission_error": "permission",
    "billing_error": "quota",
    "not_found_error": "not_found",
    "request_too_large": "overflow",
    "invalid_request_error": "invalid",
}
_STATUS_KINDS = {401: "auth", 402: "quota", 403: "permission", 404: "not_found", 405: "not_found", 413: "overflow"}
_RETRIED_STATUS = frozenset({408, 409, 425, 429})
_QUOTED = 300


def to_model_error(error: BaseException, endpoint: Endpoint) -> ModelError:
    """The ModelError for an exception of one attempt; a ModelError passes through."""
    import anthropic
    import httpx2

    if isinstance(error, ModelError):
        return error
    if isinstance(error, anthropic.APIStatusError):
        return status_error(error.status_code, error.body, dict(error.response.headers), endpoint)
    if isinstance(error, anthropic.AnthropicError) and not isinstance(error, anthropic.APIError):
        return _auth(endpoint, str(error))
    chain = list(_chain(error))
    if isinstance(error, anthropic.APIConnectionError | httpx2.TransportError | httpx2.InvalidURL):
        return _connection_error(chain, endpoint)
    if isinstance(error, TimeoutError):
        return ModelError("cut", f"{endpoint.host} did not answer in time.", retryable=True)
    if isinstance(error, UnicodeEncodeError):
        return _auth(endpoint, "the key or a header holds characters that cannot be sent")
    if isinstance(error, TypeError) and "authentication" in str(error):
        return _auth(endpoint, "no key was given")
    # A bad line in the stream, or an event the SDK could not make sense of.
    return ModelError("cut", f"The answer of {endpoint.host} was garbled ({type(error).__name__}).", retryable=True)


def status_error(status: int, body: object, headers: Mapping[str, str], endpoint: Endpoint) -> ModelError:
    """The ModelError for an HTTP error status, or for an `error` event in a stream (then `status` is 200)."""
    said, kind_said = _message_of(body), _type_of(body)
    everything = f"{said} {json.dumps(body, default=str)}".lower()
    kind = _kind(status, kind_said, everything)
    if kind is None and headers.get("x-should-retry", "").lower() == "false":
        kind = "invalid"
    if kind is None:
        state = "asks to slow down" if status == 429 or kind_said == "rate_limit_error" else "is overloaded or failing"
        text = f"{endpoint.host} {state}{_quoted(status, said)}."
        return ModelError("overloaded", text, retryable=True, retry_after=retry_after(headers))
    return ModelError(kind, _sentence(kind, status, said, headers, endpoint))


def _kind(status: int, kind_said: str, everything: str) -> str | None:
    """The permanent kind; None for what may be tried again."""
    if any(mark in everything for mark in _OVERFLOW):
        return "overflow"
    if any(mark in everything for mark in _QUOTA):
        return "quota"
    if any(mark in everything for mark in _HOLD):
        return "permission"
    if any(mark in everything for mark in _NO_MEMORY):
        return "invalid"
    if status in _STATUS_KINDS:
        return _STATUS_KINDS[status]
    if status in _RETRIED_STATUS or (status >= 500 and status != 501):
        return None
    if any(mark in everything for mark in _WRONG_KEY):
        return "auth"
    if status == 200 and kind_said in _OVERLOADED_TYPES:
        return None
    if status == 200 and kind_said not in _TYPE_KINDS:
        return None  # an error event of a kind unknown to us: the stream broke
    return _TYPE_KINDS.get(kind_said, "invalid")


def _sentence(kind: str, status: int, said: str, headers: Mapping[str, str], endpoint: Endpoint) -> str:
    host, quoted = endpoint.host, _quoted(status, said)
    if kind == "auth":
        return _auth(endpoint, said).message
    if kind == "permission":
        return (
            f"{host} does not allow this{quoted}. Use a key that may use {endpoint.model}, or another model (--model)."
        )
    if kind == "quota":
        return f"{host} refuses further use{quoted}. Add credit or raise the limit there, or choose another model."
    if kind == "overflow":
        return f"The request is longer than {endpoint.model} takes{quoted}. Start a new conversation or ask for less."
    if kind == "not_found":
        return (
            f"{host} has no model {endpoint.model!r}, or no Messages API at {endpoint.base_url}{quoted}. "
            "Check --model and --base-url (ANTHROPIC_MODEL, ANTHROPIC_BASE_URL)."
        )
    if 300 <= status < 400:
        where = headers.get("location", "another address")
        return f"{host} redirects to {where}; nothing is sent there unasked. Give --base-url the final address."
    return f"{host} refused the request{quoted}. Another model or endpoint may take it (--model, --base-url)."


def _auth(endpoint: Endpoint, said: str) -> ModelError:
    host = endpoint.host
    return ModelError(
        "auth", f"{host} did not accept the key{_quoted(None, said)}. Set ANTHROPIC_API_KEY to a key of {host}."
    )


def _quoted(status: int | None, said: str) -> str:
    said = " ".join(said.split())
    said = said if len(said) <= _QUOTED else said[:_QUOTED] + "…"
    parts = [str(status)] if status not in (None, 200) else []
    parts += [said.rstrip(".")] if said else []
    return f" ({': '.join(parts)})" if parts else ""


def _message_of(body: object) -> str:
    """The message in an error body, in the shape of the Messages API, OpenAI or FastAPI; or plain text, if no page."""
    if isinstance(body, Mapping):
        for key in ("error", "message", "detail"):
            if body.get(key):
                return _message_of(body[key])
        return str(body.get("msg") or "")
    if isinstance(body, list):
        return "; ".join(filter(None, map(_message_of, body)))
    text = str(body or "")
    return "" if text.lstrip().startswith("<") else text


def _type_of(body: object) -> str:
    error = body.get("error") if isinstance(body, Mapping) else None
    kind = error.get("type") if isinstance(error, Mapping) else None
    return kind if isinstance(kind, str) else ""


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds from `retry-after-ms` or `retry-after` (seconds or an HTTP date); None where absent or unreadable."""
    lower = {name.lower(): value for name, value in headers.items()}
    milliseconds, value = lower.get("retry-after-ms"), lower.get("retry-after")
    try:
        if milliseconds is not None:
            return max(0.0, float(milliseconds) / 1000)
        if value is None:
            return None
        return max(0.0, float(value))
    except ValueError:
        pass
    from email.utils import parsedate_to_datetime

    try:
        when = parsedate_to_datetime(value or "")
    except ValueError:
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (when - (now or datetime.now(UTC))).total_seconds())


# --- connections --------------------------------------------------------------------------------------------------


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _connection_error(chain: list[BaseException], endpoint: Endpoint) -> ModelError:
    import ssl

    import httpx2

    host = endpoint.host

    def has(*kinds: type[BaseException]) -> BaseException | None:
        return next((link for link in chain if isinstance(link, kinds)), None)

    if has(httpx2.UnsupportedProtocol, httpx2.InvalidURL):
        text = f"{endpoint.base_url!r} is not a usable address. Give --base-url (ANTHROPIC_BASE_URL) as https://HOST."
        return ModelError("unreachable", text)
    if has(httpx2.LocalProtocolError):
        return _auth(endpoint, "the key or a header holds characters that cannot be sent")
    if tls := has(ssl.SSLError):
        reason = getattr(tls, "verify_message", "") or getattr(tls, "reason", "") or str(tls)
        advice = "Check the address (http or https?) and the certificates (SSL_CERT_FILE) of this machine."
        return ModelError("unreachable", f"No safe connection to {host}: {reason}. {advice}")
    lookup = has(socket.gaierror)
    if lookup is not None and lookup.errno != socket.EAI_AGAIN:  # type: ignore[attr-defined]
        return ModelError("unreachable", f"There is no host {host}. Check --base-url and the network.")
    if any(getattr(link, "errno", None) == errno.ECONNREFUSED for link in chain):
        text = f"Nothing answers at {endpoint.base_url}: the connection was refused. Is the server running?"
        return ModelError("unreachable", text, retryable=True)
    if has(httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError):
        text = f"{host} cannot be reached. Check the network, the proxy and --base-url."
        return ModelError("unreachable", text, retryable=True)
    if has(httpx2.TimeoutException):
        return ModelError("cut", f"{host} sent nothing more.", retryable=True)
    return ModelError("cut", f"The connection to {host} broke.", retryable=True)
