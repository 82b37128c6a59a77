"""Figures of spot capacity, from rows; no database."""
