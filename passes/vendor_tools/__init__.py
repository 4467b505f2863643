"""The programs of vendors that backends run: found, versioned, limited in time, their results kept."""
