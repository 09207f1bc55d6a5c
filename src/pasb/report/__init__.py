"""A page about a fitted model: one HTML file that a person can read."""

from __future__ import annotations

from pasb.report.model_report import ModelReport

__all__ = ["ModelReport"]
