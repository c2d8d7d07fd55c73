import json,math,sys
A={},{}
for i,f in enumerate(sys.argv[1:3]):
    for l in open(f): r=json.loads(l); A[i][r['n'],r['seed']]=r
k=sorted(set(A[0])&set(A[1]))
for m in ('ap','f1','cpu','us'):
    d=[A[1][x][m]-A[0][x][m] for x in k]; n=len(d); mu=sum(d)/n; sd=math.sqrt(sum((x-mu)**2 for x in d)/(n-1)/n) if n>1 else 0
    print(m,round(sum(A[0][x][m] for x in k)/n,2),round(sum(A[1][x][m] for x in k)/n,2),'diff',round(mu,2),'+-',round(sd,2),n)
if len(sys.argv)>3:
    for x in k: print(x,round(A[0][x]['ap'],1),round(A[1][x]['ap'],1),'|',round(A[0][x]['f1'],1),round(A[1][x]['f1'],1),'|',round(A[0][x]['cpu'],1),round(A[1][x]['cpu'],1),A[1][x]['groups'])
