/** Clients choose ids as long as they like; a name is to be read. */
const MAX_ID_LENGTH = 100;

/** Control and format characters that JSON leaves as they are: terminals act on some of them. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** How a process's actor is called in its connection (machines/connection.ts). */
const PROCESS = 'process:';

/** A text that a client chose, fit for one line: cut, and without what acts on a terminal or turns text around. */
export const escaped = (text: string, maxLength = MAX_ID_LENGTH): string => {
  const cut = text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
  return JSON.stringify(cut)
    .slice(1, -1)
    .replace(UNPRINTABLE, (character) =>
      // one or two UTF-16 units, as JSON writes them
      character
        .split('')
        .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
        .join(''),
    );
};

const memberOf = (actor: object, member: string): unknown => Reflect.get(actor, member);

const parentOf = (actor: object): object | undefined => {
  const parent = memberOf(actor, '_parent');
  return typeof parent === 'object' && parent !== null ? parent : undefined;
};

/** The actor of the connection to which an actor belongs: itself, or one above it. */
export const rootOf = (actor: object): object => {
  const parent = parentOf(actor);
  return parent === undefined ? actor : rootOf(parent);
};

/**
 * Names for actors that people can read: `connection 3`, `process build-1`, `child of process build-1`,
 * `files of connection 3`. Connections are numbered from 1 in the order in which they are asked about; each
 * actor keeps its name.
 *
 * @param separator between the kind and the number or id of a connection or a process
 */
export const actorNames = (separator: ' ' | ':'): ((actor: object) => string) => {
  const names = new WeakMap<object, string>();
  let connections = 0;

  const newName = (actor: object): string => {
    const parent = parentOf(actor);
    if (parent === undefined) return `connection${separator}${++connections}`;
    const id = String(memberOf(actor, 'id'));
    return id.startsWith(PROCESS)
      ? `process${separator}${escaped(id.slice(PROCESS.length))}`
      : `${escaped(id)} of ${nameOf(parent)}`;
  };
  const nameOf = (actor: object): string => {
    const name = names.get(actor) ?? newName(actor);
    names.set(actor, name);
    return name;
  };
  return nameOf;
};
