"""A world in one process: real programs under simulated time, network, disk and machines.

Everything random in a simulated world is drawn from its seed, so any failure is replayed exactly by its seed alone.
`world` puts the parts together; `loop` schedules, `node` holds machines and processes, `network` and `disk` carry
their traffic and lose it, `faults` decides what goes wrong, `history` records what was observed, `invariants` says
what must hold, and `campaign` runs many seeds. What a simulated program does is left to the scenarios.
"""
