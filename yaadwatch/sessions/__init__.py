"""Who worked here, what was shown and learned, tasks, skills, handoff."""
