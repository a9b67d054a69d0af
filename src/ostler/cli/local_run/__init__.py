"""Running a workflow on this machine: pick it, make its event, carry it out, show it. No server takes part.

``command`` is what is typed, ``selection`` finds the workflows, ``working_tree`` and ``payload`` make the event,
``driver`` joins the pure run with supervisors of this machine, ``happenings`` is what it tells, and the
views show that.
"""
