import type { ActorSummary } from '../messages.js';
import { el, setText } from './dom.js';
import { age, bytes, plural } from './format.js';
import type { Model } from './model.js';

type Row = {
  readonly item: HTMLElement;
  readonly row: HTMLElement;
  readonly state: HTMLElement;
  readonly note: HTMLElement;
  readonly group: HTMLElement;
};

/** What is told beside the state. */
const noteOf = ({ kind, facts, bornAt, endedAt, key }: ActorSummary, model: Model, now: number): string => {
  const parts = [endedAt === null ? age(now - bornAt) : `ended ${age(now - endedAt)} ago`];
  if (kind === 'connection') {
    if (facts.client !== undefined) parts.unshift(facts.client);
    parts.push(
      plural(
        model.processesOf(key).filter((process) => process.endedAt === null).length,
        'process',
        'processes',
      ),
    );
  } else {
    if (facts.pid !== undefined) parts.push(`pid ${facts.pid}`);
    if (facts.exitCode !== undefined) parts.push(`exit ${facts.exitCode}`);
    if ((facts.outputBytes ?? 0) > 0) parts.push(bytes(facts.outputBytes ?? 0));
  }
  return parts.join(' · ');
};

/**
 * The live tree. One row is in the tab order; arrows, Home and End go from row to row, and the row they come to is
 * chosen. Left closes a connection or goes up to it, Right opens it or goes into it.
 */
export class Tree {
  readonly element = el('ul', { role: 'tree', 'aria-label': 'Connections and processes' });
  readonly #rows = new Map<number, Row>();
  readonly #closed = new Set<number>();

  constructor(
    private readonly model: Model,
    private readonly choose: (key: number) => void,
  ) {
    this.element.addEventListener('keydown', (event) => this.#key(event));
    this.element.addEventListener('click', ({ target }) => {
      const key =
        target instanceof Element ? target.closest('[role=treeitem]')?.getAttribute('data-key') : null;
      if (key != null) this.#go(Number(key));
    });
  }

  /** Called when something has changed, and once a second for the ages. */
  update(): void {
    const now = Date.now();
    const seen = new Set<number>();
    const put = (parent: HTMLElement, actors: readonly ActorSummary[], level: number): void => {
      for (const [at, actor] of actors.entries()) {
        seen.add(actor.key);
        const row = this.#rows.get(actor.key) ?? this.#create(actor, level);
        if (parent.children[at] !== row.item) parent.insertBefore(row.item, parent.children[at] ?? null);
        this.#show(row, actor, now);
        if (level === 1) put(row.group, this.model.processesOf(actor.key), 2);
      }
    };
    put(this.element, this.model.connections(), 1);
    for (const [key, { item }] of this.#rows) {
      if (seen.has(key)) continue;
      item.remove();
      this.#rows.delete(key);
    }
    const tabStop = this.#visible().find(([key]) => key === this.model.chosen) ?? this.#visible()[0];
    for (const [key, { item }] of this.#rows) item.tabIndex = key === tabStop?.[0] ? 0 : -1;
  }

  #create({ key, kind, name }: ActorSummary, level: number): Row {
    const state = el('span', { class: 'chip' });
    const note = el('span', { class: 'note' });
    const row = el('div', { class: 'row' }, el('span', { class: 'actor-name' }, name), state, note);
    const group = el('ul', { role: 'group' });
    const item = el(
      'li',
      {
        role: 'treeitem',
        'data-key': key,
        'data-kind': kind,
        'aria-level': level,
        'aria-label': name,
        tabindex: -1,
      },
      row,
      ...(level === 1 ? [group] : []),
    );
    const created = { item, row, state, note, group };
    this.#rows.set(key, created);
    return created;
  }

  #show({ item, state, note, group }: Row, actor: ActorSummary, now: number): void {
    const { key, kind, name, crashed, endedAt } = actor;
    const word = crashed ? 'crashed' : actor.state;
    setText(state, word);
    setText(note, noteOf(actor, this.model, now));
    item.classList.toggle('ended', endedAt !== null);
    item.classList.toggle('crashed', crashed);
    item.setAttribute('aria-selected', String(key === this.model.chosen));
    item.setAttribute('aria-label', `${name}, ${word}`);
    if (kind !== 'connection') return;
    const isClosed = this.#closed.has(key);
    group.hidden = isClosed;
    if (group.children.length > 0 || isClosed) item.setAttribute('aria-expanded', String(!isClosed));
  }

  /** The rows that can be seen, in the order of the page. */
  #visible(): (readonly [number, HTMLElement])[] {
    return this.model.connections().flatMap(({ key }) =>
      [
        key,
        ...(this.#closed.has(key) ? [] : this.model.processesOf(key).map((process) => process.key)),
      ].flatMap((shown) => {
        const item = this.#rows.get(shown)?.item;
        return item === undefined ? [] : [[shown, item] as const];
      }),
    );
  }

  #go(key: number | undefined): void {
    if (key === undefined) return;
    this.choose(key);
    this.update();
    this.#rows.get(key)?.item.focus();
  }

  #key(event: KeyboardEvent): void {
    const visible = this.#visible().map(([key]) => key);
    const focused = Number(document.activeElement?.getAttribute('data-key'));
    const at = visible.indexOf(focused);
    const actor = this.model.actors.get(focused);
    const isConnection = actor?.kind === 'connection';
    switch (event.key) {
      case 'ArrowDown':
        this.#go(visible[Math.min(at + 1, visible.length - 1)]);
        break;
      case 'ArrowUp':
        this.#go(visible[Math.max(at - 1, 0)]);
        break;
      case 'Home':
        this.#go(visible[0]);
        break;
      case 'End':
        this.#go(visible.at(-1));
        break;
      case 'ArrowRight':
        if (isConnection && this.#closed.delete(focused)) this.update();
        else if (isConnection) this.#go(this.model.processesOf(focused)[0]?.key);
        break;
      case 'ArrowLeft':
        if (isConnection) {
          this.#closed.add(focused);
          this.update();
        } else this.#go(actor?.parent ?? undefined);
        break;
      case 'Enter':
      case ' ':
        this.#go(focused);
        break;
      default:
        return;
    }
    event.preventDefault();
  }
}
