"""Record sessions, tasks and skills, and compose what agents are shown: brief, news, handoff."""
