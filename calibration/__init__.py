"""Calibration of samplers and predictions; `python calibration/run.py` writes the report."""
