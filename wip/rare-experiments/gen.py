import sys,time,os,numpy as np
from sklearn.model_selection import train_test_split
from raremetric import load_dataset, BalancedDiscriminant, Euclidean
from raremetric.features.trees import BoostedLeaves
from raremetric.rare.candidates import default_metrics, MetricSpec, with_readings
from raremetric.rare.evaluation import out_of_fold_scores
from raremetric.rare.ensemble import average_best, fit_ensemble, Selection, Average
from raremetric.rare.tuning_set import make_tuning_set
from raremetric.validation import check_labels
from raremetric.voting import evaluate, rank, READINGS
from raremetric.performance import one_blas_thread
def trees():
    out=[]
    for name,kw in (("15",dict()),("31",dict(max_leaves=31,min_child_weight=.3))):
        st=(BoostedLeaves(**kw),)
        out+=[MetricSpec("trees",f"trees {name}",st,l) for l in (Euclidean(),BalancedDiscriminant(.1,3.),BalancedDiscriminant(.5,3.))]
    return out
@one_blas_thread
def run(n,seed,M,test_size=.5,tag=''):
    f=f'/work/h/exp/{tag}{n}-{seed}-{M}.npz'
    if os.path.exists(f): return
    X,y=load_dataset(n,return_X_y=True)
    rs=np.random.RandomState(seed)
    tr,te=train_test_split(np.arange(len(y)),test_size=test_size,stratify=y,random_state=rs)
    full=te
    if len(te)>6000:
        pos=te[y[te]==1]; neg=te[y[te]==0]; rng=np.random.RandomState(0)
        neg_=rng.permutation(neg)[:max(2000,6000-len(pos))]; w=np.r_[np.ones(len(pos)),np.full(len(neg_),len(neg)/len(neg_))]; te=np.r_[pos,neg_]
    else: w=np.ones(len(te))
    t0=time.process_time()
    tuned=make_tuning_set(X[tr],check_labels(y[tr],''),scoring='f1',max_samples=M,random_state=seed,thorough=False)
    metrics=default_metrics()+trees()
    times={}
    import raremetric.rare.evaluation as ev
    scores=[]
    cpu=[]
    for g in ("importance, laplacian","linear","trees"):
        ms=[m for m in metrics if m.group==g]
        t=time.process_time(); s=out_of_fold_scores(ms,tuned.X,tuned.labels,tuned.seed,repeats=tuned.repeats); cpu.append(time.process_time()-t)
        scores.append(s)
    scores=np.concatenate(scores); groups=[m.group for m,_ in with_readings(metrics)]
    assert groups==sorted(groups,key=["importance, laplacian","linear","trees"].index)
    pos=tuned.labels.codes==1
    t=time.process_time(); e=evaluate(scores,pos,tuned.aim); r=rank(e,groups,tuned.aim.measures); cev=time.process_time()-t
    kept,avg=average_best(scores,groups,r,{"importance, laplacian":3.,"linear":2.,"trees":1.})
    sel=Selection(e,r,kept,avg,None,None,None,None,None,None)
    t=time.process_time(); ens=fit_ensemble(metrics,sel,tuned.X,tuned.labels,tuned.seed); cfit=time.process_time()-t
    t=time.process_time(); ts=[ens._scores(X[te][i:i+2000])[0] for i in range(0,len(te),2000)]; cpred=(time.process_time()-t)/len(te)*1e6
    ts=np.concatenate(ts,axis=1)
    np.savez_compressed(f,oof=scores[kept].astype(np.float32),test=ts.astype(np.float32),groups=np.array(groups)[kept],pos=pos,yt=y[te],w=w,cw=tuned.class_weights,cpu=cpu+[cev,cfit,cpred],means=avg.means,scales=avg.scales,names=[m.name for m in ens.members])
    print(n,seed,M,'cpu',[round(c,1) for c in cpu],'eval',round(cev,1),'fit',round(cfit,1),'pred us',round(cpred),'metrics',len(ens.metrics),flush=True)
if __name__=="__main__":
    M=int(sys.argv[1])
    for n in sys.argv[2:]: run(n,1,M)
