"""The expression language of workflows: what stands between ``${{`` and ``}}``, and what follows ``if:``.

Pure functions over values. Nothing here knows what a workflow is: which contexts and functions exist in a place is
handed in by whoever evaluates there.
"""
