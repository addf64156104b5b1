"""What is written into the settings of agents, and taken out again."""
