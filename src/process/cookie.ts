import { randomBytes } from 'node:crypto';

/** The one variable that is added to a child's environment, and only where the server sweeps. */
export const COOKIE_NAME = 'EXEC_SERVER_PROCESS';

const hex = (value: number, digits: number): string =>
  value.toString(16).padStart(digits, '0').slice(-digits);

/**
 * Cookies are UUIDs (v4 by their shape) that begin alike: first the digits of the server, which are random,
 * then those of the session, then those of the process. So all processes of a session or a server are known by
 * a prefix, and none that was ever started has to be remembered.
 */
export class Cookies {
  /** What every cookie of this server begins with. */
  readonly server: string;
  #sessions = 0;

  constructor() {
    const random = randomBytes(6).toString('hex');
    this.server = `${random.slice(0, 8)}-${random.slice(8)}-`;
  }

  /** Makes the cookies of one more session. The numbers begin anew after 16 million. */
  session(): SessionCookies {
    const number = hex(this.#sessions++, 6);
    return new SessionCookies(`${this.server}4${number.slice(0, 3)}-8${number.slice(3)}-`);
  }
}

export class SessionCookies {
  #processes = 0;

  /** @param prefix what every cookie of this session begins with */
  constructor(readonly prefix: string) {}

  next(): string {
    return `${this.prefix}${hex(this.#processes++, 12)}`;
  }
}
