import { expect } from 'chai';
import type * as fc from 'fast-check';
import type { Answer, CheckingClient } from '../support/checking-client.js';

/** A process, as docs/protocol.md says that it is after what was sent. */
type ModelProcess = {
  readonly tty: boolean;
  running: boolean;
  exitCode: number | null;
  stdinOpen: boolean;
  /** All that it must have printed. */
  output: Buffer;
  /** What writes with an id were answered. */
  readonly writes: Map<string, string>;
};

export type Model = { readonly processes: Map<string, ModelProcess> };

/** The server that is compared with the model. */
export type Real = {
  client: CheckingClient;
  /** Closed processes are gone at once; otherwise they are retained for longer than the test takes. */
  readonly evicts: boolean;
  /** Loses the connection and comes back on another; undefined where that can't be. */
  readonly comeBack: (() => Promise<CheckingClient>) | undefined;
};

export type Command = fc.AsyncCommand<Model, Real>;

export const command = (
  name: string,
  run: (model: Model, real: Real) => Promise<void>,
  check: (model: Readonly<Model>) => boolean = () => true,
): Command => ({ toString: () => name, check, run });

export const refused = (answer: Answer, code: number, message: string): void => {
  expect(answer.error).to.include({ code, message });
};

export const unknown = (answer: Answer, id: string): void =>
  refused(answer, -32600, `unknown process id ${id}`);

export type Chunk = { seq: number; chunk: string };

/** Reads on until it has so many bytes, or the close. The numbers must have no gaps. */
export const readAll = async (
  { client }: Real,
  processId: string,
  enough: (bytes: number, closed: boolean) => boolean,
): Promise<{ bytes: Buffer; nextSeq: number; exitCode: unknown }> => {
  const parts: Buffer[] = [];
  for (let afterSeq = 0, waitMs = 0; ; waitMs = 20_000) {
    const answer = await client.request('process/read', { processId, afterSeq, waitMs });
    const chunks: Chunk[] = JSON.parse(JSON.stringify(answer['chunks']));
    for (const [index, { seq, chunk }] of chunks.entries()) {
      expect(seq).to.equal(afterSeq + 1 + index);
      parts.push(Buffer.from(chunk, 'base64'));
    }
    const bytes = Buffer.concat(parts);
    const { nextSeq, exitCode, closed } = answer;
    if (enough(bytes.length, closed === true)) return { bytes, nextSeq: Number(nextSeq), exitCode };
    afterSeq = Number(nextSeq) - 1;
  }
};

export const isAll = (actual: Buffer, wanted: Buffer): void => {
  expect(actual.equals(wanted), `${actual.length} of ${wanted.length} bytes, or others`).to.equal(true);
};

/** It must end now, with this code and all of its output; and is gone then where nothing is retained. */
export const ends = async (model: Model, real: Real, id: string, exitCode: number): Promise<void> => {
  const process = model.processes.get(id);
  if (process === undefined) throw new Error('no such process in the model');
  if (real.evicts) {
    // it may be gone before it could be read
    while (
      JSON.stringify(await real.client.request('process/list')).includes(`"processId":${JSON.stringify(id)}`)
    );
    model.processes.delete(id);
    return;
  }
  const read = await readAll(real, id, (_bytes, closed) => closed);
  isAll(read.bytes, process.output);
  expect(read.exitCode).to.equal(exitCode);
  Object.assign(process, { running: false, exitCode, stdinOpen: false });
};
