const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A duration in one unit, or two: `340 ms`, `12 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`. */
export const duration = (ms: number): string => {
  if (ms < SECOND) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 10 * SECOND) return `${(ms / SECOND).toFixed(1)} s`;
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`;
  const two = (large: number, largeUnit: string, small: number, smallUnit: string): string => {
    const rest = Math.floor((ms % large) / small);
    return `${Math.floor(ms / large)} ${largeUnit}${rest === 0 ? '' : ` ${rest} ${smallUnit}`}`;
  };
  if (ms < HOUR) return two(MINUTE, 'min', SECOND, 's');
  if (ms < DAY) return two(HOUR, 'h', MINUTE, 'min');
  return two(DAY, 'd', HOUR, 'h');
};

/** An age that is seen to tick: no finer than a second. */
export const age = (ms: number): string =>
  ms < 10 * SECOND ? `${Math.max(0, Math.floor(ms / SECOND))} s` : duration(ms);

export const bytes = (count: number): string => {
  if (count < 1024) return `${count} B`;
  const units = ['KiB', 'MiB', 'GiB', 'TiB'];
  const power = Math.min(units.length, Math.floor(Math.log2(count) / 10));
  const value = count / 1024 ** power;
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[power - 1] ?? ''}`;
};

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`;

const digits = (value: number, length = 2): string => String(value).padStart(length, '0');

/** `14:03:07.120` */
export const clock = (at: number): string => {
  const date = new Date(at);
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => digits(part)).join(':');
  return `${time}.${digits(date.getMilliseconds(), 3)}`;
};
