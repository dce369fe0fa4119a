import { type ActorRefLike, type InspectionEvent, isMachineSnapshot, type StateValue } from 'xstate';
import { factsOf, outputOf } from './facts.js';
import type { ActorKind, ActorSummary, Line, Step } from './messages.js';
import { Tail } from './tail.js';
import { stateName } from './trace.js';

/** Kept of each actor, for a page that chooses it later. */
const MAX_STEPS = 200;
const MAX_LINES = 200;

/** `{ open: 'ready' }` → `open`, `open.ready` */
const pathsOf = (value: StateValue, prefix = ''): string[] =>
  typeof value === 'string'
    ? [`${prefix}${value}`]
    : Object.entries(value).flatMap(([key, inner]) =>
        inner === undefined ? [] : [`${prefix}${key}`, ...pathsOf(inner, `${prefix}${key}.`)],
      );

/** What is kept of one actor for the pages. */
export class ActorRecord {
  readonly steps = new Tail<Step>(MAX_STEPS);
  readonly lines = new Tail<Line>(MAX_LINES);
  endedAt: number | undefined;
  crashed = false;
  /** Of its terminal, since it was resized. */
  size: { readonly rows: number; readonly cols: number } | undefined;
  /** When the pages have to be told of it again. */
  revision = 0;
  #state = '';
  #value: StateValue | undefined;
  #states: readonly string[] = [];
  #outputSeq = 0;

  constructor(
    readonly key: number,
    readonly kind: ActorKind,
    readonly name: string,
    readonly actor: ActorRefLike,
    readonly parent: ActorRecord | undefined,
    public bornAt: number,
  ) {}

  /** True if it is in another state than before. */
  enter(snapshot: unknown, by: string): boolean {
    if (!isMachineSnapshot(snapshot)) return false;
    // most events change no state, and most of those not even the object that names it
    if (snapshot.value === this.#value) return false;
    this.#value = snapshot.value;
    const state = stateName(snapshot);
    if (state === this.#state) return false;
    this.#state = state;
    this.#states = pathsOf(snapshot.value);
    this.steps.add({ at: Date.now(), state, by });
    if (snapshot.status === 'done') this.endedAt ??= Date.now();
    return true;
  }

  /** True if it has printed something since the last time. */
  hasPrinted(): boolean {
    if (this.kind !== 'process' || this.endedAt !== undefined) return false;
    const seq = outputOf(this.actor.getSnapshot())?.nextSeq ?? 0;
    if (seq === this.#outputSeq) return false;
    this.#outputSeq = seq;
    return true;
  }

  summary(): ActorSummary {
    return {
      key: this.key,
      parent: this.parent?.key ?? null,
      kind: this.kind,
      name: this.name,
      states: this.#states,
      state: this.#state,
      bornAt: this.bornAt,
      endedAt: this.endedAt ?? null,
      crashed: this.crashed,
      events: this.lines.count,
      facts: factsOf(this.actor.getSnapshot()),
    };
  }
}

/** A name of an actor that XState gives, if it has one. */
export const idOf = (actor: InspectionEvent['actorRef']): string => ('id' in actor ? String(actor.id) : '');
