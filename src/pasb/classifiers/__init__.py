"""scikit-learn classifiers, one a file, all made from one `StickClassifier`.

`pasb` exports them all; each loads on first use.
"""
