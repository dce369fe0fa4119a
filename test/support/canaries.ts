import { randomBytes } from 'node:crypto';

/** A text that is nowhere else: whoever finds it has found what it was given to. */
export const canary = (): string => randomBytes(24).toString('hex');

const toBytes = (text: string, write: (byte: number) => string): string =>
  [...Buffer.from(text)].map(write).join('');

const hex = (value: number, digits = 2): string => value.toString(16).padStart(digits, '0');

/** How a text looks inside base64, at each of the three places where it can begin. */
const inBase64 = (text: string): string[] =>
  [0, 1, 2].map((before) => {
    const encoded = Buffer.from('\0'.repeat(before) + text).toString('base64');
    return encoded.slice(before === 0 ? 0 : before + 1, -4);
  });

/** What becomes of a text that is written in another way. (Hexadecimal digits are the same in URLs and JSON.) */
const formsOf = (text: string): Readonly<Record<string, string>> => ({
  plain: text,
  ...Object.fromEntries(inBase64(text).map((encoded, at) => [`base64 at ${at}`, encoded])),
  hexadecimal: toBytes(text, (byte) => hex(byte)),
  'in a URL': toBytes(text, (byte) => `%${hex(byte)}`),
  'in JSON': toBytes(text, (byte) => `\\u${hex(byte, 4)}`),
  'numbers of bytes': [...Buffer.from(text)].join(','),
});

/** Half of a canary is found, too: long texts are cut. */
const partsOf = (text: string): string[] => [text.slice(0, text.length / 2), text.slice(text.length / 2)];

/** The names of those canaries that are in a text, and how they are written there. */
export const foundIn = (text: string, canaries: Readonly<Record<string, string>>): string[] => {
  const ignoringCase = text.toLowerCase();
  return Object.entries(canaries).flatMap(([name, value]) => {
    const forms = partsOf(value).flatMap((part) => Object.entries(formsOf(part)));
    const found = forms.filter(([form, written]) =>
      form.startsWith('base64') ? text.includes(written) : ignoringCase.includes(written.toLowerCase()),
    );
    return [...new Set(found.map(([form]) => `${name}: ${form}`))];
  });
};
