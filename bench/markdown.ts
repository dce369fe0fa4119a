import fs from 'node:fs';

const BEGIN = '<!-- table -->';
const END = '<!-- /table -->';

/** Replaces what is between the markers of a file. Throws if they are not there. */
export const writeBetweenMarkers = (file: string, text: string): void => {
  const before = fs.readFileSync(file, 'utf8');
  const [begin, end] = [before.indexOf(BEGIN), before.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`${file} has no ${BEGIN} … ${END}`);
  const after = `${before.slice(0, begin + BEGIN.length)}\n\n${text}\n\n${before.slice(end)}`;
  fs.writeFileSync(file, after);
};
