import os; os.environ["TRITON_INTERPRET"]="1"
import torch, time
from saccade.backends.triton import fused
from saccade.backends.triton.fused import *
torch.manual_seed(0)
def check(name,N,Lq,Lk,D,E,window=None,ids=False,pairs=False,bias=0,score=0,norm=0,softcap=None,temp=False,sink=False,top=3,alpha=1.0):
    q,k,v=torch.randn(N,Lq,D),torch.randn(N,Lk,D),torch.randn(N,Lk,E)
    qd,kd,vd=(x.double().requires_grad_() for x in (q,k,v))
    i,j=torch.arange(Lq)[:,None],torch.arange(Lk)[None]
    ok=torch.ones(N,Lq,Lk,dtype=torch.bool); parts={}
    if window:
        st=(torch.arange(Lq)-window).clamp(0).int(); en=(torch.arange(Lq)+1).clamp(max=Lk).int()
        parts|=dict(starts=st.expand(1,N,Lq).contiguous(),ends=en.expand(1,N,Lq).contiguous()); ok&=(j>=st[:,None])&(j<en[:,None])
    if ids:
        qi,ki=torch.randint(0,3,(N,Lq)).sort(-1)[0].int(),torch.randint(0,3,(N,Lk)).sort(-1)[0].int()
        parts|=dict(q_ids=qi,k_ids=ki); ok&=qi[:,:,None]==ki[:,None]
    if pairs:
        p=torch.rand(N,Lq,Lk)<.3; p[:,:64]=False; parts|=dict(pairs=p.view(torch.uint8)); ok&=p
    mask=Allowed(N,**parts) if parts else None
    vv=torch.randn(D)
    s=qd@kd.mT if score==0 else (torch.tanh(qd[:,:,None]+kd[:,None])@vv.double() if score==1 else (qd[:,:,None]-kd[:,None]).square().sum(-1))
    scale={0:D**-.5,1:1.,2:-.1}[score]
    s=s*scale
    if softcap: s=softcap*torch.tanh(s/softcap)
    b=None
    bd=None
    vd_=vv.double().requires_grad_()
    if score==1: s=(torch.tanh(qd[:,:,None]+kd[:,None])@vd_)*scale
    if bias==1: b=torch.rand(N); bd=b.double().requires_grad_(); s=s-bd[:,None,None]*(i-j+1).abs()
    if bias==2: b=torch.randn(N,21); bd=b.double().requires_grad_(); s=s+bd[:,(j-i-1).clamp(-10,10)+10]
    if bias==3: b=torch.randn(N,Lq,Lk); bd=b.double().requires_grad_(); s=s+bd
    f=torch.rand(N,Lq)+.5 if temp else None
    sk=torch.randn(N,Lq) if sink else None
    fd=f.double().requires_grad_() if temp else None
    skd=sk.double().requires_grad_() if sink else None
    if norm==2: s=s.abs() if False else s
    own=torch.arange(N,dtype=torch.int32).expand(5,N).contiguous()
    a=time.time()
    r=fused.forward(Setup(q,k,v,own,mask,score,norm,scale,softcap,vv,b,bias,f,sk,alpha=alpha,align=1,bias_learns=bias>0),entropy=norm in (0,4),top=top)
    t=time.time()-a
    if norm==0:
        if temp: s=s*fd[...,None]
        s=s.masked_fill(~ok,-torch.inf); l=s.logsumexp(-1,keepdim=True); w=torch.exp(s-torch.where(l.isinf(),0.,l)); w0=w
        if sink: w=w*torch.sigmoid(l-skd[...,None])
        h=(torch.where(l.isinf(),0.,l)-(w0*s.masked_fill(~ok,0)).sum(-1,keepdim=True))[...,0]
        print(name,'lse',(r['norms']-l[...,0]).nan_to_num(0).abs().max().item(),'H',(r['entropies']-h).abs().max().item(),end=' ')
    elif norm==4:
        from saccade._definitions import simplex
        if temp: s=s*fd[...,None]
        w=simplex.entmax(s,torch.tensor(alpha,dtype=torch.float64),ok); h=-(w*torch.where(w>0,w,1.).log()).sum(-1); print(name,'H',(r['entropies']-h).abs().max().item(),end=' ')
    elif norm==1: w=torch.sigmoid(s+(fd[...,None] if temp else 1.)).masked_fill(~ok,0)
    elif norm==3: w=s.masked_fill(~ok,0)
    else: w=s.masked_fill(~ok,0); z=w.sum(-1,keepdim=True); w=w/z.masked_fill(z==0,1)
    print(name,'out',((r['output']-w@vd).abs().max()/(w.abs()@vd.abs()).max()).item(),f'{t:.2f}s')
    g,gl,gh=torch.randn(N,Lq,E),torch.randn(N,Lq),torch.randn(N,Lq)
    print('   received',(fused.received(Setup(q,k,v,own,mask,score,norm,scale,softcap,vv,b,bias,f,sk,alpha=alpha,align=1,bias_learns=bias>0),r)-w.sum(-2)).abs().max().item())
    if norm!=3 and norm!=2:
        from saccade.reads import Sample
        u=torch.rand(N,Lq); ix=fused.drawn(Setup(q,k,v,own,mask,score,norm,scale,softcap,vv,b,bias,f,sk,alpha=alpha,align=1,bias_learns=bias>0),r,u)
        print('   draws agree',(ix==Sample(uniform=u).index(w.detach().float(),ok)).double().mean().item(),end='')
    if True:
        loss=((w@vd)*g).sum()
        lives=ok.any(-1)
        if norm in (0,4): loss=loss+(h*gh.double()*lives).nan_to_num(0).sum()
        if norm==0 and not sink: loss=loss+(l[...,0]*gl).masked_fill(~lives,0).sum()
        extra=[('v',vd_)] if score==1 else []
        if bd is not None: extra.append((('slope','table','bias')[bias-1],bd))
        leaves=[x for x in (qd,kd,vd,fd,skd) if x is not None]+[x for _,x in extra]
        want=torch.autograd.grad(loss,leaves)
        got=fused.backward(Setup(q,k,v,own,mask,score,norm,scale,softcap,vv,b,bias,f,sk,alpha=alpha,align=1,bias_learns=bias>0),r,g,gl if norm==0 and not sink else None,gh if norm in (0,4) else None)
        names=[n for n,x in zip(('query','key','value','factor','sink'),(qd,kd,vd,fd,skd)) if x is not None]+[n for n,_ in extra]
        if 'slope' in got: got['slope']=got['slope'].sum(-1); got['table']=got['table'].sum(1); got['v']=got['v'].sum((0,1))
        print('   grads',[(n,round(((got[n]-y).abs().max()/y.abs().max()).item(),9)) for n,y in zip(names,want) if not (norm==1 and n=='factor')])
    if norm==0 and top:
        from saccade.reads import largest
        vals,idx=largest(s.float().masked_fill(~ok,-torch.inf),top,ok)
        got=[sorted(x for x in row.tolist() if x>=0) for row in r['top_indices'].flatten(0,1)]
        want=[sorted(x for x in row.tolist() if x>=0) for row in idx.flatten(0,1)]
        if r['top_indices'].shape[-1]==top: print('   top agrees', sum(a==b for a,b in zip(got,want)),len(want))









check('plain',2,70,130,40,24,top=4)
check('window',2,200,200,40,24,window=20,top=4)
check('all masks',2,130,130,16,16,window=90,ids=True,pairs=True)
check('bias1',2,70,130,16,16,bias=1,window=60); check('bias2',2,70,130,16,16,bias=2,window=50,temp=True,sink=True,softcap=2.); check('bias3',2,70,130,16,16,bias=3,softcap=1.)
check('add',2,70,80,8,16,score=1,window=30); check('add entmax',2,70,80,7,16,score=1,norm=4,alpha=1.5,top=0); check('dist',2,70,80,8,16,score=2,window=40)
for n in (1,2,3): check(f'norm{n}',2,70,80,8,16,norm=n,window=30,top=0)
check('sigmoid bias',2,70,80,8,16,norm=1,temp=True,top=0)
for al in (2.,1.5,1.3): check(f'entmax{al}',2,70,180,16,16,norm=4,window=90,top=0,alpha=al,temp=al==2.)
check('wide D',1,40,50,200,16)
