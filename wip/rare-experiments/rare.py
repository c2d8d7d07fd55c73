import sys,time,json,numpy as np
from sklearn.model_selection import train_test_split
from sklearn.metrics import average_precision_score as AP, f1_score
from raremetric import load_dataset, RareClassifier
def one(n,seed,test_size,**kw):
    X,y=load_dataset(n,return_X_y=True); rs=np.random.RandomState(seed)
    tr,te=train_test_split(np.arange(len(y)),test_size=test_size,stratify=y,random_state=rs)
    t=time.process_time(); m=RareClassifier(random_state=seed,pos_label=1,**kw).fit(X[tr],y[tr]); tf=time.process_time()-t
    if len(te)>6000:
        pos=te[y[te]==1]; neg=te[y[te]==0]; rng=np.random.RandomState(0)
        neg_=rng.permutation(neg)[:max(2000,6000-len(pos))]; w=np.r_[np.ones(len(pos)),np.full(len(neg_),len(neg)/len(neg_))]; te=np.r_[pos,neg_]
    else: w=np.ones(len(te))
    t=time.process_time(); p=m.predict_proba(X[te])[:,1]; tp=(time.process_time()-t)/len(te)*1e6
    g={}
    for b,wt in zip(m.cv_results_['group'],m.cv_results_['weight']): g[b]=g.get(b,0)+wt
    return dict(n=n,seed=seed,ap=100*AP(y[te],p,sample_weight=w),f1=100*f1_score(y[te],p>=m.threshold_,sample_weight=w),cpu=tf,us=tp,metrics=len(m.ensemble_.metrics),groups={k[:3]:round(v,2) for k,v in g.items()},kw=kw)
if __name__=="__main__":
    out,ts=sys.argv[1],float(sys.argv[2]); kw=json.loads(sys.argv[3]); seeds=[int(s) for s in sys.argv[4].split(',')]
    with open(out,'a') as f:
        for s in seeds:
            for n in sys.argv[5:]:
                r=one(n,s,ts,**kw); print(json.dumps(r),file=f,flush=True)
