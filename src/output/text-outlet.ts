import type { OutputLog } from './log.js';
import type { Outlet } from './outlet.js';

/**
 * Sends each message as text, to somebody in this process who takes all at once. A window of its own is
 * what makes a process wait there (docs/protocol.md, process/ack).
 */
export class TextOutlet implements Outlet {
  readonly #sendText: (text: string) => void;
  #messages: { readonly json: string; readonly onTaken: (() => void) | undefined }[] = [];
  readonly #ready = new Set<OutputLog>();
  #scheduled: NodeJS.Immediate | undefined;
  #closed = false;

  constructor(sendText: (text: string) => void) {
    this.#sendText = sendText;
  }

  readonly isBacklogged = false;

  get isEmpty(): boolean {
    return this.#messages.length === 0 && this.#ready.size === 0;
  }

  send(json: string | Buffer, onTaken?: () => void): void {
    if (this.#closed) return;
    this.#messages.push({ json: json.toString(), onTaken });
    this.#schedule();
  }

  onUnsent(log: OutputLog): void {
    if (this.#closed) {
      log.detach();
      return;
    }
    this.#ready.add(log);
    this.#schedule();
  }

  drained(): void {
    this.flush();
  }

  onEmpty(callback: () => void): void {
    this.flush();
    callback();
  }

  flush(): void {
    if (this.#closed) return;
    for (const { json, onTaken } of this.#messages.splice(0)) {
      this.#sendText(json);
      onTaken?.();
    }
    for (const log of this.#ready) {
      this.#ready.delete(log);
      this.#sendAll(log);
    }
  }

  close(): void {
    this.#closed = true;
    if (this.#scheduled !== undefined) clearImmediate(this.#scheduled);
    this.#messages = [];
    for (const log of this.#ready) log.detach();
    this.#ready.clear();
  }

  #sendAll(log: OutputLog): void {
    for (let record = log.peekUnsent(); record !== undefined; record = log.peekUnsent()) {
      const json = log.encoder.encode(record);
      log.takeUnsent();
      if (json !== undefined) this.#sendText(json);
    }
    log.sent();
  }

  #schedule(): void {
    if (this.#scheduled !== undefined || this.#closed) return;
    this.#scheduled = setImmediate(() => {
      this.#scheduled = undefined;
      this.flush();
    });
  }
}
