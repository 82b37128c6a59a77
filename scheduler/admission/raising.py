"""What has to be raised so that a tenant may use so much more: every limit on the way, by whole GPUs."""

from dataclasses import dataclass, replace

from scheduler.admission.jobs import Job
from scheduler.admission.quota import BORROWING_LIMIT, CAP, Book, Refusal, with_tree
from scheduler.admission.tree import NO_QUOTA, grown
from scheduler.cluster.records import WHOLE_GPU_MILLI

MOST = 16  # limits that are raised one after another; a tree has fewer on one line


@dataclass(frozen=True, slots=True)
class Raise:
    """``refusal`` names the limit, and the account that it is of."""

    refusal: Refusal

    @property
    def gpus(self) -> int:
        """Limits are whole GPUs."""
        return -(-self.refusal.missing_milli // WHOLE_GPU_MILLI)


def raises(book: Book, job: Job, model: str) -> tuple[Raise, ...]:
    """The limits that keep the job from the model, each with those before it raised; nothing where none does."""
    found: list[Raise] = []
    while len(found) < MOST:
        refusal = book.check(job.tenant, model, job.gpu_milli, lp=job.lp)
        if refusal is None:
            break
        found.append(Raise(refusal))
        book = _raised(book, found[-1])
    return tuple(found)


def _raised(book: Book, more: Raise) -> Book:
    at, limit, model = more.refusal.at, more.refusal.limit, more.refusal.model
    account, milli = book.tree.accounts[at], more.gpus * WHOLE_GPU_MILLI
    if limit == CAP:
        account = replace(account, cap_milli=(account.cap_milli or 0) + milli)
    else:
        quota = account.quotas.get(model, NO_QUOTA)
        if limit == BORROWING_LIMIT:
            quota = replace(quota, borrowing_limit=(quota.borrowing_limit or 0) + milli)
        else:
            quota = replace(quota, nominal=(quota.nominal or 0) + milli)
        account = replace(account, quotas={**account.quotas, model: quota})
    return with_tree(book, grown({**book.tree.accounts, at: account}))
