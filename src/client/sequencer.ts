import type { EndReason, Result, Stream } from '../protocol.js';

/** How a process ended. */
export type ExitStatus = {
  /** Its code, or 128 + the number of the signal that killed it. */
  readonly exitCode: number;
  /** `SIGKILL`, …; null if it ended by itself. */
  readonly signal: string | null;
  /** Whether it ended by itself (`exited`, `signalled`), or was made to; null: the server doesn't tell. */
  readonly reason: EndReason | null;
};

/** What happens to a process, as its notifications tell it. */
export type ProcessNotice =
  | { readonly kind: 'output'; readonly seq: number; readonly stream: Stream; readonly data: Uint8Array }
  | ({ readonly kind: 'exited'; readonly seq: number } & ExitStatus)
  | { readonly kind: 'closed'; readonly seq: number };

type ReadResult = Result<'process/read'>;

export type SequencerEvents = {
  /** Each notice once, in the order of the numbers. */
  notice(notice: ProcessNotice): void;
  /** process/read for everything after this number. */
  read(afterSeq: number): Promise<ReadResult>;
  /** Output with numbers up to this one can't be had any more. */
  lost(throughSeq: number): void;
};

/**
 * Puts the notices of one process in order. exec-server sends them in order and without gaps; other servers
 * of the protocol are not so strict. A gap is filled by process/read.
 */
export class Sequencer {
  readonly #events: SequencerEvents;
  /** What came before something that is missing, by number. */
  readonly #early = new Map<number, ProcessNotice>();
  #next = 1;
  #recovering = false;
  #exitIsKnown = false;

  constructor(events: SequencerEvents) {
    this.#events = events;
  }

  /** What is told waits until it is known where to begin. */
  hold(): void {
    this.#next = 0;
    this.#recovering = true;
  }

  /** For a process that ran before anybody listened here: begins with what a read of all of it has. */
  begin(answer: ReadResult): void {
    this.#next = firstSeq(answer);
    this.#recovering = false;
    for (const [seq, notice] of this.#early) {
      if (seq >= this.#next) continue;
      this.#early.delete(seq);
      if (notice.kind === 'exited') this.#events.notice(notice);
    }
    void this.catchUp(answer);
  }

  accept(notice: ProcessNotice): void {
    if (notice.seq < this.#next) return; // had it: from a read
    this.#keep(notice);
    this.#deliver();
    if (this.#early.size > 0 && !this.#recovering) void this.#recover();
  }

  #keep(notice: ProcessNotice): void {
    if (notice.kind === 'exited') this.#exitIsKnown = true;
    this.#early.set(notice.seq, notice);
  }

  #deliver(): void {
    for (
      let notice = this.#early.get(this.#next);
      notice !== undefined;
      notice = this.#early.get(this.#next)
    ) {
      this.#early.delete(this.#next);
      this.#next++;
      this.#events.notice(notice);
    }
  }

  /** Reads, page after page, until nothing is missing before what came early. */
  async #recover(): Promise<void> {
    this.#recovering = true;
    while (this.#early.size > 0) {
      const missing = this.#next;
      // refused: the server doesn't know the process any more, or the connection has ended
      const answer = await this.#events.read(missing - 1).catch(() => undefined);
      for (const { seq, stream, chunk } of answer?.chunks ?? []) {
        if (seq >= this.#next) this.#keep({ kind: 'output', seq, stream, data: chunk.data });
      }
      this.#deliver();
      if (this.#next === missing && this.#early.size > 0) this.#settle(answer && exitOf(answer));
    }
    this.#recovering = false;
  }

  /**
   * Reads what was told while nobody listened: all output, then whether it has exited and closed.
   *
   * @param page the first answer, if it has come already
   */
  async catchUp(page?: ReadResult): Promise<void> {
    for (let known = page; ; known = undefined) {
      // refused: the server doesn't know the process any more, or the connection has ended again
      const answer = known ?? (await this.#events.read(this.#next - 1).catch(() => undefined));
      if (answer === undefined) return;
      for (const { seq, stream, chunk } of answer.chunks) {
        if (seq >= this.#next) this.#keep({ kind: 'output', seq, stream, data: chunk.data });
      }
      const [first] = answer.chunks;
      if (first !== undefined && first.seq > this.#next) this.#fillUpTo(first.seq, answer);
      this.#deliver();
      if (answer.chunks.length > 0) continue;
      this.#exitBefore(answer);
      this.#fillUpTo(answer.nextSeq, answer);
      this.#deliver();
      return;
    }
  }

  /** An exit for which no number is left was before the output with which this one began. */
  #exitBefore(answer: ReadResult): void {
    const { closed, nextSeq } = answer;
    const exit = exitOf(answer);
    if (exit === undefined || this.#exitIsKnown) return;
    const early = [...this.#early.keys()].filter((seq) => seq < nextSeq).length;
    const missing = nextSeq - this.#next - early;
    if (missing > (closed ? 1 : 0)) return;
    this.#exitIsKnown = true;
    this.#events.notice({ kind: 'exited', seq: 0, ...exit });
  }

  /** Numbers without output: the close is the last of all, the exit another, and what is left was dropped. */
  #fillUpTo(end: number, answer: ReadResult): void {
    const { closed, nextSeq, chunks } = answer;
    const exit = exitOf(answer);
    for (let seq = this.#next; seq < end; seq++) {
      if (this.#early.has(seq)) continue;
      if (closed && chunks.length === 0 && seq === nextSeq - 1) this.#keep({ kind: 'closed', seq });
      else if (exit !== undefined && !this.#exitIsKnown) this.#keep({ kind: 'exited', seq, ...exit });
      else {
        this.#events.lost(seq);
        this.#next = Math.max(this.#next, seq + 1);
      }
    }
  }

  /** The server has no output of the next number: it is that of the exit, or the output was dropped. */
  #settle(exit: ExitStatus | undefined): void {
    if (exit !== undefined && !this.#exitIsKnown) {
      this.#keep({ kind: 'exited', seq: this.#next, ...exit });
    } else {
      this.#next = Math.min(...this.#early.keys());
      this.#events.lost(this.#next - 1);
    }
    this.#deliver();
  }
}

/** What a read tells of the exit. Older servers leave out all but the code. */
const exitOf = ({ exited, exitCode, signal, reason }: ReadResult): ExitStatus | undefined =>
  exited && exitCode !== null ? { exitCode, signal: signal ?? null, reason: reason ?? null } : undefined;

/** The number with which output begins that a read of all of it has: 1, if nothing was dropped. */
export const firstSeq = ({ chunks, droppedBytes, nextSeq, closed }: ReadResult): number => {
  if (droppedBytes === 0) return 1;
  return chunks[0]?.seq ?? nextSeq - (closed ? 1 : 0);
};
