/** What the server tells its own page, by one WebSocket: types alone, for both sides. */

export type ChartState = {
  /** Its path in the chart: `live.exited.draining`. */
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly final: boolean;
  /** In the order of the chart; the first one is the initial one. Empty: no compound state. */
  readonly states: readonly ChartState[];
};

/** All transitions between the same two states. */
export type ChartArrow = { readonly from: string; readonly to: string; readonly labels: readonly string[] };

export type Chart = {
  readonly name: ActorKind;
  readonly description: string;
  readonly states: readonly ChartState[];
  readonly arrows: readonly ChartArrow[];
};

export type ActorKind = 'connection' | 'process';

/** All times are milliseconds since 1970. */
export type ActorSummary = {
  readonly key: number;
  /** The connection of a process. */
  readonly parent: number | null;
  readonly kind: ActorKind;
  readonly name: string;
  /** The states it is in, outermost first, as a chart names them. */
  readonly states: readonly string[];
  /** The same in one word. */
  readonly state: string;
  readonly bornAt: number;
  readonly endedAt: number | null;
  readonly crashed: boolean;
  /** Events that it got while somebody looked. */
  readonly events: number;
  readonly facts: Facts;
};

/** What is known of an actor, besides. */
export type Facts = {
  readonly client?: string;
  readonly resumable?: boolean;
  readonly program?: string;
  readonly cwd?: string;
  readonly environmentNames?: number;
  readonly terminal?: boolean;
  readonly pid?: number;
  readonly exitCode?: number;
  readonly outputBytes?: number;
  readonly droppedBytes?: number;
};

/** It came into a state. */
export type Step = { readonly at: number; readonly state: string; readonly by: string };

/** An event that an actor got; `to`: for a helper of it, as its child. */
export type Line = {
  readonly at: number;
  readonly type: string;
  readonly to?: string;
  /** What may be shown of what it carries. */
  readonly summary: string;
};

export type OutputChunk = { readonly stream: 'stdout' | 'stderr' | 'pty'; readonly base64: string };

export type ServerMessage =
  /** The first one, and the only one that tells the charts. */
  | {
      readonly type: 'hello';
      readonly version: string;
      readonly startedAt: number;
      readonly charts: readonly Chart[];
    }
  /** Actors that are new or have changed, and those that are no longer shown. */
  | { readonly type: 'actors'; readonly changed: readonly ActorSummary[]; readonly gone: readonly number[] }
  /** More of the chosen actor. `missed`: events that came too fast to be shown, before these. */
  | {
      readonly type: 'more';
      readonly key: number;
      readonly steps: readonly Step[];
      readonly lines: readonly Line[];
      readonly missed: number;
    }
  /** Output of the chosen process. `skipped`: chunks that were gone before they could be shown. */
  | {
      readonly type: 'output';
      readonly key: number;
      readonly chunks: readonly OutputChunk[];
      readonly skipped: number;
      readonly size: { readonly rows: number; readonly cols: number } | null;
    }
  /** The server ends. */
  | { readonly type: 'end' };
