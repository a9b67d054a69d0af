"""Checkout: the repository of the workflow, or another one, in the workspace of the job."""
