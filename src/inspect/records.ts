import type { ActorRefLike, AnyEventObject, InspectionEvent } from 'xstate';
import { launchOf } from './facts.js';
import { ActorRecord, idOf } from './record.js';
import { redacted } from './redact.js';
import { childrenOf, type Root, type Watcher } from './roots.js';
import { escaped } from './names.js';

/** What has ended is shown for so long, and no more than so many: whoever looks shall see how it ended. */
const KEEP_ENDED_MS = 60_000;
const MAX_ENDED = 300;

/** To make an event fit to be shown takes 10 µs or more: this is what it may cost between two messages to a page. */
const MAX_SUMMARIES = 100;

/** A line is to be read. */
const MAX_SUMMARY_LENGTH = 300;

const PROCESS = 'process:';
const ERROR = 'xstate.error.actor.';

/** `processId=build-1 chunk=5 bytes`: the members of an event, those of its parameters among them. */
const membersOf = (value: object, prefix = ''): string[] =>
  Object.entries(value).flatMap(([key, member]: [string, unknown]) => {
    if (typeof member !== 'object' || member === null) return [`${prefix}${key}=${String(member)}`];
    if ('byteLength' in member) return [`${prefix}${key}=${String(member.byteLength)} bytes`];
    return membersOf(member, key === 'params' ? prefix : `${prefix}${key}.`);
  });

const summaryOf = (event: AnyEventObject): string => {
  const { type: _type, ...rest } = redacted(event);
  return escaped(membersOf(rest).join(' '), MAX_SUMMARY_LENGTH);
};

/**
 * Every connection and process: in which states they are and were, which events they got. Kept for the pages
 * while one looks. What belongs to a helper, as the child of a process, is told with its owner.
 */
export class Records implements Watcher {
  readonly observer = { next: (event: InspectionEvent): void => this.#observe(event) };
  /** Counts what has changed; a page remembers how far it has been told. */
  revision = 0;
  readonly #records = new Map<object, ActorRecord>();
  readonly #helpers = new WeakMap<ActorRefLike, { readonly owner: ActorRecord; readonly name: string }>();
  #summaries = 0;

  /** @param nameOf what people call an actor */
  constructor(private readonly nameOf: (actor: object) => string) {}
  #count = 0;

  get all(): Iterable<ActorRecord> {
    return this.#records.values();
  }

  find(key: number): ActorRecord | undefined {
    return [...this.#records.values()].find((record) => record.key === key);
  }

  root({ actor, name, createdAt }: Root): void {
    const record = this.#add('connection', name, actor, undefined, createdAt);
    record.enter(actor.getSnapshot(), '');
    for (const child of childrenOf(actor)) this.#child(child, record);
  }

  ended({ actor }: Root, crashed: boolean): void {
    const root = this.#records.get(actor);
    if (root === undefined) return;
    root.crashed = crashed;
    for (const record of this.#records.values()) {
      if (record !== root && record.parent !== root) continue;
      record.endedAt ??= Date.now();
      this.#touch(record);
    }
  }

  /** To be called before the pages are told: forgets what ended long ago, and looks who has printed. */
  refresh(): void {
    this.#summaries = 0;
    const ended = [...this.#records.values()].filter(({ endedAt }) => endedAt !== undefined);
    const [young, old] = [ended.slice(-MAX_ENDED), ended.slice(0, -MAX_ENDED)];
    const due = young.filter(({ endedAt = 0 }) => Date.now() - endedAt > KEEP_ENDED_MS);
    for (const { actor } of [...old, ...due]) this.#records.delete(actor);
    if (old.length + due.length > 0) this.revision++;
    for (const record of this.#records.values()) if (record.hasPrinted()) this.#touch(record);
  }

  clear(): void {
    this.#records.clear();
  }

  #observe(event: InspectionEvent): void {
    switch (event.type) {
      case '@xstate.actor':
        this.#born(event.actorRef);
        break;
      case '@xstate.event':
        this.#got(event.actorRef, event.event, event.sourceRef);
        break;
      case '@xstate.snapshot': {
        const record = this.#records.get(event.actorRef);
        if (record?.enter(event.snapshot, event.event.type) === true) this.#touch(record);
        break;
      }
      case '@xstate.action':
      case '@xstate.microstep':
      case '@xstate.transition':
        break; // more than a page tells
    }
  }

  /** An actor comes into being; its parent is known already. */
  #born(actor: ActorRefLike): void {
    const parent: unknown = Reflect.get(actor, '_parent');
    const owner = typeof parent === 'object' && parent !== null ? this.#records.get(parent) : undefined;
    if (owner !== undefined) this.#child(actor, owner);
  }

  #child(actor: ActorRefLike, owner: ActorRecord): void {
    const id = idOf(actor);
    if (!id.startsWith(PROCESS)) {
      this.#helpers.set(actor, { owner, name: id });
      return;
    }
    const snapshot: unknown = actor.getSnapshot();
    const record = this.#add(
      'process',
      this.nameOf(actor),
      actor,
      owner,
      launchOf(snapshot)?.createdAt ?? Date.now(),
    );
    record.enter(snapshot, '');
    for (const child of childrenOf(actor)) this.#child(child, record);
  }

  #got(actor: ActorRefLike, event: AnyEventObject, source: ActorRefLike | undefined): void {
    const helper = this.#helpers.get(actor);
    const record = helper?.owner ?? this.#records.get(actor);
    if (record === undefined) return;
    if (source !== undefined && event.type.startsWith(ERROR)) this.#crashed(source);
    if (event.type === 'process.resize' && record.kind === 'process') {
      const { rows, cols } = event['params'];
      record.size = { rows, cols };
    }
    if (++this.#summaries > MAX_SUMMARIES) record.lines.leaveOut();
    else {
      record.lines.add({
        at: Date.now(),
        type: event.type,
        ...(helper === undefined ? {} : { to: helper.name }),
        summary: summaryOf(event),
      });
    }
    this.#touch(record);
  }

  #crashed(actor: ActorRefLike): void {
    const record = this.#records.get(actor);
    if (record === undefined) return;
    record.crashed = true;
    record.endedAt ??= Date.now();
    this.#touch(record);
  }

  #add(
    kind: ActorRecord['kind'],
    name: string,
    actor: ActorRefLike,
    parent: ActorRecord | undefined,
    bornAt: number,
  ): ActorRecord {
    const record = new ActorRecord(++this.#count, kind, name, actor, parent, bornAt);
    this.#records.set(actor, record);
    this.#touch(record);
    return record;
  }

  #touch(record: ActorRecord): void {
    record.revision = ++this.revision;
  }
}
