"""The paper's experiments, and a user's own, as tasks that can be stopped and resumed."""
