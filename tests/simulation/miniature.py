"""A runner platform in miniature, to prove that the simulator finds what it is for.

One server, three agents, the claim-start-finish protocol in a hundred lines. `sabotage` plants one known bug each; a
campaign must find every one of them within a few seeds, and none without sabotage. The real programs have their own
scenario; this one stays to test the tester.
"""

import asyncio
import json
from contextlib import suppress
from typing import Any

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from ostler.client.transport import HttpRequest, TransportError
from ostler.testing.chaos import Chaos
from ostler.testing.node import Process
from ostler.testing.record import Kind
from ostler.testing.world import World

Fields = dict[str, Any]

LEASE_SECONDS = 60.0
JOBS = 12
KINDS: tuple[Kind, Kind] = ("lease", "deployment")


class Job:
    """A row of the miniature database; it survives the server's processes."""

    def __init__(self, name: str, kind: Kind) -> None:
        self.name = name
        self.kind = kind
        self.state = "queued"
        self.fence = 0
        self.runner = ""
        self.expires = 0.0
        self.log = bytearray()
        self.logs: dict[int, bytearray] = {}


class Server:
    """All use cases; each is one synchronous transaction."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.jobs: dict[str, Job] = {}
        self.idle = asyncio.Event()

    def submit(self, name: str, kind: Kind) -> None:
        self.jobs[name] = Job(name, kind)
        self.world.history.submitted(name, kind)

    def sweep(self, now: float) -> None:
        for job in self.jobs.values():
            if job.state not in ("claimed", "started") or now < job.expires:
                continue
            started = job.state == "started" and "requeue_started" not in self.world.sabotage
            if started and job.kind == "deployment":
                self.end(job, "lost")
            else:
                job.state = "queued"

    def end(self, job: Job, result: str) -> None:
        job.state = "ended"
        self.world.history.ended(job.name, job.fence, result)
        if len(self.jobs) == JOBS and all(each.state == "ended" for each in self.jobs.values()):
            self.idle.set()

    def claim(self, body: Fields, now: float) -> Fields:
        runner = body["runner"]
        held = [job for job in self.jobs.values() if job.runner == runner and job.state == "claimed"]
        waiting = held or [job for job in self.jobs.values() if job.state == "queued"]
        if not waiting:
            return {}
        job = waiting[0]
        if not held:
            job.state, job.runner, job.fence = "claimed", runner, job.fence + 1
            job.logs[job.fence] = bytearray()
            self.world.history.claimed(job.name, job.fence, runner)
        job.expires = now + LEASE_SECONDS
        return {"job": job.name, "fence": job.fence}

    def stale(self, job: Job, body: Fields) -> bool:
        return body["fence"] != job.fence and "no_fence" not in self.world.sabotage

    def start(self, body: Fields, now: float) -> Fields:
        job = self.jobs[body["job"]]
        if self.stale(job, body) or job.state != "claimed":
            return {"granted": False}
        job.state, job.expires = "started", now + LEASE_SECONDS
        self.world.history.granted(job.name, body["fence"], body["runner"])
        return {"granted": True}

    def log(self, body: Fields, now: float) -> Fields:
        job = self.jobs[body["job"]]
        if self.stale(job, body) or job.state != "started":
            return {"stale": True}
        job.expires = now + LEASE_SECONDS
        log = job.logs[body["fence"]]
        if body["offset"] == len(log) or "log_offset" in self.world.sabotage:
            log += body["data"].encode()
            self.world.history.wrote(job.name, body["fence"], "log")
        return {"length": len(log)}

    def finish(self, body: Fields, now: float) -> Fields:
        job = self.jobs[body["job"]]
        if self.stale(job, body):
            return {"stale": True}
        if job.state == "started":
            self.world.history.wrote(job.name, body["fence"], "finish")
            self.end(job, body["result"])
        return {}

    async def program(self, process: Process) -> None:
        """The web server and its sweeping loop."""
        loop = asyncio.get_running_loop()

        async def handle(request: Request) -> JSONResponse:
            try:
                body = json.loads(await request.body())
            except ClientDisconnect:
                return JSONResponse({}, 400)
            use_case = getattr(self, request.url.path.strip("/"))
            return JSONResponse(use_case(body, loop.time()))

        async def sweep() -> None:
            while True:
                await asyncio.sleep(5)
                self.sweep(loop.time())

        names = ("claim", "start", "log", "finish")
        app = Starlette(routes=[Route(f"/{name}", handle, methods=["POST"]) for name in names])
        sweeper = asyncio.create_task(sweep())
        await self.world.network.serve(process, "server", app)
        sweeper.cancel()


class Agent:
    """One life of an agent: recover from the disk, then work."""

    def __init__(self, world: World, process: Process) -> None:
        self.world = world
        self.process = process
        self.runner = process.node.name
        self.transport = world.network.transport(process, "server")

    async def program(self) -> None:
        await self.recover()
        while True:
            claim = await self.call("claim", {"runner": self.runner})
            if claim:
                await self.work(claim["job"], claim["fence"])
            else:
                await asyncio.sleep(5)

    async def call(self, path: str, body: Fields) -> Fields:
        """Ask until there is an answer."""
        while True:
            request = HttpRequest("POST", f"/{path}", {}, json.dumps(body).encode(), 10.0)
            try:
                reply = await self.transport.send(request)
            except TransportError:
                pass
            else:
                if reply.status == 200:
                    return json.loads(reply.body)
            await asyncio.sleep(self.process.effects.random.uniform(0.1, 2))

    async def recover(self) -> None:
        disk = self.process.disk
        for name in disk.names("started"):
            job, fence = name.split(".")
            if name not in disk.names("outbox"):
                self.save(f"outbox/{name}", "lost")
            await self.deliver(job, int(fence))

    async def work(self, job: str, fence: int) -> None:
        key = {"job": job, "fence": fence, "runner": self.runner}
        self.save(f"started/{job}.{fence}", "")
        if not (await self.call("start", key)).get("granted"):
            self.process.disk.remove(f"started/{job}.{fence}")
            return
        self.process.check()
        history = self.world.history
        history.executing(job, fence, self.runner)
        length = 0
        for line in range(5):
            await asyncio.sleep(self.process.effects.random.uniform(0, 4))
            text = f"line {line} of {job}\n"
            history.printed(job, fence, text.encode())
            with suppress(OSError):
                self.process.disk.append(f"spool/{job}.{fence}", text.encode(), sync=line == 2)
            reply = await self.call("log", key | {"offset": length, "data": text})
            if reply.get("stale"):
                self.process.disk.remove(f"started/{job}.{fence}")
                return
            length += len(text)
        if "unsaved_result" not in self.world.sabotage:
            self.save(f"outbox/{job}.{fence}", "success")
        history.finished(job, fence, "success")
        await self.deliver(job, fence)

    async def deliver(self, job: str, fence: int) -> None:
        name = f"{job}.{fence}"
        saved = name in self.process.disk.names("outbox")
        result = self.process.disk.read(f"outbox/{name}").decode() if saved else "success"
        reply = await self.call("finish", {"job": job, "fence": fence, "result": result})
        if not reply.get("stale") and result != "lost":
            self.world.history.acknowledged(job, fence, result)
        self.process.disk.remove(f"outbox/{name}")
        self.process.disk.remove(f"started/{name}")

    def save(self, path: str, text: str) -> None:
        """Write durably; a disk that fails is tried again, as this miniature has nothing better to do."""
        for _ in range(50):
            try:
                return self.process.disk.write(path, text.encode())
            except OSError:
                continue
        self.process.kill()
        return self.process.check()


async def scenario(world: World) -> None:
    """Submit jobs into trouble; when it is over, wait until all have ended."""
    server = Server(world)

    async def agent(process: Process) -> None:
        with suppress(OSError):  # it ends, and is started again
            await Agent(world, process).program()

    programs = {world.node("server"): server.program} | {world.node(f"agent{number}"): agent for number in range(3)}
    chaos = Chaos(world, programs)
    chaos.boot()
    trouble = asyncio.create_task(chaos.rage(300))
    for number in range(JOBS):
        server.submit(f"job{number}", KINDS[world.random.below(2)])
        await asyncio.sleep(world.random.uniform(0, 20))
    await trouble
    await server.idle.wait()
    await asyncio.sleep(120)
    for job in server.jobs.values():
        for fence, log in job.logs.items():
            world.history.stored(job.name, fence, bytes(log))
