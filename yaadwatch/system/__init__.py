"""The machine: files, processes, clock, configuration, the model that embeds."""
