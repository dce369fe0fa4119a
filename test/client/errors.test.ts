import { expect } from 'chai';
import * as client from '../../src/client/index.js';

const { ServerError, ...others } = {
  SpawnFailedError: client.SpawnFailedError,
  ConnectTimeoutError: client.ConnectTimeoutError,
  ConnectRefusedError: client.ConnectRefusedError,
  InitializeTimeoutError: client.InitializeTimeoutError,
  ClosedError: client.ClosedError,
  ProtocolError: client.ProtocolError,
  StdinClosedError: client.StdinClosedError,
  OutputLostError: client.OutputLostError,
  MaxBufferError: client.MaxBufferError,
  ServerError: client.ServerError,
};

describe('the errors of the client', () => {
  it('have a code each, a name, and one class over them', () => {
    const cause = new Error('deeper');
    const codes = Object.entries(others).map(([name, Kind]) => {
      const error = new Kind('what is wrong', { cause });
      expect(error).to.be.instanceOf(client.ExecServerError).and.to.include({ name, cause });
      expect(error.message).to.equal('what is wrong');
      expect(String(error.stack)).to.match(new RegExp(`^${name}: what is wrong\n`));
      return error.code;
    });
    expect(codes).to.deep.equal([
      'SPAWN_FAILED',
      'CONNECT_TIMEOUT',
      'CONNECT_REFUSED',
      'INITIALIZE_TIMEOUT',
      'CLOSED',
      'PROTOCOL_ERROR',
      'STDIN_CLOSED',
      'OUTPUT_LOST',
      'MAX_BUFFER',
    ]);
  });

  it('ServerError has the code and the data of the answer', () => {
    const error = new ServerError('process/start', { code: -32603, message: 'no', data: { kind: 'k' } });
    expect(error).to.be.instanceOf(client.ExecServerError);
    expect(error).to.include({
      name: 'ServerError',
      code: 'SERVER_ERROR',
      rpcCode: -32603,
      message: 'process/start: no',
    });
    expect(error.data).to.deep.equal({ kind: 'k' });
  });

  it('tells a limit of the server by a code of its own', () => {
    const error = new ServerError('process/start', { code: -32001, message: 'limit reached' });
    expect(error).to.include({ code: 'LIMIT_REACHED', rpcCode: -32001 });
  });
});
