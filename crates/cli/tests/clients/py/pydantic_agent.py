"""A PydanticAI agent without a model does a task: pydantic_agent.py PROGRAM"""

import asyncio
import os
import sys

from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelResponse, RetryPromptPart, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel
from steps import limit, say
from task import CALLS, FINAL

asked: list[str] = []


async def elicit(message, _type, _params, _context):
    asked.append(message)
    return ElicitResult(action="accept", content={"decision": "once"})


def model(messages, info) -> ModelResponse:
    turn = sum(isinstance(message, ModelResponse) for message in messages)
    if turn == 0:
        say("tools", sorted(tool.name for tool in info.function_tools))
    if turn < len(CALLS):
        name, arguments = CALLS[turn]
        return ModelResponse(parts=[ToolCallPart(name, arguments)])
    return ModelResponse(parts=[TextPart(FINAL)])


async def main() -> None:
    limit(600)
    server = StdioTransport(sys.argv[1], ["mcp"], env=dict(os.environ), keep_alive=False)
    toolset = MCPToolset(server, elicitation_handler=elicit)
    agent = Agent(FunctionModel(model), toolsets=[toolset])
    async with agent:
        result = await agent.run("Sum up the note.")
    for message in result.all_messages():
        for part in message.parts:
            if isinstance(part, ToolReturnPart):
                say("result", {"tool": part.tool_name, "content": part.content})
            elif isinstance(part, RetryPromptPart):
                say("retry", {"tool": part.tool_name, "content": part.content})
    say("asked", len(asked))
    say("final", result.output)


asyncio.run(main())
