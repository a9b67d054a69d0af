"""Built-in actions: checkout, artifacts and caches as programs of our own, without Node and without the internet.

``python -m ostler.actions.builtin NAME [main|post]`` reads INPUT_*, STATE_* and GITHUB_* and writes the files that
every action writes, so whoever runs actions runs, cancels, masks and logs these like any other. They start often and
live briefly, so they import little.
"""
