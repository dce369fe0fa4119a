import type { Log } from '../log.js';
import type { Exposition, Observed } from './prometheus.js';

/** What GET /metrics answers. prom-client is loaded when it is asked for: it takes 40 ms. */
export class MetricsPage {
  #exposition: Promise<Exposition> | undefined;

  constructor(
    private readonly server: Observed,
    private readonly log: Log,
  ) {}

  /** Rejects with what went wrong, which is logged here. */
  async scrape(): ReturnType<Exposition['scrape']> {
    try {
      this.#exposition ??= import('./prometheus.js').then(({ expose }) => expose(this.server));
      return await (await this.#exposition).scrape();
    } catch (error) {
      this.log.error({ err: error }, 'the metrics could not be told');
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#exposition?.then(
      (exposition) => exposition.close(),
      () => undefined, // it could not be loaded: that was logged
    );
  }
}
