"""scikit-learn classifiers, one a file, all made from `pasb.classifiers.base.StickClassifier`.

`pasb` exports them all; each loads on first use.
"""
