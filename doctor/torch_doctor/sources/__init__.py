"""What people wrote: files, notebooks and projects, and what they asked us not to report."""
