from scheduler.plan.plan import Bound
def bound_of(compiled, net): return Bound(net_upper=net, gap=0.0, proven=True)
