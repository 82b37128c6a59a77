"""Permissions of this desk."""

VIEW, RUN = "simulation.view_study", "simulation.run_study"
