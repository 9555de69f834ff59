"""The memory plan as records, for reports, tools and the runtime."""
