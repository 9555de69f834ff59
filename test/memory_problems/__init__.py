"""An open suite of memory problems; README.md tells about it."""
