"""Write a person's file so that no byte is lost, whoever else writes to it."""
