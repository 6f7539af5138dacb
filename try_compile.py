import sys, re, subprocess, inspect
import triton, triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from saccade.backends.triton.kernels import fused, tiles
def compiled(fn, types, constants, cap=90, warps=4, stages=2):
    names=fn.arg_names if hasattr(fn,'arg_names') else list(inspect.signature(fn.fn).parameters)
    sig={n:('constexpr' if n in constants else types[n]) for n in names}
    src=ASTSource(fn=fn, signature=sig, constexprs={(names.index(n),):v for n,v in constants.items()}, attrs={(i,):[['tt.divisibility',16]] for i,n in enumerate(names) if n not in constants and types[n].startswith('*')})
    k=triton.compile(src,target=GPUTarget('cuda',cap,32),options={'num_warps':warps,'num_stages':stages})
    ptx=k.asm['ptx']
    return k,ptx
def report(k):
    import tempfile,os
    f=tempfile.NamedTemporaryFile(suffix='.cubin',delete=False); f.write(k.asm['cubin']); f.close()
    ptx=tempfile.NamedTemporaryFile(suffix='.ptx',mode='w',delete=False); ptx.write(k.asm['ptx']); ptx.close()
    ptxas=triton.knobs.nvidia.ptxas.path
    arch=re.search(r'\.target (sm_\w+)',k.asm['ptx'])[1]
    out=subprocess.run([ptxas,'-v','--gpu-name',arch,ptx.name,'-o','/dev/null'],capture_output=True,text=True).stderr
    m=re.search(r'(\d+) bytes spill stores',out); r=re.search(r'Used (\d+) registers',out)
    asm=k.asm['ptx']
    if not r: print(out[:500])
    return dict(regs=r and int(r[1]),spill=m and int(m[1]),shared=k.metadata.shared,wgmma=asm.count('wgmma.mma_async'),mma=asm.count('mma.sync'),v4=asm.count('ld.global.v4')+asm.count('.v4.b32'),cpasync=asm.count('cp.async.cg'))
X=1
if __name__=='__main__':
    types={}
    I='i32'
    for n in inspect.signature(fused.forward.fn).parameters: types[n]=I
    el=sys.argv[1] if len(sys.argv)>1 else 'bf16'
    for n in ('query','key','value','v','out'): types[n]='*'+el
    for n in ('owners','starts','ends','q_ids','k_ids','order','counts','top_indices'): types[n]='*i32'
    types['pairs']='*u8'
    for n in ('bias','factors','sinks','norms','entropies','top_scores'): types[n]='*fp32'
    for n in ('scale','softcap','eps'): types[n]='fp32'
    base=dict(D=64,E=64,SCORE=0,NORMALIZER=0,SOFTCAP=False,BIAS=0,FACTORS=False,SINKS=False,INTERVALS=1,IDS=False,BYTES=False,LISTED=True,ENTROPY=False,TOP=0,PRECISION='ieee',PART=64,PARTS=1,WIDTH=64,ROWS=64,KEYS=64)
    for label,change in [('window',{}),('plain',dict(INTERVALS=0,LISTED=False)),('entropy',dict(ENTROPY=True)),('top4',dict(TOP=4,ENTROPY=True)),('128x64',dict(ROWS=128)),('wide128',dict(D=128,E=128,PART=128,WIDTH=128)),('additive',dict(SCORE=1)),('distance',dict(SCORE=2))]:
        for cap in (80,):
            k,_=compiled(fused.forward,types,base|change,cap); print(label,cap,report(k),flush=True)
