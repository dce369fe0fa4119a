/** Carries messages. Those that come are given as a part of a buffer, which is used again after the call. */
export interface Transport {
  onMessage: (buffer: Buffer, start: number, end: number) => void;
  onClose: (reason: Error) => void;
  send(text: string): void;
  /** Stops and resumes reading. */
  pause(): void;
  resume(): void;
  /** Resolves when nothing comes any more. */
  close(): Promise<void>;
}
