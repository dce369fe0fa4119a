import type { Line, Step } from '../messages.js';
import { el } from './dom.js';
import { clock, duration, plural } from './format.js';

/** The states an actor was in, the newest first: since when, for how long, and what led there. */
export class Timeline {
  readonly element = el('ol', { class: 'timeline', 'aria-label': 'State history, the newest first' });

  show(steps: readonly Step[], endedAt: number | null): void {
    const now = Date.now();
    const items = steps.map(({ at, state, by }, index) => {
      const until = steps[index + 1]?.at ?? endedAt;
      const how = by === '' ? 'since it is watched, or longer' : `by ${by}`;
      return el(
        'li',
        { class: until === null ? 'present' : 'past' },
        el('strong', {}, state),
        el('span', { class: 'span' }, duration((until ?? now) - at)),
        el('span', { class: 'by' }, how),
        el('time', {}, clock(at)),
      );
    });
    this.element.replaceChildren(...items.toReversed());
  }
}

/** The events an actor got, the newest first. */
export class EventLog {
  readonly #body = el('tbody');
  readonly #missed = el('p', { class: 'missed', role: 'status' });
  readonly element = el(
    'div',
    { class: 'event-log' },
    this.#missed,
    el(
      'div',
      { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Events, the newest first' },
      el(
        'table',
        {},
        el(
          'thead',
          {},
          el(
            'tr',
            {},
            ...['Time', 'Event', 'What may be shown of it'].map((head) => el('th', { scope: 'col' }, head)),
          ),
        ),
        this.#body,
      ),
    ),
  );

  show(lines: readonly Line[], missed: number): void {
    this.#missed.hidden = missed === 0;
    this.#missed.textContent =
      missed === 0
        ? ''
        : `${plural(missed, 'event')} left out: too many came at once, or they are older than what is kept.`;
    this.#body.replaceChildren(
      ...lines
        .toReversed()
        .map(({ at, type, to, summary }) =>
          el(
            'tr',
            {},
            el('td', {}, el('time', {}, clock(at))),
            el(
              'td',
              { class: 'type' },
              ...(to === undefined ? [] : [el('span', { class: 'to' }, `to ${to}: `)]),
              type,
            ),
            el('td', { class: 'summary' }, summary),
          ),
        ),
    );
  }
}
