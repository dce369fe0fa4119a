/** What an observer shows of one text, and of one map: clients choose both as long as they like. */
const MAX_TEXT_LENGTH = 1_000;
const MAX_MAP_KEYS = 100;

/** Who knows the id of a session may take it over. */
const secretKeys: ReadonlySet<string> = new Set(['sessionId', 'resumeSessionId']);

/** The messages that quote a session's id. */
const SESSION_IN_MESSAGE = /^(unknown session id |session )\S+/;

const shortened = (text: string): string =>
  text.length > MAX_TEXT_LENGTH ? `${text.slice(0, MAX_TEXT_LENGTH)}…` : text;

/**
 * What may leave the server of a context, an event or a snapshot: what JSON makes of it, and less. Objects
 * that carry output, input, arguments or an environment say by `toJSON` what can be shown of them; here is
 * the second line, for what nobody thought of. Bytes become their number and maps their keys; ids of sessions
 * are hidden, errors have no more than a name, long texts are cut.
 *
 * The copy has its original's type though members are missing: it is for JSON again, never for this server.
 */
export const redacted = <T>(original: T): T => {
  const text = JSON.stringify(original, function replace(this: unknown, key: string, value: unknown) {
    if (secretKeys.has(key)) return '(hidden)';
    // a Buffer has already been made an array of its bytes: look at what it was
    const before: unknown = typeof this === 'object' && this !== null ? Reflect.get(this, key) : value;
    if (ArrayBuffer.isView(before)) return { byteLength: before.byteLength };
    // the system's errors carry the arguments of what could not be started, messages may quote them
    if (value instanceof Error) return { error: value.name };
    if (value instanceof Map) return { size: value.size, keys: [...value.keys()].slice(0, MAX_MAP_KEYS) };
    if (typeof value === 'bigint') return String(value);
    return typeof value === 'string' ? shortened(value.replace(SESSION_IN_MESSAGE, '$1(hidden)')) : value;
  });
  return JSON.parse(text);
};
