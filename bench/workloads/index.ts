import { clientWorkloads } from './clients.js';
import { echoWorkloads } from './echo.js';
import { outputWorkloads } from './output.js';
import { processWorkloads } from './processes.js';
import type { Workload } from './workload.js';

/** All of them, in the order of the report. */
export const workloads: ReadonlyMap<string, Workload> = new Map(
  Object.entries({ ...outputWorkloads, ...echoWorkloads, ...processWorkloads, ...clientWorkloads }),
);
