"""The runner agent: claims jobs, hands each to a supervisor and reports what happened, whatever fails meanwhile."""
