import fs from 'node:fs';
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { DURATION_BOUNDS, type Durations, type Metrics } from '../metrics.js';
import type { Population } from '../server.js';

/** What is told of a server. */
export type Observed = { readonly metrics: Metrics; readonly population: Population };

/** The event loop is looked at 50 times a second: enough to see a lag of 20 ms, and 0.3 % of a CPU. */
const LOOP_RESOLUTION_MS = 20;

const NANOSECONDS = 1e9;

/** A value, or one for each value of the label. */
type Values = number | Iterable<readonly [string, number]>;

/** A histogram whose observations were made elsewhere, long before the first scrape. */
class Recorded extends Histogram {
  constructor(
    private readonly of: { readonly name: string; readonly help: string },
    private readonly durations: Durations,
  ) {
    super({ ...of, buckets: [...DURATION_BOUNDS], registers: [] });
  }

  /** What the registry asks of a histogram for its text. */
  getForPromString(): Promise<object> {
    const { name, help } = this.of;
    const { buckets, count, sum } = this.durations;
    let below = 0;
    const values = buckets.map((inBucket, at) => {
      below += inBucket;
      return { metricName: `${name}_bucket`, labels: { le: DURATION_BOUNDS[at] }, value: below };
    });
    return Promise.resolve({
      name,
      help,
      type: 'histogram',
      values: [
        ...values,
        { metricName: `${name}_bucket`, labels: { le: '+Inf' }, value: count },
        { metricName: `${name}_sum`, labels: {}, value: sum },
        { metricName: `${name}_count`, labels: {}, value: count },
      ],
    });
  }
}

/** What is told, in the order of docs/operations.md. */
class Exposed {
  constructor(private readonly registry: Registry) {}

  gauge(name: string, help: string, read: () => Values, label?: string): void {
    this.#add(Gauge, name, help, read, label);
  }

  counter(name: string, help: string, read: () => Values, label?: string): void {
    this.#add(Counter, name, help, read, label);
  }

  histogram(name: string, help: string, durations: Durations): void {
    this.registry.registerMetric(new Recorded({ name, help }, durations));
  }

  #add(
    Kind: typeof Gauge | typeof Counter,
    name: string,
    help: string,
    read: () => Values,
    label?: string,
  ): void {
    const metric = new Kind({
      name,
      help,
      labelNames: label === undefined ? [] : [label],
      registers: [],
      collect() {
        this.reset();
        const values = read();
        if (typeof values === 'number') this.inc(values);
        else if (label !== undefined)
          for (const [value, count] of values) this.inc({ [label]: value }, count);
      },
    });
    this.registry.registerMetric(metric);
  }
}

const exposeServer = (exposed: Exposed, server: Observed): void => {
  const { metrics } = server;
  exposed.gauge('exec_server_connections', 'Connections that are open.', () => server.population.connections);
  exposed.counter(
    'exec_server_connections_opened_total',
    'Connections that were opened.',
    () => metrics.connectionsOpened,
  );
  exposed.counter(
    'exec_server_refused_requests_total',
    'HTTP requests that the listener refused, by status.',
    () => metrics.refusals,
    'status',
  );
  exposed.gauge(
    'exec_server_sessions',
    'Sessions with a client (attached), or waiting for theirs (detached).',
    () => server.population.sessions,
    'state',
  );
  exposed.gauge(
    'exec_server_processes',
    'Processes whose id is taken, by state.',
    () => server.population.processes,
    'state',
  );
  exposed.counter('exec_server_requests_total', 'Requests, by method.', () => metrics.requests, 'method');
  exposed.counter(
    'exec_server_request_errors_total',
    'Requests that were answered with an error, by its code.',
    () => metrics.errors,
    'code',
  );
  exposed.counter(
    'exec_server_process_starts_total',
    'Starts that were tried, failures included.',
    () => metrics.starts,
  );
  exposed.counter(
    'exec_server_process_start_failures_total',
    'Starts that failed, by kind.',
    () => metrics.startFailures,
    'kind',
  );
  exposed.histogram(
    'exec_server_process_start_duration_seconds',
    'From the request to start a process to its answer.',
    metrics.startLatency,
  );
  exposed.histogram(
    'exec_server_process_exit_duration_seconds',
    'From the reaping of a child until its exit was handed to its connection.',
    metrics.exitLatency,
  );
  exposed.counter(
    'exec_server_output_bytes_total',
    'Bytes read from children, by stream.',
    () => (['stdout', 'stderr', 'pty'] as const).map((stream) => [stream, metrics.children.of(stream)]),
    'stream',
  );
  exposed.counter(
    'exec_server_output_dropped_bytes_total',
    'Bytes of output that were dropped from retention to make room.',
    () => metrics.children.of('droppedBytes'),
  );
  exposed.counter(
    'exec_server_input_bytes_total',
    'Bytes that were accepted for children to read.',
    () => metrics.inputBytes,
  );
  exposed.counter(
    'exec_server_backpressure_seconds_total',
    'Time in which processes had to wait because their client did not read, summed over processes.',
    () => metrics.children.of('pausedSeconds'),
  );
  exposed.counter(
    'exec_server_network_bytes_total',
    'Bytes that WebSockets carried, frames included, by direction.',
    () => (['received', 'sent'] as const).map((direction) => [direction, metrics.wires.of(direction)]),
    'direction',
  );
};

const secondsLate = (nanoseconds: number): number =>
  Math.max(0, nanoseconds / NANOSECONDS - LOOP_RESOLUTION_MS / 1000);

/** Since the last scrape. The times measured are between two looks: what is due is subtracted. */
const lagOf = (loop: IntervalHistogram): [string, number][] => {
  const lags: [string, number][] = [
    ['0.5', secondsLate(loop.percentile(50))],
    ['0.99', secondsLate(loop.percentile(99))],
    ['1', secondsLate(loop.max)],
  ];
  loop.reset();
  return lags;
};

/** `Max open files` of proc_pid_limits(5); not a number where there is no such limit, or no such file. */
const descriptorLimit = (): number => {
  const limits = fs.readFileSync('/proc/self/limits', 'latin1');
  return Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1]);
};

/**
 * The names that every client library of Prometheus uses. Not by prom-client's collectDefaultMetrics, whose
 * observers of the event loop and the garbage collector could never be stopped.
 */
const exposeProcess = (exposed: Exposed): void => {
  exposed.counter('process_cpu_seconds_total', 'CPU time of the server, in seconds.', () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });
  exposed.gauge(
    'process_start_time_seconds',
    'When the server was started, in seconds since 1970.',
    () => performance.timeOrigin / 1000,
  );
  exposed.gauge('process_resident_memory_bytes', 'Memory of the server.', () => process.memoryUsage.rss());
  exposed.gauge(
    'nodejs_heap_size_used_bytes',
    'Memory of its JavaScript objects.',
    () => process.memoryUsage().heapUsed,
  );
  if (process.platform !== 'linux') return;
  exposed.gauge(
    'process_open_fds',
    'Descriptors that are open.',
    // one of them was opened to read this
    () => fs.readdirSync('/proc/self/fd').length - 1,
  );
  const limit = descriptorLimit();
  if (!Number.isNaN(limit)) exposed.gauge('process_max_fds', 'Descriptors that may be open.', () => limit);
};

export type Exposition = {
  /** All of it in the Prometheus text format, as of now. */
  scrape(): Promise<{ readonly type: string; readonly body: string }>;
  /** Stops looking at the event loop. */
  close(): void;
};

/** Tells of a server; made at the first scrape. To be closed by whoever made it. */
export const expose = (server: Observed): Exposition => {
  const registry = new Registry();
  const exposed = new Exposed(registry);
  const loop = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS });
  loop.enable();
  exposeServer(exposed, server);
  exposed.gauge(
    'exec_server_event_loop_lag_seconds',
    'How late the event loop was since the last scrape, as quantiles.',
    () => lagOf(loop),
    'quantile',
  );
  exposeProcess(exposed);
  return {
    scrape: async () => ({ type: registry.contentType, body: await registry.metrics() }),
    close: () => loop.disable(),
  };
};
