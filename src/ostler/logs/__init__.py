"""Logs as bytes: masked, capped, stamped, framed, indexed and searched, with no I/O at all.

Why a package of its own: the same few rules are applied in three processes (the supervisor writes frames, the agent
ships them, the server checks, seals and reads them), and the supervisor has to stay tiny. So the modules it needs
(`encoders`, `masker`, `caps`, `frame`, `writer`) import nothing but `struct`, `zlib`, zstd and the automaton, and this
file imports nothing: take what you need from the module that is named after it.

Reading order: `frame` (the format), `writer`, `reader` and `index`, `compaction`; then `encoders`, `masker`, `caps`;
then `search` and `visible`, which only the server and the command line use.
"""
