"""A session by the Python SDK: session.py PROGRAM stdio|http legacy|2026

The same steps as those of the TypeScript clients (ts/steps.mjs), by a client that
knows both eras of the protocol.
"""

import asyncio
import json
import os
import sys
import time
import warnings
from contextlib import AsyncExitStack, asynccontextmanager

import httpx2
import mcp_types as types
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from steps import PATIENCE, HttpServer, limit, running, say

# The older revisions are what is tested here.
warnings.simplefilter("ignore")

PROGRAM, TRANSPORT, ERA = sys.argv[1:4]
MODERN = ERA == "2026"

# What a server says whose project file has become invalid.
STAYS = "the rules from before stay in force"


def plain(model) -> dict:
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


async def outcome(call) -> dict:
    """A result as the server sent it, or the protocol error that came instead."""
    try:
        result = await call
    except MCPError as error:
        return {"error": {"code": error.code, "message": error.message}}
    if isinstance(result, types.InputRequiredResult):
        return {"asked": sorted(result.input_requests or {})}
    result = plain(result)
    fields = {key: result[key] for key in ("content", "structuredContent") if key in result}
    if problem := result.get("_meta", {}).get("zonekeep/error"):
        fields["problem"] = problem
    return fields | {"isError": result.get("isError", False)}


async def eventually(found) -> bool:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        value = found()
        if await value if asyncio.iscoroutine(value) else value:
            return True
        await asyncio.sleep(0.02)
    return False


class Session:
    """A client and what it was told."""

    def __init__(self, server: HttpServer | None, answers: bool) -> None:
        self.server = server
        self.asked: list[dict] = []
        self.answer: dict = {"action": "cancel"}
        self.updates: list[str] = []
        self.tool_changes = 0
        self.answers = answers

    async def elicit(self, _context, params):
        asked = plain(params)
        self.asked.append({key: asked[key] for key in ("message", "requestedSchema")})
        return types.ElicitResult(**self.answer)

    async def hear(self, message) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            self.updates.append(str(message.params.uri))
        elif isinstance(message, types.ToolListChangedNotification):
            self.tool_changes += 1

    @asynccontextmanager
    async def open(self):
        async with AsyncExitStack() as stack:
            if self.server:
                http = await stack.enter_async_context(
                    httpx2.AsyncClient(headers=self.server.headers, timeout=60)
                )
                transport = streamable_http_client(self.server.url, http_client=http)
            else:
                errors = stack.enter_context(open("../stderr", "a"))
                parameters = StdioServerParameters(command=PROGRAM, args=["mcp"], env=dict(os.environ))
                transport = stdio_client(parameters, errlog=errors)
            self.client = await stack.enter_async_context(
                Client(
                    transport,
                    # Looks for the newer revision as a client does that knows nothing.
                    mode="auto" if MODERN else "legacy",
                    elicitation_callback=self.elicit if self.answers else None,
                    message_handler=self.hear,
                    cache=None,
                    read_timeout_seconds=60,
                )
            )
            yield self

    def call(self, name: str, arguments: dict, **more):
        return outcome(self.client.call_tool(name, arguments, **more))

    async def tools(self) -> list[dict]:
        return plain(await self.client.list_tools())["tools"]

    async def read(self, uri: str) -> dict:
        try:
            return plain(await self.client.read_resource(uri))
        except MCPError as error:
            return {"error": {"code": error.code, "message": error.message}}

    @asynccontextmanager
    async def listening(self, uri: str | None = None):
        """Hears of changes: of a resource, or of the tools."""
        if not MODERN:
            if uri:
                await self.client.subscribe_resource(uri)
            yield
            if uri:
                await self.client.unsubscribe_resource(uri)
            return
        subscriptions = [uri] if uri else []
        async with self.client.listen(tools_list_changed=not uri, resource_subscriptions=subscriptions):
            # What is heard comes to `hear` too.
            yield

    def stderr(self) -> str:
        with open("../stderr") as file:
            return file.read()


async def drive(session: Session) -> None:
    client, call = session.client, session.call
    say("hello", {
        "protocol": client.protocol_version,
        "server": plain(client.server_info),
        "capabilities": plain(client.server_capabilities),
        "instructions": client.instructions,
    })
    say("tools", await session.tools())
    say("list", await call("list_files", {"path": "/"}))
    say("read text", await call("read_file", {"path": "/notes/a.txt"}))
    say("read image", await call("read_file", {"path": "/notes/dot.png"}))

    async def write(step: str, name: str, answer: dict) -> None:
        session.asked.clear()
        session.answer = answer
        result = await call("write_file", {"path": f"/ask/{name}.txt", "content": f"{step}\n"})
        say(f"write {step}", {"asked": list(session.asked), "result": result})

    def accept(**content: str) -> dict:
        return {"action": "accept", "content": content}

    answers = {
        "once": accept(decision="once"),
        "deny": accept(decision="deny", note="use /out instead"),
        "declined": {"action": "decline"},
        "cancelled": {"action": "cancel"},
        "empty": accept(),
        "nonsense": accept(decision="perhaps"),
        "session": accept(decision="session"),
    }
    for name, answer in answers.items():
        await write(name, name, answer)
    await write("session again", "session", {"action": "decline"})

    async with Session(session.server, answers=False).open() as alone:
        say("write alone", await alone.call("write_file", {"path": "/ask/alone.txt", "content": "x"}))


async def commands(session: Session) -> None:
    call = session.call
    seen: list[dict] = []

    async def progress(done: float, _total: float | None, message: str | None) -> None:
        seen.append({"progress": done, "message": message, "at": time.monotonic()})

    line = "echo one; sleep 0.5; echo two; sleep 0.5; echo three"
    result = await call("shell", {"command": line}, progress_callback=progress)
    end = time.monotonic()
    early = [{"early": end - one.pop("at") > 0.2} | one for one in seen]
    say("progress", {"seen": early, "result": result})

    word = f"3600.{os.getpid()}"
    task = asyncio.create_task(call("shell", {"command": f"sleep {word}", "timeout": 7200}))
    started = await eventually(lambda: running(word))
    task.cancel()
    try:
        await task
        ended = False
    except asyncio.CancelledError:
        ended = True
    gone = await eventually(lambda: not running(word))
    say("cancel", {"started": started, "ended": ended, "gone": gone})
    say("after cancel", await call("read_file", {"path": "/notes/a.txt"}))

    line = "echo early; sleep 0.3; echo late"
    say("background", await call("shell", {"command": line, "background": True}))
    job: dict = {}

    async def done() -> bool:
        nonlocal job
        job = await call("shell_job", {"action": "read", "job": 1})
        return job.get("structuredContent", {}).get("state") != "running"

    await eventually(done)
    say("job", job)
    word = f"3601.{os.getpid()}"
    say("background long", await call("shell", {"command": f"sleep {word}", "background": True}))
    started = await eventually(lambda: running(word))
    say("stop", await call("shell_job", {"action": "stop", "job": 2}))
    say("stopped", {"started": started, "gone": await eventually(lambda: not running(word))})


async def mistakes(session: Session) -> None:
    cases = {
        "outside": ("read_file", {"path": "/etc/passwd"}),
        "missing": ("read_file", {"path": "/notes/none.txt"}),
        "read-only": ("write_file", {"path": "/notes/a.txt", "content": "x"}),
        "unknown tool": ("launch_rocket", {}),
        "unknown argument": ("read_file", {"path": "/notes/a.txt", "colour": "red"}),
        "wrong type": ("read_file", {"path": 7}),
        "no argument": ("read_file", {}),
    }
    for name, (tool, arguments) in cases.items():
        say(f"error {name}", await session.call(tool, arguments))


async def resources(session: Session) -> None:
    found, pages, cursor = [], 0, None
    while pages < 100:
        page = await session.client.list_resources(cursor=cursor)
        found += plain(page)["resources"]
        pages += 1
        if (cursor := page.next_cursor) is None:
            break
    say("resources", {"pages": pages, "found": found})
    say("templates", plain(await session.client.list_resource_templates())["resourceTemplates"])
    say("resource text", await session.read("zonekeep:///notes/a.txt"))
    say("resource image", await session.read("zonekeep:///notes/dot.png"))
    say("resource missing", await session.read("zonekeep:///notes/none.txt"))
    say("resource outside", await session.read("zonekeep:///../etc/passwd"))
    say("resource elsewhere", await session.read("file:///etc/passwd"))

    def put(text: str) -> None:
        with open("out/watched.txt", "w") as file:
            file.write(text)

    async with session.listening("zonekeep:///out/watched.txt"):
        put("two\n")
        told = await eventually(lambda: session.updates)
    await asyncio.sleep(0.3)
    before = len(session.updates)
    put("three\n")
    await asyncio.sleep(0.7)
    later = len(session.updates) - before
    say("updates", {"told": told, "uris": sorted(set(session.updates)), "later": later})

    audit = (await session.read("zonekeep://audit/session"))["contents"]
    records = [json.loads(line) for line in audit[0].pop("text").strip().split("\n")]
    say("audit", audit[0] | {"count": len(audit), "records": records})


async def changes(session: Session) -> None:
    async def names() -> list[str]:
        return [tool["name"] for tool in await session.tools()]

    def put(text: str) -> None:
        session.tool_changes = 0
        with open("zonekeep.yaml", "w") as file:
            file.write(text)

    with open("zonekeep.yaml") as file:
        good = file.read()
    async with session.listening():
        put(f"{good}tools: [read_file, write_file, list_files]\n")
        told = await eventually(lambda: session.tool_changes)
        say("fewer tools", {"told": told, "names": await names()})
        say("shell is gone", await session.call("shell", {"command": "echo still here"}))

        put("sandbox: { zoness: 1 }\n")
        result: dict = {}

        async def warns() -> bool:
            nonlocal result
            result = await session.call("list_files", {"path": "/"})
            texts = [part.get("text", "") for part in result["content"]]
            return len(texts) > 1 or any(word in texts[0] for word in ("zonekeep.yaml", "project file"))

        warned = await eventually(warns)
        said = {"warned": warned, "result": result, "names": await names()}
        # What the server says there may arrive after the answer.
        await eventually(lambda: STAYS in session.stderr())
        say("invalid file", said | {"stderr": session.stderr()})

        put(good)
        told = await eventually(lambda: session.tool_changes)
        say("tools again", {"told": told, "names": await names()})


async def by_hand(session: Session) -> None:
    """Answers questions by hand, as somebody would who tampers with what the server seals."""
    path = "/ask/by-hand.txt"
    yes = {"approve": types.ElicitResult(action="accept", content={"decision": "once"})}

    async def call(path: str, content: str, **more):
        arguments = {"path": path, "content": content}
        return await session.client.session.call_tool(
            "write_file", arguments, allow_input_required=True, **more
        )

    question = await call(path, "by hand\n")
    state = question.request_state
    asked = plain(question)
    say("question", {
        "resultType": asked["resultType"],
        "inputRequests": asked["inputRequests"],
        "sealed": "string" if isinstance(state, str) else str(type(state)),
    })
    at = len(state) // 2
    tampered = state[:at] + ("B" if state[at] == "A" else "A") + state[at + 1 :]
    answers = {
        "tampered": (path, "by hand\n", {"request_state": tampered, "input_responses": yes}),
        "another content": (path, "something else\n", {"request_state": state, "input_responses": yes}),
        "another path": ("/ask/other.txt", "by hand\n", {"request_state": state, "input_responses": yes}),
        "no state": (path, "by hand\n", {"input_responses": yes}),
        "no answer": (path, "by hand\n", {"request_state": state}),
    }
    for name, (path_, content, more) in answers.items():
        say(f"state: {name}", await outcome(call(path_, content, **more)))

    async def again(answers: dict) -> dict:
        fresh = await call(path, "by hand\n")
        return {"request_state": fresh.request_state, "input_responses": answers}

    other = await again({"other": yes["approve"]})
    say("state: another question", await outcome(call(path, "by hand\n", **other)))
    answered = await again(yes)
    say("state: answered", await outcome(call(path, "by hand\n", **answered)))
    say("state: used twice", await outcome(call(path, "by hand\n", **answered)))


async def main() -> None:
    limit(600)
    server = HttpServer(PROGRAM) if TRANSPORT == "http" else None
    try:
        if MODERN:
            async with Session(server, answers=True).open() as session:
                await by_hand(session)
        async with Session(server, answers=True).open() as session:
            await drive(session)
            await commands(session)
            await mistakes(session)
            await resources(session)
            await changes(session)
            start = time.monotonic()
        say("closed", {"ms": round((time.monotonic() - start) * 1000)})
    finally:
        if server:
            say("server", server.stop())


asyncio.run(main())
