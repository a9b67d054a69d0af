"""The supervisor: one tiny process for each running job, which outlives its agent.

Why a process of its own: a job must survive the restart, the upgrade and the death of the agent, and its leftovers
must be found even then. So the supervisor owns the job's tree, its log spool and its result, and the agent only
watches. It is single-threaded, waits in one ``poll``, and loads next to nothing: no asyncio, no msgspec, no
``typing``; memory of every supervisor counts.

Reading order: ``life`` (warm-up and hand-over), ``order`` (what it is told), ``directory`` (what it leaves on
disk), ``job`` (the run), ``ladder`` (cancelling), ``spool`` (the log), ``channel`` and ``control`` (the agent's ends),
``watch`` (disk), ``removal`` (deleting a hostile tree).

Protocol with the agent, one JSON object a line in both directions, over the socket that the agent passed when it
started the supervisor and over ``control`` in the job's directory:

- to the supervisor: ``{"do":"run","directory":…,"ready":…,"order":{…}}`` (hand-over only),
  ``{"do":"cancel","reason":…}``, ``{"do":"kill"}``, ``{"do":"ping"}``, ``{"do":"subscribe"}`` (``control``; the
  hand-over socket is subscribed from the start);
- to the agent: ``{"idle":pid}`` (ready for a job), ``{"accepted":true}`` or ``{"refused":why}``, ``{"pong":true}``,
  ``{"log":text bytes,"event":last seq}`` whenever either grew, ``{"result":true}``.
"""
