"""The supervisor of workflows' jobs: the same life, directory and conversation as ``agent.supervisor``, and a program.

A process of its own kind, because understanding workflows takes several times the memory of a plain supervisor, which
stays tiny. What decides is ``ostler.actions.engine``; here are its hands: processes, pipes, time, the log, the result.

Reading order: ``__main__`` (what an order becomes), ``run`` (the job from outside: limits, cancelling, the result),
``hands`` (what the engine asks for), ``processes`` (several commands at once, each on a leash), ``step_log`` (a log
that several steps may write at once).
"""
