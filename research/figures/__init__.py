"""Scripts that write the measured tables and pictures of the manual and of research/."""
