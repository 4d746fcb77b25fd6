"""Small copies of libraries that are not installed. They need torch, so they are imported when a script imports theirs."""
