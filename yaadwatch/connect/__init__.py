"""Add yaadwatch to the settings of coding agents, and remove it again."""
