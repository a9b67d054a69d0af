"""What is told to forges: `status` has the form in which each of them takes it, `outbox` sees to it that it arrives."""
