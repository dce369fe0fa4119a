/** Where a process is, as its notifications tell. */
type Progress = { seq: number | undefined; exited: boolean; closed: boolean };

const STARTS: ReadonlySet<string> = new Set(['process/start', 'command/exec']);
const OUTPUT: ReadonlySet<string> = new Set(['process/output', 'command/exec/outputDelta']);
const EXITED: ReadonlySet<string> = new Set(['process/exited', 'command/exec/exited']);

/** Checks docs/protocol.md 3.2 and 3.3: numbers from 1 without gaps, exited once, closed last. */
export class SequenceCheck {
  readonly #processes = new Map<string, Progress>();

  constructor(private readonly onFault: (fault: string) => void) {}

  /** Takes the result of a request: a start makes its id another process. */
  answered(method: string, result: Readonly<Record<string, unknown>>): void {
    if (STARTS.has(method))
      this.#processes.set(String(result['processId']), { seq: 0, exited: false, closed: false });
  }

  /** A process of a session that is resumed. What was told meanwhile, was told to nobody. */
  adopt(processId: string): void {
    this.#processes.set(processId, { seq: undefined, exited: false, closed: false });
  }

  told(method: string, params: Readonly<Record<string, unknown>>): void {
    const { processId, seq } = params;
    if (typeof processId !== 'string') return;
    const what = `${method} ${JSON.stringify(seq)} of ${JSON.stringify(processId)}`;
    const progress = this.#processes.get(processId);
    if (progress === undefined) {
      this.onFault(`${what}, which was not started`);
      return;
    }
    if (typeof seq !== 'number' || (progress.seq !== undefined && seq !== progress.seq + 1))
      this.onFault(`${what} follows ${progress.seq}`);
    else progress.seq = seq;
    if (progress.closed) this.onFault(`${what} comes after its close`);
    if (EXITED.has(method)) {
      if (progress.exited) this.onFault(`${what} is its second exit`);
      progress.exited = true;
    } else if (!OUTPUT.has(method)) {
      if (!progress.exited && progress.seq !== undefined) this.onFault(`${what} comes before its exit`);
      progress.closed = true;
    }
  }
}
