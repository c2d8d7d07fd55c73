import sys,time,numpy as np, xgboost as xgb
from sklearn.model_selection import train_test_split
from sklearn.metrics import average_precision_score as AP
from raremetric import load_dataset, BalancedDiscriminant, Euclidean
from raremetric.features.trees import BoostedLeaves
from raremetric.features.landmarks import draw_evenly
from raremetric.neighbors import NeighborSearch
from raremetric.validation import check_labels
from raremetric.voting import READINGS, class_scores, distance_floor
def leaf(n,seed,out):
    X,y=load_dataset(n,return_X_y=True)
    tr,te=train_test_split(np.arange(len(y)),test_size=.5,stratify=y,random_state=seed)
    if len(te)>8000:
        pos=te[y[te]==1]; neg=te[y[te]==0]; 
        rng=np.random.RandomState(0); w=np.r_[np.ones(len(pos)),np.full(min(8000,len(neg)),len(neg)/min(8000,len(neg)))]
        te=np.r_[pos,rng.permutation(neg)[:8000]]
    else: w=np.ones(len(te))
    yt=y[te]
    for setting in (dict(),dict(min_child_weight=.1),dict(max_leaves=31,learning_rate=.1)):
        t=time.process_time(); m=BoostedLeaves(random_state=0,**setting).fit(X[tr],y[tr]); tf=time.process_time()-t
        A,B=m.transform(X[tr]).astype(float),m.transform(X[te]).astype(float)
        out(n,setting,'boost',round(tf,2),round(100*AP(yt,B.sum(1),sample_weight=w),1))
        for cap in (2000,4000,10000):
            rows=draw_evenly(len(tr),y[tr],cap,np.random.RandomState(0))
            if cap>2000 and len(rows)<=cap//2+1: continue
            for dims in (None,15,30):
                Z=A; Q=B
                if dims:
                    mu=A.mean(0); C=A-mu
                    # balanced covariance
                    yy=y[tr]; Wt=np.where(yy==1,.5/(yy==1).sum(),.5/(yy==0).sum())
                    S=(C*Wt[:,None]).T@C; v,U=np.linalg.eigh(S); U=U[:,::-1][:,:dims]
                    Z,Q=C@U,(B-mu)@U
                for L in (Euclidean(),BalancedDiscriminant(.1,3),BalancedDiscriminant(.5,3),BalancedDiscriminant(.1,1)):
                    l=L.fit(Z,y[tr]); P=Z[rows]@l.components_.T
                    t=time.process_time()
                    s=NeighborSearch(P,check_labels(y[tr][rows],''))
                    f=s.nearest_of_each_class(Q@l.components_.T,80,exact=False); dt=time.process_time()-t
                    sc=class_scores([a.distances for a in f],distance_floor(P),READINGS)[:,:,1]
                    aps=[round(100*AP(yt,x,sample_weight=w),1) for x in sc]
                    out(n,setting,cap,dims,str(L),round(1e6*dt/len(te)),max(aps),aps)
if __name__=="__main__":
    f=open('/work/h/exp/leaf.txt','a')
    def out(*a): print(*a,file=f,flush=True)
    for n in sys.argv[1:]: leaf(n,1,out)
