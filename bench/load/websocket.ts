import crypto from 'node:crypto';
import { once } from 'node:events';
import net from 'node:net';
import { Inbox } from './inbox.js';
import type { Transport } from './transport.js';

const FIN = 0x80;
const TEXT = 0x81;
/** The first part of a text that comes in several frames, and those after it. */
const FIRST = 0x01;
const CONTINUATION = 0x00;
const PING = 0x89;
const PONG = 0x8a;
const CLOSE = 0x88;

/** Where the payload of the frame at `at` begins and ends; undefined if its header has not come yet. */
const payloadOf = (buffer: Buffer, at: number, end: number): { start: number; end: number } | undefined => {
  if (at + 2 > end) return undefined;
  const short = buffer[at + 1] ?? 0;
  const start = at + (short < 126 ? 2 : short === 126 ? 4 : 10);
  if (start > end) return undefined;
  const length =
    short < 126
      ? short
      : short === 126
        ? buffer.readUInt16BE(at + 2)
        : Number(buffer.readBigUInt64BE(at + 2));
  return { start, end: start + length };
};

/** RFC 6455, as a client sends it: masked, by zeros, which leave the bytes as they are. */
const masked = (opcode: number, payload: Buffer): Buffer => {
  const { length } = payload;
  const extended = length < 126 ? 0 : length < 65_536 ? 2 : 8;
  const frame = Buffer.alloc(6 + extended + length);
  frame[0] = opcode;
  frame[1] = 0x80 | (extended === 0 ? length : extended === 2 ? 126 : 127);
  if (extended === 2) frame.writeUInt16BE(length, 2);
  if (extended === 8) frame.writeBigUInt64BE(BigInt(length), 2);
  payload.copy(frame, 6 + extended);
  return frame;
};

/**
 * A WebSocket that costs far less than the server behind it: a bare socket, and frames split by their headers.
 * No message but a very long one is copied.
 */
export class WebSocketTransport implements Transport {
  onMessage: Transport['onMessage'] = () => undefined;
  onClose: Transport['onClose'] = () => undefined;
  readonly #inbox = new Inbox();
  readonly #socket: net.Socket;
  #upgraded: (() => void) | undefined;
  /** Of a message that comes in several frames. */
  #parts: Buffer[] = [];

  private constructor({ hostname, port }: URL) {
    this.#socket = net.connect({
      host: hostname,
      port: Number(port),
      noDelay: true,
      onread: {
        buffer: () => this.#inbox.space(),
        callback: (length) => {
          this.#inbox.end += length;
          this.#parse();
          return true;
        },
      },
    });
  }

  /** Rejects if the server refuses. */
  static async connect(url: string): Promise<WebSocketTransport> {
    const target = new URL(url);
    const transport = new WebSocketTransport(target);
    const socket = transport.#socket;
    const upgraded = new Promise<void>((resolve, reject) => {
      transport.#upgraded = resolve;
      socket.once('close', () => reject(new Error('closed during the handshake')));
    });
    socket.on('error', (error) => transport.onClose(error));
    socket.on('close', () => transport.onClose(new Error('the connection was closed')));
    await once(socket, 'connect');
    socket.write(
      `GET ${target.pathname} HTTP/1.1\r\nHost: ${target.host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
        `Sec-WebSocket-Key: ${crypto.randomBytes(16).toString('base64')}\r\nSec-WebSocket-Version: 13\r\n\r\n`,
    );
    await upgraded;
    return transport;
  }

  send(text: string): void {
    this.#socket.write(masked(TEXT, Buffer.from(text)));
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  async close(): Promise<void> {
    if (this.#socket.destroyed) return;
    this.#socket.destroy();
    await once(this.#socket, 'close');
  }

  #parse(): void {
    const at = this.#upgraded === undefined ? 0 : this.#handshake();
    if (at !== undefined) this.#frames(at);
  }

  /** Where the frames begin; undefined as long as the answer of the server is not whole. */
  #handshake(): number | undefined {
    const { buffer, end } = this.#inbox;
    const headers = buffer.toString('latin1', 0, end);
    const after = headers.indexOf('\r\n\r\n');
    if (after < 0) return undefined;
    if (!headers.startsWith('HTTP/1.1 101')) {
      this.#socket.destroy(new Error(`the server refused: ${headers.split('\r\n')[0]}`));
      return undefined;
    }
    this.#upgraded?.();
    this.#upgraded = undefined;
    return after + 4;
  }

  #frames(from: number): void {
    const { buffer, end } = this.#inbox;
    let at = from;
    let payload = payloadOf(buffer, at, end);
    while (payload !== undefined && payload.end <= end) {
      this.#frame(buffer[at] ?? 0, buffer, payload);
      at = payload.end;
      payload = payloadOf(buffer, at, end);
    }
    this.#inbox.consumed(at, payload === undefined ? 0 : payload.end - at);
  }

  #frame(opcode: number, buffer: Buffer, { start, end }: { start: number; end: number }): void {
    if (opcode === TEXT) this.onMessage(buffer, start, end);
    else if (opcode === FIRST || opcode === CONTINUATION || opcode === (FIN | CONTINUATION)) {
      this.#parts.push(Buffer.from(buffer.subarray(start, end)));
      if (opcode === (FIN | CONTINUATION)) this.#join();
    } else if (opcode === PING) this.#socket.write(masked(PONG, buffer.subarray(start, end)));
    else if (opcode === CLOSE) this.#socket.end();
    else if (opcode !== PONG) this.#socket.destroy(new Error(`a frame of kind 0x${opcode.toString(16)}`));
  }
  #join(): void {
    const whole = Buffer.concat(this.#parts);
    this.#parts = [];
    this.onMessage(whole, 0, whole.length);
  }
}
