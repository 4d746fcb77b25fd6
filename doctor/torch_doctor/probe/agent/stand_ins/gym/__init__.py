"""gym and gymnasium where they are not installed, and their environments that need more than is there."""
