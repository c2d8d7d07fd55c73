import sys
from gen import run
from raremetric import list_datasets
kind=sys.argv[1]
if kind=='paper':
    for s in (4,5):
        for n in list_datasets('paper'): run(n,s,10000,.7,'paper-')
else:
    for n in sorted(list_datasets('keel'))[::2]: run(n,11,10000,.5,'keel-')
