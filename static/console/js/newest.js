// One errand at a time and always the newest; one that fails is tried again after a growing wait, and never in silence.
import { waitBefore } from "./live.js";

const DEADLINE_MS = 30000;

/** An answer that will be the same however often one asks. */
export class RefusedError extends Error {}

function because(error) {
  if (error.name === "TimeoutError") return new Error(`no answer in ${DEADLINE_MS / 1000} s`);
  return error instanceof TypeError ? new Error("the server cannot be reached") : error;
}

/** The body of an answer, read as "json", "text" or "arrayBuffer", with its headers: {body, headers}. */
export async function ask(address, form) {
  try {
    const answer = await fetch(address, { signal: AbortSignal.timeout(DEADLINE_MS) });
    if (answer.redirected) throw new RefusedError("you are signed out");
    if (answer.status === 403) throw new RefusedError("you may not see it");
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    return { body: await answer[form](), headers: answer.headers };
  } catch (error) {
    throw because(error);
  }
}

export class Newest {
  /** `run(errand)` does one; `failed(error, again)` hears of each failure; `anew(errand)` is what to try next time. */
  constructor(run, { failed, anew = (errand) => errand }) {
    this.run = run;
    this.failed = failed;
    this.anew = anew;
    this.wanted = null;
    this.busy = false;
    this.wake = () => {};
  }

  want(errand) {
    this.wanted = errand;
    this.wake();
    if (!this.busy) this.work();
  }

  async work() {
    this.busy = true;
    let failures = 0;
    while (this.wanted) {
      const errand = this.wanted;
      this.wanted = null;
      try {
        await this.run(errand);
        failures = 0;
      } catch (error) {
        const again = !(error instanceof RefusedError);
        this.failed(error, again);
        if (again) await this.rest(waitBefore(failures));
        if (again) this.wanted ||= this.anew(errand);
        failures += 1;
      }
    }
    this.busy = false;
  }

  /** Until the wait is over or something newer is wanted. */
  rest(milliseconds) {
    if (this.wanted) return Promise.resolve();
    return new Promise((done) => {
      this.wake = done;
      setTimeout(done, milliseconds);
    });
  }
}
