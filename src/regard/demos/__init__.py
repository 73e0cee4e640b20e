"""The tours, one module for each family that has one, and `tour`, what they have in common."""
