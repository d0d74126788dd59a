"""Ending the MCP sessions when the daemon closes."""

from __future__ import annotations

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager


async def end_sessions(manager: StreamableHTTPSessionManager) -> None:
    """End all sessions, before the manager's `run()` is left.

    A session that is cancelled with a call under way tries for a second to write its last words to a client that has
    gone; one that was ended first does not.
    """
    for transport in list(manager._server_instances.values()):  # the manager has no public way to its sessions
        await transport.terminate()
