"""Workflows on the server: from something that happened to jobs for runners, and from their ends to the end of a run.

- `inbox` takes what happened, in whatever way it was told, and has `starting` make runs of it;
- `definitions` reads the workflow files of a commit;
- `driver` moves runs: it tells the pure run logic what became of jobs, and stores what follows;
- `syncing` keeps the list of a repository's workflows, and their schedules, as the default branch has them.

Everything that must not be lost is a row before anybody is told that it was accepted, and whatever a replica does with
a row may be done again by another one.
"""
