"""scikit-learn classifiers, one a file, all made from `StickBreakingClassifier`.

`pasb` exports them all; each loads on first use.
"""
