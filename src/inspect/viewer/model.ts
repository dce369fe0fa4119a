import type { ActorKind, ActorSummary, Chart, Line, ServerMessage, Step } from '../messages.js';

/** Kept here of the chosen actor. */
const MAX_KEPT = 500;

type Hello = Extract<ServerMessage, { type: 'hello' }>;

/** What the page knows. */
export class Model {
  server: Pick<Hello, 'version' | 'startedAt'> | undefined;
  charts: readonly Chart[] = [];
  readonly actors = new Map<number, ActorSummary>();
  chosen: number | undefined;
  steps: Step[] = [];
  lines: Line[] = [];
  /** Events of the chosen actor that are not among its lines. */
  missed = 0;

  hello({ version, startedAt, charts }: Hello): void {
    this.server = { version, startedAt };
    this.charts = charts;
    this.actors.clear();
  }

  update(changed: readonly ActorSummary[], gone: readonly number[]): void {
    for (const actor of changed) this.actors.set(actor.key, actor);
    for (const key of gone) this.actors.delete(key);
  }

  choose(key: number | undefined): void {
    this.chosen = key;
    this.steps = [];
    this.lines = [];
    this.missed = 0;
  }

  more(steps: readonly Step[], lines: readonly Line[], missed: number): void {
    this.steps = [...this.steps, ...steps].slice(-MAX_KEPT);
    this.lines = [...this.lines, ...lines].slice(-MAX_KEPT);
    this.missed += missed;
  }

  get chosenActor(): ActorSummary | undefined {
    return this.chosen === undefined ? undefined : this.actors.get(this.chosen);
  }

  /** In the order in which they came. */
  connections(): ActorSummary[] {
    return this.#sorted().filter(({ kind }) => kind === 'connection');
  }

  processesOf(connection: number): ActorSummary[] {
    return this.#sorted().filter(({ parent }) => parent === connection);
  }

  alive(kind: ActorKind): number {
    return [...this.actors.values()].filter((actor) => actor.kind === kind && actor.endedAt === null).length;
  }

  #sorted(): ActorSummary[] {
    return [...this.actors.values()].toSorted((a, b) => a.key - b.key);
  }
}
