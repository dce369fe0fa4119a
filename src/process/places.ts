/**
 * How many processes may live at a time. Those of a session have places of their own, each of which is one of
 * the server's too. A place is taken from the start until the process has exited and its output is closed, so
 * as long as it may hold a pid or descriptors; one that is retained holds neither.
 */
export class Places {
  #taken = 0;

  /**
   * @param count how many there are
   * @param whenFull what is said to who wants one more
   * @param shared of which each of these takes one
   */
  constructor(
    private readonly count: number,
    private readonly whenFull: string,
    private readonly shared?: Places,
  ) {}

  /** Why no further process may start; undefined: one may. */
  get refusal(): string | undefined {
    return this.#taken < this.count ? this.shared?.refusal : this.whenFull;
  }

  /** Takes one, also where there is none left. The function returned gives it back; calling it again does nothing. */
  take(): () => void {
    const leaveShared = this.shared?.take();
    this.#taken++;
    let isLeft = false;
    return () => {
      if (isLeft) return;
      isLeft = true;
      this.#taken--;
      leaveShared?.();
    };
  }
}
