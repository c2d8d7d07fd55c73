"""The reproduction of the paper: its studies, printed values and claims, and rival methods.

It is no part of the installed package and uses only what is public there.
"""
