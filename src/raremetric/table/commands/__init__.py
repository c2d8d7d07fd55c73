"""The commands for the user's own table."""
