const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** The next character that is no white space. */
const SOLID = /\S/g;

/** The index of the quote that ends the string which opens at `start`; the end of the text if none does. */
const closingQuote = (json: string, start: number): number => {
  for (let at = json.indexOf('"', start + 1); at >= 0; at = json.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (json.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return at;
  }
  return json.length;
};

const isEmpty = (json: string, open: number): boolean => {
  SOLID.lastIndex = open + 1;
  const next = json.charCodeAt(SOLID.exec(json)?.index ?? json.length);
  return next === CLOSE_LIST || next === CLOSE_OBJECT;
};

/**
 * Would this text become more than `max` values? Asked before JSON.parse makes them: two characters may
 * become an array of 16 bytes and more. Text that is no JSON gets either answer.
 */
export const hasMoreValues = (json: string, max: number): boolean => {
  // each value needs a character, and one that sets it apart
  if (json.length <= 2 * max) return false;
  let values = 1;
  for (let at = 0; at < json.length && values <= max; at++) {
    switch (json.charCodeAt(at)) {
      case QUOTE:
        at = closingQuote(json, at);
        break;
      case COMMA:
        values++;
        break;
      case OPEN_LIST:
      case OPEN_OBJECT:
        if (!isEmpty(json, at)) values++;
        break;
      default:
    }
  }
  return values > max;
};
