import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import { Inbox } from './inbox.js';
import type { Transport } from './transport.js';

const NEWLINE = 0x0a;

/** A message a line, to and from a child. */
export class LineTransport implements Transport {
  onMessage: Transport['onMessage'] = () => undefined;
  onClose: Transport['onClose'] = () => undefined;
  readonly #inbox = new Inbox();
  readonly #stdout: net.Socket;
  /** In what has come before this there is no newline. */
  #searched = 0;

  /** @param stdout the reading end of the child's stdout; closed by this. */
  constructor(
    private readonly child: ChildProcess,
    stdout: number,
  ) {
    child.stdin?.on('error', (error) => this.onClose(error));
    // of a socket that is made from a descriptor Node's types do not know `onread`
    const options: net.SocketConstructorOpts & net.ConnectOpts = {
      fd: stdout,
      readable: true,
      writable: false,
      onread: {
        buffer: () => this.#inbox.space(),
        callback: (length) => {
          this.#inbox.end += length;
          this.#parse();
          return true;
        },
      },
    };
    this.#stdout = new net.Socket(options);
    this.#stdout.on('error', (error) => this.onClose(error));
    this.#stdout.on('close', () => this.onClose(new Error('the server has closed its stdout')));
    this.#stdout.resume();
  }

  send(text: string): void {
    this.child.stdin?.write(`${text}\n`);
  }

  pause(): void {
    this.#stdout.pause();
  }

  resume(): void {
    this.#stdout.resume();
  }

  async close(): Promise<void> {
    this.child.stdin?.end();
    if (this.#stdout.destroyed) return;
    await once(this.#stdout, 'close');
  }

  #parse(): void {
    const { buffer, end } = this.#inbox;
    const come = buffer.subarray(0, end);
    let at = 0;
    for (
      let newline = come.indexOf(NEWLINE, this.#searched);
      newline >= 0;
      newline = come.indexOf(NEWLINE, at)
    ) {
      this.onMessage(buffer, at, newline);
      at = newline + 1;
    }
    const left = end - at;
    this.#inbox.consumed(at, left > buffer.length / 2 ? buffer.length * 2 : 0);
    this.#searched = left;
  }
}
