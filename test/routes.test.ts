import { expect } from 'chai';
import { isLeft } from 'fp-ts/lib/Either.js';
import type { OutputLog } from '../src/output/log.js';
import { type Method, methods } from '../src/protocol.js';
import { type Routed, routeRequest } from '../src/routes.js';
import type { RpcError } from '../src/rpc.js';

const routed = (method: string, params?: unknown): Routed => {
  const result = routeRequest(method, '"id"', params, { externalSandbox: false, allowHttp: true });
  if (isLeft(result)) throw new Error(result.left.message);
  return result.right;
};

const refusal = (method: string, params?: unknown): RpcError => {
  const result = routeRequest(method, '"id"', params);
  if (!isLeft(result)) throw new Error(`${method} was not refused`);
  return result.left;
};

const startParams = { processId: 'p', argv: ['true'], cwd: '/', env: {}, tty: false };

const walkOptions = { maxDepth: 1, maxDirectories: 1, maxEntries: 1, followDirectorySymlinks: false };

/** Params of every method, and the type of its event. */
const table: Readonly<Record<Method, readonly [params: object | undefined, type: string]>> = {
  initialize: [{ clientName: 'c' }, 'initialize'],
  'environment/info': [undefined, 'environment.info'],
  'environment/status': [undefined, 'environment.status'],
  'process/start': [startParams, 'process.start'],
  'process/read': [{ processId: 'p' }, 'process.read'],
  'process/write': [{ processId: 'p', chunk: 'AAAA' }, 'process.write'],
  'process/terminate': [{ processId: 'p' }, 'process.terminate'],
  'process/signal': [{ processId: 'p', signal: 'interrupt' }, 'process.signal'],
  'process/resize': [{ processId: 'p', rows: 1, cols: 2 }, 'process.resize'],
  'process/closeStdin': [{ processId: 'p' }, 'process.closeStdin'],
  'process/ack': [{ processId: 'p', bytes: 1 }, 'process.ack'],
  'process/list': [undefined, 'process.list'],
  'server/state': [undefined, 'server.state'],
  'fs/readFile': [{ path: '/x' }, 'fs.readFile'],
  'fs/writeFile': [{ path: '/x', dataBase64: 'AAAA' }, 'fs.writeFile'],
  'fs/createDirectory': [{ path: '/x' }, 'fs.createDirectory'],
  'fs/getMetadata': [{ path: '/x' }, 'fs.getMetadata'],
  'fs/canonicalize': [{ path: '/x' }, 'fs.canonicalize'],
  'fs/readDirectory': [{ path: '/x' }, 'fs.readDirectory'],
  'fs/walk': [{ path: '/x', options: walkOptions }, 'fs.walk'],
  'fs/remove': [{ path: '/x' }, 'fs.remove'],
  'fs/copy': [{ sourcePath: '/x', destinationPath: '/y', recursive: true }, 'fs.copy'],
  'fs/open': [{ handleId: 'h', path: '/x' }, 'fs.open'],
  'fs/readBlock': [{ handleId: 'h', offset: 0, len: 1 }, 'fs.readBlock'],
  'fs/close': [{ handleId: 'h' }, 'fs.close'],
  'http/request': [{ method: 'GET', url: 'http://a/', requestId: 'r' }, 'http.request'],
  'command/exec': [startParams, 'process.start'],
  'command/exec/write': [{ processId: 'p', chunk: 'AAAA' }, 'process.write'],
  'command/exec/terminate': [{ processId: 'p' }, 'process.terminate'],
};

const logOf = ({ event }: Routed): OutputLog => {
  if (event.type !== 'process.start' || !('log' in event.start)) throw new Error('no log');
  return event.start.log;
};

describe('routeRequest', () => {
  for (const [method, [params, type]] of Object.entries(table)) {
    it(`${method} is the event ${type}`, () => {
      const { event, processId } = routed(method, params);
      expect(event).to.include({ type, id: '"id"' });
      expect(processId).to.equal(params !== undefined && 'processId' in params ? 'p' : undefined);
    });
  }

  it('knows every method of the protocol', () => {
    expect(Object.keys(table)).to.have.members(Object.keys(methods));
  });

  for (const method of [
    '',
    'nope',
    'Initialize',
    'initialized',
    'process/start/',
    'process.start',
    '__proto__',
    'constructor',
    'hasOwnProperty',
  ]) {
    it(`«${method}» is no method`, () => {
      expect(refusal(method)).to.deep.equal({
        code: -32601,
        message: `method \`${method}\` is not served by this executor`,
      });
    });
  }

  it('does not repeat a long name of a method', () => {
    expect(refusal('m'.repeat(1_000_000)).message.length).to.be.below(200);
  });

  it('knows http/request only where it is allowed', () => {
    expect(refusal('http/request', { method: 7 })).to.deep.equal({
      code: -32601,
      message: 'method `http/request` is not served by this executor',
    });
  });

  it('refuses params that do not decode', () => {
    expect(refusal('process/read', { processId: 7 })).to.deep.equal({
      code: -32602,
      message: 'processId: expected a string',
    });
  });

  it('refuses an empty writeId, in these words', () => {
    expect(refusal('process/write', { processId: 'p', chunk: '', writeId: '' })).to.deep.equal({
      code: -32602,
      message: 'writeId must not be empty',
    });
  });

  it('ignores the writeId of command/exec/write', () => {
    const { event } = routed('command/exec/write', { processId: 'p', chunk: '', writeId: '' });
    if (event.type !== 'process.write') throw new Error(event.type);
    expect(event.params.writeId).to.equal(undefined);
  });

  it('counts the bytes of input', () => {
    expect(routed('process/write', { processId: 'p', chunk: 'AAAA' }).inputBytes).to.equal(3);
    expect(routed('command/exec/write', { processId: 'p', chunk: 'AA==' }).inputBytes).to.equal(1);
    expect(routed('fs/writeFile', { path: '/', dataBase64: 'AAAA' }).inputBytes).to.equal(3);
    const post = { method: 'POST', url: 'http://a/', requestId: 'r', bodyBase64: 'AAAA' };
    expect(routed('http/request', post).inputBytes).to.equal(3);
    expect(routed('process/read', { processId: 'p' }).inputBytes ?? 0).to.equal(0);
  });

  it('answers a start under either name as the protocol has it', () => {
    expect(routed('process/start', startParams).event).to.deep.include({
      result: { processId: 'p', sandboxType: 'none' },
    });
    expect(routed('command/exec', startParams).event).to.deep.include({
      result: { processId: 'p', running: true, exitCode: null, stdout: null, stderr: null },
    });
  });

  it('gives a start its notifications', () => {
    expect(logOf(routed('process/start', startParams)).encoder.names).to.deep.equal({
      output: 'process/output',
      exited: 'process/exited',
      closed: 'process/closed',
    });
    expect(logOf(routed('command/exec', startParams)).encoder.names).to.deep.equal({
      output: 'command/exec/outputDelta',
      exited: 'command/exec/exited',
      closed: null,
    });
  });

  it('retains 1 MiB, or what the start asks for', () => {
    expect(logOf(routed('process/start', startParams)).cap).to.equal(1024 * 1024);
    for (const outputBytesCap of [0, 1, 64 * 1024 * 1024]) {
      expect(logOf(routed('process/start', { ...startParams, outputBytesCap })).cap).to.equal(outputBytesCap);
    }
  });

  it('hands on the refusal of a request about files, for the same reason', () => {
    const { event } = routed('fs/readFile', { path: 'file:///a?b' });
    expect(event).to.deep.equal({
      type: 'fs.readFile',
      id: '"id"',
      refusal: {
        code: -32602,
        message: 'path: expected an absolute path, or a file: URI without query and fragment',
      },
    });
    expect(routed('fs/readFile', { path: 'file:///a%20b' }).event).to.have.deep.nested.property(
      'params.path',
      '/a b',
    );
  });

  it('hands on the refusal of a start, because the handshake comes before it', () => {
    const { event } = routed('process/start', { ...startParams, argv: [] });
    expect(event).to.deep.include({
      type: 'process.start',
      start: { refusal: { code: -32602, message: 'argv must not be empty' } },
    });
  });
});
