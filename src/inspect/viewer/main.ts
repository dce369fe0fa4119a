import type { ServerMessage } from '../messages.js';
import { ChartView, totals } from './chart-view.js';
import { Detail } from './detail.js';
import { el, setText } from './dom.js';
import { Feed } from './feed.js';
import { age } from './format.js';
import { Model } from './model.js';
import { Tree } from './tree.js';

/** Ages tick. */
const TICK_MS = 1_000;

const model = new Model();
let charts: readonly ChartView[] = [];

const status = el('span', { class: 'status', role: 'status' }, 'connecting…');
const server = el('span', { class: 'server' });
const counts = el('span', { class: 'counts' });
const chartPart = el('section', { class: 'charts', 'aria-label': 'Charts' });
const detail = new Detail(model);

const choose = (key: number): void => {
  if (key === model.chosen) return;
  model.choose(key);
  feed.choose(key);
  detail.begin();
  showCharts();
};
const tree = new Tree(model, choose);

const showCharts = (): void => {
  for (const chart of charts) chart.update(model.actors.values(), model.chosenActor);
};

const showActors = (): void => {
  tree.update();
  showCharts();
  detail.update();
  setText(counts, totals(model.alive('connection'), model.alive('process')));
};

const tick = (): void => {
  const { server: known } = model;
  if (known !== undefined) setText(server, `${known.version} · up ${age(Date.now() - known.startedAt)}`);
  if (document.body.dataset['feed'] !== 'live') return;
  tree.update();
  detail.update();
};

const setFeed = (state: 'live' | 'lost' | 'ended', text: string): void => {
  document.body.dataset['feed'] = state;
  setText(status, text);
};

const take = (message: ServerMessage): void => {
  switch (message.type) {
    case 'hello':
      model.hello(message);
      charts = message.charts.map((chart) => new ChartView(chart));
      chartPart.replaceChildren(...charts.map(({ element }) => element));
      showActors();
      break;
    case 'actors':
      model.update(message.changed, message.gone);
      showActors();
      break;
    case 'more':
      if (message.key !== model.chosen) break;
      model.more(message.steps, message.lines, message.missed);
      detail.showMore();
      break;
    case 'output':
      if (message.key === model.chosen) detail.output.show(message.chunks, message.skipped, message.size);
      break;
    case 'end':
      break; // the feed says so when it is closed
  }
};

document.body.append(
  el('a', { class: 'skip', href: '#tree' }, 'To the list of connections and processes'),
  el('header', { class: 'top' }, el('h1', {}, 'exec-server'), server, counts, status),
  el(
    'main',
    {},
    el(
      'nav',
      { id: 'tree', 'aria-label': 'Actors' },
      tree.element,
      el('p', { class: 'empty' }, 'No client is connected.'),
    ),
    chartPart,
    detail.element,
  ),
);
detail.begin();

const feed = new Feed({
  message: take,
  connected: () => {
    setFeed('live', 'live');
    const { chosen } = model;
    if (chosen === undefined) return;
    // after a loss its history is told from the beginning
    model.choose(chosen);
    feed.choose(chosen);
    detail.begin();
  },
  lost: () => setFeed('lost', 'The server is out of reach. Trying again…'),
  ended: () => setFeed('ended', 'The server has ended.'),
});
setInterval(tick, TICK_MS);
