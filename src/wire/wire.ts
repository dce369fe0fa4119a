/** How messages are set apart on a wire: by a header before each (WebSocket) or a byte after (a line). */
export type Framing = {
  /** A whole message, framed, in pieces to be written one after the other; the payload isn't copied. */
  frame(payload: Buffer): Buffer[];
  /** For who writes a short message (below 8 MiB) into a buffer of its own: the header; answers where it ends. */
  writeHeader(out: Buffer, at: number, length: number): number;
  /** What follows the payload. */
  readonly trailer: Buffer;
};

export type WireEvents = {
  /** One message, as text. */
  message(text: string): void;
  /** Something came that can't be a message; the wire is still usable. */
  malformed(reason: string): void;
  /** The peer sends no more; what is being answered may still be sent. */
  ended(): void;
  /** The wire is gone. Comes once, last. */
  closed(reason: string): void;
  /** All that was written has been taken: `write` may be called again. */
  drain(): void;
};

/** Bytes that the system took from and gave to the peer. */
export type Traffic = { readonly received: number; readonly sent: number };

/** A port that carries whole messages to one peer. Knows nothing of what they say. */
export interface Wire {
  /** For the log: `stdio`, `ws 127.0.0.1:52114`. */
  readonly name: string;
  readonly framing: Framing;
  /** A client may come back to its session on another wire of this kind. */
  readonly canResume: boolean;
  /** Whose wire it is, for the listener that let it in: opaque. Sessions belong to one principal. */
  readonly principal?: string | undefined;
  /** Milliseconds in which the client has to open its session. Default: it is waited for. */
  readonly handshakeTimeoutMs?: number | undefined;
  /** Begins to deliver events. */
  open(events: WireEvents): void;
  /** Only where messages stay text: takes one. `write` is not used then. */
  readonly sendText?: (text: string) => void;
  /**
   * Hands over framed bytes. True: they are taken, and the buffer may be used again. False: the wire keeps
   * the buffer until `drain`; nothing may be written before that.
   */
  write(bytes: Buffer): boolean;
  /** So far; undefined where nobody counts. */
  readonly traffic?: Traffic;
  /** Stops and resumes reading from the peer. */
  pause(): void;
  resume(): void;
  /** Ends the wire, after what was written. */
  close(reason: string): void;
}
