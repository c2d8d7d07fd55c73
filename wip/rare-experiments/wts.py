import sys,glob,numpy as np
from itertools import combinations
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.metrics import average_precision_score as AP
from raremetric.voting import fit_sigmoid
from raremetric.voting.thresholds import best_threshold,f_utility
G3=["importance, laplacian","linear","trees"]
def cols(d):
    nrep=d['oof'].shape[1]; oof=d['oof'].reshape(len(d['oof']),-1).astype(float); o=[];t=[]
    z=(oof-d['means'][:,None])/d['scales'][:,None]; zt=(d['test']-d['means'][:,None])/d['scales'][:,None]
    for g in G3:
        m=d['groups']==g; c=z[m].mean(0); s=c.std(); o.append(c/s); t.append(zt[m].mean(0)/s)
    return np.array(o),np.array(t),np.tile(d['pos'],nrep),nrep
def loss(theta,G,y,w0,lam,nrep):
    k=len(G); w=np.exp(theta[:k]); a,b=theta[k],theta[k+1]
    s=w@G; f=np.exp(a)*s+b; p=expit(f); 
    ll=np.sum(np.logaddexp(0,np.where(y,-f,f)))/nrep
    e=(p-y)/nrep
    gw=np.array([np.exp(a)*w[j]*(e@G[j]) for j in range(k)])+2*lam*(theta[:k]-np.log(w0))
    return ll+lam*np.sum((theta[:k]-np.log(w0))**2), np.r_[gw,np.exp(a)*(e@s),e.sum()]
def fit(G,y,w0,lam,nrep):
    k=len(G); x0=np.r_[np.log(w0),0,np.log(y.mean()/(1-y.mean()))]
    r=minimize(loss,x0,args=(G,y,np.array(w0),lam,nrep),jac=True,method='L-BFGS-B')
    return np.exp(r.x[:k]),r.fun
def f1(y,p,thr,w):
    q=p>=thr; tp=(w*(q&(y==1))).sum(); fp=(w*(q&(y==0))).sum(); fn=(w*(~q&(y==1))).sum(); return 200*tp/max(2*tp+fp+fn,1e-9)
def evaluate(d,wv,o,t,y):
    s=wv@o; st=wv@t
    cal=fit_sigmoid(s,y)
    # correct to whole table odds
    cw=d['cw']; aw=np.where(y,cw[1],cw[0]).astype(float)
    p=cal(s); shift=np.log(cw[1]/cw[0])
    from scipy.special import logit
    pp=expit(logit(np.clip(p,1e-12,1-1e-12))+shift)
    def obj(tn,fp,fn,tp): return 2*tp/np.maximum(2*tp+fp+fn,1e-300)
    thr=best_threshold(pp,obj,aw)
    pt=expit(logit(np.clip(cal(st),1e-12,1-1e-12))+shift)
    return 100*AP(d['yt'],st,sample_weight=d['w']),f1(d['yt'],pt,thr,d['w'])
def prior(p,a=1.5,c=40): return [3,2,a*p/(p+c)]
def choose(o,y,nrep,p,lam=3,D=4,a=1.5,c=40):
    w0=np.array(prior(p,a,c)); best=None
    for r in (3,2,1):
        for S in combinations(range(3),r):
            S=list(S); w,f=fit(o[S],y,w0[S],lam,nrep)
            f+=D*(3-r)
            if best is None or f<best[0]: 
                v=np.zeros(3); v[S]=w; best=(f,v)
    return best[1]
if __name__=="__main__":
    tot={}
    for f in sorted(glob.glob(sys.argv[1])):
        d=dict(np.load(f)); o,t,y,nrep=cols(d); p=int(d['pos'].sum())
        row={}
        for i,g in enumerate(G3): row[g[:3]]=evaluate(d,np.eye(3)[i],o,t,y)
        row['old']=evaluate(d,np.array([3,2,0.]),o,t,y)
        row['fix1']=evaluate(d,np.array([3,2,1.]),o,t,y)
        w0=prior(p); w,_=fit(o,y,w0,3,nrep); row['ev']=evaluate(d,w,o,t,y)
        for D in (2,4,8):
            v=choose(o,y,nrep,p,3,D); row[f'drop{D}']=evaluate(d,v,o,t,y)
        v4=choose(o,y,nrep,p,3,4)
        print(f.split('/')[-1],'p',p,' '.join(f"{k}:{a:.1f}/{b:.1f}" for k,(a,b) in row.items()),'w',np.round(w/w.sum(),2),'v4',np.round(v4/v4.sum(),2), 'cpu',np.round(d['cpu'],1))
        for k,v in row.items(): tot.setdefault(k,[]).append(v)
    for k,v in tot.items(): print(k,np.round(np.mean(v,0),2), 'diff to old', np.round(np.mean(np.array(v)-np.array(tot['old']),0),2), np.round(np.std(np.array(v)-np.array(tot['old']),0)/np.sqrt(len(v)),2))
