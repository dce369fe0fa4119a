import { expect } from 'chai';
import { once } from 'node:events';
import fs from 'node:fs';
import type { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { WebSocket } from 'ws';
import { serve, type Serving } from '../src/serve.js';
import { connectWebSocket, launchListener, startParams, type TestClient } from './support/client.js';
import { cleanup } from './support/environment.js';
import { scrape, scrapeUntil, type Scrape } from './support/scrape.js';

// what translates them opens descriptors, amid a test
before(async () => {
  await import('../src/wire/listener.js');
  await import('../src/metrics/page.js');
  await import('../src/metrics/prometheus.js');
});

/** The samples of one metric, by their labels. */
const of = ({ samples }: Scrape, name: string): Record<string, number> =>
  Object.fromEntries(
    [...samples].flatMap(([key, value]) =>
      key === name || key.startsWith(`${name}{`) ? [[key.slice(name.length), value]] : [],
    ),
  );

/** A server that listens, in this process; closed after the test. */
const server = async (): Promise<Serving> => {
  const serving = await serve({ listen: 'ws://127.0.0.1:0', logLevel: 'silent' });
  cleanup(() => serving.close());
  return serving;
};

/** Timers of this process that measure the delay of its event loop: native ones, which the hooks don't see. */
const loopMonitors = (): number => {
  const { libuv }: { libuv: { type: string; is_active: boolean; repeat?: number }[] } = JSON.parse(
    JSON.stringify(process.report.getReport()),
  );
  return libuv.filter(({ type, is_active, repeat }) => type === 'timer' && is_active && repeat === 20).length;
};

/** A server and a client, with a session. */
const listening = async (
  params: object = {},
): Promise<{ url: string; client: TestClient; sessionId: unknown }> => {
  const { url } = await server();
  const client = await connectWebSocket(url);
  const { sessionId } = await client.initialize(params);
  return { url, client, sessionId };
};

describe('GET /metrics', () => {
  it('tells exactly what a session did', async () => {
    const { url, client } = await listening();
    await client.start('pipes', ['sh', '-c', 'printf 12345; printf 123 >&2; cat'], { pipeStdin: true });
    await client.write('pipes', 'input!!');
    await client.request('process/closeStdin', { processId: 'pipes' });
    await client.processClosed('pipes');
    await client.write('pipes', 'too late', { writeId: 'w' });
    await client.start('terminal', ['printf', 'abcd'], { tty: true });
    await client.processClosed('terminal');
    await client.refused('process/start', startParams('f1', ['/does/not/exist']));
    await client.refused('process/start', startParams('f2', ['/does/not/exist/either']));
    await client.refused('process/start', startParams('f3', ['/usr']));
    await client.refused('process/start', startParams('f4', ['true'], { cwd: '/etc/hostname' }));
    await client.refused('process/start', startParams('never tried', []));
    await client.refused('http/request', {});
    await client.refused('what/ever');
    await client.refused('__proto__');

    const told = await scrape(url);
    expect(of(told, 'exec_server_connections')).to.deep.equal({ '': 1 });
    expect(of(told, 'exec_server_connections_opened_total')).to.deep.equal({ '': 1 });
    expect(of(told, 'exec_server_sessions')).to.deep.equal({
      '{state="attached"}': 1,
      '{state="detached"}': 0,
    });
    expect(of(told, 'exec_server_processes')).to.deep.equal({
      '{state="starting"}': 0,
      '{state="running"}': 0,
      '{state="exited"}': 0,
      '{state="retained"}': 2,
    });
    expect(of(told, 'exec_server_process_starts_total')).to.deep.equal({ '': 6 });
    expect(of(told, 'exec_server_process_start_failures_total')).to.deep.equal({
      '{kind="spawnNotFound"}': 2,
      '{kind="spawnPermissionDenied"}': 1,
      '{kind="spawnFailed"}': 1,
      '{kind="cancelled"}': 0,
    });
    expect(of(told, 'exec_server_process_start_duration_seconds_count')).to.deep.equal({ '': 6 });
    expect(of(told, 'exec_server_process_exit_duration_seconds_count')).to.deep.equal({ '': 2 });
    expect(of(told, 'exec_server_output_bytes_total')).to.deep.equal({
      '{stream="stdout"}': 12,
      '{stream="stderr"}': 3,
      '{stream="pty"}': 4,
    });
    expect(of(told, 'exec_server_input_bytes_total')).to.deep.equal({ '': 7 });
    expect(of(told, 'exec_server_output_dropped_bytes_total')).to.deep.equal({ '': 0 });
    expect(of(told, 'exec_server_backpressure_seconds_total')).to.deep.equal({ '': 0 });
    expect(of(told, 'exec_server_requests_total')).to.deep.equal({
      '{method="initialize"}': 1,
      '{method="process/start"}': 7,
      '{method="process/write"}': 2,
      '{method="process/closeStdin"}': 1,
      '{method="unknown"}': 3,
    });
    expect(of(told, 'exec_server_request_errors_total')).to.deep.equal({
      '{code="-32601"}': 3,
      '{code="-32602"}': 1,
      '{code="-32603"}': 4,
    });

    await client.close();
    const after = await scrapeUntil(url, (samples) => samples.get('exec_server_connections') === 0);
    expect(of(after, 'exec_server_sessions')).to.deep.equal({
      '{state="attached"}': 0,
      '{state="detached"}': 0,
    });
    expect(of(after, 'exec_server_processes')).to.include({ '{state="retained"}': 0 });
    for (const kept of [
      'exec_server_output_bytes_total',
      'exec_server_output_dropped_bytes_total',
      'exec_server_process_starts_total',
      'exec_server_connections_opened_total',
    ]) {
      expect(of(after, kept), kept).to.deep.equal(of(told, kept));
    }
  });

  it('tells processes by state, and sessions that wait for their client', async () => {
    const { url, client } = await listening({ resumeSessionId: null });
    await client.start('running', ['sleep', '60']);
    await client.start('exited', ['sh', '-c', 'sleep 60 & exit 0']);
    await client.exited('exited');
    await client.start('retained', ['true']);
    await client.processClosed('retained');
    const other = await connectWebSocket(url);
    await other.initialize();
    await client.close();
    const told = await scrapeUntil(url, (samples) => samples.get('exec_server_connections') === 1);
    expect(of(told, 'exec_server_sessions')).to.deep.equal({
      '{state="attached"}': 1,
      '{state="detached"}': 1,
    });
    expect(of(told, 'exec_server_processes')).to.deep.equal({
      '{state="starting"}': 0,
      '{state="running"}': 1,
      '{state="exited"}': 1,
      '{state="retained"}': 1,
    });
  });

  it('tells a start that was cancelled, and no latency of it', async () => {
    const { url, client } = await listening();
    const start = client.call('process/start', startParams('p', ['sleep', '60']));
    await client.request('process/terminate', { processId: 'p' });
    expect((await start).error?.message).to.equal('process p start was cancelled');
    const told = await scrape(url);
    expect(of(told, 'exec_server_process_starts_total')).to.deep.equal({ '': 1 });
    expect(of(told, 'exec_server_process_start_failures_total')).to.include({ '{kind="cancelled"}': 1 });
    expect(of(told, 'exec_server_process_start_duration_seconds_count')).to.deep.equal({ '': 0 });
  });

  it('tells what was dropped from retention, and not what is given up with its session', async () => {
    const { url, client } = await listening();
    await client.start('p', ['cat'], { pipeStdin: true, outputBytesCap: 10 });
    for (const text of ['aaaaaaa', 'bbbb', 'cccc']) {
      await client.write('p', text);
      await client.waitOutput('p', text);
    }
    const { droppedBytes } = await client.read('p');
    expect(droppedBytes).to.equal(7);
    expect(of(await scrape(url), 'exec_server_output_dropped_bytes_total')).to.deep.equal({ '': 7 });
    await client.close();
    const after = await scrapeUntil(url, (samples) => samples.get('exec_server_connections') === 0);
    expect(of(after, 'exec_server_output_dropped_bytes_total')).to.deep.equal({ '': 7 });
  });

  it('tells how long processes waited for a client that did not read, and each byte once', async () => {
    const { url, client } = await listening();
    const waited = 'exec_server_backpressure_seconds_total';
    await client.start('quick', ['true']);
    await client.processClosed('quick');
    expect(of(await scrape(url), waited)).to.deep.equal({ '': 0 });
    client.pause();
    client.raw(
      JSON.stringify({
        id: 'f',
        method: 'process/start',
        params: startParams('flood', ['head', '-c', '20000000', '/dev/zero']),
      }),
    );
    const during = await scrapeUntil(url, (samples) => (samples.get(waited) ?? 0) > 0);
    expect(during.samples.get(waited)).to.be.greaterThan(0);
    expect(during.samples.get('exec_server_output_bytes_total{stream="stdout"}')).to.be.lessThan(20_000_000);
    client.resume();
    await client.processClosed('flood');
    const [after, later] = [await scrape(url), await scrape(url)];
    expect(of(after, 'exec_server_output_bytes_total')).to.include({ '{stream="stdout"}': 20_000_000 });
    expect(of(after, waited)).to.deep.equal(of(later, waited));
  });

  it('tells the bytes of the network as a client counts them', async () => {
    const { url } = await server();
    const socket = new WebSocket(url);
    const upgraded = new Promise<Socket>((resolve) => {
      socket.once('upgrade', (response) => resolve(response.socket));
    });
    const opened = once(socket, 'open');
    const connection = await upgraded;
    cleanup(async () => {
      const gone = once(socket, 'close');
      socket.terminate();
      await gone;
    });
    await opened;
    socket.send(JSON.stringify({ id: 1, method: 'initialize', params: { clientName: 'counts' } }));
    await once(socket, 'message');
    const told = await scrape(url);
    expect(of(told, 'exec_server_network_bytes_total')).to.deep.equal({
      '{direction="received"}': connection.bytesWritten,
      '{direction="sent"}': connection.bytesRead,
    });
  });

  it('tells what the listener refused, by status', async () => {
    const { url } = await server();
    for (const headers of [{ Origin: 'http://localhost' }, { Host: 'evil.example' }]) {
      const { status, body } = await scrape(url, headers);
      expect([status, body]).to.deep.equal([403, '']);
    }
    const wrong = new WebSocket(`${url}/other`);
    const [error]: unknown[] = await once(wrong, 'error');
    expect(String(error)).to.include('404');
    expect(of(await scrape(url), 'exec_server_refused_requests_total')).to.deep.equal({
      '{status="403"}': 2,
      '{status="404"}': 1,
    });
  });

  it('is there for GET alone', async () => {
    const { url } = await server();
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'HEAD']) {
      const { status, body } = await scrape(url, {}, method);
      expect([status, body], method).to.deep.equal([404, '']);
    }
  });

  it('is Prometheus text: a meaning and a type for each metric, and buckets that add up', async () => {
    const { url, client } = await listening();
    await client.start('p', ['true']);
    await client.processClosed('p');
    const { status, type, body, samples } = await scrape(url);
    expect(status).to.equal(200);
    expect(type).to.equal('text/plain; version=0.0.4; charset=utf-8');
    const types = new Map(
      [...body.matchAll(/^# TYPE (\S+) (\w+)$/gm)].map(([, name = '', kind = '']) => [name, kind]),
    );
    const meanings = [...body.matchAll(/^# HELP (\S+) \S.*\.$/gm)].map(([, name]) => name);
    expect(meanings).to.deep.equal([...types.keys()]);
    for (const [name, kind] of types) {
      expect(name).to.match(/^(exec_server|process|nodejs)_[a-z_]+$/);
      expect(name.endsWith('_total'), name).to.equal(kind === 'counter');
    }
    for (const key of samples.keys()) {
      const name = key.replace(/\{.*/s, '');
      expect(
        types.has(name) || types.get(name.replace(/_(bucket|sum|count)$/, '')) === 'histogram',
        key,
      ).to.equal(true);
    }
    const histograms = [...types].filter(([, kind]) => kind === 'histogram').map(([name]) => name);
    expect(histograms).to.have.length(2);
    for (const name of histograms) {
      const buckets = [...samples]
        .filter(([key]) => key.startsWith(`${name}_bucket{le=`))
        .map(([, value]) => value);
      expect(buckets).to.deep.equal(buckets.toSorted((a, b) => a - b));
      expect(buckets.at(-1)).to.equal(1);
      expect(samples.get(`${name}_count`)).to.equal(1);
      expect(samples.get(`${name}_sum`)).to.be.greaterThan(0);
    }
    for (const name of ['process_cpu_seconds_total', 'process_resident_memory_bytes', 'process_open_fds']) {
      expect(samples.get(name), name).to.be.greaterThan(0);
    }
  });

  it('is told in docs/operations.md: each metric with its type and labels', async () => {
    const { url, client } = await listening();
    await client.refused('unknown');
    await scrape(url, { Origin: 'null' });
    const { body, samples } = await scrape(url);
    const labelsOf = (name: string): string[] => [
      ...new Set(
        [...samples.keys()]
          .filter((key) => key.startsWith(`${name}{`))
          .flatMap((key) => [...key.matchAll(/[{,](\w+)=/g)].map(([, label = '']) => label)),
      ),
    ];
    const exposed = [...body.matchAll(/^# TYPE (\S+) (\w+)$/gm)].map(([, name = '', type = '']) => ({
      name,
      type,
      labels: labelsOf(name),
    }));
    const operations = fs.readFileSync(new URL('../docs/operations.md', import.meta.url), 'utf8');
    const documented = [
      ...operations.matchAll(/^\| `(\w+)` +\| (counter|gauge|histogram) +\| (?:`(\w+)`)? +\|/gm),
    ].map(([, name, type, label]) => ({ name, type, labels: label === undefined ? [] : [label] }));
    expect(documented).to.deep.equal(exposed);
  });

  it('has labels of which there are few values, and none that a client chose', async () => {
    const { url, client } = await listening({ clientName: 'canary' });
    await client.start('canary', ['sh', '-c', 'echo canary', 'canary'], {
      env: { PATH: process.env['PATH'], canary: 'canary' },
    });
    await client.processClosed('canary');
    await client.refused('canary');
    await client.refused('process/start', startParams('canary', ['/canary']));
    await client.refused('fs/readFile', { path: '/canary' });
    const { body, samples } = await scrape(url);
    expect(body).to.not.include('canary');
    const labels = new Set(
      [...samples.keys()].flatMap((key) => [...key.matchAll(/[{,](\w+)=/g)].map(([, name]) => name)),
    );
    expect([...labels]).to.have.members([
      'code',
      'direction',
      'kind',
      'le',
      'method',
      'quantile',
      'state',
      'stream',
    ]);
  });

  it('loads prom-client when it is asked for, and not before', async () => {
    const loaded = fileURLToPath(new URL('fixtures/loaded-modules.mjs', import.meta.url));
    const { url, stderr } = await launchListener(['--log-level', 'silent'], {
      NODE_OPTIONS: `--import=${loaded}`,
    });
    const client = await connectWebSocket(url);
    await client.initialize();
    await client.start('p', ['true']);
    await client.processClosed('p');
    expect(stderr()).to.match(/^loaded .*\/dist\/src\/cli\.js$/m);
    expect(stderr()).to.not.include('prom-client');
    await scrape(url);
    await client.until(() => stderr().includes('/node_modules/prom-client/'), 'prom-client');
  });

  it('is of one server alone, and lets go of the event loop when that is closed', async () => {
    const [one, other] = [await server(), await server()];
    const client = await connectWebSocket(one.url);
    await client.initialize();
    expect(of(await scrape(one.url), 'exec_server_connections')).to.deep.equal({ '': 1 });
    expect(of(await scrape(other.url), 'exec_server_connections')).to.deep.equal({ '': 0 });
    expect(loopMonitors()).to.equal(2);
    await other.close();
    expect(loopMonitors()).to.equal(1);
    const again = await scrape(one.url);
    expect(Object.keys(of(again, 'exec_server_event_loop_lag_seconds'))).to.deep.equal([
      '{quantile="0.5"}',
      '{quantile="0.99"}',
      '{quantile="1"}',
    ]);
    await client.close();
    await one.close();
    expect(loopMonitors()).to.equal(0);
  });
});
