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
    import tempfile
    asm=k.asm['ptx']
    ptx=tempfile.NamedTemporaryFile(suffix='.ptx',mode='w',delete=False); ptx.write(asm); ptx.close()
    arch=re.search(r'\.target (sm_\w+)',asm)[1]
    for tool in ('ptxas','ptxas_blackwell'):
        path=getattr(triton.knobs.nvidia,tool).path
        out=subprocess.run([path,'-v','--gpu-name',arch,ptx.name,'-o','/dev/null'],capture_output=True,text=True).stderr
        r=re.search(r'Used (\d+) registers',out)
        if r: break
    m=re.search(r'(\d+) bytes spill stores',out)
    return dict(arch=arch,regs=r and int(r[1]),spill=m and int(m[1]),shared=k.metadata.shared,wgmma=asm.count('wgmma.mma_async'),mma=asm.count('mma.sync'),v4=asm.count('ld.global.v4')+asm.count('.v4.b32'),cpasync=asm.count('cp.async.cg'))

def types_of(fn, el):
    types={}
    for n in inspect.signature(fn.fn).parameters: types[n]='i32'
    for n in ('query','key','value','v','out','grads','query_grad','key_grad','value_grad'): types[n]='*'+el
    for n in ('owners','starts','ends','q_ids','k_ids','order','counts','top_indices'): types[n]='*i32'
    types['pairs']='*u8'
    for n in 'bias factors sinks norms wholes entropies top_scores q_powers k_powers q_sizes k_sizes deltas entropy_grads factor_grad v_parts slope_grad table_parts pairs_grad uniform'.split(): types[n]='*fp32'
    for n in ('scale','softcap','eps','a','tolerance'): types[n]='fp32'
    return types
if __name__=='__main__':
    el=sys.argv[1] if len(sys.argv)>1 else 'bf16'
    base=dict(D=64,E=64,SCORE=0,NORMALIZER=0,KIND=0,SOFTCAP=False,BIAS=0,FACTORS=False,SINKS=False,INTERVALS=1,IDS=False,BYTES=False,LISTED=True,ENTROPY=False,PRECISION='ieee',PART=64,PARTS=1,WIDTH=64,ROWS=64,KEYS=64)
    rows=[('fwd window',fused.forward,{},4),('fwd 128x64 w8',fused.forward,dict(ROWS=128),8),('fwd D128 w8',fused.forward,dict(D=128,E=128,PART=128,WIDTH=128),8),('fwd top4 entropy',fused.forward,dict(TOP=4,ENTROPY=True),4),
      ('fwd entmax1.5',fused.forward,dict(NORMALIZER=4,KIND=2),4),('fwd add 32x32',fused.forward,dict(SCORE=1,ROWS=32,KEYS=32),4),('fwd add 32x64',fused.forward,dict(SCORE=1,ROWS=32,KEYS=64),4),('fwd dist 32x64',fused.forward,dict(SCORE=2,ROWS=32,KEYS=64),4),
      ('bwd q',fused.backward,dict(BY_KEY=False,BIAS_LEARNS=False),4),('bwd k',fused.backward,dict(BY_KEY=True,BIAS_LEARNS=False),4),('bwd k w8',fused.backward,dict(BY_KEY=True,BIAS_LEARNS=False),8),('bwd q add 32x32',fused.backward,dict(BY_KEY=False,BIAS_LEARNS=False,SCORE=1,ROWS=32,KEYS=32),4)]
    for label,fn,change,warps in rows:
        names=set(inspect.signature(fn.fn).parameters)
        constants={k:v for k,v in (base|dict(TOP=0)|change).items() if k in names}
        for cap in (90,):
            try:
                k,_=compiled(fn,types_of(fn,el),constants,cap,warps); print(label,report(k),flush=True)
            except Exception as e: print(label,'FAILED',str(e)[-300:],flush=True)
