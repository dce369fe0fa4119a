import fs from 'node:fs';
import { expect } from 'chai';
import { type AnyStateNode, createMachine } from 'xstate';
import { connectionMachine } from '../machines/connection.js';
import { processMachine } from '../machines/process.js';
import type { ProcessSummary } from '../src/protocol.js';
import { mermaid } from './support/mermaid.js';

/** What may stand between `<!-- diagram:NAME -->` and `<!-- /diagram -->`. */
const diagrams: ReadonlyMap<string, string> = new Map(
  [connectionMachine, processMachine].map((machine) => [machine.id, mermaid(machine)]),
);

const MARKED = /<!-- diagram:(\w+) -->.*?<!-- \/diagram -->/gs;

/** The document with every diagram as it is generated now. */
const refreshed = (text: string): string =>
  text.replaceAll(MARKED, (_marked, name: string) => {
    const diagram = diagrams.get(name);
    if (diagram === undefined) throw new Error(`there is no machine «${name}»`);
    return `<!-- diagram:${name} -->\n\n\`\`\`mermaid\n${diagram}\n\`\`\`\n\n<!-- /diagram -->`;
  });

const project = new URL('../', import.meta.url);
const documents = [
  'README.md',
  ...fs
    .readdirSync(new URL('docs', project))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

describe('the diagrams', () => {
  for (const name of documents) {
    it(`in ${name} are those of the machines`, () => {
      const file = new URL(name, project);
      const text = fs.readFileSync(file, 'utf8');
      if (process.env['UPDATE_DIAGRAMS'] === '1') fs.writeFileSync(file, refreshed(text));
      expect(fs.readFileSync(file, 'utf8'), 'UPDATE_DIAGRAMS=1 rewrites it').to.equal(refreshed(text));
    });
  }

  it('are in README.md, one for each machine', () => {
    const text = fs.readFileSync(new URL('README.md', project), 'utf8');
    expect([...text.matchAll(MARKED)].map(([, name]) => name)).to.deep.equal([...diagrams.keys()]);
  });
});

/** Is there a transition from a state, or one inside it, to another or one inside that? */
const leadsTo = (from: AnyStateNode, to: AnyStateNode): boolean =>
  [...from.transitions.values()]
    .flat()
    .some(({ target = [] }) => target.some(({ path }) => isIn(path, to))) ||
  Object.values(from.states).some((inner) => leadsTo(inner, to));

const isIn = (path: readonly string[], { path: outer }: AnyStateNode): boolean =>
  outer.every((key, at) => path[at] === key);

describe('the line of states in docs/protocol.md', () => {
  it('goes from state to state of the chart, all that process/list tells and the end', () => {
    const text = fs.readFileSync(new URL('docs/protocol.md', project), 'utf8');
    const names = (/^ +(starting ──► .*)$/m.exec(text)?.[1] ?? '').replaceAll(/[()]/g, '').split(' ──► ');
    const told: readonly ProcessSummary['state'][] = ['starting', 'running', 'exited', 'retained'];
    expect(names).to.deep.equal([...told, 'evicted']);
    const { live, evicted } = processMachine.root.states;
    const states = names.map((name) => (name === 'evicted' ? evicted : live?.states[name]));
    for (const [at, to] of states.entries()) {
      const from = states[at - 1];
      expect(to, names[at]).to.not.equal(undefined);
      if (from !== undefined && to !== undefined) {
        expect(leadsTo(from, to), `${from.key} to ${to.key}`).to.equal(true);
      }
    }
  });
});

describe('mermaid', () => {
  it('draws nesting, guards, delays, ends and arrows that leave a state from inside', () => {
    const machine = createMachine({
      id: 'lamp',
      initial: 'off',
      states: {
        off: { on: { press: [{ guard: 'isBroken', target: 'dead' }, { target: 'on' }], look: {} } },
        on: {
          initial: 'dim',
          on: { press: 'off', full: '.bright' },
          states: { dim: { after: { 500: 'bright' } }, bright: { on: { burst: '#lamp.dead' } } },
        },
        dead: { type: 'final' },
      },
    });
    expect(mermaid(machine).split('\n')).to.deep.equal([
      'stateDiagram-v2',
      '  [*] --> off',
      '  off',
      '  state on {',
      '    [*] --> dim',
      '    dim',
      '    bright',
      '    dim --> bright: full, after 500',
      '    bright --> bright: full',
      '  }',
      '  dead',
      '  off --> dead: press [isBroken]',
      '  off --> on: press [not isBroken]',
      '  on --> off: press',
      '  bright --> dead: burst',
      '  dead --> [*]',
    ]);
  });

  it('refuses two states of one name', () => {
    const machine = createMachine({
      id: 'twins',
      initial: 'a',
      states: { a: { initial: 'b', states: { b: {} } }, b: {} },
    });
    expect(() => mermaid(machine)).to.throw('two states of twins share a name');
  });
});
