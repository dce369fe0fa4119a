import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { expect } from 'chai';
import { ExecServerClient } from '../../src/client/index.js';
import { createLog } from '../../src/log.js';
import { serve, type ServeOptions } from '../../src/serve.js';
import { Tokens } from '../../src/token.js';
import { env, rejection } from '../support/clients.js';
import { launchServer } from '../support/client.js';
import { cleanup } from '../support/environment.js';
import { temporaryDirectory } from '../support/files.js';
import { ask, statusOf, UPGRADE } from '../support/raw-http.js';

// the server loads it when it is asked for; what translates it opens descriptors then, amid a test
before(async () => {
  await import('../../src/wire/listener.js');
});

/** A server in this process on a Unix socket, and its URL. */
const serveAt = async (unix: string, options: ServeOptions = {}): Promise<string> => {
  const serving = await serve({ log: createLog('silent'), ...options, unix });
  cleanup(() => serving.close());
  return serving.url;
};

const modeOf = (file: string): string => (fs.lstatSync(file).mode & 0o777).toString(8);

/** Why no socket was made. */
const refusal = async (file: string): Promise<string> => {
  const { name, message } = await rejection(serveAt(file), Error);
  expect(name).to.equal('UnixSocketError');
  return message;
};

/** Where a socket can be made. */
const place = (): string => path.join(temporaryDirectory(), 'server.sock');

const upgrade = (...headers: string[]): string[] => [
  'GET / HTTP/1.1',
  'Host: any.example',
  ...UPGRADE,
  ...headers,
];

describe('a server on a Unix socket', () => {
  it('makes it for its owner alone, with the directories that are missing, whatever the umask', async () => {
    const directory = temporaryDirectory();
    for (const umask of [0o000, 0o022, 0o777]) {
      const file = path.join(directory, umask.toString(8), 'deep', 'server.sock');
      const before = process.umask(umask);
      let url: string;
      try {
        fs.mkdirSync(path.join(directory, umask.toString(8)));
        fs.chmodSync(path.join(directory, umask.toString(8)), 0o700);
        url = await serveAt(file);
      } finally {
        process.umask(before);
      }
      expect(url).to.equal(`ws+unix:${file}`);
      expect([modeOf(file), modeOf(path.dirname(file))]).to.deep.equal(['600', '700']);
    }
  });

  it('serves a client, whose session can be resumed', async () => {
    const url = await serveAt(place());
    const first = await ExecServerClient.connectWebSocket({ url, resume: true });
    const started = await first.start({ argv: ['cat'], env, pipeStdin: true });
    const { sessionId } = first;
    await first.detach();
    const second = await ExecServerClient.connectWebSocket({ url, sessionId });
    const process = await second.attach(started.processId);
    await process.write('hello');
    await process.end();
    let text = '';
    for await (const part of process.stdout.text()) text += part;
    expect(text).to.equal('hello');
    await second.close();
  });

  it('takes a path with blanks, colons and other signs', async () => {
    const url = await serveAt(path.join(temporaryDirectory(), 'a b:c%20?#ü.sock'));
    const client = await ExecServerClient.connectWebSocket({ url });
    expect((await client.run(['echo', 'hi'], { env })).stdout).to.equal('hi\n');
    await client.close();
  });

  it('asks for no name of a host, but refuses an Origin, and asks for a token if there is one', async () => {
    const file = place();
    await serveAt(file, { tokens: Tokens.of(['right']) });
    expect(statusOf(await ask(file, upgrade('Authorization: Bearer right')))).to.equal(101);
    expect(statusOf(await ask(file, upgrade()))).to.equal(401);
    expect(statusOf(await ask(file, upgrade('Authorization: Bearer right', 'Origin: http://x')))).to.equal(
      403,
    );
    const probe = ['GET /readyz HTTP/1.1', 'Host: any.example', 'Connection: close'];
    expect(statusOf(await ask(file, probe))).to.equal(200);
  });

  it('removes it in the end', async () => {
    const file = place();
    const serving = await serve({ unix: file, log: createLog('silent') });
    await serving.close();
    expect(fs.existsSync(file)).to.equal(false);
    expect(fs.existsSync(path.dirname(file))).to.equal(true);
  });

  it('takes the place of one that was killed', async () => {
    const file = place();
    const killed = launchServer(['--unix', file, '--log-level', 'silent']);
    if (killed.stdout === null) throw new Error('no pipes');
    await once(killed.stdout, 'data');
    killed.kill('SIGKILL');
    await once(killed, 'exit');
    expect(fs.lstatSync(file).isSocket()).to.equal(true);
    const url = await serveAt(file);
    await (await ExecServerClient.connectWebSocket({ url })).close();
  });

  it('leaves one alone at which somebody answers', async () => {
    const file = place();
    const url = await serveAt(file);
    expect(await refusal(file)).to.equal('another server answers there');
    // also if that is no exec-server, and does not even accept
    const other = path.join(path.dirname(file), 'other.sock');
    const stranger = net.createServer();
    cleanup(async () => {
      stranger.close();
      await once(stranger, 'close');
    });
    stranger.listen(other);
    await once(stranger, 'listening');
    await refusal(other);
    await (await ExecServerClient.connectWebSocket({ url })).close();
  });

  it('leaves alone what is no socket', async () => {
    const file = place();
    fs.writeFileSync(file, 'precious');
    expect(await refusal(file)).to.equal('there is a file of that name, which is no socket');
    expect(fs.readFileSync(file, 'utf8')).to.equal('precious');
    // a link is none either, wherever it leads
    const link = `${file}.link`;
    fs.symlinkSync('/nowhere', link);
    await refusal(link);
    expect(fs.readlinkSync(link)).to.equal('/nowhere');
  });

  for (const mode of [0o755, 0o750, 0o710, 0o701, 0o770, 0o1777]) {
    it(`refuses a directory of mode ${mode.toString(8)}`, async () => {
      const file = place();
      const directory = path.dirname(file);
      fs.chmodSync(directory, mode);
      expect(await refusal(file)).to.equal(
        `its directory ${directory} is open to others; put it into one that is yours alone (mode 700), ` +
          `for instance ${directory}/exec-server: it is made if it is missing`,
      );
      expect(fs.existsSync(file)).to.equal(false);
    });
  }

  it('refuses a path that the kernel can not take', async () => {
    const file = path.join(temporaryDirectory(), 'x'.repeat(100));
    expect(await refusal(file)).to.match(/^the path of a socket has at most \d+ bytes; take a shorter one$/);
  });
});
