import { inspect } from 'node:util';
import { expect } from 'chai';
import { HttpError, httpError, reasonOf } from '../../src/http/errors.js';

/** As fetch tells of what went wrong below it. */
const fetchError = (cause: Error): Error => new TypeError('fetch failed', { cause });

const withCode = (message: string, code: string, errno?: number): Error =>
  Object.assign(new Error(message), { code, ...(errno === undefined ? {} : { errno }) });

describe('the reason of a failed request', () => {
  const table: readonly (readonly [reason: string, error: unknown])[] = [
    ['too late', new HttpError('too late')],
    ['connection refused', fetchError(withCode('connect ECONNREFUSED 10.0.0.1:1', 'ECONNREFUSED', -111))],
    [
      'connection refused',
      fetchError(
        new AggregateError([
          withCode('connect ECONNREFUSED ::1:1', 'ECONNREFUSED', -111),
          withCode('connect ECONNREFUSED 127.0.0.1:1', 'ECONNREFUSED', -111),
        ]),
      ),
    ],
    ['connection reset by peer', fetchError(withCode('read ECONNRESET', 'ECONNRESET', -104))],
    [
      'the name of the host is not known',
      fetchError(withCode('getaddrinfo ENOTFOUND nope.invalid', 'ENOTFOUND', -3008)),
    ],
    [
      'the host did not take the connection in time',
      fetchError(withCode('Connect Timeout Error', 'UND_ERR_CONNECT_TIMEOUT')),
    ],
    [
      'self-signed certificate',
      fetchError(withCode('self-signed certificate', 'DEPTH_ZERO_SELF_SIGNED_CERT')),
    ],
    ['internal error', 'no error'],
    ['internal error', undefined],
  ];
  for (const [reason, error] of table) {
    it(`is «${reason}» for ${inspect(error instanceof Error ? (error.cause ?? error) : error).split('\n', 1)[0]}`, () => {
      expect(reasonOf(error)).to.equal(reason);
      expect(httpError(error)).to.deep.equal({ code: -32603, message: `http/request failed: ${reason}` });
    });
  }

  it('is the client’s fault where it asks for what cannot be sent', () => {
    const error = fetchError(withCode('invalid upgrade header', 'UND_ERR_INVALID_ARG'));
    expect(httpError(error)).to.deep.equal({
      code: -32602,
      message: 'http/request failed: invalid upgrade header',
    });
  });
});
