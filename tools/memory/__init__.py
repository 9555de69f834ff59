"""The work of commands about memory: problems of the planner by itself, and plans between fastest and smallest."""
