"""The pages of a comparison and of a review."""
