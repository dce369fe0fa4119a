import { type ITheme, Terminal } from '@xterm/xterm';
import type { OutputChunk } from '../messages.js';
import { el } from './dom.js';
import { bytes } from './format.js';

/** As much as a terminal keeps above its screen. */
const SCROLLBACK = 5_000;

/** Output without a terminal is shown in one of this size. */
const PIPE_SIZE = { rows: 16, cols: 100 };

const light: ITheme = {
  background: '#fbfbfc',
  foreground: '#1c2230',
  cursor: '#1c2230',
  selectionBackground: '#bcd3f5',
  black: '#1c2230',
  red: '#b3261e',
  green: '#1a6e3c',
  yellow: '#7d5700',
  blue: '#1f5fb8',
  magenta: '#8b3a8f',
  cyan: '#0b6b7a',
  white: '#5b6475',
  brightBlack: '#5b6475',
  brightRed: '#b3261e',
  brightGreen: '#1a6e3c',
  brightYellow: '#7d5700',
  brightBlue: '#1f5fb8',
  brightMagenta: '#8b3a8f',
  brightCyan: '#0b6b7a',
  brightWhite: '#1c2230',
};
const dark: ITheme = {
  background: '#0d1119',
  foreground: '#dde3ee',
  cursor: '#dde3ee',
  selectionBackground: '#34507a',
};

const RED = '\x1b[31m';
const DEFAULT = '\x1b[39m';

const decoded = (base64: string): Uint8Array => Uint8Array.from(atob(base64), (unit) => unit.charCodeAt(0));

/** The terminal makes style elements of its own: the policy of the page takes those with its nonce. */
const allowStyles = (): void => {
  const nonce = document.querySelector('script')?.nonce ?? '';
  const create = document.createElement.bind(document);
  document.createElement = (tag: string, options?: ElementCreationOptions) => {
    const element = create(tag, options);
    if (tag === 'style') element.nonce = nonce;
    return element;
  };
};
allowStyles();

/** What a process printed, in a terminal that takes no input. */
export class Output {
  readonly #screen = el('div', { class: 'screen' });
  readonly #note = el('p', { class: 'note', role: 'status' });
  readonly element = el('div', { class: 'output' }, this.#note, this.#screen);
  readonly #dark = matchMedia('(prefers-color-scheme: dark)');
  #terminal: Terminal | undefined;
  #skipped = 0;

  constructor() {
    this.#dark.addEventListener('change', () => {
      if (this.#terminal !== undefined) this.#terminal.options.theme = this.#theme;
    });
  }

  /** Begins with an empty screen, for another process. */
  clear(isTerminal: boolean): void {
    this.#terminal?.dispose();
    this.#skipped = 0;
    this.#note.textContent = isTerminal ? '' : 'stdout as it is, stderr in red.';
    this.#terminal = new Terminal({
      ...PIPE_SIZE,
      convertEol: !isTerminal,
      disableStdin: true,
      cursorInactiveStyle: 'none',
      fontFamily: 'ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace',
      fontSize: 12,
      screenReaderMode: true,
      scrollback: SCROLLBACK,
      theme: this.#theme,
      // no link of a program's output leads out of this page
      linkHandler: { activate: () => undefined },
    });
    this.#terminal.open(this.#screen);
    this.#terminal.textarea?.setAttribute('aria-label', 'Output of the process, read only');
  }

  show(
    chunks: readonly OutputChunk[],
    skipped: number,
    size: { readonly rows: number; readonly cols: number } | null,
  ): void {
    const terminal = this.#terminal;
    if (terminal === undefined) return;
    const { rows, cols } = size ?? PIPE_SIZE;
    if (terminal.rows !== rows || terminal.cols !== cols) terminal.resize(cols, rows);
    this.#skipped += skipped;
    if (this.#skipped > 0)
      this.#note.textContent = `${bytes(this.#skipped)} of its output are not retained, and not shown.`;
    for (const { stream, base64 } of chunks) {
      if (stream === 'stderr') terminal.write(RED);
      terminal.write(decoded(base64));
      if (stream === 'stderr') terminal.write(DEFAULT);
    }
  }

  get #theme(): ITheme {
    return this.#dark.matches ? dark : light;
  }
}
