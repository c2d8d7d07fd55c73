"""Generated data for every estimator; ``HYPOTHESIS_PROFILE=nightly`` generates more of them."""
