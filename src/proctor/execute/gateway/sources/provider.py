"""Answers from the providers themselves, over HTTP.

The key is added here and nowhere else. Redirects are not followed, cookies are not kept, and no proxy of the
environment is used.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from proctor.execute.gateway.dialects.dialect_routes import find_dialect
from proctor.execute.gateway.gateway_settings import Limits, Upstream
from proctor.execute.gateway.sources.interface import NETWORK, TIMEOUT, Answer, ForwardedRequest, SourceFault

if TYPE_CHECKING:
    import aiohttp


class Provider:
    """The upstreams of one gateway; made inside its loop."""

    def __init__(self, upstreams: Mapping[str, Upstream], limits: Limits) -> None:
        import aiohttp

        self._upstreams = upstreams
        timeout = aiohttp.ClientTimeout(
            total=limits.call_seconds, sock_connect=limits.connect_seconds, sock_read=limits.idle_seconds
        )
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=timeout,
            trust_env=False,
            skip_auto_headers=("User-Agent",),
        )

    @asynccontextmanager
    async def open(self, forward: ForwardedRequest) -> AsyncIterator[Answer]:
        import aiohttp
        from yarl import URL

        upstream = self._upstreams[forward.dialect]
        headers = {**forward.headers, "Content-Type": "application/json", "Accept-Encoding": "identity"}
        if upstream.key:
            headers |= find_dialect(forward.dialect).headers(upstream.key)
        url = URL(upstream.address(forward.dialect, forward.path, forward.query), encoded=True)
        try:
            async with self._session.post(url, data=forward.data, headers=headers, allow_redirects=False) as response:
                lower = {name.lower(): value for name, value in response.headers.items()}
                yield Answer(response.status, lower, _chunks(response))
        except aiohttp.ConnectionTimeoutError:
            raise SourceFault(NETWORK, "the provider could not be reached in time") from None
        except TimeoutError:
            raise SourceFault(TIMEOUT, "the provider did not answer in time") from None
        except aiohttp.ClientError as error:
            raise SourceFault(NETWORK, f"the provider could not be reached: {_named(error)}") from None

    async def close(self) -> None:
        await self._session.close()


async def _chunks(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    import aiohttp

    try:
        async for chunk in response.content.iter_any():
            yield chunk
    except TimeoutError:
        raise SourceFault(TIMEOUT, "the answer did not continue in time") from None
    except aiohttp.ClientError as error:
        raise SourceFault(NETWORK, f"the answer broke off: {_named(error)}") from None


def _named(error: Exception) -> str:
    """An error without text from others, which may contain anything."""
    number = getattr(error, "os_error", None)
    return getattr(number, "strerror", None) or type(error).__name__
