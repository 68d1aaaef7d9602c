"""A LangChain agent with a made-up chat model does a task: langchain_agent.py PROGRAM"""

import asyncio
import os
import sys

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_mcp_adapters.callbacks import Callbacks
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools
from mcp.types import ElicitResult
from steps import limit, say
from task import CALLS, FINAL

asked: list[str] = []


class Scripted(GenericFakeChatModel):
    """Says what it was told to say, whatever tools there are."""

    def bind_tools(self, tools, **_more):
        return self


async def elicit(_mcp, params, _context) -> ElicitResult:
    asked.append(params.message)
    return ElicitResult(action="accept", content={"decision": "once"})


def calls():
    for number, (name, arguments) in enumerate(CALLS):
        call = {"name": name, "args": arguments, "id": f"call-{number}", "type": "tool_call"}
        yield AIMessage(content="", tool_calls=[call])
    yield AIMessage(content=FINAL)


async def main() -> None:
    limit(600)
    server = {
        "transport": "stdio", "command": sys.argv[1], "args": ["mcp"], "env": dict(os.environ),
    }
    client = MultiServerMCPClient({"zonekeep": server}, callbacks=Callbacks(on_elicitation=elicit))
    async with client.session("zonekeep") as session:
        tools = await load_mcp_tools(session)
        say("tools", sorted(tool.name for tool in tools))
        agent = create_agent(Scripted(messages=calls()), tools)
        result = await agent.ainvoke({"messages": [{"role": "user", "content": "Sum up the note."}]})
    for message in result["messages"]:
        if isinstance(message, ToolMessage):
            say("result", {"tool": message.name, "status": message.status, "content": message.content})
    say("asked", len(asked))
    say("final", result["messages"][-1].content)


asyncio.run(main())
