import type { ActorSummary, Chart, ChartState } from '../messages.js';
import { el, setText } from './dom.js';
import { age, bytes } from './format.js';
import { EventLog, Timeline } from './history.js';
import type { Model } from './model.js';
import { Output } from './terminal.js';

const find = (states: readonly ChartState[], id: string | undefined): ChartState | undefined =>
  states
    .map((state) => (state.id === id ? state : find(state.states, id)))
    .find((state) => state !== undefined);

const proseOf = (charts: readonly Chart[], { kind, states, crashed }: ActorSummary): string => {
  if (crashed)
    return 'This actor threw an error. Its requests were answered with an error, and all that it ran is ended.';
  const chart = charts.find(({ name }) => name === kind);
  return find(chart?.states ?? [], states.at(-1))?.description ?? '';
};

/** Label and value. */
const factsOf = ({ kind, facts, bornAt, endedAt, events }: ActorSummary): (readonly [string, string])[] => {
  const shown: (readonly [string, string | undefined])[] = [
    ['Age', age((endedAt ?? Date.now()) - bornAt)],
    ['Client', facts.client],
    ['Can resume', facts.resumable === undefined ? undefined : facts.resumable ? 'yes' : 'no'],
    ['Program', facts.program],
    ['Directory', facts.cwd],
    [
      'Environment',
      facts.environmentNames === undefined
        ? undefined
        : `${facts.environmentNames} names (values are never shown)`,
    ],
    ['Streams', kind === 'connection' ? undefined : facts.terminal === true ? 'terminal' : 'pipes'],
    ['Pid', facts.pid?.toString()],
    ['Exit code', facts.exitCode?.toString()],
    ['Output', facts.outputBytes === undefined ? undefined : bytes(facts.outputBytes)],
    ['No longer retained', (facts.droppedBytes ?? 0) === 0 ? undefined : bytes(facts.droppedBytes ?? 0)],
    ['Events seen', events.toString()],
  ];
  return shown.flatMap(([label, value]) => (value === undefined ? [] : [[label, value] as const]));
};

/** All of the chosen actor. */
export class Detail {
  readonly #name = el('h2', { id: 'detail-name' });
  readonly #state = el('span', { class: 'chip' });
  readonly #prose = el('p', { class: 'prose' });
  readonly #facts = el('dl', { class: 'facts' });
  readonly #timeline = new Timeline();
  readonly #log = new EventLog();
  readonly output = new Output();
  readonly #outputPart = el('section', { class: 'output-part' }, el('h3', {}, 'Output'), this.output.element);
  readonly element = el(
    'section',
    { class: 'detail', 'aria-labelledby': 'detail-name' },
    el('header', {}, el('div', { class: 'title' }, this.#name, this.#state), this.#prose, this.#facts),
    el('section', { class: 'history-part' }, el('h3', {}, 'State history'), this.#timeline.element),
    el('section', { class: 'events-part' }, el('h3', {}, 'Events'), this.#log.element),
    this.#outputPart,
  );

  constructor(private readonly model: Model) {}

  /** Another actor was chosen. */
  begin(): void {
    const actor = this.model.chosenActor;
    this.#outputPart.hidden = actor?.kind !== 'process';
    if (actor?.kind === 'process') this.output.clear(actor.facts.terminal === true);
    this.showMore();
  }

  update(): void {
    const actor = this.model.chosenActor;
    this.element.classList.toggle('nobody', actor === undefined);
    if (actor === undefined) {
      setText(this.#name, 'Nothing chosen');
      setText(
        this.#prose,
        'Choose a connection or a process in the list: its history, its events and its output come here.',
      );
      setText(this.#state, '');
      this.#facts.replaceChildren();
      return;
    }
    setText(this.#name, actor.name);
    setText(this.#state, actor.crashed ? 'crashed' : actor.state);
    this.#state.classList.toggle('crashed', actor.crashed);
    this.#state.classList.toggle('ended', actor.endedAt !== null && !actor.crashed);
    setText(this.#prose, proseOf(this.model.charts, actor));
    this.#facts.replaceChildren(
      ...factsOf(actor).map(([label, value]) => el('div', {}, el('dt', {}, label), el('dd', {}, value))),
    );
    this.#timeline.show(this.model.steps, actor.endedAt);
  }

  /** There are more steps or events of it. */
  showMore(): void {
    this.#log.show(this.model.lines, this.model.missed);
    this.update();
  }
}
