const ESC = '\x1b';

/**
 * What programs switch on and off in a terminal, and what undoes it. Modes that aren't here (the shape of the
 * cursor, the title) do no harm to the shell that comes next.
 *
 * ESC [ ? modes h/l: private modes; ESC [ > 4 ; n m: xterm's modifyOtherKeys; ESC [ > n u: kitty's keyboard;
 * ESC [ top ; bottom r: scrolling region; ESC =: application keypad.
 */
const SEQUENCE = new RegExp(
  ESC + String.raw`(?:\[\?(?<modes>[\d;]+)(?<set>[hl])|\[(?<other>>4;[1-9]m|>\d+u|\d+;\d+r)|(?<keypad>=))`,
  'g',
);

/** Private modes that matter, and whether they are on in a terminal at rest. */
const PRIVATE_MODES: ReadonlyMap<string, boolean> = new Map([
  ['1', false], // application cursor keys
  ['6', false], // origin at the scrolling region
  ['7', true], // wrapping
  ['9', false], // mouse, and the next five
  ['1000', false],
  ['1002', false],
  ['1003', false],
  ['1005', false],
  ['1006', false],
  ['1015', false],
  ['1004', false], // focus
  ['2004', false], // bracketed paste
  ['2026', false], // synchronised output
  ['25', true], // the cursor is visible
  ['47', false], // the other screen, in its three forms
  ['1047', false],
  ['1049', false],
]);

/** The longest sequence that may be cut in two by chunks; a longer one is no mode. */
const MAX_SEQUENCE = 64;

/** Follows which modes a program leaves a terminal in, so that they can be undone if it doesn't get to. */
export class ScreenModes {
  readonly #changed = new Set<string>();
  readonly #others = new Set<string>();
  #rest = '';

  /** Output for the terminal, in order. */
  follow(data: Uint8Array): void {
    const text = this.#rest + Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('latin1');
    let end = 0;
    for (const { 0: sequence, index, groups } of text.matchAll(SEQUENCE)) {
      end = index + sequence.length;
      const { modes, set, other, keypad } = groups ?? {};
      if (modes !== undefined) for (const mode of modes.split(';')) this.#set(mode, set === 'h');
      else this.#others.add(keypad ?? other?.at(-1) ?? '');
    }
    const escape = text.lastIndexOf(ESC);
    this.#rest = escape >= end && text.length - escape < MAX_SEQUENCE ? text.slice(escape) : '';
  }

  /** What the terminal must be sent to be as before. */
  undo(): string {
    const undone: string[] = [];
    if (this.#others.has('m')) undone.push('\x1b[>4m');
    if (this.#others.has('u')) undone.push('\x1b[<9u');
    if (this.#others.has('=')) undone.push('\x1b>');
    // it moves the cursor
    if (this.#others.has('r')) undone.push('\x1b7\x1b[r\x1b8');
    // the other screen last, for each has its own cursor
    for (const [mode, on] of PRIVATE_MODES) {
      if (this.#changed.has(mode)) undone.push(`\x1b[?${mode}${on ? 'h' : 'l'}`);
    }
    // colours
    undone.push('\x1b[0m');
    return undone.join('');
  }

  #set(mode: string, on: boolean): void {
    const rest = PRIVATE_MODES.get(mode);
    if (rest === undefined) return;
    if (on === rest) this.#changed.delete(mode);
    else this.#changed.add(mode);
  }
}
