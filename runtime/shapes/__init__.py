"""Dynamic shapes: profiles, engines for many shapes, and a plan for each of them."""
