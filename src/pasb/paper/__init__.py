"""The experiments of the paper: its published numbers, its models and its protocol."""

from __future__ import annotations
