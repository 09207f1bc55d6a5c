"""scikit-learn classifiers, one a file, all made from `pasb.classifiers.stick_classifier.StickClassifier`.

`pasb` exports them all; each loads on first use.
"""
