"""Programs for those who develop and release raremetric; the Makefile runs them."""
