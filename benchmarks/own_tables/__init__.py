"""Does the ranking of `raremetric compare` hold on rows that it has not seen?

    python -m benchmarks.own_tables                  # all ten files; skips those that are finished
    python -m benchmarks.own_tables --files wine     # some of them; --again to repeat them
    python -m benchmarks.own_tables --quick          # a few rows, a minute, nothing is kept
    python -m benchmarks.own_tables --write FOLDER   # only write the files, to look at them

Ten files are made from public data, so that they look like the exports that people have. Most of
each file is set aside before anything else happens. `compare_table` ranks the methods on the rest,
and each method is then fitted on the rest and tested on what was set aside.
"""
