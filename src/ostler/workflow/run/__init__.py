"""A run of a workflow, decided without I/O: which jobs there are, which may start, and what becomes of all of them.

The server and ``ostler run`` drive the same functions. They make a plan of a workflow and of what is given with its
event (`plan`, `given`), begin it, and tell it what happens (`happenings`); it answers with the state that follows
(`state`) and with what must be done now (`effects`). Neither plan nor state knows a clock; both are stored as JSON.

`reducer` is where everything comes together:

- ``begin(plan) -> (state, effects)``
- ``advance(plan, state, happening) -> (state, effects)``
- ``Reducer(plan, state)``: the same for many happenings at once, at a cost that does not depend on how many jobs the
  run has: ``effects = reducer.apply(happening)``, then ``reducer.state()`` and ``reducer.changed()``

and ``reruns.rerun(plan, state, which) -> (state, effects)``, ``display.display(plan, state)``,
``plan.make_plan(workflow, called, given)``, ``calling.calls(workflow)``, ``concurrency.join`` and
``concurrency.leave``, ``github.github_context(facts)``, ``inputs.dispatch_inputs``, ``secrets.secret_values``.
"""
