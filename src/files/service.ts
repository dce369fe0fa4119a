import { encodeBase64 } from '../base64.js';
import { EncodedJson } from '../encoded-json.js';
import { ErrorCode, type RpcError } from '../rpc.js';
import { Budget } from './budget.js';
import { copy } from './copy.js';
import { createDirectory, readDirectory } from './directory.js';
import { FileError, impossible, sessionEnded } from './errors.js';
import { Handles } from './handles.js';
import { canonicalize, getMetadata } from './metadata.js';
import { expectedBytes, readFile, readFully, writeFile } from './read-write.js';
import { remove } from './remove.js';
import type { FileRequest } from './request.js';
import { walk } from './walk.js';

/**
 * What a client has asked to read, and has not taken yet, is at most this: it may send requests without end
 * and take no answer.
 */
const MAX_CONTENT_BYTES = 64 * 1024 * 1024;

/** Requests that may keep a descriptor while they are worked on; further ones wait. */
const MAX_BUSY = 64;

/** Clients take messages of 48 MiB; a little is left for the envelope and its id. */
const MAX_ANSWER_BYTES = 47 * 1024 * 1024;

export type Outcome = EncodedJson | { readonly result: object } | { readonly error: RpcError };

type Served = Extract<FileRequest, { params: unknown }>;

/** The file operations of one connection, and what they share. */
export class FileService {
  readonly #handles = new Handles();
  readonly #content = new Budget(MAX_CONTENT_BYTES);
  readonly #busy = new Budget(MAX_BUSY);
  /** The last write of each path that is being written. */
  readonly #writes = new Map<string, Promise<void>>();
  readonly #abort = new AbortController();

  /** Never rejects. */
  async serve(request: FileRequest): Promise<Outcome> {
    if ('refusal' in request) return { error: request.refusal };
    try {
      const result = await this.#work(request);
      return result instanceof EncodedJson ? result : { result };
    } catch (error) {
      return {
        error:
          error instanceof FileError
            ? error.rpcError
            : { code: ErrorCode.internalError, message: 'internal error' },
      };
    }
  }

  /** Breaks off what takes long, or waits. */
  abort(): void {
    this.#abort.abort();
    this.#content.lift();
    this.#busy.lift();
  }

  /** Closes every handle. */
  async close(): Promise<void> {
    await this.#handles.closeAll();
  }

  #work(request: Served): Promise<object> {
    const { signal } = this.#abort;
    switch (request.type) {
      case 'fs.readFile':
        return this.#readFile(request.params);
      case 'fs.writeFile':
        return done(this.#writeFile(request.params));
      case 'fs.createDirectory': {
        const { path, recursive = true, followSymlinks = true } = request.params;
        return done(createDirectory(path, { recursive, followSymlinks }));
      }
      case 'fs.getMetadata':
        return getMetadata(request.params.path, request.params.followSymlinks ?? true);
      case 'fs.canonicalize':
        return canonicalize(request.params.path);
      case 'fs.readDirectory': {
        const { path } = request.params;
        return this.#list(path, async () => readDirectory(path));
      }
      case 'fs.walk': {
        const { path, options } = request.params;
        return this.#list(path, async () => walk(path, options, signal));
      }
      case 'fs.remove': {
        const { path, recursive = true, force = true, followSymlinks = true } = request.params;
        const options = { recursive, force, followSymlinks };
        return done(this.#whenFree(async () => remove(path, options, signal)));
      }
      case 'fs.copy': {
        const { sourcePath, destinationPath, recursive } = request.params;
        return done(this.#whenFree(async () => copy(sourcePath, destinationPath, recursive, signal)));
      }
      case 'fs.open': {
        const { handleId, path } = request.params;
        return done(this.#handles.open(handleId, path), { handleId });
      }
      case 'fs.readBlock':
        return this.#readBlock(request.params);
      case 'fs.close':
        return done(this.#handles.close(request.params.handleId));
    }
    return request satisfies never;
  }

  async #readFile({ path, followSymlinks = true }: ParamsOf<'fs.readFile'>): Promise<EncodedJson> {
    const target = { path, followSymlinks };
    return this.#keeping(await expectedBytes(target), async () => {
      const base64 = await this.#whenFree(async () => readFile(target));
      return `{"dataBase64":"${base64}"}`;
    });
  }

  async #readBlock({ handleId, offset, len }: ParamsOf<'fs.readBlock'>): Promise<EncodedJson> {
    return this.#handles.use(handleId, async (handle, path) =>
      this.#keeping(len, async () => {
        const block = await readFully(path, handle, Buffer.allocUnsafe(len), offset);
        return `{"chunk":"${encodeBase64(block)}","eof":${block.length < len}}`;
      }),
    );
  }

  /** Writes of one path one after the other: two at a time would leave a mixture of both. */
  async #writeFile({ path, dataBase64, followSymlinks = true }: ParamsOf<'fs.writeFile'>): Promise<void> {
    const before = this.#writes.get(path);
    const written = (async () => {
      await before?.catch(() => undefined); // its own client was told
      await this.#whenFree(async () => writeFile({ path, followSymlinks }, dataBase64.data));
    })();
    this.#writes.set(path, written);
    try {
      await written;
    } finally {
      if (this.#writes.get(path) === written) this.#writes.delete(path);
    }
  }

  /** A long answer. It waits in here, where few can, until there is room for it. */
  async #list(path: string, make: () => Promise<object>): Promise<EncodedJson> {
    return this.#whenFree(async () => {
      const json = JSON.stringify(await make());
      if (Buffer.byteLength(json) > MAX_ANSWER_BYTES) throw impossible(path, 'too long for one answer');
      return this.#keeping(json.length, async () => json);
    });
  }

  /** Makes a result that counts as so many bytes until the client has taken it. */
  async #keeping(bytes: number, make: () => Promise<string>): Promise<EncodedJson> {
    const giveBack = await this.#content.take(bytes);
    try {
      this.#throwIfAborted();
      return new EncodedJson(await make(), giveBack);
    } catch (error) {
      giveBack();
      throw error;
    }
  }

  async #whenFree<T>(work: () => Promise<T>): Promise<T> {
    return this.#busy.use(1, async () => {
      this.#throwIfAborted();
      return work();
    });
  }

  #throwIfAborted(): void {
    if (this.#abort.signal.aborted) throw sessionEnded();
  }
}

type ParamsOf<T extends Served['type']> = Extract<Served, { type: T }>['params'];

/** What is answered when it is done. */
const done = async (work: Promise<void>, result: object = {}): Promise<object> => {
  await work;
  return result;
};
