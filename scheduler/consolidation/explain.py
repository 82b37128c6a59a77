from scheduler.plan.plan import Kept
def explain(snapshot, compiled, params): return ()
