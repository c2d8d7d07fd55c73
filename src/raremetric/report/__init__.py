"""From the rows of a study to tables, figures and a page."""
