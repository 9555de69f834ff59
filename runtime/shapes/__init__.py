"""Shapes of run time: profiles, engines for many shapes, and plans for each of them."""
